"""The page about foreign graphs: its conversion runs as printed; foreign cases and rows are graded as is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from study.toolsets.codegraph import GRAPH_REGISTRY, CodeGraphTools, load_graph
from study.toolsets.codegraph.capabilities import registry_bytes
from study.toolsets.codegraph.graph import KINDS, RELATION_ENDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "graph.md"
FOREIGN = {
    "individuals": [
        {"id": "shop/__init__.py", "class": "Module"},
        {"id": "shop/cart.py", "class": "Module"},
        {"id": "shop/cart.py#Cart", "class": "Class", "line": 4},
        {"id": "shop/cart.py#Cart.add", "class": "Method", "line": 6},
        {"id": "shop/cart.py#price", "class": "Function", "line": 20},
        {"id": "shop/cart.py#Basket", "class": "Class", "line": 30},
        {"id": "tests/test_cart.py", "class": "TestModule"},
    ],
    "triples": [
        ["shop/__init__.py", "imports", "shop/cart.py"],
        ["shop/cart.py", "declares", "shop/cart.py#Cart"],
        ["shop/cart.py", "declares", "shop/cart.py#price"],
        ["shop/cart.py#Cart", "declares", "shop/cart.py#Cart.add"],
        ["shop/cart.py#Cart.add", "invokes", "shop/cart.py#price"],
        ["shop/cart.py#Basket", "extends", "shop/cart.py#Cart"],
        ["tests/test_cart.py", "verifies", "shop/cart.py#Cart"],
    ],
}
CASES = [
    {
        "id": "foreign-1",
        "rung": "TOOL-1",
        "request": "Who calls price?",
        "tools": ["tmct_callers", "tmct_callees"],
        "expect": {
            "calls": [{"name": "tmct_callers", "input": {"symbol": "price"}}],
            "result": ["shop.cart.Cart.add"],
            "terminates": True,
            "proof": True,
        },
    },
    {
        "id": "foreign-2",
        "rung": "TOOL-2",
        "request": "Rename Cart to Trolley",
        "tools": ["tmct_describe"],
        "expect": {"refuse": True, "terminates": True},
    },
]


@pytest.fixture
def converted(mini):
    """Return a study whose folder holds the converted graph, the registry and the case file."""
    work = mini()
    code = re.search(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 30
    (work.folder / "convert.py").write_text(code, "utf-8")
    (work.folder / "foreign.json").write_text(json.dumps(FOREIGN), "utf-8")
    done = subprocess.run(
        [sys.executable, "convert.py", "foreign.json", "graph.json"], cwd=work.folder, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    (work.folder / "registry.json").write_bytes(registry_bytes(GRAPH_REGISTRY))
    (work.folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES), "utf-8")
    return work


def test_the_converted_graph_is_read_and_answers(converted):
    tools = CodeGraphTools(load_graph(converted.folder / "graph.json"))
    assert tools.dispatch("tmct_subclasses", {"class": "Cart"}).result == ["shop.cart.Basket"]
    assert tools.dispatch("tmct_members", {"class": "Cart"}).result == ["shop.cart.Cart.add"]
    assert tools.dispatch("tmct_impact", {"module": "shop/cart.py"}).result == ["shop"]
    assert tools.dispatch("tmct_tests_for", {"symbol": "Cart"}).result == ["tests.test_cart"]


def test_foreign_cases_are_measured_and_their_rows_graded(converted):
    options = ["--cases", "cases.jsonl", "--registry", "registry.json"]
    done = converted.command("ladder", "--driver", "goal", *options, "--graph", "graph.json", "--out", "rows")
    assert done.returncode == 0, done.stderr
    rows = converted.folder / "rows" / "product.jsonl"
    assert [json.loads(line)["verdict"]["pass"] for line in rows.read_text("utf-8").splitlines()] == [
        True
    ] * 2
    done = converted.command("grade", "rows/product.jsonl", *options)
    assert done.returncode == 0, done.stderr
    rows.write_text(rows.read_text("utf-8").replace('"pass":true', '"pass":false', 1), "utf-8")
    assert converted.command("grade", "rows/product.jsonl", *options).returncode == 3


def test_the_page_names_every_kind_and_relation():
    page = PAGE.read_text("utf-8")
    assert all(f"`{kind}`" in page for kind in KINDS)
    assert all(f"`{relation}`" in page for relation in RELATION_ENDS)


def test_the_page_s_first_example_is_a_graph(tmp_path):
    text = re.search(r"^```json\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)[1]
    path = tmp_path / "graph.json"
    path.write_text(text, "utf-8")
    assert len(load_graph(path).entities) == 3


def test_a_request_is_explained_over_the_graph_that_is_given(converted):
    options = ["--cases", "cases.jsonl", "--registry", "registry.json", "--graph", "graph.json"]
    done = converted.command("ladder", *options, "--explain", "Who calls price?")
    assert done.returncode == 0, done.stderr
    assert "shop.cart.price" in done.stdout


def test_labels_that_the_graph_does_not_hold_are_found_before_anything_is_run(converted):
    path = converted.folder / "cases.jsonl"
    path.write_text(path.read_text("utf-8").replace("shop.cart.Cart.add", "shop.cart.Cart.sub"), "utf-8")
    options = ["--cases", "cases.jsonl", "--registry", "registry.json", "--graph", "graph.json"]
    done = converted.command("ladder", "--driver", "goal", *options, "--out", "rows")
    assert done.returncode == 2
    assert "stale-literal" in done.stderr
    assert not (converted.folder / "rows").exists()
