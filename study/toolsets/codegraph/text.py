"""Expressions of a syntax tree as text, the same on every Python version."""

from __future__ import annotations

import ast
import inspect

from study.toolsets.codegraph.layout import printable

_OPERATORS: dict[type[ast.AST], str] = {
    ast.BitOr: " | ",
    ast.Add: " + ",
    ast.Sub: " - ",
    ast.Mult: " * ",
    ast.Div: " / ",
    ast.Pow: " ** ",
    ast.LShift: " << ",
    ast.RShift: " >> ",
    ast.BitAnd: " & ",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Not: "not ",
    ast.Invert: "~",
}
ELLIPSIS = "..."
"""Stands for an expression that is not rendered (``ast.unparse`` differs between Python versions)."""


def expression(node: ast.expr | None) -> str:
    """Return an annotation or a default value as text; what is not simple becomes ``...``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{expression(value)}.{attr}"
        case ast.Constant(value=value):
            return ELLIPSIS if value is Ellipsis else repr(value)
        case ast.Subscript(value=value, slice=ast.Tuple(elts=parts)) if parts:
            return f"{expression(value)}[{_joined(parts)}]"
        case ast.Subscript(value=value, slice=part):
            return f"{expression(value)}[{expression(part)}]"
        case ast.List(elts=parts):
            return f"[{_joined(parts)}]"
        case ast.Tuple(elts=parts):
            return f"({_joined(parts)}{',' if len(parts) == 1 else ''})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return f"{expression(left)}{_OPERATORS[type(op)]}{expression(right)}"
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return f"{_OPERATORS[type(op)]}{expression(operand)}"
        case ast.Starred(value=value):
            return f"*{expression(value)}"
        case ast.Call(func=func, args=[], keywords=[]):
            return f"{expression(func)}()"
        case ast.Call(func=func):
            return f"{expression(func)}({ELLIPSIS})"
        case ast.Dict(keys=[]):
            return "{}"
        case _:
            return ELLIPSIS


def _joined(parts: list[ast.expr]) -> str:
    return ", ".join(expression(part) for part in parts)


def callee(node: ast.expr) -> str:
    """Return a called expression as it is written, without the arguments of inner calls."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{callee(value)}.{attr}"
        case ast.Call(func=func):
            return f"{callee(func)}()"
        case ast.Subscript(value=value):
            return f"{callee(value)}[]"
        case ast.Constant(value=str()):
            return "''"
        case _:
            return f"({type(node).__name__.lower()})"


def dotted(node: ast.expr) -> str | None:
    """Return ``a.b.c`` for names joined by dots, else None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr}" if left else None
    return None


def function_signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return ``name(parameters) -> annotation``."""
    head = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {expression(node.returns)}" if node.returns is not None else ""
    return f"{head}{node.name}({_parameters(node.args)}){returns}"


def _parameters(args: ast.arguments) -> str:
    positional = [*args.posonlyargs, *args.args]
    without = len(positional) - len(args.defaults)
    parts: list[str] = []
    for number, arg in enumerate(positional):
        default = args.defaults[number - without] if number >= without else None
        parts.append(_parameter(arg, default))
        if args.posonlyargs and number == len(args.posonlyargs) - 1:
            parts.append("/")
    if args.vararg is not None:
        parts.append(f"*{_parameter(args.vararg, None)}")
    elif args.kwonlyargs:
        parts.append("*")
    parts += [
        _parameter(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg is not None:
        parts.append(f"**{_parameter(args.kwarg, None)}")
    return ", ".join(parts)


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    if arg.annotation is None:
        return arg.arg if default is None else f"{arg.arg}={expression(default)}"
    text = f"{arg.arg}: {expression(arg.annotation)}"
    return text if default is None else f"{text} = {expression(default)}"


def class_signature(node: ast.ClassDef) -> str:
    """Return ``class Name(bases)``."""
    bases = [expression(base) for base in node.bases]
    bases += [f"{k.arg}={expression(k.value)}" for k in node.keywords if k.arg]
    return f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"


def first_doc_line(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Return the first line of a docstring, or None."""
    text = ast.get_docstring(node, clean=False)
    if text is None:
        return None
    lines = inspect.cleandoc(text).splitlines()
    return (printable(lines[0].strip()) or None) if lines else None
