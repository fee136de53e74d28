"""The relations between parsed modules: imports, calls, structure, inheritance, tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from study.toolsets.codegraph.graph import Entity
from study.toolsets.codegraph.resolver import Resolver
from study.toolsets.codegraph.scopes import Imported, ModuleInfo
from study.toolsets.codegraph.text import callee
from study.toolsets.codegraph.value import Value

Pair = tuple[str, str]
_CALLABLE = frozenset({"class", "function", "method"})


def import_pairs(info: ModuleInfo, resolver: Resolver) -> Iterator[Pair]:
    """Yield ``(importing module, imported module)``, submodules before the package they are taken from."""
    for imported in info.imports:
        target = imported_module(imported, resolver)
        if target is not None and target != info.file.label:
            yield info.file.label, target


def imported_module(imported: Imported, resolver: Resolver) -> str | None:
    """Return the module of the graph that an import statement loads, if any."""
    if imported.attribute is not None:
        below = f"{imported.module}.{imported.attribute}"
        if below in resolver.modules:
            return below
        return imported.module if imported.module in resolver.modules else None
    parts = imported.module.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((name for name in names if name in resolver.modules), None)


def call_pairs(
    info: ModuleInfo, resolver: Resolver, kinds: Mapping[str, str]
) -> Iterator[tuple[bool, str, str]]:
    """Yield ``(resolved, caller, callee)``; an unresolved callee is its written text.

    A decorator without arguments is a call by the code around the decorated definition. Calls of what lies
    outside the graph (builtins, other packages) are in neither group.
    """
    called = [(node.func, scope) for node, scope in info.calls]
    for node, scope in [*called, *info.decorators]:
        value = resolver.value(node, scope)
        target = call_target(value, resolver)
        if target is not None and kinds.get(target) in _CALLABLE:
            yield True, scope.label, target
        elif value.kind not in ("external", "foreign-member"):
            yield False, scope.label, callee(node)


def call_target(value: Value, resolver: Resolver) -> str | None:
    """Return the label that runs when a value is called, or None when that is not certain."""
    if value.kind in ("class", "function"):
        return value.name
    if value.kind == "instance":
        method = resolver.attribute(value, "__call__")
        return method.name if method.kind == "function" else None
    return None


def structure_pairs(entities: Iterable[Entity]) -> Iterator[tuple[str, str, str]]:
    """Yield ``("defines" | "contains", container, entity)`` for everything that lies in something."""
    kinds = {entity.label: entity.kind for entity in entities}
    for label, kind in kinds.items():
        container = label.rpartition(".")[0]
        outer = kinds.get(container)
        if outer is None or kind == "commit" or outer == "test-module":
            continue
        if outer == "module" and kind in ("class", "function", "global"):
            yield "defines", container, label
        else:
            yield "contains", container, label


def inheritance_pairs(info: ModuleInfo, resolver: Resolver) -> Iterator[tuple[bool, str, str]]:
    """Yield ``(in the graph, class, base)``; a base outside the graph is its dotted name."""
    for label in info.classes:
        for base in resolver.hierarchy.bases(label):
            if base.kind == "class":
                yield True, label, base.name
            elif base.kind == "external":
                yield False, label, base.name


def tested_labels(info: ModuleInfo, resolver: Resolver, containers: Mapping[str, str]) -> set[str]:
    """Return what a test module imports, calls or names, with everything that contains it."""
    found: set[str] = set()
    for imported in info.imports:
        target = imported_module(imported, resolver)
        if target is not None:
            found.add(target)
        if imported.attribute is not None and resolver.known(imported.module):
            found |= named_labels(resolver.module_attribute(imported.module, imported.attribute))
    for node, scope in info.names:
        found |= named_labels(resolver.value(node, scope))
    for label in list(found):
        while label in containers:
            label = containers[label]
            found.add(label)
    return found


def named_labels(value: Value) -> set[str]:
    """Return the labels that an expression names: the entity itself, and what an alias stands for."""
    labels = {value.entity} if value.entity is not None else set[str]()
    if value.kind in ("class", "function", "module"):
        labels.add(value.name)
    return labels
