"""Which calls are resolved, to what, and which are kept as written."""

from __future__ import annotations

import pytest

SHOP = """
    class Till:
        def open(self): pass
        def total(self): return self.open()
    class BigTill(Till):
        def open(self): return super().open()
    def make() -> Till: ...
    def plain(): pass
"""


def calls(tree, text, *, path="pkg/use.py", **files):
    graph = tree.build({"pkg/__init__.py": "", "pkg/shop.py": SHOP, path: text, **files})
    return graph.relations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from pkg.shop import plain\ndef f(): plain()", "pkg.shop.plain"),
        ("from .shop import plain as p\ndef f(): p()", "pkg.shop.plain"),
        ("import pkg.shop\ndef f(): pkg.shop.plain()", "pkg.shop.plain"),
        ("import pkg.shop as s\ndef f(): s.plain()", "pkg.shop.plain"),
        ("from pkg import shop\ndef f(): shop.plain()", "pkg.shop.plain"),
        ("from . import shop\ndef f(): shop.plain()", "pkg.shop.plain"),
        ("from .shop import *\ndef f(): plain()", "pkg.shop.plain"),
        ("def f():\n    from .shop import plain\n    plain()", "pkg.shop.plain"),
        ("from .shop import plain\nalias = plain\ndef f(): alias()", "pkg.shop.plain"),
        ("from .shop import Till\ndef f(): Till()", "pkg.shop.Till"),
        ("from .shop import Till\ndef f(): Till().open()", "pkg.shop.Till.open"),
        ("from .shop import Till\ndef f():\n    t = Till()\n    t.open()", "pkg.shop.Till.open"),
        ("from .shop import Till\ndef f(t: Till): t.open()", "pkg.shop.Till.open"),
        ("from .shop import Till\ndef f(t: 'Till | None'): t.open()", "pkg.shop.Till.open"),
        (
            "import typing as t\nfrom .shop import Till\ndef f(x: t.Optional[Till]): x.open()",
            "pkg.shop.Till.open",
        ),
        ("from .shop import Till\ndef f(ts: list[Till]):\n    for t in ts: t.open()", "pkg.shop.Till.open"),
        ("from .shop import Till\ndef f(ts: dict[str, Till]): ts['a'].open()", "pkg.shop.Till.open"),
        (
            "from .shop import Till\ndef f(ts: tuple[Till, ...]): return [t.open() for t in ts]",
            "pkg.shop.Till.open",
        ),
        ("from .shop import Till\ndef f(kind: type[Till]): kind()", "pkg.shop.Till"),
        ("from .shop import make\ndef f(): make().open()", "pkg.shop.Till.open"),
        ("from .shop import BigTill\ndef f(): BigTill().total()", "pkg.shop.Till.total"),
        ("from .shop import Till\nMAIN = Till()\ndef f(): MAIN.open()", "pkg.shop.Till.open"),
        (
            "from .shop import Till\ndef f(t=None):\n    t = t or Till()\n    Till.open(t)",
            "pkg.shop.Till.open",
        ),
        (
            "import typing\nfrom .shop import Till\ndef f(x): typing.cast(Till, x).open()",
            "pkg.shop.Till.open",
        ),
        ("from .shop import Till\ndef g(): return Till()\ndef f(): g().open()", "pkg.shop.Till.open"),
        (
            "from .shop import Till\nasync def g() -> Till: ...\nasync def f(): (await g()).open()",
            "pkg.shop.Till.open",
        ),
        ("from .shop import Till\ndef f():\n    if (t := Till()): t.open()", "pkg.shop.Till.open"),
        (
            "try:\n    from .shop import plain\nexcept ImportError:\n    plain = None\ndef f(): plain()",
            "pkg.shop.plain",
        ),
        (
            "import typing\nif typing.TYPE_CHECKING:\n    from .shop import Till\ndef f(t: 'Till'): t.open()",
            "pkg.shop.Till.open",
        ),
        ("from .shop import plain\ndef f(): return [plain() for _ in range(3)]", "pkg.shop.plain"),
        ("from .shop import plain\ndef f(): return lambda: plain()", "pkg.shop.plain"),
    ],
)
def test_resolved_call(tree, text, expected):
    relations = calls(tree, text)
    assert expected in relations.calls["pkg.use.f"]
    assert "pkg.use.f" not in relations.unresolved_calls


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("def f(x): x.open()", "x.open"),
        ("from .shop import Till, plain\ndef f(c):\n    g = Till if c else plain\n    g()", "g"),
        ("from .shop import Till\ndef f(c):\n    t = Till()\n    t = c\n    t.open()", "t.open"),
        ("from .shop import Till, BigTill\ndef f(t: Till | BigTill): t.open()", "t.open"),
        ("def f(x): x.get()[0].run()", "x.get()[].run"),
        ("def f(): (lambda: 1)()", "(lambda)"),
        ("from .shop import plain\ndef f(plain): plain()", "plain"),
        ("from .shop import plain\ndef f(): return [plain() for plain in []]", "plain"),
        ("from .shop import gone\ndef f(): gone()", "gone"),
        ("from outside import *\ndef f(): anything()", "anything"),
    ],
)
def test_a_call_that_is_not_certain_is_kept_as_written(tree, text, written):
    relations = calls(tree, text)
    assert written in relations.unresolved_calls["pkg.use.f"]
    assert not [t for t in relations.calls.get("pkg.use.f", ()) if t != "pkg.shop.Till"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): print(len(x))",
        "import os.path\ndef f(): os.path.join('a', 'b')",
        "from json import loads as read\ndef f(): read('1')",
        "def f(x: str): x.upper()",
        "def f(): ''.join([])",
        "import json\ndef f():\n    try: pass\n    except ValueError as e: e.add_note('x')",
    ],
)
def test_a_call_out_of_the_graph_is_in_neither_group(tree, text):
    relations = calls(tree, text)
    assert "pkg.use.f" not in relations.calls
    assert "pkg.use.f" not in relations.unresolved_calls


