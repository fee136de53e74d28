"""Searches: a text, a kind, a name or a decorator, read from a clause."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from study.drivers.router.lexicon import ABOUT_PROJECT, KINDS, OPENER, POLITE, RESERVED

_KIND = "|".join(sorted(KINDS, key=len, reverse=True))
_WORD = r"(?P<text>«\d+»|[^\s«»,;:.?]+)"
_SHOW = (
    r"(?:(?:look for|search for|show|list|give|get|fetch|print|display|name|enumerate|find|return"
    r"|report|see|look up|tell"
    r"|collect|search(?: for)?"
    r"|what|which|are|there|is|me|us|all|every|any|each|the|out|a list of|names of|of) )*"
)
_THINGS = (
    r"(?:(?:names?|symbols?|entit(?:y|ies)|everything|anything|things?|something|identifiers?"
    r"|what(?:ever)?|labels?|those) ?)"
)
_HOLDS = (
    r"(?:(?:that|which|whose|with|having|a|an|names?|labels?|is|are|in|their|its|do|does) )*"
    r"(?:contain(?:s|ing)?|includ(?:e|es|ing)|match(?:es|ing)?|mention(?:s|ing)?|hold(?:s|ing)?"
    r"|ha(?:s|ve)|start(?:s|ing)? (?:with|from)"
    r"|with|end(?:s|ing)? (?:in|with)|bear(?:s|ing)?)"
)
_TEXT = r"(?:(?:the|a) )?(?:(?:text|string|word|substring|fragment|letters|term) )?"
_END = (
    r"(?: (?:in|within|over|among|from) (?:(?:its|their|the|all|any|of) )*(?:names?|labels?|graph"
    r"|symbols?|index|entities))?"
)
_QUERY = [
    re.compile(pattern)
    for pattern in (
        r"^(?:(?:run|do|make|start|perform|please) )*(?:a |the )?(?:search|look|hunt|grep|query"
        r"|scan)(?: (?:the|all|in|over|through|our))*"
        rf"(?: (?:graph|names?|symbols?|labels?|index))?(?: (?:for|of))? {_TEXT}{_WORD}{_END}$",
        rf"^(?:find|locate|search) {_TEXT}{_WORD}{_END}$",
        rf"^{_SHOW}(?P<kind>{_KIND})? ?(?:{_THINGS})*{_HOLDS} {_TEXT}{_WORD}{_END}$",
        rf"^where (?:does|do|is) {_TEXT}{_WORD} (?:occur|appear|found)s?{_END}$",
        rf"^{_SHOW}(?P<kind>{_KIND}) for {_TEXT}(?P<text>«\d+»){_END}$",
    )
]
_NAMED = re.compile(
    rf"^{_SHOW}(?P<kind>{_KIND}) (?:(?:that|which|are|is|with|whose|the|have|has|name) )*(?:called"
    r"|named|name|is) (?P<text>«\d+»|[^\s«»,;:.?]+)$"
)
_DECORATED = re.compile(
    rf"^{_SHOW}(?P<kind>{_KIND}) (?:(?:that|which|are|is|have|has|carry|with|the) )*(?:decorated"
    rf" (?:with|by)|decorator) {_WORD}$"
)
_CARRIES = re.compile(
    rf"^{_SHOW}(?P<kind>{_KIND}) (?:(?:that|which) )?(?:carry|carrying|have|having|with|bear|bearing|wear)"
    rf" (?:the |a )?{_WORD} decorator$"
)
_OF_KIND = re.compile(
    rf"^{_SHOW}(?P<kind>{_KIND})(?: (?:are there|is there|there are|exist|do we"
    r" have|there|does it have|are defined))?$"
)
_NEEDS_OPENER = re.compile(
    r"^(?:all|every|list|show|give|get|find|fetch|print|display|name|enumerate"
    r"|what|which|search|report|return|look up|collect)\b"
)


def read_search(clause: str, names: Sequence[str], plain: Mapping[str, str]) -> dict[str, str] | None:
    """Read a clause as a search.

    Parameters
    ----------
    clause : str
    names : sequence of str
        What the marks of the clause stand for.
    plain : mapping of str to str
        Words that may be names -> as they were written.

    Returns
    -------
    dict of str to str or None
        ``query``, ``kind``, ``name``, ``decorator`` as far as they are asked for.
    """
    text = ABOUT_PROJECT.sub("", " " + clause).strip()
    for _ in range(2):
        text = POLITE.sub("", OPENER.sub("", text + " ")).strip()
    for pattern, key in (
        (_DECORATED, "decorator"),
        (_CARRIES, "decorator"),
        (_NAMED, "name"),
        *((pattern, "query") for pattern in _QUERY),
    ):
        match = pattern.match(text)
        value = _value(match["text"], names, plain) if match else None
        if match and value is not None:
            kind = KINDS.get(match.groupdict().get("kind") or "")
            return {key: value} | ({"kind": kind} if kind else {})
    match = _OF_KIND.match(text)
    if match and _NEEDS_OPENER.match(text):
        return {"kind": KINDS[match["kind"]]}
    return None


def _value(text: str, names: Sequence[str], plain: Mapping[str, str]) -> str | None:
    if text.startswith("«"):
        return names[int(text[1:-1])]
    return None if text in RESERVED else plain.get(text, text)
