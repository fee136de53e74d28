"""Source trees that are odd, broken or arranged in another way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from study.errors import InputError
from study.toolsets.codegraph import build_graph
from study.toolsets.codegraph.graph import graph_bytes

ROOT = Path(__file__).resolve().parents[4]


def labels(graph):
    return [e.label for e in graph.entities]


def test_files_that_cannot_be_parsed_are_listed_and_the_rest_is_built(tree):
    tree.write({"good.py": "x = 1", "broken.py": "def f(:\n"})
    (tree.folder / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (tree.folder / "nul.py").write_bytes(b"x = 1\0\n")
    (tree.folder / "declared.py").write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    (tree.folder / "marked.py").write_bytes(b"\xef\xbb\xbfy = 1\n")
    graph = tree.build()
    assert [(u.path, u.reason) for u in graph.unparsed] == [
        ("broken.py", "not valid Python"),
        ("latin.py", "not valid Python"),
        ("nul.py", "not valid Python"),
    ]
    assert labels(graph) == ["declared", "declared.x", "good", "good.x", "marked", "marked.y"]


def test_nesting_that_is_too_deep_is_listed(tree):
    tree.write(
        {"good.py": "", "deep.py": "x = " + "a." * 5000 + "b\n", "wide.py": "x = " + "-" * 5000 + "1\n"}
    )
    graph = tree.build()
    assert {u.path for u in graph.unparsed} == {"deep.py", "wide.py"}
    assert "good" in labels(graph)


@pytest.mark.filterwarnings("error")
def test_warnings_of_the_parser_do_not_escape(tree):
    assert labels(tree.build({"a.py": "x = '\\d'\ny = 1 is 1\n"})) == ["a", "a.x", "a.y"]


def test_symbolic_links(tree):
    tree.write({"pkg/__init__.py": "", "pkg/a.py": "x = 1"})
    (tree.folder / "pkg" / "loop").symlink_to(tree.folder, target_is_directory=True)
    (tree.folder / "self.py").symlink_to("self.py")
    (tree.folder / "gone.py").symlink_to("nowhere.py")
    (tree.folder / "alias.py").symlink_to("pkg/a.py")
    graph = tree.build()
    assert labels(graph) == ["alias", "alias.x", "pkg", "pkg.a", "pkg.a.x"]
    assert graph.left_out == ("pkg/loop",)
    assert [u.path for u in graph.unparsed] == ["gone.py", "self.py"]


def test_namespace_packages_have_no_entity_but_lead_to_their_modules(tree):
    files = {
        "space/one/a.py": "def f(): pass",
        "space/two/b.py": """
            import space.one.a
            from space.one import a as other
            def g(): space.one.a.f(); other.f()
        """,
    }
    graph = tree.build(files)
    assert labels(graph) == ["space.one.a", "space.one.a.f", "space.two.b", "space.two.b.g"]
    assert graph.relations.imports == {"space.two.b": ("space.one.a",)}
    assert graph.relations.calls == {"space.two.b.g": ("space.one.a.f",)}


def test_a_src_layout_drops_the_prefix_and_what_is_no_part_of_the_library(tree):
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": "x = 1",
        "tests/test_a.py": "from pkg.a import x",
        "docs/conf.py": "project = 'p'",
        "setup.py": "",
    }
    graph = tree.build(files)
    assert labels(graph) == ["pkg", "pkg.a", "pkg.a.x", "tests.test_a"]
    assert graph.left_out == ("docs/conf.py", "setup.py")
    assert {e.path for e in graph.entities} == {"src/pkg/__init__.py", "src/pkg/a.py", "tests/test_a.py"}


def test_a_folder_called_src_can_be_a_package(tree):
    graph = tree.build({"src/__init__.py": "", "src/a.py": "", "run.py": "import src.a"})
    assert labels(graph) == ["run", "src", "src.a"]
    assert graph.relations.imports == {"run": ("src.a",)}


def test_a_package_given_as_the_source_keeps_its_name(tmp_path):
    folder = tmp_path / "boxes"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import lid")
    (folder / "lid.py").write_text("from boxes import lid\n")
    graph = build_graph(folder)
    assert labels(graph) == ["boxes", "boxes.lid"]
    assert graph.name == "boxes"
    assert [e.path for e in graph.entities] == ["__init__.py", "lid.py"]


def test_two_files_with_one_dotted_name(tree):
    files = {"a.py": "module = 1", "a/__init__.py": "package = 1", "src/b/c.py": "", "tests/b.py": ""}
    graph = tree.build({k: v for k, v in files.items() if k.startswith("a")})
    assert labels(graph) == ["a", "a.package"], "as in Python, the package wins"
    assert graph.left_out == ("a.py: a (another file has that name)",)


def test_folders_that_hold_no_source_are_skipped(tree):
    files = {
        "a.py": "",
        ".hidden/b.py": "",
        "__pycache__/c.py": "",
        "node_modules/d.py": "",
        "venv/pyvenv.cfg": "",
        "venv/lib/e.py": "",
        ".f.py": "",
    }
    assert labels(tree.build(files)) == ["a"]


def test_modern_syntax(tree):
    text = """
        import asyncio
        class Reader:
            async def read(self) -> "Reader": ...
            def done(self): ...
        async def f(r: Reader, *, n: "int" = 0):
            async with r as x, asyncio.timeout(1): pass
            async for item in r: pass
            (await r.read()).done()
            match n:
                case [first, *rest] if first: pass
                case {"k": v, **others}: pass
                case Reader() as whole: whole.done()
            try:
                pass
            except* (ValueError, TypeError) as group:
                group.exceptions
            def g():
                nonlocal n
                n = yield
            return {k: v async for k, v in r}
    """
    graph = tree.build({"a.py": text})
    assert graph.unparsed == ()
    assert graph.relations.calls["a.f"] == ("a.Reader.done", "a.Reader.read")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs the syntax of Python 3.12")
def test_type_statements_and_type_parameters(tree):
    text = """
        type Pair[T] = tuple[T, T]
        class Box[T]:
            def get(self) -> T: ...
        def f[T](b: Box[T]): b.get()
    """
    graph = tree.build({"a.py": text})
    assert "a.Pair" in labels(graph)
    assert graph.relations.calls["a.f"] == ("a.Box.get",)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda folder: folder / "absent", "the source is no folder"),
        (lambda folder: folder, "there is no Python file to read"),
    ],
)
def test_no_source(tree, make, problem):
    (tree.folder / "readme.txt").write_text("nothing")
    with pytest.raises(InputError) as caught:
        build_graph(make(tree.folder))
    assert caught.value.problem == problem
    assert caught.value.where


def test_nothing_can_be_parsed(tree):
    with pytest.raises(InputError, match="none of the 2 Python files can be parsed"):
        tree.build({"a.py": "(", "b.py": ")"})


def test_a_file_instead_of_a_folder(tree):
    tree.write({"a.py": ""})
    with pytest.raises(InputError, match="the source is no folder"):
        build_graph(tree.folder / "a.py")


def test_names_that_are_no_utf8(tree):
    os.close(os.open(os.fsencode(tree.folder) + b"/caf\xe9.py", os.O_CREAT | os.O_WRONLY))
    graph = tree.build({"a.py": '"""\\udc80"""\n'})
    assert labels(graph) == ["a", "caf\\udce9"]
    graph_bytes(graph).decode("utf-8")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_left_out(tree):
    tree.write({"a.py": "", "shut/b.py": ""})
    (tree.folder / "shut").chmod(0)
    try:
        assert tree.build().left_out == ("shut",)
    finally:
        (tree.folder / "shut").chmod(0o700)


SAMPLE = {
    "src/pkg/__init__.py": "from .a import A as A, f\nfrom .b import *\n",
    "src/pkg/a.py": """
        from . import b
        class A:
            x: int = 1
            def m(self): self.m(); b.g(); q()
        def f(): return A()
    """,
    "src/pkg/b.py": "def g(): pass\ndef h(x): x.y(); x.z()\n",
    "src/pkg/broken.py": "(",
    "tests/test_a.py": "import pkg\ndef test(): pkg.f().m()\n",
    "docs/conf.py": "",
}
PROGRAM = """
import sys
from pathlib import Path
from study.toolsets.codegraph.build import build_graph
from study.toolsets.codegraph.graph import graph_bytes
sys.stdout.buffer.write(graph_bytes(build_graph(Path(sys.argv[1]), name="sample")))
"""


def built_elsewhere(python, folder, seed):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
    command = [python, "-c", PROGRAM, str(folder)]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def test_the_hash_seed_does_not_show(tree):
    tree.write(SAMPLE)
    expected = graph_bytes(build_graph(tree.folder, name="sample"))
    assert built_elsewhere(sys.executable, tree.folder, "1") == expected
    assert built_elsewhere(sys.executable, tree.folder, "4242") == expected


def test_the_order_of_the_file_system_does_not_show(tree, tmp_path, monkeypatch):
    expected = graph_bytes(tree.build(SAMPLE, name="sample"))
    walk = os.walk

    def reversed_walk(*arguments, **options):
        for folder, folders, names in walk(*arguments, **options):
            folders.sort(reverse=True)
            yield folder, folders, sorted(names, reverse=True)

    monkeypatch.setattr(os, "walk", reversed_walk)
    assert graph_bytes(build_graph(tree.folder, name="sample")) == expected
    shutil.copytree(tree.folder, tmp_path / "copy")
    assert graph_bytes(build_graph(tmp_path / "copy", name="sample")) == expected


@pytest.mark.second_python
def test_another_python_gives_the_same_bytes(tree):
    other = next((p for v in ("3.13", "3.12", "3.14") if _has_msgspec(p := f"python{v}")), None)
    if other is None:
        pytest.skip("no second Python with msgspec")
    tree.write(SAMPLE)
    expected = graph_bytes(build_graph(tree.folder, name="sample"))
    assert built_elsewhere(other, tree.folder, "0") == expected


def _has_msgspec(python):
    if shutil.which(python) is None or python == f"python{sys.version_info[0]}.{sys.version_info[1]}":
        return False
    command = [python, "-c", "import msgspec, jsonschema_rs"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
