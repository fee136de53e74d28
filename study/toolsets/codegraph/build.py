"""Builds a code graph from a folder of Python source, which is parsed and never imported."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from pathlib import Path

import msgspec

from study.errors import InputError
from study.toolsets.codegraph import relations as rel
from study.toolsets.codegraph.entities import module_entity, symbol_entities
from study.toolsets.codegraph.exports import exported
from study.toolsets.codegraph.graph import SCHEMA, Entity, Graph, Relations, Unparsed, relation_from
from study.toolsets.codegraph.history import Commit, cochanges, read_history, touched
from study.toolsets.codegraph.layout import SourceFile, find_files
from study.toolsets.codegraph.reading import read_module
from study.toolsets.codegraph.resolver import Resolver
from study.toolsets.codegraph.scopes import ModuleInfo


def build_graph(
    source: Path, *, history: Path | None = None, name: str | None = None, docs: bool = True
) -> Graph:
    """Build the code graph of a source folder.

    Parameters
    ----------
    source : Path
        The folder: a project with or without ``src/``, or a package itself.
    history : Path, optional
        Commits as JSON lines (see :func:`study.toolsets.codegraph.history.read_history`).
    name : str, optional
        The graph's name; default the name of the folder.
    docs : bool
        Whether entities keep the first line of their docstrings.

    Returns
    -------
    Graph
        The same for the same source, whatever the file order, the hash seed and the Python version
        (as far as that version can parse the source).

    Raises
    ------
    InputError
        When the source is no folder, holds no Python file, or none that can be parsed; or for a bad history.
    """
    layout = find_files(source)
    modules, unparsed = _parse(layout.files)
    if not modules:
        raise InputError(
            f"none of the {len(layout.files)} Python files can be parsed",
            where=str(source),
            allowed="source for the Python version that runs the builder",
        )
    resolver = Resolver(modules)
    entities, hidden = _entities(modules, resolver)
    commits = read_history(history) if history is not None else []
    entities += [Entity(label=c.commit, kind="commit", date=c.date) for c in commits]
    if not docs:
        entities = [msgspec.structs.replace(entity, doc=None) for entity in entities]
    return Graph(
        schema=SCHEMA,
        name=name if name is not None else source.resolve().name,
        entities=tuple(sorted(entities, key=lambda entity: entity.label)),
        relations=_relations(modules, resolver, entities, commits, str(history)),
        unparsed=tuple(unparsed),
        left_out=tuple(sorted([*layout.left_out, *hidden])),
    )


def _parse(files: Sequence[SourceFile]) -> tuple[list[ModuleInfo], list[Unparsed]]:
    modules: list[ModuleInfo] = []
    unparsed: list[Unparsed] = []
    for file in files:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(file.place.read_bytes())
            modules.append(read_module(file, tree))
        except OSError:
            unparsed.append(Unparsed(path=file.path, reason="cannot be read"))
        except (RecursionError, MemoryError):
            unparsed.append(Unparsed(path=file.path, reason="nested too deeply"))
        except (SyntaxError, ValueError):
            unparsed.append(Unparsed(path=file.path, reason="not valid Python"))
    return modules, sorted(unparsed, key=lambda u: u.path)


def _entities(modules: Sequence[ModuleInfo], resolver: Resolver) -> tuple[list[Entity], list[str]]:
    """Return the entities, and a line for each symbol that a module of the same name hides."""
    entities = [module_entity(info) for info in modules]
    labels = {entity.label for entity in entities}
    hidden: list[str] = []
    for info in modules:
        for entity in () if info.file.test else symbol_entities(info, resolver):
            if entity.label in labels:
                hidden.append(f"{info.file.path}: {entity.label} (a module has that name)")
            else:
                entities.append(entity)
    return entities, hidden


def _relations(
    modules: Sequence[ModuleInfo],
    resolver: Resolver,
    entities: Sequence[Entity],
    commits: list[Commit],
    where: str,
) -> Relations:
    kinds: dict[str, str] = {entity.label: entity.kind for entity in entities}
    library = [info for info in modules if not info.file.test]
    structure = list(rel.structure_pairs(entities))
    calls = [call for info in library for call in rel.call_pairs(info, resolver, kinds)]
    bases = [base for info in library for base in rel.inheritance_pairs(info, resolver)]
    exports, re_exports = _exports(library, resolver, kinds)
    label_of = {info.file.path: info.file.label for info in modules}
    return Relations(
        imports=relation_from(p for info in modules for p in rel.import_pairs(info, resolver)),
        calls=relation_from((a, b) for resolved, a, b in calls if resolved),
        unresolved_calls=relation_from((a, b) for resolved, a, b in calls if not resolved),
        defines=relation_from((a, b) for name, a, b in structure if name == "defines"),
        contains=relation_from((a, b) for name, a, b in structure if name == "contains"),
        inherits=relation_from((a, b) for known, a, b in bases if known and b in kinds),
        external_bases=relation_from((a, b) for known, a, b in bases if not known),
        exports=relation_from(exports),
        re_exports=relation_from(re_exports),
        tests=relation_from(_tests(modules, resolver, structure, kinds)),
        touches=relation_from(touched(commits, label_of, where)),
        cochanges=cochanges(commits, label_of),
    )


def _exports(
    library: Sequence[ModuleInfo], resolver: Resolver, kinds: dict[str, str]
) -> tuple[list[rel.Pair], list[rel.Pair]]:
    exports: list[rel.Pair] = []
    re_exports: list[rel.Pair] = []
    for info in library:
        offered, passed_on = exported(info, resolver, kinds.keys())
        exports += [(info.file.label, label) for label in offered]
        re_exports += [(info.file.label, label) for label in passed_on]
    return exports, re_exports


def _tests(
    modules: Sequence[ModuleInfo],
    resolver: Resolver,
    structure: list[tuple[str, str, str]],
    kinds: dict[str, str],
) -> list[rel.Pair]:
    containers = {inside: outer for _, outer, inside in structure if kinds[inside] != "module"}
    return [
        (info.file.label, label)
        for info in modules
        if info.file.test
        for label in rel.tested_labels(info, resolver, containers)
        if kinds.get(label, "test-module") != "test-module"
    ]
