"""The closed world of capabilities, in every form that it is read from."""

from __future__ import annotations

import json

import pytest

from study.errors import InputError, SuiteError
from study.registry import Capability, Registry, load_registry, registry_from_json

OWN = {
    "name": "lib_holds",
    "label": "Holds",
    "question": "Who waits for it?",
    "readOnly": True,
    "parameters": [
        {"name": "item", "kind": "item", "arg": "item", "required": True},
        {"name": "limit", "kind": "number", "arg": "limit"},
    ],
    "preconditions": [{"kind": "graph-loaded"}, {"kind": "resolves", "param": "item", "class": "item"}],
    "effects": {"add": [{"kind": "knows", "topic": "holds", "param": "item"}], "del": []},
}
SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["q"],
}


def test_a_capability_and_what_follows_from_it():
    registry = registry_from_json([OWN])
    holds = registry["lib_holds"]
    assert holds.accepted == {"item", "limit"}
    assert holds.required == ("item",)
    assert holds.topics == ("holds",)
    assert holds.any_present == ()
    assert holds.read_only


def test_the_registry_is_a_mapping_and_closed():
    registry = registry_from_json({"capabilities": [OWN]})
    assert list(registry) == ["lib_holds"]
    assert len(registry) == 1
    assert "lib_borrowers" not in registry
    assert registry.get("lib_borrowers") is None


def test_json_round_trip_and_digest():
    registry = registry_from_json([OWN, {"name": "lib_overdue"}])
    again = registry_from_json(json.loads(json.dumps(registry.to_json())))
    assert again.to_json() == registry.to_json()
    assert again.digest == registry.digest
    assert registry_from_json([OWN]).digest != registry.digest
    assert registry_from_json([{"name": "lib_overdue"}, OWN]).digest != registry.digest


@pytest.mark.parametrize(
    "data",
    [
        [{"type": "function", "function": {"name": "find", "description": "Find it", "parameters": SCHEMA}}],
        [{"name": "find", "description": "Find it", "parameters": SCHEMA}],
        {"tools": [{"name": "find", "description": "Find it", "inputSchema": SCHEMA}]},
        [{"name": "find", "description": "Find it", "inputSchema": SCHEMA}],
    ],
)
def test_tool_lists_of_others(data):
    find = registry_from_json(data)["find"]
    assert (find.question, find.input_schema) == ("Find it", SCHEMA)
    assert find.accepted == {"q", "n"}
    assert find.required == ("q",)


def test_annotations_of_mcp():
    tools = [
        {"name": "a", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
        {"name": "b", "inputSchema": {"type": "object"}, "title": "B", "annotations": None},
        {"name": "c", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    ]
    registry = registry_from_json({"tools": tools})
    # the protocol's own default of the hint is false
    assert [c.read_only for c in registry.values()] == [False, False, True]
    assert [c.label for c in registry.values()] == ["a", "B", "c"]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"preconditions": [{"kind": "any-present"}]}, "names no parameter"),
        ({"preconditions": [{"kind": "any-present", "args": []}]}, "names no parameter"),
        ({"preconditions": [{"kind": "resolves"}]}, "names no parameter"),
        ({"preconditions": [{"kind": "resolves", "param": 3}]}, "names no parameter"),
        ({"preconditions": [{"kind": "resolves", "param": "other"}]}, "'other', which is no parameter"),
        ({"effects": {"add": ["known"], "del": []}}, "an effect must be an object"),
        ({"effects": {"add": [{"topic": "x"}], "del": []}}, "with a kind"),
        ({"effects": {"add": [{"kind": "knows"}], "del": []}}, "needs a text topic"),
        ({"effects": {"add": [{"kind": "knows", "topic": 3}], "del": []}}, "needs a text topic"),
        ({"effects": {"add": {}, "del": []}}, "both lists"),
    ],
)
def test_malformed_preconditions_and_effects(part, problem):
    parameters = [{"name": "q", "kind": "any", "arg": "q"}]
    with pytest.raises(SuiteError, match=problem):
        registry_from_json([{"name": "a", "parameters": parameters, **part}])


def test_what_only_reads_takes_nothing_away():
    effects = {"add": [], "del": [{"kind": "lent"}]}
    with pytest.raises(SuiteError, match=r"effects.del") as caught:
        registry_from_json([{"name": "a", "readOnly": True, "effects": effects}])
    assert caught.value.where == "registry:a.effects.del"
    assert "a" in registry_from_json([{"name": "a", "readOnly": False, "effects": effects}])


def test_a_tool_without_parameters():
    registry = registry_from_json([{"type": "function", "function": {"name": "ping"}}])
    assert registry["ping"].accepted == frozenset()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"tools": [], "nextCursor": "x"}, "one page of several"),
        ("tools", "not a list"),
        ({}, "not a list"),
        ([3], "must be an object"),
        ([{"name": "a", "colour": 1}], "colour"),
        ([{"name": 3}], "str"),
        ([{"label": "a"}], "name"),
        ([{"type": "function", "function": {"parameters": SCHEMA}}], "needs a name"),
        ([{"name": "a", "inputSchema": [1]}], "needs a name and an object schema"),
        ([{"name": " "}], "without a name"),
        ([{"name": "a"}, {"name": "a"}], "registered twice"),
        ([{"name": "a", "effects": {"add": []}}], "both lists"),
        ([{"name": "a", "preconditions": [{"kind": "moon"}]}], "moon"),
        ([{"name": "a", "preconditions": [{"kind": "resolves", "param": "x"}]}], "no parameter"),
        ([{**OWN, "parameters": [OWN["parameters"][0]] * 2}], "twice"),
        ([OWN, {**OWN, "name": "other"}], "topic 'holds' is achieved by"),
    ],
)
def test_what_is_no_registry(data, problem):
    with pytest.raises(SuiteError, match="registry") as caught:
        registry_from_json(data)
    assert problem in str(caught.value)


def test_any_present_groups():
    group = {"kind": "any-present", "args": ["item", "limit"]}
    assert registry_from_json([{**OWN, "preconditions": [group]}])["lib_holds"].any_present == (
        ("item", "limit"),
    )


@pytest.mark.parametrize("args", ["item", [1], ["item", "zz"]])
def test_a_malformed_group_is_refused(args):
    condition = {"kind": "any-present", "args": args}
    with pytest.raises(SuiteError, match="lib_holds"):
        registry_from_json([{**OWN, "preconditions": [condition]}])


def test_reading_a_file(tmp_path):
    path = tmp_path / "registry.json"
    path.write_text(json.dumps([OWN]), encoding="utf-8")
    assert list(load_registry(path)) == ["lib_holds"]
    path.write_text('[{"name": "a", "name": "b"}]', encoding="utf-8")
    with pytest.raises(InputError, match="duplicate key"):
        load_registry(path)
    with pytest.raises(InputError, match="cannot read"):
        load_registry(tmp_path / "none.json")


def test_a_registry_of_records():
    assert Registry([Capability(name="a")]).to_json()[0]["name"] == "a"
