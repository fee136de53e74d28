"""The keyword driver: a floor for what routing by single words achieves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from study.driver import Context, LoopResult
from study.drivers.floor import call_once, floor_driver, refusal, tokens
from study.records import Record

STAMP = "stub-floor"


class Rule(Record):
    """One keyword rule: the tool to call if a cue occurs, with the argument that the entity fills.

    Attributes
    ----------
    tool : str
    arg : str or None
        None for a tool that is called without arguments.
    words : frozenset of str
        Cues of one word.
    pairs : tuple of frozenset of str
        Cues of several words, which must all occur.
    """

    tool: str
    arg: str | None
    words: frozenset[str]
    pairs: tuple[frozenset[str], ...]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _rule(tool: str, arg: str | None, words: str, *pairs: str) -> Rule:
    return Rule(tool=tool, arg=arg, words=_words(words), pairs=tuple(_words(pair) for pair in pairs))


RULES: tuple[Rule, ...] = (
    _rule("tmct_untested", None, "untested uncovered", "without tests", "no tests", "not tested"),
    _rule("tmct_impact", "module", "impact impacts impacted affect affects affected break breaks depends"),
    _rule("tmct_callees", "symbol", "callee callees", "does call", "does use", "does invoke", "called by"),
    _rule("tmct_callers", "symbol", "caller callers call calls called use uses used usages invoke invokes"),
    _rule("tmct_tests_for", "symbol", "test tests tested tests-for cover covers covered coverage"),
    _rule("tmct_exports", "module", "export exports exported", "public names"),
    _rule("tmct_subclasses", "class", "subclass subclasses inherit inherits extend extends derived"),
    _rule("tmct_members", "class", "member members method methods attribute attributes"),
    _rule("tmct_history", "symbol", "history commit commits revision revisions blame", "last changed"),
    _rule("tmct_signature", "symbol", "signature parameter parameters argument arguments"),
    _rule("tmct_cochanges", "symbol", "cochange cochanges co-change co-changes", "changes together"),
    _rule("tmct_related", "term", "related relates similar synonym synonyms associated"),
    _rule("tmct_describe", "symbol", "describe describes description explain summary about", "what is"),
    _rule("tmct_search", "query", "search find look locate grep"),
)
"""In the order in which they are tried; the first that hits decides."""

FREE_TEXT = "tmct_search"
"""The tool whose argument is the wording of the request, and not an entity."""

_CUES = frozenset(word for rule in RULES for cue in (rule.words, *rule.pairs) for word in cue)
_COMMON = _words(
    "a an and any all are at be can class classes code could did do does file files for from function"
    " functions get give had has have how i if in into is it its just let list made make me module modules my"
    " of on only or our out please print report s see show symbol symbols tell than that the their them then"
    " there these they thing things this those to up us was we were what when where which who whom whose why"
    " will with would you your"
)
STOPWORDS = _CUES | _COMMON
"""Lower-cased words that are never taken for an entity."""

_LEADING_VERB = re.compile(r"\s*(?:search|find|look|locate|grep)\b(?:\s+(?:for|up)\b)?[\s:]*", re.IGNORECASE)


@floor_driver(STAMP)
def drive(request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
    """Make the one call that the first keyword rule names, or refuse."""
    found = tokens(request)
    rule = _first_hit({token.lower() for token in found} & _CUES)
    if rule is None:
        return refusal(STAMP, "no keyword rule hits")
    if rule.tool not in tools:
        return refusal(STAMP, f"{rule.tool} is not declared")
    arguments: dict[str, str] = {}
    if rule.arg:
        value = _query(request) if rule.tool == FREE_TEXT else _entity(found)
        if value is None:
            return refusal(STAMP, "the request names no entity")
        arguments[rule.arg] = value
    return call_once(ctx, rule.tool, arguments, stamp=STAMP, why=f"keyword rule for {rule.tool}")


def _first_hit(cues: set[str]) -> Rule | None:
    for rule in RULES if cues else ():
        if not rule.words.isdisjoint(cues):
            return rule
        for pair in rule.pairs:
            if pair <= cues:
                return rule
    return None


def _entity(found: list[str]) -> str | None:
    """Return the last token that looks like a name, else the last that is no common word, else None."""
    candidates = [token for token in found if token.lower() not in STOPWORDS]
    named = [t for t in candidates if t[0].isupper() or "." in t or "/" in t]
    return (named or candidates or [None])[-1]


def _query(request: str) -> str:
    leading = _LEADING_VERB.match(request)
    return request[leading.end() if leading else 0 :].strip(" \t\r\n?!.")
