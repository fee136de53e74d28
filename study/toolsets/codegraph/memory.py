r"""Memory facts: terms that people use about the code, their synonyms and relations, and their sprites.

The optional part ``memory`` of a graph file::

    {"terms": ["accession", "lot"], "synonyms": [["accession", "lot"]], "related": [["lot", "harvest"]],
     "sprites": {"lot": {"plain": ["/--\\", "|__|"]}}}

Pairs count in both directions. A sprite is a picture of equally long lines, one picture for each expression;
the first expression is the usual one. Terms are found as they are written, then without case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from study.errors import did_you_mean, listed
from study.records import Record

SIZES = (1, 2, 3, 4)
"""How many characters wide and lines high one character of a sprite may be drawn."""

Pair = tuple[str, str]


class Memory(Record):
    """The memory facts of a graph (see the module docstring)."""

    terms: tuple[str, ...] = ()
    synonyms: tuple[Pair, ...] = ()
    related: tuple[Pair, ...] = ()
    sprites: dict[str, dict[str, tuple[str, ...]]] = msgspec.field(
        default_factory=dict[str, dict[str, tuple[str, ...]]]
    )

    def find(self, term: str) -> tuple[str, ...]:
        """Return the terms that a mention may mean: none, one, or several that differ only in case."""
        if term in self.terms:
            return (term,)
        return tuple(sorted(known for known in self.terms if known.casefold() == term.casefold()))

    def relatives(self, term: str) -> list[tuple[str, str]]:
        """Return ``(term, how)`` for each synonym of a term and each term related to it, sorted."""
        found = dict.fromkeys(_partners(term, self.related), "related")
        found |= dict.fromkeys(_partners(term, self.synonyms), "synonym")
        return sorted(found.items())

    def sprite(self, term: str, expression: str | None, size: int) -> list[str]:
        """Return the lines of a picture, each character drawn ``size`` times across and down.

        Raises
        ------
        LookupError
            When the term has no sprite, or none with that expression.
        """
        pictures = self.sprites.get(term)
        if not pictures:
            raise LookupError(f"{term!r} has no sprite")
        chosen = next(iter(pictures)) if expression is None else expression
        if chosen not in pictures:
            hint = did_you_mean(chosen, pictures)
            raise LookupError(f"{term!r} has no expression {chosen!r}{hint}; expressions: {listed(pictures)}")
        return ["".join(c * size for c in line) for line in pictures[chosen] for _ in range(size)]


def _partners(term: str, pairs: tuple[Pair, ...]) -> set[str]:
    return {b if a == term else a for a, b in pairs if term in (a, b)}


class Contradiction(NamedTuple):
    """What a memory says about terms that it does not list, or otherwise in conflict with itself."""

    place: str
    problem: str


def contradictions(memory: Memory) -> Iterator[Contradiction]:
    """Yield what is wrong with a memory: unknown or repeated terms, odd pairs, missing or odd pictures."""
    known = set(memory.terms)
    for n, term in enumerate(memory.terms):
        if not term or term != term.strip() or term in memory.terms[:n]:
            yield Contradiction(f"terms[{n}]", f"the term {term!r} is blank, padded or used twice")
    for part, pairs in (("synonyms", memory.synonyms), ("related", memory.related)):
        for n, pair in enumerate(pairs):
            if pair[0] == pair[1]:
                yield Contradiction(f"{part}[{n}]", f"{pair[0]!r} is paired with itself")
            for term in pair:
                if term not in known:
                    yield Contradiction(f"{part}[{n}]", f"{term!r} is no term{did_you_mean(term, known)}")
    synonyms = {frozenset(pair) for pair in memory.synonyms}
    for n, pair in enumerate(memory.related):
        if frozenset(pair) in synonyms:
            yield Contradiction(f"related[{n}]", f"{pair[0]!r} and {pair[1]!r} are synonyms too")
    for term, pictures in memory.sprites.items():
        if term not in known:
            yield Contradiction(f"sprites.{term}", f"{term!r} is no term{did_you_mean(term, known)}")
        if not pictures:
            yield Contradiction(f"sprites.{term}", f"{term!r} has no picture; leave it out")
        for expression, lines in pictures.items():
            if not lines or len({len(line) for line in lines}) > 1 or not lines[0]:
                yield Contradiction(f"sprites.{term}.{expression}", "lines of unequal or no length")
