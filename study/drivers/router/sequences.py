"""Sequences of steps, single steps among them."""

from __future__ import annotations

import re
from itertools import pairwise

from msgspec import structs

from study.drivers.router.lexicon import TAIL, words
from study.drivers.router.plans import Plan
from study.drivers.router.reading import OF_ALL, Reader, Step, is_empty_of_request
from study.records import Record

_SPLIT = re.compile(
    r"\s*(?:[,;.:?!]\s*)*(?:(?<=\s)(?:and then|then|after that|afterwards|after which|followed by|as"
    r" well as|along with|together with|plus"
    r"|and also|and finally|and next|(?<!the )next|finally|lastly|and|but|so|or else|because"
    r"|before that)(?=\s|$)\s*)+(?:[,:]\s*)*"
    r"|\s*[,;.:?!]+(?:\s+[,;.:?!]+)*\s*|\s*\bwhile\b\s*"
)
_GERUND = {
    "listing": "list",
    "showing": "show",
    "describing": "describe",
    "giving": "give",
    "getting": "get",
    "fetching": "fetch",
    "finding": "find",
    "printing": "print",
    "displaying": "display",
    "naming": "name",
    "explaining": "explain",
    "enumerating": "enumerate",
    "summarising": "summarise",
    "reporting": "report",
    "telling": "tell",
    "looking": "look",
    "searching": "search",
}
_AFTER = re.compile(rf"^(?:(?:first|please) ,? ?)?after (?P<g>{'|'.join(_GERUND)}) (?P<x>[^,]+) , (?P<y>.+)$")
_BEFORE = re.compile(rf"^before (?:(?P<g>{'|'.join(_GERUND)})|you) (?P<x>[^,]+) , (?P<y>.+)$")
_LATE_AFTER = re.compile(rf"^(?P<y>.+?) ,? ?after (?P<g>{'|'.join(_GERUND)}) (?P<x>.+)$")
_LATE_BEFORE = re.compile(rf"^(?P<y>.+?) ,? ?before (?P<g>{'|'.join(_GERUND)}) (?P<x>.+)$")
_FIRST_PERSON = re.compile(
    r"^(?:so |now |well |ok |hi |hello |and |yesterday |today )*(?:i|we) (?:have (?:just |only "
    r"|recently |already |been )*[a-z]+|am (?:just |about to |going to |thinking (?:of|about)"
    r" )?[a-z]+|are [a-z]+"
    r"|was [a-z]+|were [a-z]+|keep [a-z]+|(?:want|need|plan|intend|wish|hope|have|would like|would"
    r" love|am going|are going|mean|try) to [a-z]+"
    r"|just [a-z]+|recently [a-z]+|only [a-z]+|must [a-z]+|should [a-z]+|will [a-z]+|might [a-z]+|may"
    r" [a-z]+|had to [a-z]+|would [a-z]+"
    r"|changed|edited|touched|broke|refactored|renamed|moved|fixed|found|saw|read|looked|listed"
    r"|noticed|inherited|wrote|rewrote|heard|came|stumbled|tripped|ran into|came across"
    r"|(?:plan|prepare|review|schedule|maintain|own|discuss|wonder about|work on|know|teach) [a-z«]+)"
    r"(?![a-z])"
    r"(?!.*\b(?:you|deleted|removed) (?:to|please)\b)"
)
_SUBORDINATE = re.compile(
    r"^(?:before|after|since|as|because|now that|given that|while|in order to|once|when|for|with) (?:i"
    r"|we|my|our)\b"
    r"|^(?:if|suppose|supposing|assuming) (?:i|we) (?:(?:were|want|wanted|decide|decided|have|had|need) to )?"
    r"(?:chang|touch|edit|modif|alter|rewrit|rewrote|refactor|remov|delet|renam|break|broke|drop|mov"
    r"|replac|rework"
    r"|swap|fix|extend|split)"
    r"|^(?:to|in order to) (?:be able to |safely )?(?:change|understand|review|plan|prepare|refactor"
    r"|edit|fix|debug|judge|decide|see)\b"
    r"|^(?:before|while|when|for) (?:changing|editing|touching|refactoring|renaming|deleting|removing"
    r"|reviewing|reading|altering|moving|modifying)\b"
)
_TAKE_APART = re.compile(
    r"^(?:please )?(?:take|let us take|let us look at|look at|consider|regarding"
    r"|concerning|about|as for|for) (?:apart )?(?P<e>«\d+»)(?: apart)?(?: for me"
    r"| for us)?$"
)
_WISH = re.compile(
    r"^(?:so |now |and )*(?:i|we) (?:want|need|plan|would like|intend|wish|order|ask"
    r"|command) "
)
_AND = re.compile(r"\s*,?\s*(?:and)?\s*$")
_CORRECTION = re.compile(r"\b(?:instead|rather|or)\b")
_BARE = re.compile(
    r"^(?:(?:show|list|give|name|print|me|also|and|or|of|for|to|in|those of|that of|ones of|one of"
    r"|(?:do )?same (?:for|with|of)|likewise"
    r" for|both|then"
    r"|ditto for|with) )*«(\d+)»$"
)
_REQUEST = re.compile(
    r"^(?:(?:so|now|please|then|and|but|only|just|kindly|first|also|really|to me|for me) ,?"
    r" ?)*(?:(?P<order>show|list|give|get|fetch|print"
    r"|display|name|enumerate|tell|say|report|return|find|look|determine|identify|work|describe"
    r"|explain|summari[sz]e|outline|search|see)"
    r"|what|which|who|whom|whose|where|when|how|in which|by which|by what|from where|is|are|does|do"
    r"|did|has|have|was|were|can|could|would|will"
    r"|want|need|wish|let|i wonder|i need|i want|i would|we need|we want|everything|if|unless|should)\b"
)
_TRIVIAL = words("thanks thank you hello hi hey there good morning")
MAX_ATOMS = 24
MAX_SPAN = 4
"""How many parts between separators one step may consist of."""


