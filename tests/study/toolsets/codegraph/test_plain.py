"""Brute force and the tools answer alike: every tool, every entity of toy, a seeded sample of click."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path

import pytest

from study.driver import ToolError
from study.errors import InputError
from study.toolsets.codegraph import EXCLUDED_FROM_REGISTRY, REGISTRY, CodeGraphTools, PlainGraph, load_graph
from study.toolsets.codegraph import plain as plain_module
from study.toolsets.codegraph.plain import ARGUMENTS, MissError

ROOT = Path(__file__).resolve().parents[4]
CLICK = ROOT / "cases" / "click" / "graph.json"
SAMPLE = 40
SEED = 20260101
KINDS = ("module", "test-module", "class", "function", "method", "attribute", "global", "commit", "thing")


@pytest.fixture(scope="module")
def plain(toy_path):
    return PlainGraph(toy_path)


@pytest.fixture(scope="module")
def click():
    return CodeGraphTools(load_graph(CLICK)), PlainGraph(CLICK)


def entities(path):
    return json.loads(path.read_text("utf-8"))["entities"]


def mentions(entity):
    """Return ways to write an entity, some of which may mean nothing or several."""
    label = entity["label"]
    parts = label.split(".")
    found = {label, parts[-1], ".".join(parts[-2:]), f"{parts[0]}.{parts[-1]}", label[1:], f"{label}s"}
    return found | {label.upper(), parts[-1].swapcase(), f" {label} "} | set(path_of(entity))


def path_of(entity):
    path = entity.get("path")
    return [path, path.upper(), path.rpartition("/")[2]] if path else []


def both(tools, plain, name, arguments):
    """Return what the tools and brute force say, None for a miss; the two must be the same."""
    try:
        indexed = tools.dispatch(name, arguments).result
    except ToolError:
        indexed = None
    try:
        scanned = sorted(plain.answer(name, arguments))
    except MissError:
        scanned = None
    assert scanned == indexed, (name, arguments)
    return scanned


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_entity_of_toy_written_in_every_way(toy, plain, toy_path, name):
    key, _ = ARGUMENTS[name]
    written = {term for entity in entities(toy_path) for term in mentions(entity)}
    answers = [both(toy, plain, name, {key: term}) for term in sorted(written)]
    assert None in answers
    assert any(answers)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_sample_of_click(click, name):
    known = entities(CLICK)
    chosen = random.Random(SEED).sample(known, SAMPLE) + [
        e for e in known if e["kind"] in ("class", "module")
    ]
    key, kinds = ARGUMENTS[name]
    answers = [both(*click, name, {key: e["label"]}) for e in chosen if e["kind"] in kinds]
    only_package = name == "tmct_architecture"
    assert sum(bool(answer) for answer in answers) >= (1 if only_package else 5)


def test_names_of_click_are_read_alike(click):
    tools, plain = click
    chosen = random.Random(SEED).sample(entities(CLICK), SAMPLE)
    written = sorted({term for entity in chosen for term in mentions(entity)})
    found = {"none": 0, "one": 0, "several": 0}
    for term in written:
        readings, resolution = plain.readings(term), tools.resolve(term)
        assert tuple(readings) == ((resolution.label,) if resolution.label else resolution.tied), term
        if len(readings) == 1:
            assert readings == {resolution.label: resolution.kind}
        found["several" if len(readings) > 1 else "one" if readings else "none"] += 1
    assert min(found.values()) >= 5, found


@pytest.mark.parametrize("kind", KINDS)
def test_searches(toy, plain, click, kind):
    for query in ("", "lot", "COLD", "test", "e", "ß"):
        for more in ({}, {"name": "weigh"}, {"decorator": "cache"}, {"decorator": "functools.cache"}):
            both(toy, plain, "tmct_search", {"query": query, "kind": kind, **more})
            both(toy, plain, "tmct_search", {"query": query, **more})
    answers = [
        both(*click, "tmct_search", {"kind": kind, "name": "invoke"}),
        both(*click, "tmct_search", {"kind": kind, "query": "Env", "decorator": "property"}),
        both(*click, "tmct_search", {"kind": kind}),
    ]
    assert any(answers) == (kind != "thing")


def test_tools_about_the_whole(toy, plain, click):
    assert both(toy, plain, "tmct_untested", {})
    assert both(*click, "tmct_untested", {})
    assert both(toy, plain, "tmct_architecture", {}) == both(
        toy, plain, "tmct_architecture", {"package": " "}
    )
    assert both(*click, "tmct_architecture", {})


def test_tools_about_memory_terms(toy, plain, click, toy_path):
    terms = json.loads(toy_path.read_text("utf-8"))["memory"]["terms"]
    found = []
    for term in [*terms, *map(str.upper, terms), "harvest", "", "seedbank.lots"]:
        found.append(both(toy, plain, "tmct_related", {"term": term}))
        for more in (
            {},
            {"expression": "sealed"},
            {"expression": " "},
            {"size": "4"},
            {"size": "5"},
            {"size": 2},
        ):
            found.append(both(toy, plain, "tmct_sprite", {"class": term, **more}))
        assert both(*click, "tmct_related", {"term": term}) is None
    assert None in found
    assert ["lot"] in found


@pytest.mark.parametrize("name", REGISTRY)
def test_wrong_arguments_are_misses_for_both(toy, plain, name):
    assert both(toy, plain, name, {"colour": "red"}) is None
    assert both(toy, plain, name, {"colour": ""}) is None
    if REGISTRY[name].required or REGISTRY[name].any_present:
        assert both(toy, plain, name, {}) is None
        assert both(toy, plain, name, dict.fromkeys(REGISTRY[name].accepted)) is None


def test_every_registered_tool_is_known_and_no_other(plain):
    assert all(plain.takes(name) is not None for name in REGISTRY)
    for name in (*EXCLUDED_FROM_REGISTRY, "tmct_caller"):
        assert plain.takes(name) is None
        with pytest.raises(MissError, match="there is no tool"):
            plain.answer(name, {"symbol": "sow"})


@pytest.mark.parametrize(
    ("name", "arguments", "labels"),
    [
        (
            "tmct_callers",
            {"symbol": "Lot.weigh"},
            "lots.PackedLot.seal vault.ColdRoom.store vault.ColdRoom.weigh",
        ),
        ("tmct_subclasses", {"class": "Lot"}, "lots.FrozenLot lots.PackedLot"),
        ("tmct_impact", {"module": "settings"}, "germination humidity vault"),
        ("tmct_cochanges", {"symbol": "vault"}, "humidity lots"),
        ("tmct_search", {"kind": "attribute"}, "lots.Lot.species vault.ColdRoom.shelves"),
    ],
)
def test_answers_read_off_the_file_by_hand(plain, name, arguments, labels):
    assert plain.answer(name, arguments) - {"seedbank"} == {f"seedbank.{label}" for label in labels.split()}


def test_readings_tell_kinds(plain):
    assert plain.readings("weigh") == {
        "seedbank.lots.Lot.weigh": "method",
        "seedbank.vault.ColdRoom.weigh": "method",
    }
    assert plain.readings("seedbank.Lot") == {"seedbank.lots.Lot": "class"}
    assert plain.readings("src/seedbank/lots.py") == {"seedbank.lots": "module"}
    assert plain.readings("") == {}


def write(folder, entities, **relations):
    path = folder / "graph.json"
    path.write_text(json.dumps({"schema": 1, "name": "g", "entities": entities, "relations": relations}))
    return CodeGraphTools(load_graph(path)), PlainGraph(path)


def entity(label, kind, path="m.py", **more):
    return {"label": label, "kind": kind, "path": path, "line": 1, **more}


def test_odd_graphs(tmp_path):
    known = [
        entity("m", "module"),
        entity("m.f", "function"),
        entity("m.f.inner", "class"),
        entity("m.f.inner.g", "method"),
        entity("m.C", "class"),
        entity("m.C.__init__", "method"),
        entity("m.__getattr__", "function"),
        entity("lost.h", "function", "elsewhere.py"),
        entity("top", "module", "__init__.py"),
    ]
    contains = {"m.f": ["m.f.inner"], "m.f.inner": ["m.f.inner.g"], "m.C": ["m.C.__init__"]}
    pair = write(tmp_path, known, contains=contains, inherits={"m.C": ["m.f.inner"], "m.f.inner": ["m.C"]})
    assert both(*pair, "tmct_untested", {}) == ["lost.h", "m", "m.C", "m.__getattr__", "m.f", "top"]
    assert both(*pair, "tmct_subclasses", {"class": "m.C"}) == ["m.f.inner"]
    assert both(*pair, "tmct_history", {"symbol": "lost.h"}) is None
    assert both(*pair, "tmct_architecture", {"package": "top"}) == []
    assert both(*pair, "tmct_architecture", {"package": "m"}) is None
    assert both(*pair, "tmct_callers", {"symbol": "m.f"}) == []


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(InputError, match="cannot read the graph"):
        PlainGraph(tmp_path / "graph.json")


def test_nothing_of_the_index_is_used():
    tree = ast.parse(Path(plain_module.__file__).read_text("utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("study")} == {"study.binding", "study.digest"}
