"""Entities, imports, exports, inheritance and tests of small source trees."""

from __future__ import annotations

import pytest

from study.toolsets.codegraph import graph as format_module


def kinds(graph):
    return {e.label: e.kind for e in graph.entities}


def entity(graph, label):
    return next(e for e in graph.entities if e.label == label)


def test_kinds_places_and_containers(tree):
    text = '''\
    """About rooms.

    More.
    """
    LIMIT: int = 3
    A, (B, *C) = 1, (2, 3)
    class Room:
        """A room."""
        size: int
        tag = "x"
        class Door: pass
        def __init__(self, n):
            self.n = n
            self.a, self.b = n
        @property
        def area(self) -> int: return 1
        @area.setter
        def area(self, v): self._area = v
        @classmethod
        def load(cls): cls.cache = {}
        @staticmethod
        def free(self): self.not_mine = 1
    def build(rooms, /, *more, deep=None, **rest) -> "Room":
        def inner(): pass
    async def wait(): pass
    '''
    graph = tree.build({"house/__init__.py": "", "house/rooms.py": text})
    expected = {
        "house": "module",
        "house.rooms": "module",
        "house.rooms.LIMIT": "global",
        "house.rooms.A": "global",
        "house.rooms.B": "global",
        "house.rooms.C": "global",
        "house.rooms.Room": "class",
        "house.rooms.Room.size": "attribute",
        "house.rooms.Room.tag": "attribute",
        "house.rooms.Room.Door": "class",
        "house.rooms.Room.__init__": "method",
        "house.rooms.Room.n": "attribute",
        "house.rooms.Room.a": "attribute",
        "house.rooms.Room.b": "attribute",
        "house.rooms.Room.area": "method",
        "house.rooms.Room._area": "attribute",
        "house.rooms.Room.load": "method",
        "house.rooms.Room.cache": "attribute",
        "house.rooms.Room.free": "method",
        "house.rooms.build": "function",
        "house.rooms.build.inner": "function",
        "house.rooms.wait": "function",
    }
    assert kinds(graph) == expected
    build = entity(graph, "house.rooms.build")
    assert (build.path, build.line) == ("house/rooms.py", 23)
    assert build.signature == "build(rooms, /, *more, deep=None, **rest) -> 'Room'"
    assert entity(graph, "house.rooms.wait").signature == "async wait()"
    assert entity(graph, "house.rooms.LIMIT").signature == "LIMIT: int"
    assert entity(graph, "house.rooms").doc == "About rooms."
    assert entity(graph, "house.rooms.Room.area").decorators == ("property",)
    relations = graph.relations
    assert relations.contains["house"] == ("house.rooms",)
    assert relations.contains["house.rooms.build"] == ("house.rooms.build.inner",)
    assert "house.rooms.Room" in relations.defines["house.rooms"]
    assert "house.rooms.build.inner" not in relations.defines["house.rooms"]
    assert "house.rooms.Room.area" in relations.contains["house.rooms.Room"]


def test_docs_can_be_left_out(tree):
    files = {"a.py": '"""Text."""\ndef f():\n    """More text."""\n'}
    assert entity(tree.build(files), "a.f").doc == "More text."
    assert all(e.doc is None for e in tree.build(docs=False).entities)


def test_loop_variables_and_all_are_no_entities(tree):
    text = "__all__ = ['x']\nfor i, j in []: pass\nwith open('f') as g: pass\nx = [k for k in []]\n"
    assert kinds(tree.build({"a.py": text})) == {"a": "module", "a.x": "global"}


@pytest.mark.parametrize(
    ("default", "shown"),
    [
        ("3", "3"),
        ("-1.5", "-1.5"),
        ("'a'", "'a'"),
        ("b'x'", "b'x'"),
        ("...", "..."),
        ("(1,)", "(1,)"),
        ("[1, None]", "[1, None]"),
        ("{}", "{}"),
        ("os.sep", "os.sep"),
        ("make()", "make()"),
        ("make(1)", "make(...)"),
        ("lambda: 0", "..."),
        ("f'{x}'", "..."),
        ("1 | 2", "1 | 2"),
    ],
)
def test_defaults_in_signatures(tree, default, shown):
    graph = tree.build({"a.py": f"def f(x={default}): pass\n"})
    assert entity(graph, "a.f").signature == f"f(x={shown})"


