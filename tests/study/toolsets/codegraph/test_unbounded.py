"""The tools that are not registered: source text and bundles, and how a suite opens the toolset."""

from __future__ import annotations

import shutil

import pytest

from study.cases import Suite, SuiteFile
from study.driver import ToolError
from study.errors import DriverError, InputError
from study.toolsets.codegraph import REGISTRY, CodeGraphTools, open_toolset
from study.toolsets.codegraph.bundle import PAGE_LINES

TEXT = '''
class Box:
    """A box."""

    lid: int = 1

    @property
    def size(
        self,
    ) -> int:
        return 1
'''


@pytest.fixture
def boxes(tree):
    graph = tree.build({"box.py": TEXT.removeprefix("\n")})
    return CodeGraphTools(graph, tree.folder)


def suite_in(folder, graph="graph.json"):
    file = SuiteFile(schema=1, id="s", registry="registry.json", cases="c.jsonl", tasks={}, graph=graph)
    return Suite(folder=folder, file=file, registry=REGISTRY, cases=())


@pytest.mark.parametrize(
    ("symbol", "first", "last"),
    [
        ("box", "class Box:", "        return 1"),
        ("Box", "class Box:", "        return 1"),
        ("size", "    @property", "        return 1"),
        ("lid", "    lid: int = 1", "    lid: int = 1"),
    ],
)
def test_snippet(boxes, symbol, first, last):
    answer = boxes.dispatch("tmct_snippet", {"symbol": symbol})
    lines = answer.text.rstrip().splitlines()
    assert (lines[0], lines[-1]) == (first, last)
    assert answer.result == [answer.resolved]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "box.py").unlink(), "is no file of the source folder"),
        (lambda folder: (folder / "box.py").write_text("x = 1\n"), "has no statement at line"),
        (lambda folder: (folder / "box.py").write_text("("), "is not valid Python"),
        (lambda folder: (folder / "box.py").write_bytes(b"\xff"), "cannot be read as UTF-8"),
    ],
)
def test_snippet_of_a_source_that_changed(boxes, tree, change, said):
    change(tree.folder)
    with pytest.raises(ToolError, match=said):
        boxes.dispatch("tmct_snippet", {"symbol": "size"})


def test_snippet_never_leaves_the_source_folder(tree, tmp_path):
    (tmp_path / "secret.py").write_text("x = 1\n")
    graph = tree.build({"box.py": "x = 1\n"})
    (tree.folder / "box.py").unlink()
    (tree.folder / "box.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(ToolError, match="is no file of the source folder"):
        CodeGraphTools(graph, tree.folder).dispatch("tmct_snippet", {"symbol": "x"})


def test_context_is_the_whole_bundle(toy):
    answer = toy.dispatch("tmct_context", {"symbol": "ColdRoom.store"})
    assert "callees:\n- seedbank.humidity.dry_until\n- seedbank.lots.FrozenLot" in answer.text
    assert answer.result == [
        "7a30cc51e2f8",
        "91d2f0b6a4c3",
        "c07e5d83b1fa",
        "seedbank.germination.sow",
        "seedbank.humidity",
        "seedbank.humidity.dry_until",
        "seedbank.lots",
        "seedbank.lots.FrozenLot",
        "seedbank.lots.Lot.weigh",
        "seedbank.vault.ColdRoom.store",
        "tests.test_vault",
    ]


def test_context_in_pages(tree):
    names = [f"f{n:03}" for n in range(2 * PAGE_LINES)]
    body = "".join(f"def {name}(): hub()\n" for name in names)
    tools = CodeGraphTools(tree.build({"m.py": f"def hub(): pass\n{body}"}))
    first = tools.dispatch("tmct_context", {"symbol": "hub"}).text
    second = tools.dispatch("tmct_context_more", {"symbol": "hub"}).text
    third = tools.dispatch("tmct_context_more", {"symbol": "hub", "page": "3"}).text
    assert first.splitlines()[-1] == "(page 1 of 3; tmct_context_more gives page 2)"
    shown = [line for page in (first, second, third) for line in page.splitlines() if line.startswith("- ")]
    assert shown == [f"- m.{name}" for name in names]
    for page, said in (("4", "there is no page 4; the bundle has 3"), ("0", "no number"), ("x", "no number")):
        with pytest.raises(ToolError, match=said):
            tools.dispatch("tmct_context_more", {"symbol": "hub", "page": page})


def test_open_toolset_reads_a_graph_once_and_again_when_it_changed(tmp_path, toy_path):
    shutil.copy(toy_path, tmp_path / "graph.json")
    suite = suite_in(tmp_path)
    first = open_toolset(suite)
    assert open_toolset(suite) is first
    text = toy_path.read_text()
    (tmp_path / "graph.json").write_text(text.replace("sow", "plant"))
    changed = open_toolset(suite)
    assert changed is not first
    assert changed.resolve("plant").label == "seedbank.germination.plant"
    with pytest.raises(ToolError, match="the source folder is not known"):
        changed.dispatch("tmct_snippet", {"symbol": "plant"})
    with pytest.raises(ToolError, match="is no file of the source folder"):
        open_toolset(suite, config={"source": str(tmp_path)}).dispatch("tmct_snippet", {"symbol": "plant"})


def test_open_toolset_without_what_it_needs(tmp_path, toy_path):
    with pytest.raises(DriverError, match="needs a graph, and the suite names none") as caught:
        open_toolset(suite_in(tmp_path, graph=None))
    assert "study graph SOURCE" in str(caught.value)
    with pytest.raises(InputError, match="cannot read the graph"):
        open_toolset(suite_in(tmp_path))
    (tmp_path / "graph.json").write_text("{}")
    with pytest.raises(InputError, match="the key 'schema' is missing"):
        open_toolset(suite_in(tmp_path))
    shutil.copy(toy_path, tmp_path / "graph.json")
    for source in ("/no/such/folder", 3):
        with pytest.raises(DriverError, match="the source folder"):
            open_toolset(suite_in(tmp_path), config={"source": source})