class _Progress(Record):
    """What is known while a request is read from left to right."""

    steps: tuple[Step, ...] = ()
    focus: str | None = None
    waiting: tuple[str, ...] = ()
    background: bool = False
    wished: bool = False
    shared: bool = False
    """Whether the last step's entity is shared by topics before it."""


def single(line: str, reader: Reader) -> Plan | None:
    """Read a request as one step."""
    step = reader.read(line, implied=False)
    return None if step is None else Plan(method="single", steps=(step,))


def sequence(line: str, reader: Reader) -> Plan | None:
    """Read a request as steps with background between them."""
    steps = _ordered(line, reader) or _steps(line, reader)
    if not steps:
        return None
    return Plan(method="single" if len(steps) == 1 else "sequence", steps=steps)


def _ordered(line: str, reader: Reader) -> tuple[Step, ...] | None:
    """Read the forms in which the order of words is not the order of steps, or is told by after or before."""
    for pattern, first_is_x in ((_AFTER, True), (_BEFORE, False), (_LATE_AFTER, True), (_LATE_BEFORE, False)):
        match = pattern.match(line.strip(" .?!"))
        if match is None:
            continue
        x_text = f"{_GERUND.get(match['g'] or '', '')} {match['x']}".strip()
        written = (x_text, match["y"]) if match.start("x") < match.start("y") else (match["y"], x_text)
        one = _steps(written[0], reader)
        two = _steps(written[1], reader, one[-1].term if one else None)
        if one and two:
            x, y = (one, two) if written[0] == x_text else (two, one)
            return (*x, *y) if first_is_x else (*y, *x)
    return None


def _steps(line: str, reader: Reader, focus: str | None = None) -> tuple[Step, ...] | None:
    atoms = _atoms(line)
    if not atoms or len(atoms) > MAX_ATOMS:
        return None
    state = _Progress(focus=focus)
    at = 0
    while at < len(atoms):
        for end in range(min(len(atoms), at + MAX_SPAN), at, -1):
            clause = line[atoms[at][0] : atoms[end - 1][1]]
            joint = line[atoms[at - 1][1] : atoms[at][0]] if at else ""
            if _goes_on_telling(clause, joint, state):
                return None
            if end == at + 1 and _is_shared(line, atoms[at:], reader, state):
                ahead = _waiting(state, clause)
            else:
                ahead = _advance(clause, reader, state, single=end == at + 1)
            if ahead is not None:
                state, at = ahead, end
                break
        else:
            return None
    return None if state.waiting or not state.steps else _merged(state.steps)


def _is_shared(line: str, atoms: list[tuple[int, int]], reader: Reader, state: _Progress) -> bool:
    """Whether a topic without an entity is one of several that share the one named after the last."""
    if state.focus is None:
        return False
    for (start, end), (after, until) in pairwise(atoms):
        clause, other = line[start:end], line[after:until]
        bare_topic = not reader.mentions(clause) and reader.read(clause, state.focus, implied=False) is None
        if not bare_topic or reader.read(clause, state.focus) is None or not _AND.match(line[end:after]):
            return False
        named = reader.read(other, implied=False)
        if named is not None and named.term is not None:
            return _REQUEST.match(other) is None
    return False


def _goes_on_telling(clause: str, joint: str, state: _Progress) -> bool:
    """Whether a clause only continues what a statement before it tells or wishes."""
    if not state.background or state.steps:
        return False
    asks = _REQUEST.match(clause)
    if asks is None:
        return _FIRST_PERSON.match(clause) is None and _SUBORDINATE.match(clause) is None
    told = re.search(r"\b(?:then|and)\b", joint)
    return bool(state.wished and told and ("then" in told[0] or asks["order"]))


