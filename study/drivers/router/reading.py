"""One clause read as one step: a topic about an entity."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from study.drivers.router.frames import COORDINATED, NEEDLESS, TOPICS, Topic
from study.drivers.router.lexicon import (
    ABOUT_PROJECT,
    FILLERS,
    FOR_WHOM,
    IDLE,
    NEUTRAL,
    OPENER,
    ORDER,
    POLITE,
    SINGULAR_KINDS,
    TAIL,
)
from study.drivers.router.scanning import ITEM, MARK, Scanned
from study.drivers.router.searching import read_search
from study.drivers.router.vetoes import asks_for_less, tells_only
from study.records import Record

_FOLD = re.compile(
    rf"\b(?:{SINGULAR_KINDS}) (?:called |named )?(?=«)|(?<=») (?:{SINGULAR_KINDS})\b(?! (?:is|does|in)$)"
)
_ONE = SINGULAR_KINDS.replace("|commit", "").replace("|test-module", "")
_HERE = rf"(?:this|that|the|the same|said|the said|the very same) (?:{_ONE})"
_STOP = (
    r"(?= ?$| [,;.:?)]| 's\b| (?:is|are|has|have|was|does|and|then|or|instead|itself|calls?|too|as well)\b)"
)
_ANAPHOR = re.compile(
    rf"\b(?P<own>its|their)\b(?: own)?|\b(?:this|that|same|the same|said) (?:{_ONE})\b(?! «)"
    rf"|\b{_HERE}{_STOP}|\b(?:it|itself|the former)\b|\bthis(?: one)?{_STOP}"
    r"|(?<=of |to |on |in |or )that\b(?! «)|(?<=for )that\b(?! «)|(?<=with )that\b(?! «)"
    r"|\b(?:the )?same(?: one)?(?= ?$)"
    r"|\bthat(?: one)?(?= ?$)"
)
_ITEMS = re.compile(
    r"\b(?:each one of them|each of (?:them|those|these)|every one of (?:them|those|these)|each one|each"
    r"|every one|all of (?:them|those|these)|them all|(?<!at )(?<!in )(?<!after )(?<!over )all"
    r"|them|those|these)(?= ?$)"
)
_FOR_EACH = re.compile(
    r"^(?:and |then )*for (?:each|every one|all|every)(?: one)?(?: of (?:them|those|these))? ,?"
    r" ?(?P<rest>.+)$"
)
OF_ALL = re.compile(
    r"[?;:.,] (?:(?:then|and|please|finally) )*(?:show|list|give|get|fetch|print|display|name|enumerate|tell"
    r"|say|report|return|find|look up|describe|explain|summari[sz]e|outline|see) (?:me )?"
    r"(?:each|every one|them|those|these|all)\b"
)
"""A further clause that is about the answer before: never a part of the clause that it follows."""
_EDGE = " ,;.:?!()"
_IMPLIED = ("{} of {}", "{} for {}", "{} to {}", "{} {}")
MAX_MASKS = 6
"""How many ordinary words of a clause are tried as names."""


class Step(Record):
    """What one clause asks for.

    Attributes
    ----------
    topic : str
    term : str or None
        The entity as it is written in the request.
    each : bool
        Whether it is asked of every label of the answer before.
    values : dict of str to str
        Further parameters of a search.
    threaded : bool
        Whether the entity comes from an anaphor.
    """

    topic: str
    term: str | None = None
    each: bool = False
    values: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    threaded: bool = False


class Reader:
    """Reads the clauses of one request.

    Parameters
    ----------
    scanned : Scanned
    extra : mapping of str to Topic
        Topics of the declared tools that the fragment does not know by itself.
    declared : collection of str
        Topics that the declared tools make known.
    """

    def __init__(self, scanned: Scanned, extra: Mapping[str, Topic], declared: Collection[str] = ()) -> None:
        self._names = list(scanned.names)
        self._plain = scanned.plain
        self._topics: list[tuple[str, Topic]] = [*TOPICS.items(), *extra.items()]
        known = set(declared)
        self._topics += [(name, topic) for name, (parts, topic) in COORDINATED.items() if not parts <= known]
        self._needless = NEEDLESS | extra.keys()
        self._read: dict[tuple[str, str | None, bool, bool], Step | None] = {}

    def name(self, mark: str) -> str:
        """Return what a mark stands for."""
        return self._names[int(mark)]

    def mentions(self, clause: str) -> list[str]:
        """Return the names that a clause holds, in order."""
        return [self.name(match[1]) for match in MARK.finditer(clause)]

    def read(
        self, clause: str, focus: str | None = None, *, implied: bool = True, search: bool = True
    ) -> Step | None:
        """Read a clause.

        Parameters
        ----------
        clause : str
            A part of a scanned line.
        focus : str, optional
            The entity named last before it.
        implied : bool
            Whether a clause that names no entity may be about the focus.
        search : bool
            Whether it may be a search.

        Returns
        -------
        Step or None
            None for a clause outside the fragment.
        """
        key = (clause, focus, implied, search)
        if key not in self._read:
            found = self._any_reading(clause.strip(_EDGE), focus, implied, search)
            less = found is not None and asks_for_less(clause, found.topic)
            self._read[key] = None if less else found
        return self._read[key]

    def _any_reading(self, clause: str, focus: str | None, implied: bool, search: bool) -> Step | None:
        if OF_ALL.search(clause) or tells_only(clause):
            return None
        for masked in self._masked(clause):
            found = self._reading(masked, focus)
            if found is not None:
                return found
        values = read_search(clause, self._names, self._plain) if search else None
        if values:
            return Step(topic="matches", values=values)
        if implied and focus is not None and not MARK.search(clause):
            mark = self._mark_of(focus)
            text = TAIL.sub("", bare(clause)).strip(_EDGE)
            for form in _IMPLIED:
                found = self._longest(form.format(text, mark))
                if found is not None:
                    return self._step(found, threaded=True)
        return None

    def masks(self, clause: str) -> list[str]:
        """Return the clause with one ordinary word as a name each, the last first; none if it has a name."""
        return [] if MARK.search(clause) else list(self._masked(clause))[1:]

    def mark(self, name: str) -> str:
        """Return the mark of a name."""
        return self._mark_of(name)

    def with_focus(self, clause: str, focus: str | None) -> str:
        """Return the clause with marks for its anaphors."""
        return self._with_antecedents(clause, focus)[0]

    @staticmethod
    def folded(clause: str) -> str:
        """Return the clause without articles and kind words beside names."""
        text = " ".join(word for word in clause.split() if word not in ("the", "a", "an"))
        return _FOLD.sub("", text).strip(_EDGE)

    def _masked(self, clause: str) -> Iterator[str]:
        """Give the clause as it stands, then with one ordinary word as a name, the last first."""
        yield clause
        places = [m for m in re.finditer(r"[^\s«»]+", clause) if self._may_be_name(m, clause)]
        for place in reversed(places[-MAX_MASKS:]):
            mark = self._mark_of(self._plain[place[0]])
            yield f"{clause[: place.start()]}{mark}{clause[place.end() :]}"

    def _may_be_name(self, word: re.Match[str], clause: str) -> bool:
        """Whether a word is tried as a name; a neutral one only where a noun must stand."""
        if word[0] not in self._plain:
            return False
        if word[0] not in NEUTRAL and word[0] not in FILLERS:
            return True
        after = clause[word.end() :].strip(_EDGE)
        return bool(word.start()) and (not after or after.startswith("'s"))

    def _mark_of(self, name: str) -> str:
        if name not in self._names:
            self._names.append(name)
        return f"«{self._names.index(name)}»"

    def _reading(self, clause: str, focus: str | None) -> Step | None:
        items = _FOR_EACH.match(clause)
        if items:
            return self._of_each(items["rest"])
        line, threaded = self._with_antecedents(clause, focus)
        found = self._longest(bare(line))
        return None if found is None else self._step(found, threaded=threaded)

    def _of_each(self, clause: str) -> Step | None:
        """Read a clause that is about each label of the answer before."""
        about = re.sub(r"\b(?:it|them)\b", ITEM, re.sub(r"\b(?:its|their)\b", f"{ITEM} 's", clause))
        found = self._longest(bare(about if ITEM in about else f"{clause} of {ITEM}"))
        return None if found is None else self._step(found, threaded=True)

    def _step(self, found: tuple[str, str | None], *, threaded: bool) -> Step:
        topic, mark = found
        if mark == "each":
            return Step(topic=topic, each=True, threaded=True)
        return Step(topic=topic, term=None if mark is None else self.name(mark), threaded=threaded)

    def _with_antecedents(self, clause: str, focus: str | None) -> tuple[str, bool]:
        """Return the clause with marks for its anaphors, and whether one came from outside the clause."""
        outside = False

        def antecedent(match: re.Match[str]) -> str:
            nonlocal outside
            before = MARK.findall(clause[: match.start()])
            if before:
                mark = f"«{before[-1]}»"
            elif focus is not None:
                outside, mark = True, self._mark_of(focus)
            else:
                return match[0]
            return f"{mark} 's" if match["own"] else mark

        line = _ANAPHOR.sub(antecedent, clause)
        return (line if MARK.search(line) else _ITEMS.sub(ITEM, line)), outside

    def _longest(self, text: str) -> tuple[str, str | None] | None:
        """Return topic and mark of the reading that covers most; two topics that cover the same are none."""
        if ORDER.match(text):
            return None
        best = 0
        found = set[tuple[str, str | None]]()
        for name, topic in self._topics:
            if not topic.triggers.search(text):
                continue
            for pattern in topic.patterns:
                match = pattern.search(text)
                if match is None or not _covers(text, match):
                    continue
                mark = match.groupdict().get("e")
                if mark is None and name not in self._needless:
                    continue
                length = match.end() - match.start()
                if length > best:
                    best = length
                    found = set[tuple[str, str | None]]()
                if length == best:
                    found.add((name, mark))
        return found.pop() if len(found) == 1 else None


def bare(clause: str) -> str:
    """Return a clause without openers, wrappings and words that mean nothing."""
    text = ABOUT_PROJECT.sub("", " " + clause.strip(_EDGE)).strip()
    for _ in range(3):
        shorter = POLITE.sub("", OPENER.sub("", text + " ")).strip()
        if shorter == text:
            break
        text = shorter
    text = " ".join(word for word in FOR_WHOM.sub("", text).split() if word not in FILLERS)
    return _FOLD.sub("", text).strip(_EDGE)


def _covers(text: str, match: re.Match[str]) -> bool:
    """Whether all words beside a frame are neutral, so that nothing that was asked is dropped."""
    before, after = text[: match.start()], text[match.end() :]
    if not before and not after:
        return True
    rest = f"{before} {TAIL.sub(' ', after)}"
    return all(word in NEUTRAL or word in ",:?" for word in rest.split())


def is_empty_of_request(clause: str, allowed: Iterable[str] = ()) -> bool:
    """Whether a clause asks for nothing of its own: a pleasantry, "which ones", "show me"."""
    return all(word in IDLE or word in allowed for word in clause.strip(_EDGE).split() if word not in ",;.:?")
