"""The scopes of one module with what each name is bound to."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

from study.toolsets.codegraph.layout import SourceFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeKind = Literal["module", "class", "function", "inner"]
"""``inner``: a lambda or a comprehension, which belongs to the code around it."""


@dataclass(frozen=True)
class Imported:
    """Bound by an import: the module and, for ``from m import a``, the attribute."""

    module: str
    attribute: str | None = None
    explicit: bool = False


@dataclass(frozen=True)
class Defined:
    """Bound by ``def`` or ``class``: the label of what is defined."""

    label: str


@dataclass(frozen=True)
class Assigned:
    """Bound by an assignment or an annotated assignment."""

    value: ast.expr | None
    annotation: ast.expr | None = None


@dataclass(frozen=True)
class Received:
    """Bound as a parameter.

    ``role`` is set for the first parameter of a method, ``fixture`` for a parameter that pytest fills.
    """

    annotation: ast.expr | None
    role: Literal["self", "cls"] | None = None
    owner: str | None = None
    fixture: str | None = None


@dataclass(frozen=True)
class Entered:
    """Bound by ``with expression as name``."""

    context: ast.expr


@dataclass(frozen=True)
class Iterated:
    """Bound by ``for name in expression``."""

    iterable: ast.expr


@dataclass(frozen=True)
class Caught:
    """Bound by ``except expression as name``."""

    types: ast.expr | None


@dataclass(frozen=True)
class Opaque:
    """Bound in a way that says nothing about the value; ``stored`` when it is an assignment."""

    stored: bool = True


Binding = Imported | Defined | Assigned | Received | Entered | Iterated | Caught | Opaque


@dataclass(eq=False)
class Scope:
    """One scope: the names bound in it, and the entity that its code belongs to.

    ``elsewhere`` holds the names declared ``global`` or ``nonlocal``, with the scope that they live in;
    ``owner`` is the class whose body or method this is; ``returns`` holds what a function returns or yields.
    """

    kind: ScopeKind
    label: str
    parent: Scope | None
    file: SourceFile
    bindings: dict[str, list[Binding]] = field(default_factory=dict[str, list[Binding]])
    returns: list[tuple[ast.expr | None, Scope]] = field(
        default_factory=list[tuple[ast.expr | None, "Scope"]]
    )
    yields: bool = False
    elsewhere: dict[str, Scope] = field(default_factory=dict[str, "Scope"])
    stars: list[str] = field(default_factory=list[str])
    self_name: str | None = None
    owner: str | None = None

    def bind(self, name: str, binding: Binding) -> None:
        """Add one binding of a name; bound from an inner scope, its value is not known."""
        if name in self.elsewhere:
            self.elsewhere[name].bind(name, Opaque())
        else:
            self.bindings.setdefault(name, []).append(binding)


@dataclass(eq=False)
class ClassInfo:
    """One class: where its bases are evaluated, its own scope, and attributes set on its instances."""

    label: str
    node: ast.ClassDef
    outer: Scope
    scope: Scope
    attributes: dict[str, list[tuple[Scope, Binding]]] = field(
        default_factory=dict[str, list[tuple[Scope, Binding]]]
    )


@dataclass(eq=False)
class FunctionInfo:
    """One function: its definitions in order, each with the scope around it and its own scope."""

    label: str
    owner: str | None
    nodes: list[tuple[FunctionNode, Scope, Scope]] = field(
        default_factory=list[tuple[FunctionNode, Scope, Scope]]
    )


@dataclass(frozen=True)
class Assignment:
    """A global or an attribute that is no definition: label, place and annotation."""

    label: str
    kind: Literal["global", "attribute"]
    line: int
    annotation: ast.expr | None


@dataclass(eq=False)
class ModuleInfo:
    """One parsed module."""

    file: SourceFile
    tree: ast.Module
    scope: Scope
    classes: dict[str, ClassInfo] = field(default_factory=dict[str, ClassInfo])
    functions: dict[str, FunctionInfo] = field(default_factory=dict[str, FunctionInfo])
    assignments: list[Assignment] = field(default_factory=list[Assignment])
    imports: list[Imported] = field(default_factory=list[Imported])
    calls: list[tuple[ast.Call, Scope]] = field(default_factory=list[tuple[ast.Call, Scope]])
    decorators: list[tuple[ast.expr, Scope]] = field(default_factory=list[tuple[ast.expr, Scope]])
    names: list[tuple[ast.expr, Scope]] = field(default_factory=list[tuple[ast.expr, Scope]])


def dunder_all(info: ModuleInfo) -> list[str] | None:
    """Return the names of a literal ``__all__``, with literal additions to it, or None without one."""
    names: list[str] | None = None
    for statement in info.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                names = _strings(value)
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                names = _strings(value)
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
                names = [*(names or []), *_strings(value)]
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend" | "append"), args=[value]
                )
            ):
                names = [*(names or []), *_strings(value)]
            case _:
                continue
    return names


def _strings(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp):
        return [*_strings(node.left), *_strings(node.right)]
    parts = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
