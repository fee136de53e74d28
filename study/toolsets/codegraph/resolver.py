"""What an expression stands for, resolved through imports, scopes, classes and declared types."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from study.toolsets.codegraph.annotations import declared
from study.toolsets.codegraph.hierarchy import UNKNOWN_BASE, Hierarchy
from study.toolsets.codegraph.scopes import (
    Assigned,
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
    Received,
    Scope,
    dunder_all,
)
from study.toolsets.codegraph.value import FOREIGN, NONE, UNKNOWN, Value, either

MAX_DEPTH = 60
"""Names that may depend on each other in a row; what lies deeper is not known."""

_HARMLESS_BASES = frozenset(
    {"object", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol", "abc.ABC"}
)
_OBJECT_METHODS = frozenset(dir(object))
_PROPERTIES = frozenset({"property", "functools.cached_property", "abc.abstractproperty"})
_TRANSPARENT = frozenset(
    {
        "staticmethod",
        "classmethod",
        "abc.abstractmethod",
        "typing.overload",
        "typing.final",
        "typing_extensions.final",
        "typing_extensions.override",
        "functools.lru_cache",
        "functools.cache",
    }
)


class Resolver:
    """Evaluates expressions over all modules of a graph; it never runs or guesses anything.

    A name that is bound in several ways has a value only if all of them agree. A method is looked up along
    the method resolution order, and not beyond a base class that is not in the graph.
    """

    def __init__(self, modules: Iterable[ModuleInfo]) -> None:
        self.modules: dict[str, ModuleInfo] = {info.file.label: info for info in modules}
        self.classes: dict[str, ClassInfo] = {}
        self.functions: dict[str, FunctionInfo] = {}
        for info in self.modules.values():
            self.classes.update(info.classes)
            self.functions.update(info.functions)
        self.prefixes = {
            label.rsplit(".", n)[0] for label in self.modules for n in range(1, label.count(".") + 1)
        }
        self.hierarchy = Hierarchy(self.classes, self.expression)
        self._active: set[object] = set()
        self._cuts = 0
        self._values: dict[tuple[object, ...], Value] = {}

    def known(self, module: str) -> bool:
        """Whether a dotted name is a module or a namespace that leads to one."""
        return module in self.modules or module in self.prefixes

    # names

    def name(self, name: str, scope: Scope) -> Value:
        """Return what a name means in a scope."""
        key = ("name", id(scope), name)
        return self._remembered(key, lambda: self._lookup(name, scope), NONE)

    def _remembered(self, key: tuple[object, ...], compute: Callable[[], Value], cyclic: Value) -> Value:
        """Return a computed value once; a value that depends on itself adds nothing to what it may be."""
        if key in self._values:
            return self._values[key]
        if key in self._active or len(self._active) >= MAX_DEPTH:
            self._cuts += 1
            return cyclic if key in self._active else UNKNOWN
        cuts = self._cuts
        self._active.add(key)
        try:
            value = compute()
        finally:
            self._active.discard(key)
        if cuts == self._cuts:
            self._values[key] = value
        return value

    def _lookup(self, name: str, scope: Scope) -> Value:
        current = scope
        while True:
            visible = current is scope or current.kind != "class"
            if visible and name in current.bindings:
                return self._bound(name, current)
            if current.parent is None:
                return self._star(name, current)
            current = current.parent

    def _star(self, name: str, scope: Scope) -> Value:
        for module in reversed(scope.stars):
            if not self.known(module):
                return UNKNOWN
            if name in self.public_names(module):
                return self.module_attribute(module, name)
        return Value("external", name)

    def _bound(self, name: str, scope: Scope) -> Value:
        """Return what all bindings of a name in its scope agree on; a global is an entity of its own."""
        bindings = scope.bindings[name]
        value = either([self.binding(binding, scope) for binding in bindings])
        imported = all(isinstance(binding, Imported) for binding in bindings)
        if scope.kind == "module" and value.entity is None and not imported:
            return replace(value, entity=f"{scope.label}.{name}")
        return value

    def binding(self, binding: Binding, scope: Scope) -> Value:
        """Return what one binding gives."""
        match binding:
            case Imported(module=module, attribute=None):
                return self._module(module)
            case Imported(module=module, attribute=str(attribute)):
                return self._imported(module, attribute, scope)
            case Defined(label=label):
                return Value("class" if label in self.classes else "function", label, label)
            case Assigned(value=value, annotation=annotation):
                declared = UNKNOWN if annotation is None else self.declared(annotation, scope)
                if declared.kind in ("unknown", "none") and value is not None:
                    return replace(self.expression(value, scope), entity=None)
                return declared
            case Received():
                return self._received(binding, scope)
            case Entered(context=context):
                return self._entered(self.expression(context, scope))
            case Iterated(iterable=iterable):
                return self._iterated(self.expression(iterable, scope))
            case Caught(types=ast.expr() as types):
                return self._caught(types, scope)
            case _:
                return UNKNOWN

    def _received(self, binding: Received, scope: Scope) -> Value:
        if binding.role is not None and binding.owner is not None:
            return Value("instance" if binding.role == "self" else "class", binding.owner)
        if binding.annotation is not None:
            return self.declared(binding.annotation, scope)
        return self._fixture(binding.fixture, scope) if binding.fixture is not None else UNKNOWN

    def _fixture(self, name: str, scope: Scope) -> Value:
        """Return what a pytest fixture gives: of the module itself, else of the nearest ``conftest``."""
        parts = scope.file.label.split(".")
        nearest = (".".join([*parts[:n], "conftest"]) for n in range(len(parts) - 1, -1, -1))
        for label in (scope.file.label, *nearest):
            function = self.functions.get(f"{label}.{name}")
            if function is not None:
                return self._given(function)
        return UNKNOWN

    def _given(self, function: FunctionInfo) -> Value:
        node, outer, inner = function.nodes[-1]
        if not any(self._decorator(d, outer) == "pytest.fixture" for d in node.decorator_list):
            return UNKNOWN
        key = ("fixture", function.label)
        return self._remembered(key, lambda: self._returned_values(inner), UNKNOWN)

    def _returned_values(self, function: Scope) -> Value:
        values = [NONE if e is None else self.expression(e, s) for e, s in function.returns]
        return replace(either(values), entity=None)

    def _caught(self, types: ast.expr, scope: Scope) -> Value:
        parts = types.elts if isinstance(types, ast.Tuple) else [types]
        found = either([self.expression(part, scope) for part in parts])
        if found.kind == "external":
            return FOREIGN
        return _instance(found.name) if found.kind == "class" else UNKNOWN

    def _module(self, module: str) -> Value:
        return Value("module", module, module) if self.known(module) else Value("external", module)

    def _imported(self, module: str, attribute: str, scope: Scope) -> Value:
        if not self.known(module):
            return Value("external", f"{module}.{attribute}")
        below = f"{module}.{attribute}"
        if module == scope.file.label and self.known(below):
            return self._module(below)
        return self.module_attribute(module, attribute)

    def module_attribute(self, module: str, attribute: str) -> Value:
        """Return what ``module.attribute`` means."""
        info = self.modules.get(module)
        if info is not None and attribute in info.scope.bindings:
            return self.name(attribute, info.scope)
        if self.known(f"{module}.{attribute}"):
            return self._module(f"{module}.{attribute}")
        if info is not None and info.scope.stars:
            value = self._star(attribute, info.scope)
            return UNKNOWN if value == Value("external", attribute) else value
        return UNKNOWN

    def public_names(self, module: str) -> Mapping[str, None]:
        """Return the names that ``from module import *`` brings, in order."""
        info = self.modules.get(module)
        token = ("public", module)
        if info is None or token in self._active:
            return {}
        listed = dunder_all(info)
        if listed is not None:
            return dict.fromkeys(listed)
        names = dict.fromkeys(name for name in info.scope.bindings if not name.startswith("_"))
        self._active.add(token)
        try:
            for star in info.scope.stars:
                names.update(self.public_names(star))
        finally:
            self._active.discard(token)
        return names

    # expressions

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Return what an expression gives, or that it is not known when it is nested too deeply."""
        try:
            return self.expression(node, scope)
        except RecursionError:
            return UNKNOWN

    def expression(self, node: ast.expr, scope: Scope) -> Value:
        """Return what an expression gives when it is evaluated in a scope."""
        match node:
            case ast.Name(id=name):
                return self.name(name, scope)
            case ast.Attribute(value=value, attr=attr):
                return self.attribute(self.expression(value, scope), attr)
            case ast.Call():
                return self._called(node, scope)
            case ast.Constant(value=None):
                return NONE
            case ast.Constant() | ast.JoinedStr() | ast.List() | ast.Dict() | ast.Set() | ast.Tuple():
                return FOREIGN
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Compare():
                return FOREIGN
            case ast.Subscript(value=value):
                return self._subscripted(self.expression(value, scope))
            case ast.Await(value=ast.Call(func=func)):
                return self.returned(self.expression(func, scope), awaited=True)
            case ast.IfExp(body=body, orelse=orelse):
                return either([self.expression(body, scope), self.expression(orelse, scope)])
            case ast.BoolOp(values=values):
                return either([self.expression(value, scope) for value in values])
            case ast.NamedExpr(value=value):
                return self.expression(value, scope)
            case _:
                return UNKNOWN

    def _called(self, node: ast.Call, scope: Scope) -> Value:
        function = self.expression(node.func, scope)
        if function.kind == "external":
            if function.name == "super":
                return self._parent_view(node, scope)
            if function.name in ("typing.cast", "typing_extensions.cast") and len(node.args) == 2:
                return self.declared(node.args[0], scope)
        return self.returned(function)

    def _parent_view(self, node: ast.Call, scope: Scope) -> Value:
        owner = scope.owner
        if node.args:
            named = self.expression(node.args[0], scope)
            owner = named.name if named.kind == "class" else None
        return Value("super", owner) if owner else UNKNOWN

    def returned(self, function: Value, *, awaited: bool = False) -> Value:
        """Return what a call of a value gives, after ``await`` when it is awaited."""
        if function.kind == "class":
            return Value("instance", function.name)
        if function.kind == "function":
            key = ("returned", function.name, awaited)
            return self._remembered(key, lambda: self._return_value(function, awaited), NONE)
        if function.kind == "instance":
            method = self.attribute(function, "__call__")
            return self.returned(method, awaited=awaited) if method.kind == "function" else UNKNOWN
        return UNKNOWN

    def _return_value(self, function: Value, awaited: bool) -> Value:
        info = self.functions[function.name]
        node, outer, inner = implementation(info, self)
        if isinstance(node, ast.AsyncFunctionDef) != awaited:
            return UNKNOWN
        if not all(self._decorator(d, outer) in _TRANSPARENT for d in node.decorator_list):
            return UNKNOWN
        if node.returns is not None:
            return self.declared(node.returns, inner)
        if inner.yields:
            return UNKNOWN
        return self._returned_values(inner)

    def _decorator(self, node: ast.expr, scope: Scope) -> str:
        value = self.expression(node.func if isinstance(node, ast.Call) else node, scope)
        return value.name if value.kind == "external" else ""

    def _entered(self, context: Value) -> Value:
        return self._special(context, "__enter__")

    def _iterated(self, value: Value) -> Value:
        found = self._special(value, "__iter__") if value.kind == "instance" else value
        return _instance(found.items)

    def _subscripted(self, value: Value) -> Value:
        if value.kind == "instance":
            return self._special(value, "__getitem__")
        return value if value.kind == "class" else _instance(value.entries)

    def _special(self, value: Value, method: str) -> Value:
        """Return what a special method gives that syntax calls."""
        found = self.attribute(value, method) if value.kind == "instance" else UNKNOWN
        return self.returned(found) if found.kind == "function" else UNKNOWN

    def declared(self, node: ast.expr, scope: Scope) -> Value:
        """Return the value of something annotated with an expression."""
        return declared(node, scope, self.expression)

    # attributes

    def attribute(self, value: Value, attribute: str) -> Value:
        """Return what ``value.attribute`` means."""
        match value.kind:
            case "module":
                return self.module_attribute(value.name, attribute)
            case "external":
                return Value("external", f"{value.name}.{attribute}")
            case "foreign":
                return Value("foreign-member")
            case "class" | "instance" | "super":
                order = self.hierarchy.order(value.name)
                order = order[1:] if value.kind == "super" else order
                return self._member(order, attribute, on_class=value.kind == "class")
            case _:
                return UNKNOWN

    def _member(self, order: tuple[str, ...], attribute: str, *, on_class: bool) -> Value:
        known = [self.classes[label] for label in order if label in self.classes]
        holder = next((c for c in known if attribute in c.scope.bindings or attribute in c.attributes), None)
        before = order if holder is None else order[: order.index(holder.label)]
        outside = [label for label in before if label not in self.classes and label not in _HARMLESS_BASES]
        if holder is not None and not outside:
            return self._own_member(holder, attribute, on_class=on_class)
        if holder is None and UNKNOWN_BASE not in outside and (outside or attribute in _OBJECT_METHODS):
            return Value("foreign-member")
        return UNKNOWN

    def _own_member(self, info: ClassInfo, attribute: str, *, on_class: bool) -> Value:
        label = f"{info.label}.{attribute}"
        function = self.functions.get(label)
        if function is not None and self._is_property(function):
            value = UNKNOWN if on_class else self._property_value(function)
            return replace(value, entity=label)
        return self._remembered(
            ("member", label), lambda: self._assigned_member(info, attribute), Value("none", entity=label)
        )

    def _assigned_member(self, info: ClassInfo, attribute: str) -> Value:
        bound = [(info.scope, b) for b in info.scope.bindings.get(attribute, ())]
        bound += info.attributes.get(attribute, ())
        annotated = [(s, b) for s, b in bound if isinstance(b, Assigned) and b.annotation is not None]
        values = [self.binding(b, scope) for scope, b in annotated]
        if not values or either(values).kind == "unknown":
            values = [self.binding(b, scope) for scope, b in bound]
        value = either(values) if any(v.kind != "none" for v in values) else NONE
        if value.kind in ("class", "function") and value.entity is not None:
            return value
        return replace(value, entity=f"{info.label}.{attribute}")

    def _is_property(self, function: FunctionInfo) -> bool:
        node, outer, _ = function.nodes[0]
        return any(self._decorator(d, outer) in _PROPERTIES for d in node.decorator_list)

    def _property_value(self, function: FunctionInfo) -> Value:
        node, _, inner = function.nodes[0]
        return UNKNOWN if node.returns is None else self.declared(node.returns, inner)


def _instance(label: str | None) -> Value:
    return UNKNOWN if label is None else Value("instance", label)


def implementation(info: FunctionInfo, resolver: Resolver) -> tuple[FunctionNode, Scope, Scope]:
    """Return the definition that is called: the first one that is no ``@overload``."""
    for node, outer, inner in info.nodes:
        named = (resolver.expression(d, outer).name for d in node.decorator_list)
        if not any(name in ("typing.overload", "typing_extensions.overload") for name in named):
            return node, outer, inner
    return info.nodes[0]
