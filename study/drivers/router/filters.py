"""Relative filters and member filters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from study.drivers.router.plans import Plan
from study.drivers.router.reading import Reader, Step

_AMONG = re.compile(
    r"^(?:of|among|amongst|out of|from|from among|taking|considering|looking at|within) (?P<np>.+?)"
    r" ?[,:] ?(?:show |list |tell |give |find |name |print )?(?:me )?"
    r"(?P<pred>(?:the ones|the untested ones|those|which|what|who|only|any|all)\b.*)$"
)
_BARE_AMONG = re.compile(
    r"^(?:of|among|amongst|out of|from among) (?P<np>.+?) (?P<pred>(?:which|what"
    r"|who)(?: ones| of them)? .*)$"
)
_WHICH_OF = re.compile(
    r"^(?:(?:tell|show|list|find|give|name|print)(?: me)? )?(?:which|what|who"
    r"|those|the ones|all) (?:ones )?(?:of|among|amongst|from|out of) "
)
_COMMON = re.compile(r"^(?:what|which [a-z]+) do (?P<a>.+?) and (?P<b>.+?) (?:have in common|share)$")
_BOTH = re.compile(r"^(?P<head>.*?)\bboth (?P<a>.+?) and (?P<b>.+?)$")
_LAST_VERB = re.compile(r"^(?:what|who|which)(?: [a-z-]+)* ([a-z]+(?: (?:on|by|with|from))?)$")
_SUBJECT = re.compile(
    r"^(?:,? ?(?:which|what|who|that|those|ones|the ones|of them|of those|of these"
    r"|only|are the ones|and|but|any|all) )+"
)
_ALSO = re.compile(r"\b(?:also|at the same time|as well|too|likewise|additionally)\b ?")
_DEEP = re.compile(
    r" ?,? ?\b(?:directly or indirectly|indirectly or directly|directly or through others"
    r"|transitively|eventually|ultimately|indirectly|through others|in the end"
    r"|at any depth|sooner or later|directly or transitively|even if only through others)\b"
)
_REACH = re.compile(r"\breach(?:es)?\b")
_UNTESTED = re.compile(r"\b(?:untested|uncovered) (?!«|and\b|or\b|but\b|then\b|,|;)")
_OPENS = re.compile(
    r" (?=(?:but|that|which|who|are|is|also|calls?|invokes?|uses?|reach(?:es)?|depends?|relys?|rely"
    r"|imports?|needs?|inherits?|derives?|extends?|subclass(?:es)?"
    r"|lacks?|has|have|had|were|was|get|gets|changes?|change|touch|directly|indirectly|eventually"
    r"|transitively|ultimately|do|does|without|with no|tested|covered"
    r"|called|exported|untested|create|construct|instantiate|belong|not|no|member|members|nobody|no one)\b)"
)
_TESTED_BY = re.compile(
    r"^(?:(?:are|is|were|was|get|gets|be|being|has|have|been) )*(?:also )?(?:tested|covered|exercised"
    r"|checked|named) (?:by|in|from) (?P<e>«\d+»)$"
)
_CHANGED_BY = re.compile(
    r"^(?:(?:are|is|were|was|get|gets|be|being|has|have|been|got) )*(?:also )?(?:changed|touched"
    r"|modified|edited|altered|affected) (?:by|in|with) (?P<e>«\d+»)$"
)
_IS_NOUN = re.compile(
    r"^(?:are|is|were|was) (?:also )?(?:a |an |one of |among |in |part of )?(?:the"
    r" )?(?P<np>.+)$"
)
_JOINED = re.compile(r"(?:,|;|\band|\bthen)$")
_ASKS = re.compile(r"(?:and )?(?:which|what|who|where|how)\b")
_AND_ALSO = re.compile(r"(?:that |which )?also (?!«)[a-z]+ ")
_NEW_QUESTION = re.compile(r"(?:[,;:]|\band|\bthen)(?: and)? (?:which|what|who|whom|where|when|how)\b[^«»]*$")
"""A question that begins in what should be one set, without a name of its own."""
_ENUMERATORS = frozenset({"members", "subclasses", "exports"})
_HOPS = {"callers": "callees", "callees": "callers"}
"""Topic of a predicate -> the topic that asks the same of the member."""


def filtered(line: str, reader: Reader) -> Plan | None:
    """Read a request that cuts one set with another, or keeps the members that reach a target."""
    text = line.strip(" .?!,;")
    plan = _adjective(text, reader)
    if plan is not None:
        return plan
    for left, right in _candidates(text):
        plan = _filter(left, right, reader)
        if plan is not None:
            return plan
    return None


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Give pairs of a set and a predicate."""
    common = _COMMON.match(text)
    if common:
        yield common["a"], "are " + common["b"]
    for pattern in (_AMONG, _BARE_AMONG):
        match = pattern.match(text)
        if match:
            yield match["np"], match["pred"]
    both = _BOTH.match(text)
    if both:
        head = both["head"].strip()
        yield f"{head} {both['a']}", both["b"]
        yield both["a"], "are " + both["b"]
        verb = _LAST_VERB.search(head)
        if verb:
            yield f"{head} {both['a']}", f"{verb[1]} {both['b']}"
    head = _WHICH_OF.sub("", text)
    for place in _OPENS.finditer(head):
        yield head[: place.start()], head[place.end() :]


