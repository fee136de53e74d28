"""What binds: the closed list of problems of one call, and the text of values."""

from __future__ import annotations

import types

import pytest

from study.binding import Binder, argument_check, as_text, flat_text, shown
from study.errors import SuiteError
from study.registry import Capability, Parameter, Registry


def capability(name, *args, required=(), **more):
    parameters = tuple(Parameter(name=a, kind="any", arg=a, required=a in required) for a in args)
    return Capability(name=name, parameters=parameters, **more)


REGISTRY = Registry(
    [
        capability("describe", "symbol", required=["symbol"]),
        capability(
            "search", "query", "kind", preconditions=({"kind": "any-present", "args": ["query", "kind"]},)
        ),
        capability("untested"),
        capability("other", "symbol", required=["symbol"]),
        capability("broken", input_schema={"type": "objekt"}),
    ]
)
BINDER = Binder(REGISTRY, ["describe", "search", "untested", "not-registered"])


def codes(name, arguments):
    return [p["code"] for p in BINDER.problems(name, arguments)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("describe", {"symbol": "A"}),
        ("describe", {"symbol": 0}),
        ("describe", {"symbol": False}),
        ("describe", types.MappingProxyType({"symbol": "A"})),
        ("search", {"kind": "class"}),
        ("search", {"query": "", "kind": "class"}),
        ("untested", {}),
        ("untested", None),
        ("untested", "text"),
        ("untested", 7),
    ],
)
def test_calls_that_bind(name, arguments):
    assert BINDER.problems(name, arguments) == []


@pytest.mark.parametrize(
    "name", [None, 3, True, 1.5, ["describe"], {}, "", "Describe", "describe ", "not-registered"]
)
def test_an_unknown_tool_is_the_sole_problem(name):
    assert codes(name, {"zz": 1}) == ["unknown-tool"]
    assert isinstance(BINDER.problems(name, {})[0]["name"], str)


def test_the_checks_go_on_after_undeclared():
    assert codes("other", {"symbol": "A"}) == ["undeclared"]
    assert codes("other", {"zz": 1}) == ["undeclared", "unknown-arg", "missing-arg"]


@pytest.mark.parametrize("value", [None, "", " ", "\n\t"])
def test_blank_is_missing(value):
    assert codes("describe", {"symbol": value}) == ["missing-arg"]
    assert codes("search", {"query": value, "kind": value}) == ["missing-arg"]


@pytest.mark.parametrize("arguments", [None, {}, "A", 3, True])
def test_what_is_no_object_counts_as_empty(arguments):
    assert codes("describe", arguments) == ["missing-arg"]


@pytest.mark.parametrize("arguments", [[], ["A"], ("A",)])
def test_a_list_is_an_unknown_argument_too(arguments):
    assert codes("describe", arguments) == ["unknown-arg", "missing-arg"]
    assert codes("untested", arguments) == ["unknown-arg"]


def test_one_problem_for_each_unknown_key():
    found = BINDER.problems("untested", {"b": 1, "a": 2})
    assert [(p["code"], p["arg"], p["name"]) for p in found] == [
        ("unknown-arg", "b", "untested"),
        ("unknown-arg", "a", "untested"),
    ]


def test_a_problem_names_its_argument():
    assert [p["arg"] for p in BINDER.problems("describe", {})] == ["symbol"]
    assert "query or kind" in BINDER.problems("search", {})[0]["text"]


def test_a_declared_tool_with_a_broken_schema_is_refused_at_once():
    with pytest.raises(SuiteError, match="no usable JSON Schema") as caught:
        Binder(REGISTRY, ["broken"])
    assert caught.value.where == "broken"


def test_an_undeclared_tool_with_a_broken_schema_is_undeclared():
    assert codes("broken", {"x": 1}) == ["undeclared"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 3},
        {"properties": []},
        {"required": "a"},
        {"properties": {"a": {"pattern": "("}}},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.org/schema.json"},
        {"properties": {"a": {"minimum": "0"}}},
    ],
)
def test_schemas_that_are_none(schema):
    with pytest.raises(SuiteError, match="no usable JSON Schema"):
        argument_check(Capability(name="t", input_schema=schema))


def test_an_unknown_meta_schema_is_read_as_2020_12():
    check = argument_check(Capability(name="t", input_schema={"$schema": "urn:mine", "required": ["a"]}))
    assert [p["code"] for p in check({})] == ["missing-arg"]


def test_values_beyond_json_are_invalid_and_do_not_raise():
    check = argument_check(Capability(name="t", input_schema={"properties": {"a": {"type": "string"}}}))
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    for value in (deep, 10**5000, object(), {1: 2}):
        assert [p["code"] for p in check({"a": value})] == ["invalid-arg"]


def test_messages_are_short():
    check = argument_check(Capability(name="t", input_schema={"properties": {"a": {"enum": ["x"]}}}))
    (problem,) = check({"a": "y" * 10_000})
    assert len(problem["text"]) <= 200


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("  a b\n", "a b"),
        (None, ""),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (1e21, "1000000000000000000000"),
        ([1, "a"], '[1,"a"]'),
        ({"b": None, "a": [True]}, '{"a":[true],"b":null}'),
        ([], "[]"),
        (float("inf"), "inf"),
    ],
)
def test_as_text(value, text):
    assert as_text(value) == text


def test_text_of_any_depth_and_length():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert as_text(deep) == "[" * 5001 + "]" * 5001
    assert as_text(10**5000) == hex(10**5000)
    assert flat_text({"b": {}, "a": [[], {}]}) == '{"a":[[],{}],"b":{}}'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ({"b": 1, "a": [None, 2.0]}, '{"a": [null, 2], "b": 1}'),
        ("\ud800", '"\\ud800"'),
        (object, "<type>"),
    ],
)
def test_values_in_prose(value, text):
    assert shown(value) == text


def test_prose_is_cut():
    assert shown("x" * 500, 20) == '"' + "x" * 16 + "..."
    assert len(shown(list(range(1000)), 50)) == 50
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert len(shown(deep)) == 120
