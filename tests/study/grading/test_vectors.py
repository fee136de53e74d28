"""Calls of arbitrary tools: what binds, what is equal, and what is a hallucination."""

from __future__ import annotations

from typing import Any

import pytest

from study.cases import Case, Rules
from study.errors import SuiteError
from study.grading import compile_case, grade
from study.records import Dispatch, Grade, Produced
from study.registry import Registry, registry_from_json

NFC, NFD = "caf\u00e9", "cafe\u0301"


def tool(schema: dict[str, Any] | None, name: str = "t") -> Registry:
    """Return a registry of one tool: with a schema, or with free arguments ``x`` and ``y``."""
    if schema is not None:
        return registry_from_json({"tools": [{"name": name, "inputSchema": schema}]})
    free = [{"name": a, "kind": "any", "arg": a} for a in ("x", "y")]
    return registry_from_json([{"name": name, "parameters": free}])


def prop(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **more}


def run(expected: list[Any], calls: list[Any], registry: Registry, **more: Any) -> Grade:
    """Grade a trial that makes calls of ``t`` with the given arguments."""
    match, expect = more.pop("match", "json"), more.pop("expect", {})
    fields = {"id": "v", "rung": "TOOL-1", "request": "r", "tools": tuple(registry)}
    wanted = [c if "name" in c else {"name": "t", "input": c} for c in expected]
    case = Case(**fields, expect={"calls": wanted, "terminates": True, **expect})
    made = [c if "name" in c else {"name": "t", "input": c} for c in calls]
    seen = tuple(Dispatch(name=c["name"], input=c["input"], executed=True, ok=True) for c in made)
    report = {"calls": made, "refused": False, "terminated": True, "proof": [], "driver": "d"}
    produced = Produced(outcome="answered", report=report, dispatches=seen)
    return grade(case, produced, Rules(match=match, **more), registry)


def verdict(result: Grade) -> str:
    """Name a grade: ``match``, ``mismatch``, or the codes of the hallucination."""
    if result.hard_fails:
        return " ".join(result.hard_fails)
    return "match" if result.passed else "mismatch"


NUMBER, INTEGER = prop({"type": "number"}), prop({"type": "integer"})
LIST = prop({"type": "array", "items": {"type": "integer"}})
NESTED = prop({"type": "object", "properties": {"n": {"type": "integer"}}})
NUMBERS = prop({"type": "array", "items": {"type": "number"}})
TEXT = prop({"type": "string"})

TYPED = [
    (NUMBER, 5.0, 5, "match"),
    (INTEGER, 5, 5.0, "match"),
    (INTEGER, 5, 5.7, "invalid-arg"),
    (INTEGER, 5, "5", "invalid-arg"),
    (INTEGER, 1, True, "invalid-arg"),
    (NESTED, {"n": 1}, {"n": True}, "invalid-arg"),
    (LIST, [1], [True], "invalid-arg"),
    (None, 5, 5.7, "mismatch"),
    (None, 5, "5", "mismatch"),
    (None, 1, True, "mismatch"),
    (None, True, 1, "mismatch"),
    (None, False, 0, "mismatch"),
    (None, {"n": 1}, {"n": True}, "mismatch"),
    (None, [1], [True], "mismatch"),
    (None, [[{"n": 0}]], [[{"n": False}]], "mismatch"),
    (NUMBERS, [1.0, 2.0], [1, 2], "match"),
    (None, 10**20, 1e20, "match"),
    (None, 2**53, 2**53 + 1, "mismatch"),
    (None, float(2**53), 2**53 + 1, "mismatch"),
    (INTEGER, 2**53, 2**53 + 1, "mismatch"),
    (None, 0, -0.0, "match"),
    (None, 0.3, 0.1 + 0.2, "mismatch"),
    (TEXT, "PARIS", "Paris", "mismatch"),
    (TEXT, "15", "1.5", "mismatch"),
    (TEXT, "5", "-5", "mismatch"),
    (TEXT, "ab", "a/b", "mismatch"),
    (TEXT, "ab", "ab ", "mismatch"),
    (TEXT, NFD, NFC, "match"),
    (None, [NFC], [NFD], "match"),
    (prop({"enum": ["PARIS"]}), "PARIS", "Paris", "invalid-arg"),
    (None, None, "", "mismatch"),
    (None, "null", None, "mismatch"),
    (None, [], {}, "mismatch"),
    (None, "[1]", [1], "mismatch"),
    (None, {"a": 1, "b": 2}, {"b": 2.0, "a": 1}, "match"),
    (None, [1, 2], [2, 1], "mismatch"),
]


