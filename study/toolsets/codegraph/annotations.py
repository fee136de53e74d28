"""The value that a type annotation declares."""

from __future__ import annotations

import ast
from collections.abc import Callable

from study.toolsets.codegraph.scopes import Scope
from study.toolsets.codegraph.value import FOREIGN, NONE, UNKNOWN, Value, either

Evaluate = Callable[[ast.expr, Scope], Value]

_WRAPPING_TYPES = frozenset({"Optional", "Annotated", "ClassVar", "Final", "Required", "NotRequired"})

_SEQUENCES = frozenset({"list", "List", "Sequence", "MutableSequence", "deque", "Deque"})
_ITERABLES = frozenset(
    {"Iterable", "Iterator", "Generator", "Collection", "set", "frozenset", "Set", "FrozenSet", "AbstractSet"}
)
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict"})


def declared(node: ast.expr, scope: Scope, evaluate: Evaluate) -> Value:
    """Return the value of something annotated with an expression.

    A union declares a value only when its parts other than None agree. A container of external type is
    foreign; what it holds is known when that is declared as one class.
    """
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=str(text)):
            return _quoted(text, scope, evaluate)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return either([declared(left, scope, evaluate), declared(right, scope, evaluate)])
        case ast.Subscript(value=value, slice=part):
            return _subscripted(evaluate(value, scope), part, scope, evaluate)
        case ast.Name() | ast.Attribute():
            return _named(evaluate(node, scope), scope)
        case _:
            return UNKNOWN


def _quoted(text: str, scope: Scope, evaluate: Evaluate) -> Value:
    try:
        return declared(ast.parse(text.strip(), mode="eval").body, scope, evaluate)
    except (SyntaxError, ValueError, RecursionError):
        return UNKNOWN


def _named(value: Value, scope: Scope) -> Value:
    if value.kind == "class":
        return Value("instance", value.name)
    if value.kind != "external":
        return UNKNOWN
    last = value.name.rpartition(".")[2]
    if last == "Self":
        return Value("instance", scope.owner) if scope.owner else UNKNOWN
    return UNKNOWN if last in ("Any", "object") else FOREIGN


def _subscripted(base: Value, part: ast.expr, scope: Scope, evaluate: Evaluate) -> Value:
    parts = part.elts if isinstance(part, ast.Tuple) else [part]
    if base.kind == "class":
        return Value("instance", base.name)
    if base.kind != "external" or not parts:
        return UNKNOWN
    last = base.name.rpartition(".")[2]
    if last == "Union":
        return either([declared(p, scope, evaluate) for p in parts])
    if last in _WRAPPING_TYPES:
        return declared(parts[0], scope, evaluate)
    if last in ("type", "Type"):
        value = declared(parts[0], scope, evaluate)
        return Value("class", value.name) if value.kind == "instance" else UNKNOWN
    return _container(last, [_held(declared(p, scope, evaluate)) for p in parts], parts[-1])


def _held(value: Value) -> str | None:
    return value.name if value.kind == "instance" else None


def _container(last: str, held: list[str | None], final: ast.expr) -> Value:
    if last in _SEQUENCES and len(held) == 1:
        return Value("foreign", items=held[0], entries=held[0])
    if last in _ITERABLES:
        return Value("foreign", items=held[0])
    if last in _MAPPINGS and len(held) == 2:
        return Value("foreign", items=held[0], entries=held[1])
    if last in ("tuple", "Tuple") and isinstance(final, ast.Constant) and final.value is Ellipsis:
        return Value("foreign", items=held[0], entries=held[0])
    return FOREIGN
