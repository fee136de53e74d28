"""Conditionals with both folds, recoveries with their emptiness cues."""

from __future__ import annotations

import re
from collections.abc import Iterator

from study.drivers.router.emptiness import BARE_CUE, CUE, read_emptiness
from study.drivers.router.plans import Fold, Plan
from study.drivers.router.reading import Reader, Step
from study.drivers.router.sequences import same_topic, sequence, single

_START = re.compile(
    r"^(?:please )?(?P<if>if|when|in case|should|provided(?: that)?|in the event that|supposing"
    r"|assuming|unless|suppose|where) (?P<rest>.+)$"
)
_IF = re.compile(
    r"(?P<join>(?: [,;.?:])*(?: (?:and|or|but|then|only|however))*(?: ,)?) (?P<if>if|when|in case"
    r"|should|provided(?: that)?|in the event that|unless|where) "
)
_INSTEAD = re.compile(
    r"\b(?:instead|in its place|in their place|as a substitute|in place of (?:it"
    r"|them|that)|rather)\b ?"
)
_OTHERWISE = re.compile(r"(?: [,;.])*(?: (?:and|but|or))? (?:otherwise|else|or else|if not) ,? ?")
_THEM = re.compile(
    r"^(?:please )?(?:list|show|give|print|name|display|enumerate|get|fetch|return"
    r"|report|see|say|find|look up|outline|identify|tell me)(?: me)? (?:them|those|these|it|that)(?: all)?$"
)
_ALTERNATIVE = re.compile(
    r"(?: [,;.])*(?: (?:and|but))? (?:or(?: else)?|;|\.|otherwise) (?=(?!.*"
    r" (?:or|;|\.) ))"
)
_VERB = re.compile(
    r" (?=(?:then|show|list|give|get|fetch|print|display|name|enumerate|tell|find|look"
    r"|describe|explain|summarise|report|return|what|who|which|where|search)\b)"
)


def conditional(line: str, reader: Reader) -> Plan | None:
    """Read a condition on an empty answer with its consequence; both calls are made in any case."""
    text = line.strip(" .?!")
    match = _START.match(text)
    if match:
        return _condition_first(match["if"], match["rest"], reader)
    return _condition_last(text, reader)


def _condition_first(word: str, rest: str, reader: Reader) -> Plan | None:
    positive = word == "unless"
    for head, tail in _cuts(rest):
        step = read_emptiness(head, reader, None, positive=positive)
        if step is not None:
            plan = _folded(step, tail, reader)
            if plan is not None:
                return plan
        if not positive:
            plan = _either(head, tail, reader)
            if plan is not None:
                return plan
    return None


def _cuts(rest: str) -> Iterator[tuple[str, str]]:
    """Give the places where a condition may end: a comma, then, or a reading verb."""
    places = [m.span() for m in re.finditer(r" [,:;] (?:then )?| then ,? ?", rest)]
    places += [(m.start(), m.start()) for m in _VERB.finditer(rest)]
    for start, end in places:
        yield rest[:start], rest[end:]


def _folded(first: Step, tail: str, reader: Reader) -> Plan | None:
    """Return the plan of a condition with its consequence: with ``instead`` a fallback, else a guard."""
    instead = _INSTEAD.search(tail)
    second = _one(_INSTEAD.sub("", tail), reader, first.term) or same_topic(tail, reader, first)
    if second is None:
        return None
    fold: Fold = "fallback-if-empty" if instead else "guard-if-empty"
    return Plan(method="conditional", steps=(first, second), fold=fold)


def _either(head: str, tail: str, reader: Reader) -> Plan | None:
    """Read "if E has T, list them, otherwise ..."."""
    match = _OTHERWISE.search(tail)
    if match is None:
        return None
    first = read_emptiness(head, reader, None, positive=True)
    if first is None:
        return None
    same = tail[: match.start()].strip(" ,;.")
    shown = first if _THEM.match(same) else _one(same, reader, first.term)
    second = _one(_INSTEAD.sub("", tail[match.end() :]), reader, first.term)
    if shown is None or second is None or (shown.topic, shown.term) != (first.topic, first.term):
        return None
    return Plan(method="conditional", steps=(first, second), fold="fallback-if-empty")


