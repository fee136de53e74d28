"""The code graph as a record, as a file, with its strict reader.

Format (``schema`` 1), one JSON object; every list is sorted and free of duplicates when written::

    {"schema": 1, "name": "seedbank 1.0",
     "entities": [{"label": "seedbank.lots.Lot", "kind": "class", "path": "src/seedbank/lots.py", "line": 3}],
     "relations": {"contains": {"seedbank.lots.Lot": ["seedbank.lots.Lot.weigh"]}},
     "unparsed": [{"path": "src/seedbank/broken.py", "reason": "syntax error"}],
     "left_out": ["docs/conf.py"]}

Entity keys: ``label`` (unique), ``kind``, and for everything but a commit ``path`` (relative to the source
folder, with ``/``) with ``line`` (from 1); a commit has ``date`` instead. Optional: ``signature``, ``doc``
(first line of the docstring), ``decorators`` (dotted names). Kinds: ``module`` (a package is the module of
its ``__init__.py``), ``test-module``, ``class``, ``function``, ``method``, ``attribute``, ``global``,
``commit``. What a test module defines is no entity: a test module is a leaf that exercises the rest.

A relation maps the label of its source to the labels of its targets; an absent relation is empty:

================== ================================================================================
relation           from -> to
================== ================================================================================
imports            module or test module -> the same (at the top, conditional, in functions, for typing)
calls              module, class, function or method -> class (constructed), function or method
unresolved-calls   the same sources -> the callee as it is written; nothing is guessed
defines            module -> the classes, functions and globals at its top level
contains           package -> modules directly in it; class -> members; function -> what it defines inside
inherits           class -> base class in the graph
external-bases     class -> dotted name of a base that is not in the graph
exports            module -> what it offers: its ``__all__``, else public definitions and re-exports
re-exports         module -> the part of its exports that is defined elsewhere
tests              test module -> module or symbol that its code imports, calls or names, with its containers
touches            commit -> module or test module
cochanges          module or test module -> {the other one: number of shared commits}; each pair once
================== ================================================================================

Optional is ``memory``: terms beside the code (:mod:`study.toolsets.codegraph.memory`). A graph made elsewhere
needs entities, and those relations that it knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from study.convert import convert
from study.digest import JSON, is_object, read_json_file
from study.errors import InputError, StudyError, did_you_mean, listed
from study.records import Record
from study.runs import ELSEWHERE, write_file
from study.toolsets.codegraph.memory import Memory, contradictions

Kind = Literal["module", "test-module", "class", "function", "method", "attribute", "global", "commit"]
KINDS: tuple[Kind, ...] = (
    "module",
    "test-module",
    "class",
    "function",
    "method",
    "attribute",
    "global",
    "commit",
)
SCHEMA: Literal[1] = 1

_FILES = frozenset({"module", "test-module"})
_CODE = frozenset({"module", "class", "function", "method"})
_SYMBOLS = frozenset({"class", "function", "method", "attribute", "global"})

RELATION_ENDS: dict[str, tuple[frozenset[str], frozenset[str] | None]] = {
    "imports": (_FILES, _FILES),
    "calls": (_CODE, frozenset({"class", "function", "method"})),
    "unresolved-calls": (_CODE, None),
    "defines": (frozenset({"module"}), frozenset({"class", "function", "global"})),
    "contains": (_CODE, _SYMBOLS | _FILES),
    "inherits": (frozenset({"class"}), frozenset({"class"})),
    "external-bases": (frozenset({"class"}), None),
    "exports": (frozenset({"module"}), _SYMBOLS | _FILES),
    "re-exports": (frozenset({"module"}), _SYMBOLS | _FILES),
    "tests": (frozenset({"test-module"}), _SYMBOLS | {"module"}),
    "touches": (frozenset({"commit"}), _FILES),
    "cochanges": (_FILES, _FILES),
}
"""Kinds allowed at both ends of each relation; None for targets that are text instead of entities."""

Relation = dict[str, tuple[str, ...]]


class Entity(Record, omit_defaults=True):
    """One thing of the graph (see the module docstring for its keys)."""

    label: str
    kind: Kind
    path: str | None = None
    line: int | None = None
    date: str | None = None
    signature: str | None = None
    doc: str | None = None
    decorators: tuple[str, ...] = ()


class Unparsed(Record):
    """A file that could not be read as Python, with the reason."""

    path: str
    reason: str


class Relations(Record, rename="kebab", omit_defaults=True):
    """All relations of a graph: source label -> target labels."""

    imports: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    calls: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    unresolved_calls: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    defines: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    contains: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    inherits: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    external_bases: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    exports: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    re_exports: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    tests: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    touches: Relation = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    cochanges: dict[str, dict[str, int]] = msgspec.field(default_factory=dict[str, dict[str, int]])


class Graph(Record):
    """A code graph (see the module docstring)."""

    schema: Literal[1]
    name: str
    entities: tuple[Entity, ...]
    relations: Relations
    unparsed: tuple[Unparsed, ...] = ()
    left_out: tuple[str, ...] = ()
    memory: Memory | None = None


def relation_from(pairs: Iterable[tuple[str, str]]) -> Relation:
    """Return ``(source, target)`` pairs as a relation, sorted and without duplicates."""
    found: dict[str, set[str]] = {}
    for source, target in pairs:
        found.setdefault(source, set()).add(target)
    return {source: tuple(sorted(found[source])) for source in sorted(found)}


def graph_bytes(graph: Graph) -> bytes:
    """Return the file form of a graph: one entity and one relation source per line, sorted, UTF-8."""
    entities = sorted(graph.entities, key=lambda entity: entity.label)
    relations: dict[str, Any] = msgspec.to_builtins(graph.relations)
    blocks = [_block(name, relations[name]) for name in sorted(relations) if relations[name]]
    parts = [
        f'{{"schema":{SCHEMA},\n"name":{_line(graph.name)},\n"entities":[\n',
        ",\n".join(_line(msgspec.to_builtins(entity)) for entity in entities),
        '\n],\n"relations":{\n',
        ",\n".join(blocks),
        '\n},\n"unparsed":',
        _line([msgspec.to_builtins(u) for u in sorted(graph.unparsed, key=lambda u: u.path)]),
        f',\n"left_out":{_line(sorted(graph.left_out))}',
        "" if graph.memory is None else f',\n"memory":{_memory(graph.memory)}',
        "}\n",
    ]
    return "".join(parts).encode("utf-8")


def _memory(memory: Memory) -> str:
    parts: dict[str, Any] = msgspec.to_builtins(memory)
    return "{\n" + ",\n".join(f"{_line(key)}:{_line(part)}" for key, part in parts.items()) + "\n}"


def _line(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _block(name: str, relation: Mapping[str, Any]) -> str:
    rows = (f"{_line(source)}:{_line(_sorted(relation[source]))}" for source in sorted(relation))
    return f"{_line(name)}:{{\n" + ",\n".join(rows) + "\n}"


def _sorted(targets: Any) -> JSON:
    if is_object(targets):
        return {key: targets[key] for key in sorted(targets)}
    return sorted(set(targets))


def write_graph(graph: Graph, path: Path) -> None:
    """Write a graph file; the same graph always gives the same bytes.

    Raises
    ------
    RunError
        When the file cannot be written; an older one is then still there.
    """
    write_file(path, graph_bytes(graph), again=ELSEWHERE)


def load_graph(path: Path) -> Graph:
    """Read a graph file strictly.

    Raises
    ------
    InputError
        When the file is missing, no JSON, of another schema, holds an unknown key, or contradicts itself
        (a label twice, a relation between things that are no entities or of the wrong kind).
    """
    return graph_from_json(read_json_file(path, "graph"), str(path))


def graph_from_json(data: JSON, where: str = "graph") -> Graph:
    """Build a graph from decoded JSON (see :func:`load_graph`)."""
    schema = data.get("schema") if is_object(data) else None
    if isinstance(schema, int) and schema != SCHEMA:
        raise InputError(
            f"graph schema {schema}",
            code="graph",
            where=where,
            allowed=str(SCHEMA),
            next_step="build the graph again with `study graph SOURCE -o FILE`",
        )
    step = "the format is described in study.toolsets.codegraph.graph; `study graph` writes it"
    graph = convert(data, Graph, where, InputError, step)
    _check_entities(graph, where)
    _check_relations(graph, where)
    for wrong in contradictions(graph.memory or Memory()):
        raise _error(wrong.problem, f"{where}:memory.{wrong.place}")
    return graph


def _check_entities(graph: Graph, where: str) -> None:
    seen: set[str] = set()
    for number, entity in enumerate(graph.entities):
        place = f"{where}:entities[{number}]"
        if not entity.label or entity.label != entity.label.strip():
            raise _error(f"the label {entity.label!r} is blank or padded", place)
        if entity.label in seen:
            raise _error(f"the label {entity.label!r} is used twice", place)
        seen.add(entity.label)
        if entity.kind == "commit":
            if entity.date is None or entity.path is not None or entity.line is not None:
                raise _error(f"commit {entity.label!r}", place, "a date, neither path nor line")
        elif not entity.path or entity.line is None or entity.line < 1:
            raise _error(f"{entity.kind} {entity.label!r} has no place", place, "a path with a line from 1")


def _check_relations(graph: Graph, where: str) -> None:
    kinds = {entity.label: entity.kind for entity in graph.entities}
    relations: dict[str, dict[str, Any]] = msgspec.to_builtins(graph.relations)
    for name, relation in relations.items():
        sources, targets = RELATION_ENDS[name]
        for source, found in relation.items():
            place = f"{where}:relations.{name}"
            _check_end(source, kinds, sources, place)
            for target in found if targets is not None else ():
                _check_end(target, kinds, targets or frozenset(), f"{place}[{source}]")
    for source, targets in graph.relations.re_exports.items():
        extra = set(targets) - set(graph.relations.exports.get(source, ()))
        if extra:
            raise _error(f"{min(extra)!r} is re-exported but no export", f"{where}:relations.re-exports")
    for source, counts in graph.relations.cochanges.items():
        for target, count in counts.items():
            if count < 1 or source in graph.relations.cochanges.get(target, {}):
                raise _error(
                    f"{source!r} with {target!r}: {count}",
                    f"{where}:relations.cochanges",
                    "a count from 1, each pair once",
                )


def _check_end(label: str, kinds: Mapping[str, str], allowed: frozenset[str], where: str) -> None:
    kind = kinds.get(label)
    if kind is None:
        raise _error(f"{label!r} is no entity{did_you_mean(label, kinds)}", where, "the label of an entity")
    if kind not in allowed:
        raise _error(f"{label!r} is a {kind}", where, listed(sorted(allowed)))


def _error(problem: str, where: str, allowed: str | None = None) -> StudyError:
    return InputError(problem, code="graph", where=where, allowed=allowed)