def test_self_super_and_inheritance(tree):
    relations = calls(tree, "")
    assert relations.calls["pkg.shop.Till.total"] == ("pkg.shop.Till.open",)
    assert relations.calls["pkg.shop.BigTill.open"] == ("pkg.shop.Till.open",)


def test_a_method_is_not_looked_up_beyond_a_base_outside_the_graph(tree):
    text = """
        import threading
        from .shop import Till
        class A(threading.Thread, Till):
            def go(self): self.open()
        class B(Till, threading.Thread):
            def go(self): self.open(); self.start()
    """
    relations = calls(tree, text)
    assert "self.open" in relations.unresolved_calls["pkg.use.A.go"]
    assert relations.calls["pkg.use.B.go"] == ("pkg.shop.Till.open",)
    assert "pkg.use.B.go" not in relations.unresolved_calls


def test_names_of_a_class_body_are_not_seen_from_its_methods(tree):
    text = """
        from .shop import plain, make
        run = make
        class K:
            run = plain
            now = run()
            def go(self): run()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.K"] == ("pkg.shop.plain",)
    assert relations.calls["pkg.use.K.go"] == ("pkg.shop.make",)


def test_any_declares_nothing(tree):
    text = "from typing import Any\ndef f(x: Any, y: object): x.open(); y.open()"
    assert calls(tree, text).unresolved_calls["pkg.use.f"] == ("x.open", "y.open")


def test_another_self_inside_a_method_is_not_the_instance(tree):
    text = """
        class K:
            def go(self):
                def hook(self): self.foreign = 1
                def own(): self.kept = 1
    """
    relations = calls(tree, text)
    assert relations.contains["pkg.use.K"] == ("pkg.use.K.go", "pkg.use.K.kept")


def test_the_order_of_bases_decides(tree):
    text = """
        class A:
            def hit(self): pass
        class B(A):
            def hit(self): pass
        class C(A):
            def hit(self): pass
        class D(B, C):
            def go(self): self.hit()
        class E(C, B):
            def go(self): self.hit()
        class F(C, D):
            def go(self): self.hit()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.D.go"] == ("pkg.use.B.hit",)
    assert relations.calls["pkg.use.E.go"] == ("pkg.use.C.hit",)
    assert relations.unresolved_calls["pkg.use.F.go"] == ("self.hit",), "C3 refuses these bases"


def test_attributes_of_instances_have_their_declared_or_only_type(tree):
    text = """
        from .shop import Till, make
        class Desk:
            spare: Till
            def __init__(self, till: Till, other):
                self.till = till
                self.made = make()
                self.other = other
                self.late = None
            def set(self): self.late = Till()
            def go(self):
                self.till.open(); self.made.total(); self.spare.open(); self.late.total(); self.other.open()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.Desk.go"] == ("pkg.shop.Till.open", "pkg.shop.Till.total")
    assert relations.unresolved_calls["pkg.use.Desk.go"] == ("self.other.open",)


def test_properties_class_methods_and_static_methods(tree):
    text = """
        from .shop import Till
        class Desk:
            @property
            def till(self) -> Till: ...
            @classmethod
            def build(cls): return cls().go()
            @staticmethod
            def near(self): self.anything()
            def go(self): self.till.open()
            def all(self): Desk.build(); self.near(); Desk.near()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.Desk.go"] == ("pkg.shop.Till.open",)
    assert relations.calls["pkg.use.Desk.build"] == ("pkg.use.Desk", "pkg.use.Desk.go")
    assert relations.calls["pkg.use.Desk.all"] == ("pkg.use.Desk.build", "pkg.use.Desk.near")
    assert relations.unresolved_calls["pkg.use.Desk.near"] == ("self.anything",)


