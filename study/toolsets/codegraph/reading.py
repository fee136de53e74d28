"""Reads the syntax tree of one module into scopes, definitions, imports and uses."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

from study.toolsets.codegraph.layout import SourceFile
from study.toolsets.codegraph.scopes import (
    Assigned,
    Assignment,
    Binding,
    Caught,
    ClassInfo,
    Defined,
    Entered,
    FunctionInfo,
    FunctionNode,
    Imported,
    Iterated,
    ModuleInfo,
    Opaque,
    Received,
    Scope,
)
from study.toolsets.codegraph.text import callee

FIXTURE_DECORATORS = frozenset({"pytest.fixture", "fixture"})


def read_module(file: SourceFile, tree: ast.Module) -> ModuleInfo:
    """Collect the scopes, classes, functions, assignments and imports of one module."""
    info = ModuleInfo(file, tree, Scope("module", file.label, None, file))
    reader = _Reader(info)
    for statement in tree.body:
        reader.read(statement, info.scope)
    return info


class _Reader:
    """Walks a tree once; every node is read in the scope that it is executed in."""

    def __init__(self, info: ModuleInfo) -> None:
        self._info = info
        self._handlers: dict[type[ast.AST], Callable[[Any, Scope], None]] = {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Lambda: self._lambda,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.NamedExpr: self._walrus,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Global: self._global,
            ast.Nonlocal: self._nonlocal,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.Return: self._return,
            ast.Yield: self._return,
            ast.YieldFrom: self._yield_from,
            ast.ExceptHandler: self._except,
            ast.MatchAs: self._named,
            ast.MatchStar: self._named,
            ast.MatchMapping: self._rest,
            ast.Constant: self._nothing,
        }
        if sys.version_info >= (3, 12):
            self._handlers[ast.TypeAlias] = self._type_alias

    def read(self, node: ast.AST, scope: Scope) -> None:
        handler = self._handlers.get(type(node))
        if handler is None:
            self._children(node, scope)
        else:
            handler(node, scope)

    def _type_alias(self, node: Any, scope: Scope) -> None:
        self._target(node.name, Assigned(node.value), scope)
        self.read(node.value, scope)

    def _nothing(self, node: ast.AST, scope: Scope) -> None:
        pass

    def _children(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            self.read(child, scope)

    def _read_all(self, nodes: Sequence[ast.AST], scope: Scope) -> None:
        for node in nodes:
            self.read(node, scope)

    def _function(self, node: FunctionNode, scope: Scope) -> None:
        label = f"{scope.label}.{node.name}"
        owner = scope.label if scope.kind == "class" else None
        scope.bind(node.name, Defined(label))
        inner = Scope("function", label, scope, self._info.file, owner=owner or scope.owner)
        self._decorators(node, scope)
        self._arguments(node.args, scope)
        if node.returns is not None:
            self.read(node.returns, scope)
        self._parameters(node, inner, owner)
        function = self._info.functions.setdefault(label, FunctionInfo(label, owner))
        function.nodes.append((node, scope, inner))
        self._read_all(node.body, inner)

    def _arguments(self, args: ast.arguments, scope: Scope) -> None:
        self._read_all([*args.defaults, *(d for d in args.kw_defaults if d is not None)], scope)
        for arg in _all_arguments(args):
            if arg.annotation is not None:
                self.read(arg.annotation, scope)

    def _parameters(self, node: FunctionNode, inner: Scope, owner: str | None) -> None:
        first = next(iter([*node.args.posonlyargs, *node.args.args]), None)
        role = _role(node) if owner else None
        starred = (node.args.vararg, node.args.kwarg)
        filled = _filled_by_pytest(node) if self._info.file.test else frozenset[str]()
        for arg in _all_arguments(node.args):
            if arg in starred:
                inner.bind(arg.arg, Opaque())
            elif arg is first and role is not None:
                inner.bind(arg.arg, Received(arg.annotation, role, owner))
            else:
                fixture = arg.arg if arg.arg in filled else None
                inner.bind(arg.arg, Received(arg.annotation, None, owner, fixture))
        if role is not None and first is not None:
            inner.self_name = first.arg

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        label = f"{scope.label}.{node.name}"
        scope.bind(node.name, Defined(label))
        self._decorators(node, scope)
        self._read_all([*node.bases, *(k.value for k in node.keywords)], scope)
        known = self._info.classes.get(label)
        inner = known.scope if known else Scope("class", label, scope, self._info.file, owner=label)
        self._info.classes.setdefault(label, ClassInfo(label, node, scope, inner))
        self._read_all(node.body, inner)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self._arguments(node.args, scope)
        inner = self._inner(scope)
        for arg in _all_arguments(node.args):
            inner.bind(arg.arg, Opaque())
        self.read(node.body, inner)

    def _comprehension(self, node: ast.AST, scope: Scope) -> None:
        inner = self._inner(scope)
        generators: list[ast.comprehension] = getattr(node, "generators")  # noqa: B009
        self.read(generators[0].iter, scope)
        for number, generator in enumerate(generators):
            if number:
                self.read(generator.iter, inner)
            iterated = Opaque(False) if generator.is_async else Iterated(generator.iter)
            self._target(generator.target, iterated, inner)
            self._read_all(generator.ifs, inner)
        for name in ("elt", "key", "value"):
            part = getattr(node, name, None)
            if isinstance(part, ast.expr):
                self.read(part, inner)

    def _inner(self, scope: Scope) -> Scope:
        return Scope("inner", scope.label, scope, self._info.file, owner=scope.owner)

    def _decorators(self, node: FunctionNode | ast.ClassDef, scope: Scope) -> None:
        for decorator in node.decorator_list:
            self.read(decorator, scope)
            if not isinstance(decorator, ast.Call):
                self._info.decorators.append((decorator, scope))

    def _call(self, node: ast.Call, scope: Scope) -> None:
        self._info.calls.append((node, scope))
        self._children(node, scope)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self._info.imports.append(Imported(alias.name))
            if alias.asname:
                scope.bind(alias.asname, Imported(alias.name, None, alias.asname == alias.name))
            else:
                top = alias.name.split(".")[0]
                scope.bind(top, Imported(top))

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = absolute_module(self._info.file, node.level, node.module)
        for alias in node.names:
            explicit = alias.asname == alias.name
            self._info.imports.append(Imported(module, alias.name))
            if alias.name == "*":
                scope.stars.append(module)
            else:
                scope.bind(alias.asname or alias.name, Imported(module, alias.name, explicit))

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        self.read(node.value, scope)
        for target in node.targets:
            self._target(target, Assigned(node.value), scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self.read(node.annotation, scope)
        if node.value is not None:
            self.read(node.value, scope)
        self._target(node.target, Assigned(node.value, node.annotation), scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        self.read(node.value, scope)
        self._target(node.target, Opaque(), scope)

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.read(node.value, scope)
        holder = scope
        while holder.kind == "inner" and holder.parent is not None:
            holder = holder.parent
        holder.bind(node.target.id, Assigned(node.value))

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            self.read(item.context_expr, scope)
            if item.optional_vars is not None:
                entered = Entered(item.context_expr) if isinstance(node, ast.With) else Opaque()
                self._target(item.optional_vars, entered, scope)
        self._read_all(node.body, scope)

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self.read(node.iter, scope)
        iterated = Iterated(node.iter) if isinstance(node, ast.For) else Opaque(False)
        self._target(node.target, iterated, scope)
        self._read_all([*node.body, *node.orelse], scope)

    def _return(self, node: ast.Return | ast.Yield, scope: Scope) -> None:
        function = scope
        while function.kind == "inner" and function.parent is not None:
            function = function.parent
        function.returns.append((node.value, scope))
        function.yields = function.yields or isinstance(node, ast.Yield)
        self._children(node, scope)

    def _yield_from(self, node: ast.YieldFrom, scope: Scope) -> None:
        scope.returns.append((None, scope))
        scope.yields = True
        self.read(node.value, scope)

    def _except(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.type is not None:
            self.read(node.type, scope)
        if node.name is not None:
            scope.bind(node.name, Caught(node.type))
        self._read_all(node.body, scope)

    def _global(self, node: ast.Global, scope: Scope) -> None:
        scope.elsewhere.update(dict.fromkeys(node.names, self._info.scope))

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        for name in node.names:
            holder = scope.parent
            while holder is not None and (holder.kind == "class" or name not in holder.bindings):
                holder = holder.parent
            if holder is not None:
                scope.elsewhere[name] = holder

    def _name(self, node: ast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._info.names.append((node, scope))
        else:
            scope.bind(node.id, Opaque())

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Store):
            self._target(node, Opaque(), scope)
            return
        self._info.names.append((node, scope))
        self.read(node.value, scope)

    def _named(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name is not None:
            scope.bind(node.name, Opaque())
        self._children(node, scope)

    def _rest(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest is not None:
            scope.bind(node.rest, Opaque())
        self._children(node, scope)

    def _target(self, target: ast.expr, binding: Binding, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, binding)
            self._note_assignment(target.id, target, binding, scope)
        elif isinstance(target, ast.Attribute):
            self._instance_attribute(target, binding, scope)
            self.read(target.value, scope)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._target(part, Opaque(_is_stored(binding)), scope)
        elif isinstance(target, ast.Starred):
            self._target(target.value, Opaque(_is_stored(binding)), scope)
        else:
            self.read(target, scope)

    def _note_assignment(self, name: str, node: ast.Name, binding: Binding, scope: Scope) -> None:
        if scope.kind not in ("module", "class") or name == "__all__" or not _is_stored(binding):
            return
        annotation = binding.annotation if isinstance(binding, Assigned) else None
        kind = "global" if scope.kind == "module" else "attribute"
        label = f"{scope.label}.{name}"
        self._info.assignments.append(Assignment(label, kind, node.lineno, annotation))

    def _instance_attribute(self, target: ast.Attribute, binding: Binding, scope: Scope) -> None:
        method: Scope | None = scope
        while method is not None and method.kind != "class" and method.self_name is None:
            method = method.parent
        if method is None or method.kind == "class" or method.owner is None:
            return
        if not isinstance(target.value, ast.Name) or target.value.id != method.self_name:
            return
        if scope is not method and target.value.id in scope.bindings:
            return
        annotation = binding.annotation if isinstance(binding, Assigned) else None
        label = f"{method.owner}.{target.attr}"
        self._info.assignments.append(Assignment(label, "attribute", target.lineno, annotation))
        owner = self._info.classes[method.owner]
        owner.attributes.setdefault(target.attr, []).append((scope, binding))


def _is_stored(binding: Binding) -> bool:
    """Whether a binding is an assignment, in contrast to the variable of a loop or a ``with``."""
    return isinstance(binding, Assigned) or (isinstance(binding, Opaque) and binding.stored)


def _filled_by_pytest(node: FunctionNode) -> frozenset[str]:
    """Return the parameters that pytest fills: those of tests and fixtures, without a default."""
    named = {callee(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list}
    if not node.name.startswith("test") and not named & FIXTURE_DECORATORS:
        return frozenset()
    listed = {name for d in node.decorator_list if isinstance(d, ast.Call) for name in _parametrized(d)}
    positional = [*node.args.posonlyargs, *node.args.args]
    free = positional[: len(positional) - len(node.args.defaults)]
    free += [a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is None]
    return frozenset(arg.arg for arg in free) - listed


def _parametrized(decorator: ast.Call) -> set[str]:
    """Return the names in the first argument of ``parametrize``."""
    first = next(iter(decorator.args), None)
    parts = first.elts if isinstance(first, ast.Tuple | ast.List) else [first]
    texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return {name.strip() for text in texts for name in text.split(",")}


def _all_arguments(args: ast.arguments) -> list[ast.arg]:
    starred = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *starred]


def _role(node: FunctionNode) -> Literal["self", "cls"] | None:
    names = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
    if "staticmethod" in names:
        return None
    implicit = node.name in ("__new__", "__init_subclass__", "__class_getitem__")
    return "cls" if "classmethod" in names or implicit else "self"


def absolute_module(file: SourceFile, level: int, module: str | None) -> str:
    """Return the absolute dotted name that a ``from`` import means; too many dots keep one in front."""
    if not level:
        return module or ""
    parts = file.label.split(".") if file.package else file.label.split(".")[:-1]
    if level - 1 >= len(parts) and level > 1:
        return "." + (module or "")
    kept = parts[: len(parts) - (level - 1)]
    return ".".join([*kept, *([module] if module else [])])
