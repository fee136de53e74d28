"""The answers of the registered tools by brute force: each question is a scan of the graph's JSON.

A second way to the same answers, for checks. It reads the file itself and shares no code with the index, the
names and the tools of this package, so that a mistake has to be made twice to stay unseen. What a tool
answers is said in :mod:`study.toolsets.codegraph.tools` and :mod:`study.toolsets.codegraph.memory`, how a
name is read in :mod:`study.toolsets.codegraph.names`; all of it is done here in the most obvious way, however
slow that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from study.binding import as_text
from study.digest import read_json_file

_SYMBOLS = frozenset({"module", "class", "function", "method", "attribute", "global"})
_SITED = _SYMBOLS | {"test-module"}
_ANYTHING = _SITED | {"commit"}
_CLASS = frozenset({"class"})
_MODULE = frozenset({"module"})
_FILES = frozenset({"module", "test-module"})

ARGUMENTS: dict[str, tuple[str, frozenset[str]]] = {
    "tmct_describe": ("symbol", _ANYTHING),
    "tmct_signature": ("symbol", _SYMBOLS - {"module"}),
    "tmct_impact": ("module", _SITED),
    "tmct_members": ("class", _CLASS),
    "tmct_subclasses": ("class", _CLASS),
    "tmct_exports": ("module", _MODULE),
    "tmct_callers": ("symbol", _SYMBOLS),
    "tmct_callees": ("symbol", _SYMBOLS),
    "tmct_calls": ("symbol", _SYMBOLS),
    "tmct_tests_for": ("symbol", _SYMBOLS),
    "tmct_history": ("symbol", _SITED),
    "tmct_cochanges": ("symbol", _SITED),
    "tmct_architecture": ("package", _MODULE),
}
"""Tools about one entity: the key of their argument and the kinds that they take."""

_OTHERS: dict[str, frozenset[str]] = {
    "tmct_search": frozenset({"query", "kind", "name", "decorator"}),
    "tmct_untested": frozenset(),
    "tmct_related": frozenset({"term"}),
    "tmct_sprite": frozenset({"class", "expression", "size"}),
}
"""Tools about no entity of the code: the keys of their arguments."""


class MissError(LookupError):
    """A question that has no answer: an unknown or tied term, a wrong kind, a wrong argument."""


class PlainGraph:
    """Answers by scanning the JSON of a graph file.

    Parameters
    ----------
    path : Path
        A file that :func:`study.toolsets.codegraph.load_graph` accepts.

    Attributes
    ----------
    labels : frozenset of str
        Of every entity, and every term of the memory.

    Raises
    ------
    InputError
        When the file cannot be read or is no JSON.
    """

    def __init__(self, path: Path) -> None:
        data: Any = read_json_file(path, "graph")
        self._entities: dict[str, dict[str, Any]] = {entity["label"]: entity for entity in data["entities"]}
        self._relations: dict[str, list[tuple[str, str]]] = {
            name: [(source, target) for source, targets in relation.items() for target in targets]
            for name, relation in data["relations"].items()
        }
        self._memory: dict[str, Any] = data.get("memory") or {}
        self.labels = frozenset([*self._entities, *self._memory.get("terms", ())])
        self._read: dict[str, dict[str, str]] = {}
        self._answered: dict[tuple[Any, ...], frozenset[str]] = {}

    def takes(self, tool: str) -> frozenset[str] | None:
        """Return the kinds of entity that a tool takes, none at all for a tool about no entity.

        None for a tool that is not known here.
        """
        if tool in ARGUMENTS:
            return ARGUMENTS[tool][1]
        return frozenset() if tool in _OTHERS else None

    def readings(self, term: str) -> dict[str, str]:
        """Return everything that a term may mean: label -> kind. Empty for an unknown term."""
        term = term.strip()
        if term not in self._read:
            self._read[term] = {label: self._kind(label) for label in sorted(self._candidates(term))}
        return self._read[term]

    def answer(self, name: str, arguments: Mapping[str, Any]) -> frozenset[str]:
        """Return the labels that a call is answered with.

        Parameters
        ----------
        name : str
            A registered tool.
        arguments : mapping
            By argument key; blank values count as absent.

        Raises
        ------
        MissError
            For an unknown tool or argument, a missing argument, a term that means nothing or several
            entities, and an entity of a kind that the tool does not take.
        """
        given = {key: as_text(value) for key, value in arguments.items()}
        question = (name, *sorted(given.items()))
        if question not in self._answered:
            self._answered[question] = frozenset(self._scan(name, given))
        return self._answered[question]

    def _scan(self, name: str, given: dict[str, str]) -> Iterable[str]:
        if self.takes(name) is None:
            raise MissError(f"there is no tool {name!r}")
        accepted = _OTHERS[name] if name in _OTHERS else {ARGUMENTS[name][0]}
        for key in given:
            if key not in accepted:
                raise MissError(f"{name} takes no argument {key!r}")
        given = {key: text for key, text in given.items() if text}
        if name == "tmct_search":
            return self._search(given)
        if name == "tmct_untested":
            return self._untested()
        if name == "tmct_related":
            return self._related(self._term(given, "term"))
        if name == "tmct_sprite":
            return self._sprite(self._term(given, "class"), given)
        if name == "tmct_architecture" and not given:
            return self._of_kind(_MODULE)
        return self._about(name, self._bound(name, given))

    def _about(self, name: str, label: str) -> Iterable[str]:
        """Answer a tool about one entity."""
        match name:
            case "tmct_describe" | "tmct_signature":
                return {label}
            case "tmct_members":
                return self._targets("contains", label)
            case "tmct_subclasses":
                return self._upstream("inherits", label, _CLASS)
            case "tmct_exports":
                return self._targets("exports", label)
            case "tmct_callers":
                return self._sources("calls", label)
            case "tmct_callees":
                return self._targets("calls", label)
            case "tmct_calls":
                return self._sources("calls", label) | self._targets("calls", label)
            case "tmct_tests_for":
                return self._sources("tests", label)
            case "tmct_impact":
                return self._upstream("imports", self._module(label), _MODULE)
            case "tmct_history":
                return self._sources("touches", self._module(label))
            case "tmct_cochanges":
                module = self._module(label)
                return self._sources("cochanges", module) | self._targets("cochanges", module)
            case _:
                return self._below(label)

    def _kind(self, label: str) -> str:
        return self._entities[label]["kind"]

    def _of_kind(self, kinds: frozenset[str]) -> set[str]:
        return {label for label in self._entities if self._kind(label) in kinds}

    def _sources(self, relation: str, label: str) -> set[str]:
        return {source for source, target in self._relations.get(relation, []) if target == label}

    def _targets(self, relation: str, label: str) -> set[str]:
        return {target for source, target in self._relations.get(relation, []) if source == label}

    def _upstream(self, relation: str, label: str, kinds: frozenset[str]) -> set[str]:
        """Return all sources of some kinds that lead to a label in any number of steps."""
        found, size = {label}, 0
        while len(found) != size:
            size = len(found)
            found |= {
                source
                for source, target in self._relations.get(relation, [])
                if target in found and self._kind(source) in kinds
            }
        return found - {label}

    def _candidates(self, term: str) -> set[str]:
        """Read a term as it is written, then without regard to case; the first reading with a hit decides."""
        for written in (str, str.casefold):
            wanted = written(term)
            readings = (
                {label for label in self._entities if written(label) == wanted},
                {
                    label
                    for module, label in self._relations.get("re-exports", [])
                    if written(f"{module}.{_last(label)}") == wanted
                },
                {
                    label
                    for label in self._of_kind(_FILES)
                    if wanted and written(self._entities[label]["path"]) == wanted
                },
                {label for label in self._entities if wanted and written(label).endswith(f".{wanted}")},
            )
            for reading in readings:
                if reading:
                    return reading
        return set()

    def _bound(self, name: str, given: dict[str, str]) -> str:
        """Return the one entity that the argument of a tool means."""
        key, kinds = ARGUMENTS[name]
        if key not in given:
            raise MissError(f"the argument {key!r} is missing")
        readings = self.readings(given[key])
        if not readings:
            raise MissError(f"nothing is called {given[key]!r}")
        if len(readings) > 1:
            raise MissError(f"{given[key]!r} is tied: {', '.join(readings)}")
        [(label, kind)] = readings.items()
        if kind not in kinds:
            raise MissError(f"{name} takes no {kind}, and {label!r} is one")
        return label

    def _module(self, label: str) -> str:
        """Return the module or test module whose file holds an entity."""
        if self._kind(label) in _FILES:
            return label
        path = self._entities[label]["path"]
        modules = [other for other in self._of_kind(_FILES) if self._entities[other]["path"] == path]
        if len(modules) != 1:
            raise MissError(f"{label!r} lies in {len(modules)} modules")
        return modules[0]

    def _below(self, label: str) -> set[str]:
        below = {other for other in self._of_kind(_MODULE) if other.startswith(f"{label}.")}
        if not below and self._entities[label]["path"].split("/")[-1] != "__init__.py":
            raise MissError(f"{label!r} is a module, but no package")
        return below

    def _untested(self) -> set[str]:
        named = {target for _, target in self._relations.get("tests", [])}
        inner = {
            target
            for source, target in self._relations.get("contains", [])
            if self._kind(source) in ("function", "method")
        }
        size = -1
        while len(inner) != size:
            size = len(inner)
            inner |= {target for source, target in self._relations.get("contains", []) if source in inner}
        testable = self._of_kind(frozenset({"module", "class", "function", "method"}))
        return {label for label in testable - named - inner if not self._is_special(label)}

    def _is_special(self, label: str) -> bool:
        name = _last(label)
        return self._kind(label) == "method" and name.startswith("__") and name.endswith("__")

    def _search(self, given: dict[str, str]) -> set[str]:
        if "query" not in given and "kind" not in given:
            raise MissError("one of 'query' and 'kind' is needed")
        if given.get("kind", "class") not in _ANYTHING:
            raise MissError(f"there is no kind {given['kind']!r}")
        found = set(self._entities)
        if "query" in given:
            found = {label for label in found if given["query"].casefold() in label.casefold()}
        if "kind" in given:
            found = {label for label in found if self._kind(label) == given["kind"]}
        if "name" in given:
            found = {label for label in found if _last(label) == given["name"]}
        if "decorator" in given:
            found = {label for label in found if self._is_decorated(label, given["decorator"])}
        return found

    def _is_decorated(self, label: str, name: str) -> bool:
        return any(name in (d, _last(d)) for d in self._entities[label].get("decorators", []))

    def _term(self, given: dict[str, str], key: str) -> str:
        """Return the one memory term that an argument means: as it is written, else without case."""
        wanted, terms = given.get(key, ""), self._memory.get("terms", [])
        found = [t for t in terms if t == wanted] or [t for t in terms if t.casefold() == wanted.casefold()]
        if len(found) != 1:
            raise MissError(f"{wanted!r} means {len(found)} terms of the memory")
        return found[0]

    def _related(self, term: str) -> set[str]:
        pairs = [*self._memory.get("synonyms", []), *self._memory.get("related", [])]
        return {a for a, b in pairs if b == term} | {b for a, b in pairs if a == term}

    def _sprite(self, term: str, given: dict[str, str]) -> set[str]:
        pictures = self._memory.get("sprites", {}).get(term, {})
        if not pictures or given.get("expression", next(iter(pictures))) not in pictures:
            raise MissError(f"{term!r} has no such sprite")
        if given.get("size", "1") not in ("1", "2", "3", "4"):
            raise MissError(f"the size {given['size']!r} is none")
        return {term}


def _last(name: str) -> str:
    return name.split(".")[-1]