def test_imports_of_every_form(tree):
    files = {
        "pkg/__init__.py": "from . import a",
        "pkg/a.py": "import pkg.sub.c\nimport os, json",
        "pkg/b.py": "from .a import thing\nfrom .sub import *\nfrom . import a, missing",
        "pkg/sub/__init__.py": "from .. import b",
        "pkg/sub/c.py": "def f():\n    from ...outside import x\n    from ..b import y\n",
        "pkg/d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.b import q\n",
        "pkg/e.py": "try:\n    import pkg.sub.c.gone\nexcept ImportError:\n    import pkg.a as a\n",
        "tests/test_x.py": "import pkg",
    }
    imports = tree.build(files).relations.imports
    assert imports == {
        "pkg": ("pkg.a",),
        "pkg.a": ("pkg.sub.c",),
        "pkg.b": ("pkg", "pkg.a", "pkg.sub"),
        "pkg.d": ("pkg.b",),
        "pkg.e": ("pkg.a", "pkg.sub.c"),
        "pkg.sub": ("pkg.b",),
        "pkg.sub.c": ("pkg.b",),
        "tests.test_x": ("pkg",),
    }


def test_exports_follow_all_and_else_the_public_names(tree):
    files = {
        "pkg/__init__.py": "from .a import One, two as _hidden\nfrom . import a\nimport os\nLOCAL = 1",
        "pkg/a.py": """
            from .b import Deep, Shown as Shown
            class One: pass
            def two(): pass
            def _three(): pass
        """,
        "pkg/b.py": "class Deep: pass\nclass Shown: pass\nclass Other: pass\n",
        "pkg/c.py": "from .b import *\n__all__ = ['Deep', 'own', 'absent']\n__all__ += ['_p']\n"
        "def own(): pass\ndef _p(): pass\ndef public(): pass\n",
        "pkg/d.py": "from .c import *\n",
    }
    relations = tree.build(files).relations
    assert relations.exports == {
        "pkg": ("pkg.LOCAL", "pkg.a", "pkg.a.One"),
        "pkg.a": ("pkg.a.One", "pkg.a.two", "pkg.b.Shown"),
        "pkg.b": ("pkg.b.Deep", "pkg.b.Other", "pkg.b.Shown"),
        "pkg.c": ("pkg.b.Deep", "pkg.c._p", "pkg.c.own"),
        "pkg.d": ("pkg.b.Deep", "pkg.c._p", "pkg.c.own"),
    }
    assert relations.re_exports == {
        "pkg": ("pkg.a", "pkg.a.One"),
        "pkg.a": ("pkg.b.Shown",),
        "pkg.c": ("pkg.b.Deep",),
        "pkg.d": ("pkg.b.Deep", "pkg.c._p", "pkg.c.own"),
    }


def test_a_submodule_import_in_its_own_package_is_the_submodule(tree):
    files = {
        "pkg/__init__.py": "from . import core\n",
        "pkg/core.py": "def run(): pass\n",
        "use.py": "import pkg\ndef f(): pkg.core.run()\n",
    }
    relations = tree.build(files).relations
    assert relations.exports["pkg"] == ("pkg.core",)
    assert relations.calls["use.f"] == ("pkg.core.run",)


def test_bases_in_and_outside_the_graph(tree):
    files = {
        "a.py": "import enum\nimport typing as t\nT = t.TypeVar('T')\nclass A(t.Generic[T]): pass\n"
        "class B(A[int], Exception): pass\nclass C(enum.Enum): pass\nclass D(make()): pass\n",
        "b.py": "import a\nclass E(a.B): pass\n",
    }
    relations = tree.build(files).relations
    assert relations.inherits == {"a.B": ("a.A",), "b.E": ("a.B",)}
    assert relations.external_bases == {
        "a.A": ("typing.Generic",),
        "a.B": ("Exception",),
        "a.C": ("enum.Enum",),
    }


