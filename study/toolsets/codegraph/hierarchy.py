"""The base classes and the method resolution order of the classes of a graph."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from study.toolsets.codegraph.annotations import Evaluate
from study.toolsets.codegraph.scopes import ClassInfo
from study.toolsets.codegraph.value import Value

UNKNOWN_BASE = "?"
"""Stands in a resolution order for what cannot be known; nothing is looked up beyond it."""


class Hierarchy:
    """Bases and resolution orders, computed once per class."""

    def __init__(self, classes: Mapping[str, ClassInfo], evaluate: Evaluate) -> None:
        self._classes = classes
        self._evaluate = evaluate
        self._active: set[tuple[str, str]] = set()
        self._bases: dict[str, tuple[Value, ...]] = {}
        self._orders: dict[str, tuple[str, ...]] = {}

    def bases(self, label: str) -> tuple[Value, ...]:
        """Return the base classes of a class in written order."""
        token = ("bases", label)
        if label not in self._bases:
            if token in self._active:
                return ()
            info = self._classes[label]
            self._active.add(token)
            try:
                found = [self._evaluate(_unsubscripted(base), info.outer) for base in info.node.bases]
            finally:
                self._active.discard(token)
            self._bases[label] = tuple(found)
        return self._bases[label]

    def order(self, label: str) -> tuple[str, ...]:
        """Return the method resolution order: labels of the graph, dotted names of external bases."""
        token = ("order", label)
        if label not in self._orders:
            if token in self._active or label not in self._classes:
                return (label,)
            names = [b.name if b.kind in ("class", "external") else UNKNOWN_BASE for b in self.bases(label)]
            self._active.add(token)
            try:
                tails = [list(self.order(name)) for name in names]
            finally:
                self._active.discard(token)
            self._orders[label] = (label, *_merge([*tails, names]))
        return self._orders[label]


def _merge(sequences: list[list[str]]) -> list[str]:
    """Merge as the C3 rule does; what cannot be merged ends in an unknown base."""
    merged: list[str] = []
    left = [sequence for sequence in sequences if sequence]
    while left:
        heads = (s[0] for s in left if not any(s[0] in other[1:] for other in left))
        head = next(heads, None)
        if head is None:
            return [*merged, UNKNOWN_BASE]
        merged.append(head)
        left = [kept for kept in (s[1:] if s[0] == head else s for s in left) if kept]
    return merged


def _unsubscripted(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node