@pytest.mark.parametrize(("schema", "wanted", "given", "expected"), TYPED)
def test_typed_comparison(schema, wanted, given, expected):
    assert verdict(run([{"x": wanted}], [{"x": given}], tool(schema))) == expected


@pytest.mark.parametrize("match", ["json", "text"])
def test_integers_of_any_length(match):
    huge = 10**6000
    registry = tool(None)
    assert verdict(run([{"x": huge}], [{"x": 10**6000}], registry, match=match)) == "match"
    assert verdict(run([{"x": huge}], [{"x": huge + 1}], registry, match=match)) == "mismatch"


TEXTS = [
    ("1", 1, "match"),
    ("5", 5.0, "match"),
    ("true", True, "match"),
    ("1", True, "mismatch"),
    ("a", " a\n", "match"),
    ("", None, "match"),
    ("PARIS", "Paris", "mismatch"),
    (NFC, NFD, "mismatch"),
    ("[1]", [1], "mismatch"),
    ([1, "2"], ["1", 2.0], "match"),
    ({"a": 1}, {"a": "1"}, "match"),
    ({"a": 1}, {"b": 1}, "mismatch"),
    ("1e+21", 1e21, "mismatch"),
    ("1000000000000000000000", 1e21, "match"),
]


@pytest.mark.parametrize(("wanted", "given", "expected"), TEXTS)
def test_text_comparison(wanted, given, expected):
    assert verdict(run([{"x": wanted}], [{"x": given}], tool(None), match="text")) == expected


def test_a_pinned_blank_matches_a_missing_key_under_the_text_rule_alone():
    for blank in ("", None):
        assert verdict(run([{"x": blank}], [{}], tool(None), match="text")) == "match"
        assert verdict(run([{"x": blank}], [{}], tool(None), match="json")) == "mismatch"


OVERRIDES = [
    ("casefold", "PARIS", "paris", "match"),
    ("casefold", "STRASSE", "Straße", "match"),
    ("casefold", "PARIS", "paris ", "mismatch"),
    ("whitespace", "a b", " a \n b ", "match"),
    ("nfc", NFC, NFD, "match"),
    ("exact", NFC, NFD, "mismatch"),
    ("exact", "a", "a ", "mismatch"),
    ("exact", 5, 5.0, "match"),
    ("set", ["a", "b"], ["b", "a", "a"], "match"),
    ("set", ["a", "b"], ["b"], "mismatch"),
    ("set", [[1], [2]], [[2], [1]], "match"),
    ("set", [1], [True], "mismatch"),
    ("set", "a", "a", "match"),
    (["casefold", "set", "whitespace"], ["A b"], ["a  B"], "match"),
    ({"tolerance": 1e-9}, 0.3, 0.1 + 0.2, "match"),
    ({"tolerance": 0.1}, 1.0, 1.1, "match"),
    ({"tolerance": 0.1}, 1.0, 1.11, "mismatch"),
    ({"tolerance": 1}, 2**53, 2**53 + 1, "match"),
    ({"tolerance": 1}, 2**53, 2**53 + 2, "mismatch"),
    ({"tolerance": 1}, 1, True, "mismatch"),
    ({"tolerance": 1}, 10**400, 0.5, "mismatch"),
    ({"tolerance": 0.5}, [1, {"a": 2}], [1.5, {"a": 1.5}], "match"),
    ({"tolerance": 0.5}, [1, 2], [1], "mismatch"),
    ({"tolerance": 0.5}, "a", "a", "match"),
    ({"tolerance": 0.5}, "1", "1.2", "mismatch"),
]


