"""The entities that a parsed module declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from study.toolsets.codegraph.graph import Entity, Kind
from study.toolsets.codegraph.resolver import Resolver, implementation
from study.toolsets.codegraph.scopes import Assignment, ClassInfo, FunctionInfo, ModuleInfo
from study.toolsets.codegraph.text import (
    class_signature,
    dotted,
    expression,
    first_doc_line,
    function_signature,
)


def module_entity(info: ModuleInfo) -> Entity:
    """Return the entity of a module or test module."""
    kind: Kind = "test-module" if info.file.test else "module"
    doc = first_doc_line(info.tree)
    return Entity(label=info.file.label, kind=kind, path=info.file.path, line=1, doc=doc)


def symbol_entities(info: ModuleInfo, resolver: Resolver) -> Iterator[Entity]:
    """Yield one entity for each class, function, method, attribute and global of a module.

    A name that is defined more than once is one entity: a class before a function before an assignment,
    at the first place, with the signature of the first definition that is no overload.
    """
    seen: set[str] = set()
    for label, known in info.classes.items():
        seen.add(label)
        yield _class_entity(known, info.file.path)
    for label, function in info.functions.items():
        if label not in seen:
            seen.add(label)
            yield _function_entity(function, resolver, info.file.path)
    annotations = {a.label: a.annotation for a in reversed(info.assignments) if a.annotation is not None}
    for assignment in info.assignments:
        if assignment.label not in seen:
            seen.add(assignment.label)
            yield _assigned_entity(assignment, annotations.get(assignment.label), info.file.path)


def _class_entity(info: ClassInfo, path: str) -> Entity:
    node = info.node
    return Entity(
        label=info.label,
        kind="class",
        path=path,
        line=node.lineno,
        signature=class_signature(node),
        doc=first_doc_line(node),
        decorators=_decorator_names(node.decorator_list),
    )


def _function_entity(info: FunctionInfo, resolver: Resolver, path: str) -> Entity:
    node, _, _ = implementation(info, resolver)
    return Entity(
        label=info.label,
        kind="method" if info.owner else "function",
        path=path,
        line=node.lineno,
        signature=function_signature(node),
        doc=first_doc_line(node),
        decorators=_decorator_names(node.decorator_list),
    )


def _assigned_entity(assignment: Assignment, annotation: ast.expr | None, path: str) -> Entity:
    name = assignment.label.rpartition(".")[2]
    signature = None if annotation is None else f"{name}: {expression(annotation)}"
    return Entity(
        label=assignment.label, kind=assignment.kind, path=path, line=assignment.line, signature=signature
    )


def _decorator_names(nodes: list[ast.expr]) -> tuple[str, ...]:
    names = (dotted(node.func if isinstance(node, ast.Call) else node) for node in nodes)
    return tuple(dict.fromkeys(name for name in names if name))