def _filter(left: str, right: str, reader: Reader) -> Plan | None:
    if _AND_ALSO.match(right):
        left = left.removesuffix(" and")
    if (_JOINED.search(left) and _ASKS.match(right)) or _NEW_QUESTION.search(left):
        return None
    predicate = _SUBJECT.sub("", right.strip(" ,") + " ").strip()
    if not predicate:
        return None
    first = reader.read(left, implied=False)
    if first is None or first.each or first.values:
        return None
    return _member_filter(first, predicate, reader) or _relative_filter(first, predicate, reader)


def _member_filter(first: Step, predicate: str, reader: Reader) -> Plan | None:
    for line in (predicate, *reader.masks(predicate)):
        folded = reader.folded(line)
        for pattern, hop in ((_TESTED_BY, "tests"), (_CHANGED_BY, "history")):
            match = pattern.match(folded)
            if match:
                return _reach(first, hop, reader.name(match["e"][1:-1]), deep=False)
    if first.topic not in _ENUMERATORS or _ALSO.search(predicate):
        return None
    deep = bool(_DEEP.search(predicate) or _REACH.search(predicate))
    text = _REACH.sub("call", _DEEP.sub("", predicate)).strip()
    second = reader.read(f"what {text}", first.term, implied=False)
    if second is None or second.topic not in _HOPS or second.term is None:
        return None
    return _reach(first, _HOPS[second.topic], second.term, deep=deep)


def _reach(first: Step, hop: str, target: str, *, deep: bool) -> Plan:
    return Plan(method="member filter", steps=(first,), fold="reach", hop=hop, target=target, deep=deep)


def _relative_filter(first: Step, predicate: str, reader: Reader) -> Plan | None:
    text = _ALSO.sub("", predicate).strip()
    second = reader.read(f"what {text}", first.term, implied=False)
    noun = _IS_NOUN.match(text)
    if second is None and noun:
        second = reader.read(noun["np"], first.term, implied=False)
    if second is None and not text.startswith(("of ", "for ", "in ", "to ")):
        second = reader.read(f"which modules {text}", first.term, implied=False)
    return _intersection(first, second)


def _intersection(first: Step, second: Step | None) -> Plan | None:
    if (
        second is None
        or second.each
        or second.values
        or (first.topic, first.term) == (second.topic, second.term)
    ):
        return None
    return Plan(method="relative filter", steps=(first, second), fold="intersection")


def _adjective(text: str, reader: Reader) -> Plan | None:
    """Read "the untested callers of E"."""
    if not _UNTESTED.search(text):
        return None
    first = reader.read(_UNTESTED.sub("", text), implied=False)
    if first is None or first.each or first.values or first.term is None:
        return None
    return _intersection(first, Step(topic="untested"))