@pytest.mark.parametrize(("rule", "wanted", "given", "expected"), OVERRIDES)
@pytest.mark.parametrize("of", ["suite", "case"])
def test_overrides_by_argument(rule, wanted, given, expected, of):
    compare = {"t.x": rule}
    where = {"compare": compare} if of == "suite" else {"expect": {"compare": compare}}
    assert verdict(run([{"x": wanted}], [{"x": given}], tool(None), **where)) == expected


def test_an_override_holds_for_its_argument_alone():
    given = {"x": "paris", "y": "paris"}
    registry = tool(None)
    result = run([{"x": "PARIS", "y": "PARIS"}], [given], registry, compare={"t.x": "casefold"})
    assert verdict(result) == "mismatch"
    both = run([{"x": "PARIS", "y": "paris"}], [given], registry, compare={"t.x": "casefold"})
    assert verdict(both) == "match"


def test_the_case_wins_over_the_suite():
    result = run(
        [{"x": "A"}],
        [{"x": "a"}],
        tool(None),
        compare={"t.x": "exact"},
        expect={"compare": {"t.x": "casefold"}},
    )
    assert verdict(result) == "match"


@pytest.mark.parametrize(
    "rule",
    [
        "fuzzy",
        [],
        {"tolerance": -1},
        {"tolerance": "1"},
        {"tolerance": True},
        {"tolerance": float("inf")},
        {"tolerance": 1, "set": True},
        ["set", {"tolerance": 1}],
        3,
        None,
    ],
)
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises(SuiteError) as caught:
        run([{"x": 1}], [{"x": 1}], tool(None), compare={"t.x": rule})
    assert "t.x" in str(caught.value)
    assert "allowed: " in str(caught.value)


def test_casefold_is_suggested():
    with pytest.raises(SuiteError, match="did you mean 'casefold'"):
        run([{"x": 1}], [{"x": 1}], tool(None), compare={"t.x": "case-fold"})


REQUIRED = prop({"type": "string"}, required=["x"])
BINDING = [
    (REQUIRED, {}, "missing-arg"),
    (REQUIRED, None, "missing-arg"),
    (REQUIRED, "x", "missing-arg"),
    (REQUIRED, {"x": "a", "y": 1}, "unknown-arg"),
    (REQUIRED, ["a"], "missing-arg unknown-arg"),
    (prop({"type": "string"}), {"y": 1}, "unknown-arg"),
    ({"type": "object"}, {"y": 1}, "unknown-arg"),
    (prop({"type": "string"}, additionalProperties=False), {"y": 1}, "unknown-arg"),
    (prop({"type": "string"}, additionalProperties=True), {"y": 1}, "match"),
    (prop({"type": "string"}, unevaluatedProperties=False), {"y": 1}, "unknown-arg"),
    ({"type": "object", "patternProperties": {"^y": {"type": "integer"}}}, {"y": 1}, "match"),
    ({"type": "object", "patternProperties": {"^y": {"type": "integer"}}}, {"y": "1"}, "invalid-arg"),
    (prop({}, dependentRequired={"x": ["y"]}, additionalProperties=True), {"x": 1}, "missing-arg"),
    (prop({"prefixItems": [{"type": "string"}]}), {"x": [1]}, "invalid-arg"),
    (prop({"format": "date"}), {"x": "no date"}, "match"),
    (prop({"type": "object", "required": ["q"]}), {"x": {}}, "invalid-arg"),
    ({"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, {}, "missing-arg"),
    ({"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, {"y": 1}, "match"),
    (prop({"type": "string"}), {"x": None}, "invalid-arg"),
    (prop({"type": ["string", "null"]}), {"x": None}, "match"),
    (prop({"type": "string"}), {}, "match"),
]


@pytest.mark.parametrize(("schema", "given", "expected"), BINDING)
def test_binding_against_a_schema(schema, given, expected):
    assert verdict(run([{}], [{"name": "t", "input": given}], tool(schema))) == expected


def test_one_problem_for_each_unexpected_key():
    closed = prop({}, additionalProperties=False)
    for schema in (closed, prop({})):
        found = run([{}], [{"q": 1, "r": 2, "x": 3}], tool(schema)).hallucinated
        assert [(p["code"], p["arg"]) for p in found] == [("unknown-arg", "q"), ("unknown-arg", "r")]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "object", "properties": {"x": {"type": "number"}}}, {"x": 1.5}, {"x": "1.5"}),
        (
            prop(
                {
                    "anyOf": [
                        {"type": "integer"},
                        {"type": "object", "properties": {"z": {"anyOf": [{"const": 1}]}}},
                    ]
                }
            ),
            {"x": {"z": 1}},
            {"x": {"z": 2}},
        ),
        (prop({"$ref": "#/$defs/n"}, **{"$defs": {"n": {"type": "integer"}}}), {"x": 1}, {"x": "a"}),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", **prop({"items": [{"type": "string"}]})},
            {"x": ["a"]},
            {"x": [1]},
        ),
    ],
)
def test_schemas_of_every_day_work(schema, good, bad):
    assert verdict(run([good], [good], tool(schema))) == "match"
    assert verdict(run([good], [bad], tool(schema))) == "invalid-arg"