def _atoms(line: str) -> list[tuple[int, int]]:
    """Return start and end of the parts between separators."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SPLIT.finditer(line):
        if line[start : match.start()].strip():
            spans.append((start, match.start()))
        start = match.end()
    if line[start:].strip():
        spans.append((start, len(line)))
    return spans


def _advance(clause: str, reader: Reader, state: _Progress, *, single: bool) -> _Progress | None:
    """Return the progress after a clause, or None when it cannot be read."""
    named = reader.mentions(clause)
    if single and state.steps and not state.waiting:
        again = same_topic(clause, reader, state.steps[-1])
        if again is not None:
            several = state.shared or _CORRECTION.search(clause)
            return None if several else _with_step(state, again, reader)
    if _is_about_several(clause, state):
        return None
    alone = reader.read(clause, state.focus, implied=False)
    repeats = alone is not None and alone.term is None and _says_again(clause, reader, state)
    if alone is not None and not repeats:
        return _with_step(state, alone, reader)
    if not single:
        return None
    if _says_again(clause, reader, state):
        return state
    background = _background(clause, reader, state, named)
    if background is not None:
        return background
    if state.steps and state.steps[-1].each:
        return None
    implied = reader.read(clause, state.focus) if state.focus is not None and not named else None
    if implied is not None:
        return _with_step(state, implied, reader)
    if not named and state.focus is None and not state.steps and reader.read(clause, "?") is not None:
        return _waiting(state, clause)
    return None


def _is_about_several(clause: str, state: _Progress) -> bool:
    """Whether a clause is about two entities at once, which no step can be."""
    if len(state.steps) < 2 or not re.search(r"\b(?:their|both|either)\b", clause):
        return False
    before, last = state.steps[-2:]
    return before.topic == last.topic and None not in (before.term, last.term) and before.term != last.term


def _says_again(clause: str, reader: Reader, state: _Progress) -> bool:
    """Whether a clause without a name only says again what the step before asks for."""
    if not state.steps or state.focus is None or reader.mentions(clause):
        return False
    last, again = state.steps[-1], reader.read(clause, state.focus, search=False)
    if again is not None and again.term is None and re.search(r"\bthey\b", clause):
        return again.topic == last.topic
    return again is not None and (again.topic, again.term) == (last.topic, last.term)


def _waiting(state: _Progress, clause: str) -> _Progress:
    """Return the progress with one more topic that waits for its entity."""
    return _Progress(
        steps=state.steps,
        focus=state.focus,
        waiting=(*state.waiting, clause),
        background=state.background,
        wished=state.wished,
        shared=state.shared,
    )


def _with_step(state: _Progress, step: Step, reader: Reader) -> _Progress | None:
    """Return the progress with one more step; topics that waited for an entity get it now."""
    earlier: list[Step] = []
    for clause in state.waiting:
        if step.term is None:
            return None
        found = reader.read(clause, step.term)
        if found is None:
            return None
        earlier.append(Step(topic=found.topic, term=step.term))
    return _Progress(
        steps=(*state.steps, *earlier, step), focus=step.term or state.focus, shared=bool(earlier)
    )


def same_topic(clause: str, reader: Reader, last: Step) -> Step | None:
    """Read a clause that is a name alone: the topic before, about another entity."""
    if last.term is None or last.values or reader.read(clause, last.term, search=False) is not None:
        return None
    text = TAIL.sub("", re.sub(r"\binstead\b", "", clause)).strip(" ,;.")
    for line in (text, *reader.masks(text)):
        match = _BARE.match(reader.folded(line))
        if match:
            return Step(topic=last.topic, term=reader.name(match[1]))
    return None


def _background(clause: str, reader: Reader, state: _Progress, named: list[str]) -> _Progress | None:
    """Return the progress after a clause that is only read for its entity, or None for any other clause."""
    if OF_ALL.search(f", {clause}"):
        return None
    if is_empty_of_request(clause, _TRIVIAL):
        return state
    personal = _FIRST_PERSON.match(clause)
    if (
        personal
        and _WISH.match(clause)
        and not re.match(r".*?\b(?:(?:want|need|like|wish) to|plan|intend)\b", clause)
    ):
        return None
    topic = _TAKE_APART.match(reader.folded(clause))
    if not (personal or _SUBORDINATE.match(clause) or topic):
        return None
    if not named:
        named = [
            reader.name(mark) for line in reader.masks(clause)[:1] for mark in re.findall(r"«(\d+)»", line)
        ]
    return structs.replace(
        state,
        focus=named[-1] if named else state.focus,
        background=topic is None,
        wished=bool(_WISH.match(clause)),
    )


def background_focus(line: str, reader: Reader) -> tuple[str, str | None]:
    """Return a line without the background before it, and the entity that the background names."""
    state = _Progress()
    atoms = _atoms(line)
    for start, end in atoms[:-1]:
        clause = line[start:end]
        ahead = _background(clause, reader, state, reader.mentions(clause))
        if ahead is None:
            return (line[start:], state.focus)
        state = ahead
    return (line[atoms[-1][0] :], state.focus) if atoms else (line, None)


def _merged(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Drop a step that repeats the one before it."""
    kept: list[Step] = []
    for step in steps:
        if not kept or (step.topic, step.term, step.each, step.values) != (
            kept[-1].topic,
            kept[-1].term,
            kept[-1].each,
            kept[-1].values,
        ):
            kept.append(step)
    return tuple(kept)
