"""A graph with its answers computed once: places, containers, and the answer set of every query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from study.toolsets.codegraph.graph import Entity, Graph, Relation

Answer = tuple[str, ...]
"""Labels, sorted by code point, without duplicates."""

_DATA = frozenset({"attribute", "global"})
_CODE = frozenset({"function", "method"})


class GraphIndex:
    """Answer sets of one graph by label; absent labels have the empty answer.

    Attributes
    ----------
    entities : dict of str to Entity
    module_of : dict of str to str
        Label -> the module or test module whose file holds it (itself for modules).
    container : dict of str to str
        Label -> the module, class or function directly around it.
    packages : frozenset of str
        Modules that are packages: an ``__init__.py``, or modules lie below them.
    callers, callees, calls, members, subclasses, direct_subclasses, exports, tests_for, history, cochanges
        Label -> answer, as defined in :mod:`study.toolsets.codegraph.tools`.
    impact : dict of str to tuple of str
        Module -> modules that import it, directly or through others.
    untested : tuple of str
    by_text : list of (str, Entity)
        Every entity with its label without regard to case, sorted by label.
    """

    def __init__(self, graph: Graph) -> None:
        relations = graph.relations
        self.graph = graph
        self.entities: dict[str, Entity] = {entity.label: entity for entity in graph.entities}
        self.container = _containers(relations.contains, relations.defines)
        self.module_of = _modules_by_place(graph.entities)
        self.callees = _answers(relations.calls)
        self.callers = _reversed(relations.calls)
        self.calls = _joined(self.callers, self.callees)
        self.unresolved = _answers(relations.unresolved_calls)
        self.members = self._of_kind(relations.contains, frozenset({"class"}))
        self.direct_subclasses = _reversed(relations.inherits)
        self.subclasses = _closure(self.direct_subclasses)
        self.exports = _answers(relations.exports)
        self.imports = _answers(relations.imports)
        self.importers = self._importers(relations.imports)
        self.impact = _closure(self.importers)
        self.tests_for = _reversed(relations.tests)
        self.history = _reversed(relations.touches)
        self.counts = _symmetric(relations.cochanges)
        self.cochanges: dict[str, Answer] = {k: tuple(sorted(v)) for k, v in self.counts.items()}
        self.modules: Answer = tuple(
            sorted(label for label, entity in self.entities.items() if entity.kind == "module")
        )
        self.below = {label: self._below(label) for label in self.modules}
        self.packages = frozenset(label for label in self.modules if self._is_package(label))
        self.untested = self._untested()
        self.by_text = [(label.casefold(), self.entities[label]) for label in sorted(self.entities)]

    def _of_kind(self, relation: Relation, kinds: frozenset[str]) -> dict[str, Answer]:
        return _answers({a: b for a, b in relation.items() if self.entities[a].kind in kinds})

    def _importers(self, imports: Relation) -> dict[str, Answer]:
        modules = {a: b for a, b in imports.items() if self.entities[a].kind == "module"}
        return _reversed(modules)

    def _below(self, label: str) -> Answer:
        return tuple(other for other in self.modules if other.startswith(f"{label}."))

    def _is_package(self, label: str) -> bool:
        path = self.entities[label].path or ""
        return path.rpartition("/")[2] == "__init__.py" or bool(self.below[label])

    def _untested(self) -> Answer:
        candidates = (label for label, entity in self.entities.items() if self._testable(entity))
        return tuple(sorted(label for label in candidates if label not in self.tests_for))

    def _testable(self, entity: Entity) -> bool:
        """Whether a test could name it: no data, no special method, nothing inside a function."""
        if entity.kind == "module":
            return True
        if entity.kind not in ("class", "function", "method"):
            return False
        name = entity.label.rpartition(".")[2]
        if entity.kind == "method" and name.startswith("__") and name.endswith("__"):
            return False
        outer = self.container.get(entity.label)
        while outer is not None:
            if self.entities[outer].kind in _CODE:
                return False
            outer = self.container.get(outer)
        return True

    def cycles(self, modules: Iterable[str]) -> list[Answer]:
        """Return the groups of modules that import each other in a circle, among the given ones."""
        kept = set(modules)
        reach = {label: set(self.impact.get(label, ())) & kept for label in kept}
        groups = {
            tuple(sorted({label, *(other for other in reach[label] if label in reach[other])}))
            for label in kept
        }
        return sorted(group for group in groups if len(group) > 1)


def _answers(relation: Mapping[str, Iterable[str]]) -> dict[str, Answer]:
    return {source: tuple(sorted(set(targets))) for source, targets in relation.items() if targets}


def _reversed(relation: Mapping[str, Iterable[str]]) -> dict[str, Answer]:
    found: dict[str, set[str]] = {}
    for source, targets in relation.items():
        for target in targets:
            found.setdefault(target, set()).add(source)
    return _answers(found)


def _joined(first: Mapping[str, Answer], second: Mapping[str, Answer]) -> dict[str, Answer]:
    labels = {*first, *second}
    return _answers({label: (*first.get(label, ()), *second.get(label, ())) for label in labels})


def _closure(steps: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return everything reachable in one step or more, without the start itself."""
    return _answers({start: _reachable(start, steps) for start in steps})


def _reachable(start: str, steps: Mapping[str, Answer]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for label in steps.get(waiting.pop(), ()):
            if label not in seen:
                seen.add(label)
                waiting.append(label)
    return seen - {start}


def _symmetric(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for first, others in counts.items():
        for second, count in others.items():
            found.setdefault(first, {})[second] = count
            found.setdefault(second, {})[first] = count
    return found


def _containers(*relations: Relation) -> dict[str, str]:
    return {
        target: source for relation in relations for source, targets in relation.items() for target in targets
    }


def _modules_by_place(entities: Iterable[Entity]) -> dict[str, str]:
    known = list(entities)
    by_path = {e.path: e.label for e in known if e.kind in ("module", "test-module")}
    found = {e.label: by_path[e.path] for e in known if e.path in by_path}
    return {**found, **{e.label: e.label for e in known if e.kind in ("module", "test-module")}}