def test_special_methods_called_by_syntax_give_their_declared_type(tree):
    text = """
        from collections.abc import Iterator
        from .shop import Till
        class Rack:
            def __enter__(self) -> "Rack": ...
            def __iter__(self) -> Iterator[Till]: ...
            def __getitem__(self, n) -> Till: ...
            def __call__(self) -> Till: ...
            def lock(self): ...
        def entered():
            with Rack() as r: r.lock()
        def iterated(r: Rack):
            for t in r: t.open()
        def indexed(r: Rack): r[0].open()
        def called(r: Rack): r().open()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.entered"] == ("pkg.use.Rack", "pkg.use.Rack.lock")
    assert relations.calls["pkg.use.iterated"] == ("pkg.shop.Till.open",)
    assert relations.calls["pkg.use.indexed"] == ("pkg.shop.Till.open",)
    assert relations.calls["pkg.use.called"] == ("pkg.shop.Till.open", "pkg.use.Rack.__call__")


def test_nested_functions_and_closures(tree):
    text = """
        from .shop import Till
        def outer(t: Till):
            def inner(): t.open()
            inner()
            return inner
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.outer"] == ("pkg.use.outer.inner",)
    assert relations.calls["pkg.use.outer.inner"] == ("pkg.shop.Till.open",)


def test_decorators_are_calls_of_the_code_around_them(tree):
    text = """
        def mark(f): return f
        def named(n): return mark
        @mark
        def one(): pass
        class K:
            @named("x")
            def two(self): pass
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use"] == ("pkg.use.mark",)
    assert relations.calls["pkg.use.K"] == ("pkg.use.named",)


def test_an_unknown_decorator_hides_what_a_function_returns_but_not_the_function(tree):
    text = """
        from outside import wrap
        from .shop import Till
        @wrap
        def made() -> Till: ...
        def f(): made().open()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.f"] == ("pkg.use.made",)
    assert relations.unresolved_calls["pkg.use.f"] == ("made().open",)


def test_overloads_are_one_function_with_the_types_of_the_implementation(tree):
    text = """
        import typing as t
        from .shop import Till
        @t.overload
        def pick(n: int) -> int: ...
        @t.overload
        def pick(n: str) -> str: ...
        def pick(n) -> Till: ...
        def f(): pick(1).open()
    """
    graph = tree.build({"pkg/__init__.py": "", "pkg/shop.py": SHOP, "pkg/use.py": text})
    entity = next(e for e in graph.entities if e.label == "pkg.use.pick")
    assert entity.signature == "pick(n) -> Till"
    assert entity.line == 8
    assert graph.relations.calls["pkg.use.f"] == ("pkg.shop.Till.open", "pkg.use.pick")


def test_conditional_definitions_are_one_entity_with_the_calls_of_both(tree):
    text = """
        import sys
        from .shop import plain, make
        if sys.platform == "win32":
            def go(): plain()
        else:
            def go(): make()
        def f(): go()
    """
    relations = calls(tree, text)
    assert relations.calls["pkg.use.go"] == ("pkg.shop.make", "pkg.shop.plain")
    assert relations.calls["pkg.use.f"] == ("pkg.use.go",)


def test_calls_through_a_re_export_reach_the_definition(tree):
    files = {
        "pkg/__init__.py": "from .shop import Till as Till\nfrom . import shop",
        "pkg/shop.py": SHOP,
        "pkg/use.py": "import pkg\ndef f(): pkg.Till(); pkg.shop.plain()",
    }
    relations = tree.build(files).relations
    assert relations.calls["pkg.use.f"] == ("pkg.shop.Till", "pkg.shop.plain")


def test_a_global_rebound_inside_a_function_is_not_certain(tree):
    text = """
        from .shop import Till
        T = Till()
        def swap(other):
            global T
            T = other
        def f(): T.open()
    """
    assert calls(tree, text).unresolved_calls["pkg.use.f"] == ("T.open",)


def test_long_chains_of_names_end_as_unknown_instead_of_failing(tree):
    chain = "\n".join(f"a{n} = a{n - 1}" for n in range(1, 400))
    text = f"from .shop import plain\na0 = plain\n{chain}\ndef f(): a399()\ndef g(): a3()\n"
    relations = calls(tree, text)
    assert relations.calls["pkg.use.g"] == ("pkg.shop.plain",)
    assert relations.unresolved_calls["pkg.use.f"] == ("a399",)


def test_definitions_that_depend_on_themselves_end(tree):
    text = """
        a = b
        b = a
        class X(Y): pass
        class Y(X): pass
        class Z(Z): pass
        def loop(): return loop()
        def f(): a(); X().go(); loop().go(); Z().go()
    """
    relations = calls(tree, text)
    assert "pkg.use.loop" in relations.calls["pkg.use.f"]
