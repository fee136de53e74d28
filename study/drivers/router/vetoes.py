"""What is never answered, whatever a request says: orders to change something, statements, narrowings.

A second barrier: a clause is answered only if every word of it is accounted for, and many words may be read
over. The patterns work on a scanned line, before turns of phrase are rewritten.
"""

from __future__ import annotations

import re

_VERB = (
    r"(?:delete|remove|erase|drop|wipe|purge|rename|write(?! (?:out|down|up)\b)|rewrite|overwrite|move"
    r"|run|rerun|execute|deploy|install"
    r"|uninstall|fix|repair|refactor|add|create|make|build|edit|change|modify|update|patch|push|merge"
    r"|rebase|revert"
    r"|apply|insert|replace|clean|format|reformat|send|email|mail|post|upload|download|publish|kill|stop"
    r"|disable"
    r"|enable|save|store|copy|paste|convert|translate|migrate|split|deprecate|improve|optimi[sz]e|ignore"
    r"|forget"
    r"|disregard|pretend|obey|append)"
)
_SEARCH = r"(?! (?:a |another |the )?(?:name |text |symbol )?(?:search|look|query|scan)\b)"
_NOUN = (
    r"(?! (?:together|along|with|log|history|coupling|partners?|companions?|risks?|is|are|was|does|has"
    r"|gets?)\b)"
)
_ORDER = rf"{_VERB}\b{_SEARCH}{_NOUN}"
_OBJECT = (
    r"(?= (?:it|them|this|that|these|those|the|a|an|its|their|my|our|all|every|each|everything|anything"
    r"|whatever|what"
    r"|«\d+»)(?: |$))"
)
_ASKED = r"(?:could|can|would|will) you (?:please |kindly |then |also |now )*"
_FORCED = (
    r"(?:you (?:must|should|may|can|will|shall|need to|have to|ought to)|(?:that|have|let|make|want|need"
    r"|like|ask|tell"
    r"|telling|urge|order) you(?: to)?)"
)
_INTEND = r"(?:must|shall|will|should|have to|need to|want to|are going to|am going to)"
_TARGET = (
    r"(?:file|document|spreadsheet|sheet|folder|directory|disk|mail|email|e-mail|ticket|issue|channel"
    r"|clipboard|notes?)"
)
_ORDERS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:^|[,;:.?!] )(?:(?:and|then|so|now|also|please|kindly|just|go|first|next|finally) ,?"
        rf" ?)*{_ORDER}(?= \S)",
        rf"\b(?:and|then|or|but|also|please|afterwards|next|finally)(?: ,)? (?:then |also |please |go "
        rf"|just )*{_ORDER}"
        rf"{_OBJECT}",
        rf"(?:^|[,;:.?!] |\band |\bthen ){_ASKED}{_ORDER}",
        rf"(?:^|[,;:.?!] |\bi (?:[a-z]+ ){{0,3}})(?:i |we )?{_FORCED} {_ORDER}",
        rf"[;:.?!] (?:and |so |then )?(?:we|i) {_INTEND} {_ORDER}",
        r"\btake (?:it|them|those|these|«\d+»|the [a-z ]+?|[a-z_.]+) (?:out|away|down|off)\b",
        r"\b(?:write|print|save|dump|output|put|copy|append|send|show|list|read)\b[^.?!;]* (?:to|into|in"
        r"|on) (?:a|an|my"
        rf"|our|some|the)(?: [a-z]+)? {_TARGET}(?= ?[.?!,;]| ?$| called| named)",
    )
)
_STATEMENT = re.compile(
    r"^(?:and |so |well |now |yes |no |also )*(?:you (?:know|knew|remember|saw|read|listed|showed|found|told"
    r"|explained|described|checked|did|have(?! to)|had(?! to))\b"
    r"|(?:i|we|they|he|she|someone|somebody)(?: already| also| just| all| both| now| only)? (?:know|knew"
    r"|remember|could|can|will|would|might|may|should|must|have|had|did|saw|read"
    r"|listed|showed|found|looked|told|explained|described|checked)\b(?! (?:like|love|you|to)\b)"
    r"|let (?:me|us) (?:show|tell|give|explain|list|describe|read)(?: you)?\b(?! know))"
)
_FEW = re.compile(
    r"\b(?:only|just|exactly|no more than|at most) (?:one|two|three|four|five|some|a few)\b"
    r"|\b(?:private|protected|static|abstract|async|nested|inner) (?:ones|members?|methods?|attributes?"
    r"|functions?"
    r"|classes|callers?|subclasses)\b"
    r"|^(?:which|what) (?:modules|classes|attributes|packages|commits|globals|files)(?: (?:that|which|do"
    r"|can))?"
    r" (?:calls?|invokes?)\b"
)
_NEAR = re.compile(r"\b(?:direct|directly|immediate|immediately)\b")
_OR_FAR = re.compile(r"\b(?:or|and) (?:in)?directly\b|\bdirectly or\b|\bdirect (?:and|or) indirect\b")
_FAR_TOPICS = frozenset({"subclasses", "impact"})
"""Topics whose tools answer to any depth: "direct" asks for less than they give."""


def orders_something(line: str) -> bool:
    """Whether a line holds an order, or a wish, to change, run or send something."""
    return any(_is_order(line, match) for pattern in _ORDERS for match in pattern.finditer(line))


def _is_order(line: str, match: re.Match[str]) -> bool:
    """Whether a match is no part of a question about what one would run or change."""
    clause = re.split(r"[,;:.?!]", line[: match.start() + 1])[-1]
    return (
        re.search(r"\b(?:which|what|who|where|how|when|before|after|if|while|once|since|because)\b", clause)
        is None
    )


def tells_only(clause: str) -> bool:
    """Whether a clause tells what somebody knows, did or could do, instead of asking."""
    return _STATEMENT.match(clause) is not None


def asks_for_less(clause: str, topic: str | None = None) -> bool:
    """Whether a clause asks for a part of what a tool gives: a number, a kind, or one step only."""
    if _FEW.search(clause):
        return True
    return topic in _FAR_TOPICS and bool(_NEAR.search(clause)) and not _OR_FAR.search(clause)
