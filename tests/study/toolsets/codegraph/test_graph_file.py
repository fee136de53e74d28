"""The file form of a graph, its strict reader, and history files."""

from __future__ import annotations

import copy
import json

import pytest

from study.errors import InputError, RunError
from study.toolsets.codegraph import build_graph, load_graph
from study.toolsets.codegraph.graph import graph_bytes, graph_from_json, write_graph
from study.toolsets.codegraph.history import COCHANGE_MINIMUM, SWEEP_SIZE

SMALL = {
    "schema": 1,
    "name": "small",
    "entities": [
        {"label": "a", "kind": "module", "path": "a.py", "line": 1},
        {"label": "a.F", "kind": "class", "path": "a.py", "line": 2},
        {"label": "a.g", "kind": "function", "path": "a.py", "line": 5},
        {"label": "b", "kind": "module", "path": "b.py", "line": 1},
        {"label": "test_a", "kind": "test-module", "path": "test_a.py", "line": 1},
        {"label": "c0ffee", "kind": "commit", "date": "2030-01-01"},
    ],
    "relations": {"defines": {"a": ["a.F", "a.g"]}, "exports": {"a": ["a.F"]}},
}


def changed(path, value):
    data = copy.deepcopy(SMALL)
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


def test_a_minimal_graph_made_elsewhere_is_accepted():
    graph = graph_from_json(SMALL)
    assert graph.relations.defines == {"a": ("a.F", "a.g")}
    assert graph.relations.calls == {}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["schema"], None, "schema"),
        (["schema"], 2, "graph schema 2"),
        (["schema"], "1", "schema"),
        (["name"], None, "name"),
        (["extra"], 1, "extra"),
        (["relations", "calling"], {}, "calling"),
        (["relations", "calls"], {"a.g": "a.F"}, "relations"),
        (["relations", "calls"], {"a.g": ["a.X"]}, "'a.X' is no entity"),
        (["relations", "calls"], {"a.g": ["a"]}, "'a' is a module"),
        (["relations", "calls"], {"test_a": ["a.g"]}, "'test_a' is a test-module"),
        (["relations", "imports"], {"a": ["a.F"]}, "'a.F' is a class"),
        (["relations", "inherits"], {"a.F": ["a.g"]}, "'a.g' is a function"),
        (["relations", "tests"], {"a": ["a.g"]}, "'a' is a module"),
        (["relations", "touches"], {"a": ["b"]}, "'a' is a module"),
        (["relations", "re-exports"], {"a": ["a.g"]}, "re-exported but no export"),
        (["relations", "cochanges"], {"a": {"b": 0}}, "'a' with 'b': 0"),
        (["relations", "cochanges"], {"a": {"b": 1}, "b": {"a": 1}}, "'a' with 'b': 1"),
        (["relations", "cochanges"], {"a": {"c0ffee": 1}}, "'c0ffee' is a commit"),
        (["entities", 0, "colour"], "red", "colour"),
        (["entities", 0, "kind"], "package", "package"),
        (["entities", 0, "line"], None, "has no place"),
        (["entities", 0, "line"], 0, "has no place"),
        (["entities", 0, "path"], "", "has no place"),
        (["entities", 0, "label"], " a", "blank or padded"),
        (["entities", 0, "label"], "b", "used twice"),
        (["entities", 5, "date"], None, "commit 'c0ffee'"),
        (["entities", 5, "line"], 3, "commit 'c0ffee'"),
    ],
)
def test_a_graph_that_is_wrong_is_refused_with_its_place(path, value, said):
    with pytest.raises(InputError) as caught:
        graph_from_json(changed(path, value), "g.json")
    assert said in str(caught.value)
    assert str(caught.value).startswith("g.json")


def test_a_near_miss_is_named():
    with pytest.raises(InputError, match=r"did you mean 'a\.g'"):
        graph_from_json(changed(["relations", "calls"], {"a.gg": ["a.F"]}))