def _condition_last(text: str, reader: Reader) -> Plan | None:
    """Read "describe E if it has no callers": the condition's call comes first all the same."""
    for match in _IF.finditer(text):
        if match["join"].strip(" ,") not in ("", "but only", "only", "but"):
            continue
        main = text[: match.start()].strip(" ,")
        second = _one(_INSTEAD.sub("", main), reader, None)
        if second is None:
            continue
        tail = text[match.end() :].strip(" ,.")
        first = read_emptiness(
            _INSTEAD.sub("", tail).strip(), reader, second.term, positive=match["if"] == "unless"
        )
        if first is None or (first.topic, first.term) == (second.topic, second.term):
            continue
        fold: Fold = "fallback-if-empty" if _INSTEAD.search(text) else "guard-if-empty"
        return Plan(method="conditional", steps=(first, second), fold=fold)
    return None


def recovery(line: str, reader: Reader) -> Plan | None:
    """Read a primary step, a check of its answer with an emptiness cue, and a fallback."""
    text = line.strip(" .?!")
    for match in BARE_CUE.finditer(text):
        plan = _recovery(text[: match.start()], text[match.end() :], reader)
        if plan is not None:
            return plan
    for match in _IF.finditer(text):
        primary, rest = text[: match.start()], text[match.end() :]
        plan = _checked(primary, rest, reader) if primary.strip(" ,;.") else None
        if plan is not None:
            return plan
    return None


def _checked(primary: str, rest: str, reader: Reader) -> Plan | None:
    first = _one(primary, reader, None)
    if first is None:
        return _alternative(primary, rest, reader)
    cue = CUE.match(rest)
    if cue and rest[cue.end() :].strip(" ,;:."):
        plan = _recovery(primary, rest[cue.end() :], reader)
        if plan is not None:
            return plan
    for head, tail in _cuts(rest):
        if _is_about(head, first, reader):
            plan = _recovery(primary, tail, reader)
            if plan is not None:
                return plan
    return None


def _is_about(clause: str, first: Step, reader: Reader) -> bool:
    """Whether a clause says that the answer of a step is empty."""
    cue = CUE.match(clause)
    if cue and not clause[cue.end() :].strip(" ,"):
        return True
    step = read_emptiness(clause, reader, first.term)
    return step is not None and (step.topic, step.term) == (first.topic, first.term)


def _alternative(text: str, cue: str, reader: Reader) -> Plan | None:
    """Read "show T1 of E, or its T2 if there are none"."""
    for match in _ALTERNATIVE.finditer(text):
        primary, fallback = text[: match.start()], text[match.end() :]
        first = _one(primary, reader, None)
        if first is not None and _is_about(_INSTEAD.sub("", cue).strip(" ,."), first, reader):
            return _recovery(primary, fallback, reader)
    return None


def _recovery(primary: str, fallback: str, reader: Reader) -> Plan | None:
    first = _one(primary, reader, None)
    if first is None:
        return None
    second = _one(_INSTEAD.sub("", fallback), reader, first.term) or same_topic(fallback, reader, first)
    if second is None or (first.topic, first.term, first.values) == (
        second.topic,
        second.term,
        second.values,
    ):
        return None
    return Plan(method="recover", steps=(first, second), fold="recover")


def _one(text: str, reader: Reader, focus: str | None) -> Step | None:
    """Read a text as exactly one step."""
    step = reader.read(text, focus)
    if step is not None or focus is not None:
        return step
    plan = single(text, reader) or sequence(text, reader)
    return plan.steps[0] if plan and len(plan.steps) == 1 else None