def test_optional_omitted_and_not_pinned():
    schema = prop({"type": "integer"}, required=[])
    assert verdict(run([{}], [{}], tool(schema))) == "match"
    assert verdict(run([{}], [{"x": 7}], tool(schema))) == "match"


def test_a_default_equals_omission_only_where_declared():
    schema = prop({"type": "integer", "default": 10})
    registry = tool(schema)
    assert verdict(run([{"x": 10}], [{}], registry)) == "mismatch"
    assert verdict(run([{"x": 10}], [{}], registry, defaults_equal_omitted=True)) == "match"
    assert verdict(run([{"x": 9}], [{}], registry, defaults_equal_omitted=True)) == "mismatch"
    required = tool(prop({"type": "integer", "default": 10}, required=["x"]))
    assert verdict(run([{"x": 10}], [{}], required, defaults_equal_omitted=True)) == "missing-arg"


def test_a_default_that_is_dispatched_and_not_reported_is_the_same_call():
    registry = tool(prop({"type": "integer", "default": 10}))
    case = Case(
        id="v",
        rung="TOOL-1",
        request="r",
        tools=("t",),
        expect={"calls": [{"name": "t"}], "terminates": True},
    )
    report = {"calls": [{"name": "t", "input": {}}], "refused": False, "terminated": True}
    seen = (Dispatch(name="t", input={"x": 10}, executed=True, ok=True),)
    produced = Produced(outcome="answered", report=report, dispatches=seen)
    rules = Rules(match="json", defaults_equal_omitted=True)
    assert grade(case, produced, rules, registry).passed
    assert grade(case, produced, Rules(match="json"), registry).hard_fails == ("fabricated-call",)


A, B = {"x": 1}, {"x": 2}


def test_repetition():
    registry = tool(INTEGER)
    assert verdict(run([A, A], [A, A], registry)) == "match"
    assert verdict(run([A], [A, A], registry)) == "mismatch"
    assert verdict(run([A, A], [A], registry)) == "mismatch"
    for unordered in ({"expect": {"unordered": True}}, {}):
        assert verdict(run([A, A], [A, B], registry, **unordered)) == "mismatch"


def test_parallel_calls_swapped():
    registry = tool(INTEGER)
    assert verdict(run([A, B], [B, A], registry, expect={"unordered": True})) == "match"
    assert verdict(run([A, B], [B, A], registry)) == "mismatch"


