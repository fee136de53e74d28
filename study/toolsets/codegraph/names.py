"""Binding of a written term to one entity of the graph."""

from __future__ import annotations

from collections.abc import Iterable

from study.driver import Resolution
from study.toolsets.codegraph.index import GraphIndex

Labels = tuple[str, ...]


class NameIndex:
    """Finds the entity that a term means; several equally good ones are a tie, never a pick.

    Tried in this order, the first step with any hit decides: the full label; the label under which a module
    re-exports it (``package.Name``); the path of a module's file; a dotted suffix of labels, of which the
    last name is the shortest. Then the same steps without regard to case.
    """

    def __init__(self, index: GraphIndex) -> None:
        self._kinds: dict[str, str] = {label: entity.kind for label, entity in index.entities.items()}
        steps = _steps(index)
        self._found = _first_hits(steps)
        self._folded = _first_hits([_folded(step) for step in steps])

    def candidates(self, term: str) -> Labels:
        """Return the labels that a term may mean: none, one, or several that are tied."""
        found = self._found.get(term)
        if found is not None:
            return found
        stripped = term.strip()
        return self._found.get(stripped) or self._folded.get(stripped.casefold(), ())

    def resolve(self, term: str) -> Resolution:
        """Return the binding of a term: one label, or the tied labels, or neither."""
        labels = self.candidates(term)
        if len(labels) == 1:
            return Resolution(labels[0], self._kinds[labels[0]])
        return Resolution(label=None, tied=labels)


Step = dict[str, Labels]


def _steps(index: GraphIndex) -> list[Step]:
    labels = sorted(index.entities)
    offered = (
        (f"{module}.{label.rpartition('.')[2]}", label)
        for module, targets in index.graph.relations.re_exports.items()
        for label in targets
    )
    places = ((e.path, e.label) for e in index.entities.values() if e.path and e.kind.endswith("module"))
    suffixes = ((label.split(".", n)[n], label) for label in labels for n in range(1, label.count(".") + 1))
    return [_step((label, label) for label in labels), _step(offered), _step(places), _step(suffixes)]


def _step(pairs: Iterable[tuple[str, str]]) -> Step:
    found: dict[str, set[str]] = {}
    for key, label in pairs:
        found.setdefault(key, set()).add(label)
    return {key: tuple(sorted(labels)) for key, labels in found.items()}


def _folded(step: Step) -> Step:
    return _step((key.casefold(), label) for key, labels in step.items() for label in labels)


def _first_hits(steps: Iterable[Step]) -> Step:
    """Return for each key the labels of the first step that knows it."""
    found: Step = {}
    for step in steps:
        for key, labels in step.items():
            found.setdefault(key, labels)
    return found