@pytest.mark.parametrize("data", [[], None, "x", 3, {}])
def test_json_that_is_no_graph(data):
    with pytest.raises(InputError, match=r"expected an object|'schema' is missing") as caught:
        graph_from_json(data)
    assert "study.toolsets.codegraph.graph" in caught.value.next_step


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match="cannot read the graph"):
        load_graph(tmp_path / "absent.json")
    (tmp_path / "g.json").write_text('{"schema": 1, "schema": 1}')
    with pytest.raises(InputError, match="duplicate key"):
        load_graph(tmp_path / "g.json")
    with pytest.raises(RunError, match="cannot write"):
        write_graph(graph_from_json(SMALL), tmp_path / "g.json" / "below.json")


def test_the_bytes_do_not_depend_on_the_order_of_what_is_written():
    shuffled = copy.deepcopy(SMALL)
    shuffled["entities"].reverse()
    shuffled["relations"] = {"exports": {"a": ["a.F"]}, "defines": {"a": ["a.g", "a.F", "a.g"]}}
    assert graph_bytes(graph_from_json(shuffled)) == graph_bytes(graph_from_json(SMALL))


def test_one_entity_and_one_source_per_line():
    lines = graph_bytes(graph_from_json(SMALL)).decode().splitlines()
    assert '{"label":"a","kind":"module","path":"a.py","line":1},' in lines
    assert '"a":["a.F","a.g"]' in lines


def test_the_toy_graph_is_in_the_written_form(toy_graph, toy_path):
    assert toy_path.read_bytes() == graph_bytes(toy_graph)


def history(tree, commits):
    path = tree.folder.parent / "history.jsonl"
    path.write_text("".join(json.dumps(c) + "\n" for c in commits))
    return path


def commit(number, *files):
    return {"commit": f"{number:012x}", "date": "2030-01-02", "files": list(files)}


def test_commits_touch_modules_that_still_exist(tree):
    tree.write({"a.py": "", "b.py": "", "tests/test_a.py": ""})
    path = history(tree, [commit(1, "a.py", "gone.py"), commit(2, "gone.py"), commit(3, "tests/test_a.py")])
    graph = build_graph(tree.folder, history=path)
    assert graph.relations.touches == {f"{1:012x}": ("a",), f"{3:012x}": ("tests.test_a",)}
    assert [e.date for e in graph.entities if e.kind == "commit"] == ["2030-01-02"] * 3


def test_cochanges_need_enough_shared_commits_and_ignore_sweeps(tree):
    names = [f"m{n:02}.py" for n in range(SWEEP_SIZE + 1)]
    tree.write(dict.fromkeys(names, ""))
    sweeps = [commit(n, *names) for n in range(5)]
    shared = [commit(10 + n, "m00.py", "m01.py") for n in range(COCHANGE_MINIMUM)]
    once = [commit(20, "m02.py", "m03.py")]
    largest = [commit(30 + n, *names[:SWEEP_SIZE]) for n in range(COCHANGE_MINIMUM - 1)]
    graph = build_graph(tree.folder, history=history(tree, [*sweeps, *shared, *once]))
    assert graph.relations.cochanges == {"m00": {"m01": COCHANGE_MINIMUM}}
    assert len(graph.relations.touches) == len(sweeps) + len(shared) + 1, "sweeps still touch"
    graph = build_graph(tree.folder, history=history(tree, [*shared, *once, *largest]))
    assert graph.relations.cochanges["m00"]["m01"] == 2 * COCHANGE_MINIMUM - 1
    assert graph.relations.cochanges["m02"] == {"m03": COCHANGE_MINIMUM}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"commit": "1", "date": "2030-01-01"}', "files"),
        ('{"commit": "1", "date": "2030-01-01", "files": [], "author": "x"}', "author"),
        ("[]", "expected an object"),
        ("{", "not valid JSON"),
        (
            '{"commit": "1", "date": "d", "files": ["a.py"]}\n{"commit": "1", "date": "d", "files": []}',
            "twice",
        ),
        ('{"commit": "1", "date": "d", "files": ["src/a.py"]}', "no path of the history is a file"),
    ],
)
def test_a_history_that_is_wrong_is_refused(tree, line, said):
    tree.write({"a.py": ""})
    path = tree.folder.parent / "history.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=said):
        build_graph(tree.folder, history=path)


def test_an_empty_history_is_no_error(tree):
    tree.write({"a.py": ""})
    path = tree.folder.parent / "history.jsonl"
    path.write_text("")
    assert build_graph(tree.folder, history=path).relations.touches == {}