def test_slots_with_alternatives_do_not_depend_on_the_order_of_calls():
    registry = tool(INTEGER)
    slots = [{"name": "t", "accept": {"x": [1, 2]}}, {"name": "t", "input": {"x": 1}}]
    for expected in (slots, slots[::-1]):
        for calls in ([A, B], [B, A], [A, A]):
            assert verdict(run(expected, calls, registry, expect={"unordered": True})) == "match"
        assert verdict(run(expected, [B, B], registry, expect={"unordered": True})) == "mismatch"


def test_accept_and_omit():
    registry = tool(prop({"type": ["integer", "string"]}))
    expected = [{"name": "t", "input": {"x": 1}, "accept": {"x": ["one"]}, "omit": ["x"]}]
    for given in ({"x": 1}, {"x": "one"}, {}):
        assert verdict(run(expected, [given], registry)) == "match"
    assert verdict(run(expected, [{"x": 2}], registry)) == "mismatch"
    without = [{"name": "t", "input": {"x": 1}, "accept": {"x": ["one"]}}]
    assert verdict(run(without, [{}], registry)) == "mismatch"
    blank = [{"name": "t", "input": {"x": 1}, "omit": ["x"]}]
    assert verdict(run(blank, [{"x": " "}], registry, match="text")) == "match"
    assert verdict(run(blank, [{"x": " "}], registry, match="json")) == "mismatch"


@pytest.mark.parametrize(
    "call",
    [
        {"name": "t", "accept": {"x": 1}},
        {"name": "t", "accept": {"x": []}},
        {"name": "t", "accept": [1]},
        {"name": "t", "omit": ["x"]},
        {"name": "t", "omit": "x"},
        {"name": "t", "input": [1]},
        {"name": 3},
    ],
)
def test_a_malformed_expected_call_is_refused(call):
    case = Case(id="v", rung="TOOL-1", request="r", tools=("t",), expect={"calls": [call]})
    with pytest.raises(SuiteError, match=r"expect\.calls"):
        compile_case(case, Rules(), tool(None))


def test_a_right_call_beside_one_to_a_tool_that_is_not_offered():
    registry = tool(INTEGER)
    assert verdict(run([A], [A, {"name": "u", "input": {}}], registry)) == "unknown-tool"


def test_a_second_entry_of_one_call_object_is_a_call():
    registry = tool(INTEGER)
    case = Case(
        id="v",
        rung="TOOL-1",
        request="r",
        tools=("t",),
        expect={"calls": [{"name": "t", "input": A}], "terminates": True},
    )

    def graded(call: dict[str, Any]) -> Grade:
        report = {"calls": [call], "refused": False, "terminated": True}
        return grade(case, Produced(outcome="answered", report=report), Rules(execution="optional"), registry)

    assert graded({"name": "t", "input": A, "id": "call_1"}).passed
    assert graded({"name": "t", "input": A, "u": {}}).hard_fails == ("unknown-tool",)
    twice = graded({"name": "t", "input": A, "t": B})
    assert twice.hard_fails == ()
    assert [r["code"] for r in twice.reasons] == ["CALLS_MISMATCH"]


@pytest.mark.parametrize("expect", [{"refuse": True}, {"calls": [{"name": "t", "input": A}]}])
@pytest.mark.parametrize("refused", [True, False])
def test_unparseable_arguments_fail_on_every_case(expect, refused):
    case = Case(id="v", rung="TOOL-2", request="r", tools=("t",), expect={"terminates": True, **expect})
    report = {"calls": [], "refused": refused, "terminated": True, "proof": [], "driver": "d"}
    result = grade(case, Produced(outcome="unparseable", report=report), Rules(), tool(INTEGER))
    assert not result.passed
    assert not result.completed
    assert result.failure == "honest_miss"


def test_a_truncated_capability_list_is_refused_at_load():
    with pytest.raises(SuiteError, match="one page of several"):
        registry_from_json({"tools": [{"name": "t", "inputSchema": {}}], "nextCursor": "abc"})


def test_a_schema_reaches_nothing_outside_itself():
    schema = prop({"$ref": "http://127.0.0.1:9/other.json"})
    with pytest.raises(SuiteError, match="no usable JSON Schema"):
        run([{}], [{}], tool(schema))