TESTED = {
    "src/pkg/__init__.py": "from .core import Box as Box",
    "src/pkg/core.py": """
        SIZE = 3
        class Box:
            lid = 1
            def open(self) -> "Box": ...
            def close(self): ...
        class Crate(Box): pass
        def pack(): ...
        def unused(): ...
    """,
    "src/pkg/alone.py": "def nobody(): ...",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pkg", {"pkg"}),
        ("from pkg import Box", {"pkg", "pkg.core.Box", "pkg.core"}),
        (
            "import pkg\ndef test_a(): pkg.Box().open()",
            {"pkg", "pkg.core", "pkg.core.Box", "pkg.core.Box.open"},
        ),
        ("from pkg.core import pack\n", {"pkg.core", "pkg.core.pack"}),
        ("from pkg import core\nassert core.SIZE", {"pkg.core", "pkg.core.SIZE"}),
        (
            "from pkg.core import Crate\nclass Mine(Crate): pass\ndef test_a(): Mine().close()",
            {"pkg.core", "pkg.core.Crate", "pkg.core.Box", "pkg.core.Box.close"},
        ),
        ("import json", set()),
        ("class Box: pass\nBox().open()", set()),
    ],
)
def test_what_a_test_module_exercises(tree, text, expected):
    graph = tree.build({**TESTED, "tests/test_it.py": text})
    assert set(graph.relations.tests.get("tests.test_it", ())) == expected
    assert not [label for label in kinds(graph) if label.startswith("tests.test_it.")]


def test_fixtures_give_what_they_return(tree):
    files = {
        **TESTED,
        "tests/conftest.py": """
            import pytest
            from pkg.core import Box
            @pytest.fixture
            def box(): return Box()
            @pytest.fixture()
            def opened(box):
                yield box.open()
        """,
        "tests/unit/test_a.py": "def test_a(box): box.close()",
        "tests/test_b.py": "def test_b(opened): opened.close()",
        "tests/test_c.py": """
            import pytest
            @pytest.mark.parametrize("box", [1])
            def test_c(box): box.close()
        """,
        "tests/test_d.py": "def helper(box): box.close()",
        "tests/test_e.py": "def test_e(box=None): box.close()",
    }
    tests = tree.build(files).relations.tests
    assert set(tests["tests.unit.test_a"]) == {"pkg.core", "pkg.core.Box", "pkg.core.Box.close"}
    assert "pkg.core.Box.close" in tests["tests.test_b"]
    assert not {"tests.test_c", "tests.test_d", "tests.test_e"} & tests.keys()


def test_what_counts_as_a_test_module(tree):
    files = dict.fromkeys(
        [
            "test_a.py",
            "b_test.py",
            "conftest.py",
            "pkg/tests/helper.py",
            "test/c.py",
            "pkg/test/d.py",
            "testing.py",
        ],
        "x = 1",
    )
    graph = tree.build(files)
    tests = {label for label, kind in kinds(graph).items() if kind == "test-module"}
    assert tests == {"test_a", "b_test", "conftest", "pkg.tests.helper", "test.c"}
    assert kinds(graph)["pkg.test.d"] == "module"


def test_a_symbol_hidden_by_a_module_of_the_same_name_is_reported(tree):
    graph = tree.build({"pkg/__init__.py": "def run(): pass", "pkg/run.py": "x = 1"})
    assert kinds(graph)["pkg.run"] == "module"
    assert graph.left_out == ("pkg/__init__.py: pkg.run (a module has that name)",)


def test_every_built_graph_passes_its_own_strict_reader(tree, tmp_path):
    graph = tree.build({**TESTED, "tests/test_it.py": "import pkg"})
    format_module.write_graph(graph, tmp_path / "out" / "graph.json")
    assert format_module.load_graph(tmp_path / "out" / "graph.json") == graph
