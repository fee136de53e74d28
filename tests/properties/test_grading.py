"""Properties of the grader: total on any JSON, blind to order where declared, the same by either path."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from study.binding import Binder, as_text, flat_text, number_text, shown
from study.cases import Case, Rules
from study.digest import read_json
from study.grading import compile_case, gate
from study.grading.matching import has_perfect_matching
from study.grading.rows import build_row, produced_of, regrade_rows, rows_bytes
from study.grading.values import Comparison, Rule, equal_to, value_key
from study.records import OUTCOMES, Dispatch, Produced
from study.registry import Registry, registry_from_json

check = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))

REGISTRY = registry_from_json(
    [
        {"name": "describe", "parameters": [{"name": "s", "kind": "any", "arg": "symbol", "required": True}]},
        {
            "name": "search",
            "parameters": [{"name": a, "kind": "any", "arg": a} for a in ("query", "kind")],
            "preconditions": [{"kind": "any-present", "args": ["query", "kind"]}],
        },
        {"name": "untested", "effects": {"add": [{"kind": "knows", "topic": "untested"}], "del": []}},
        {"name": "write", "readOnly": False},
        {
            "name": "typed",
            "inputSchema": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "s": {"type": "string", "default": "x"}},
                "required": ["n"],
            },
        },
    ]
)
TOOLS = ("describe", "search", "untested", "typed")

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", " ", "a", "A", "a ", "café", "cafe\u0301", "1", "true", "x", "\x00", "null"])
    | st.text(max_size=8)
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)
names = st.sampled_from([*TOOLS, "write", "invented", "describe "])
arguments = st.fixed_dictionaries(
    {},
    optional={
        "symbol": st.sampled_from(["A", " A", "B", "", None, 1, True]),
        "query": scalars,
        "n": st.sampled_from([1, 1.0, 2, True, "1"]),
        "s": st.sampled_from(["x", "y"]),
        "zz": scalars,
    },
)
calls = st.fixed_dictionaries({"name": names, "input": arguments})
odd_calls = (
    calls | json_values | st.fixed_dictionaries({"name": json_values, "input": json_values, "more": calls})
)
goals = st.sampled_from(["goal:a", "goal:b", "cap:untested", "goal:x"]) | json_values
steps = st.fixed_dictionaries(
    {"kind": st.sampled_from(["effect", "precondition", "causal-link"])},
    optional={
        "ok": st.booleans() | st.none(),
        "producer": st.sampled_from(["graph", "step-1", "step-2", "moon"]),
        "consumer": st.sampled_from(["step-1", "step-2", 2, "x"]),
        "step": st.integers(0, 3),
    },
)
reports = st.fixed_dictionaries(
    {},
    optional={
        "calls": st.lists(odd_calls, max_size=4) | json_values,
        "refused": st.booleans() | json_values,
        "terminated": st.just(True) | st.booleans() | json_values,
        "proof": st.lists(steps, max_size=4) | json_values,
        "driver": st.sampled_from(["d", "resolver-1"]) | json_values,
        "composed": st.lists(st.sampled_from(["A", "B", " A"]), max_size=3) | json_values,
        "recovered": st.booleans() | json_values,
        "candidateResults": st.lists(odd_calls, max_size=3) | json_values,
        "inferredGoal": goals,
        "reject": st.booleans() | json_values,
        "ambiguousGoals": st.lists(goals, max_size=3) | json_values,
        "why": json_values,
    },
)
dispatches = st.lists(
    st.builds(
        Dispatch,
        name=names | json_values,
        input=arguments | json_values,
        executed=st.booleans(),
        ok=st.booleans(),
        effects=st.booleans(),
    ),
    max_size=4,
)


@st.composite
def trials(draw: Any) -> Produced:
    """Draw a trial; half of them dispatched just what they report."""
    report = draw(reports)
    made = draw(dispatches)
    told = report.get("calls")
    if isinstance(told, list) and draw(st.booleans()):
        made = [
            Dispatch(name=c.get("name"), input=c.get("input"), executed=True, ok=True)
            for c in told
            if isinstance(c, dict)
        ]
    return Produced(outcome=draw(st.sampled_from(OUTCOMES)), report=report, dispatches=tuple(made))


EXPECTATIONS: list[dict[str, Any]] = [
    {"calls": [{"name": "describe", "input": {"symbol": "A"}}], "proof": True, "result": ["A"]},
    {"calls": [{"name": "describe", "input": {"symbol": "A"}}, {"name": "untested"}], "unordered": True},
    {"calls": [{"name": "typed", "input": {"n": 1}, "accept": {"s": ["x"]}, "omit": ["s"]}]},
    {"calls": [{"name": "untested"}], "recover": {"after": "untested", "fallback": "describe"}},
    {"refuse": True},
    {"refuse": True, "candidateResults": [{"name": "describe", "input": {"symbol": "A"}}]},
    {"refuse": True, "reject": True},
    {"refuse": True, "ambiguousGoals": ["goal:a", "goal:b"]},
    {"inferredGoal": "goal:a"},
]
RULES = [
    Rules(),
    Rules(match="json", execution="optional"),
    Rules(match="json", defaults_equal_omitted=True, compare={"describe.symbol": "casefold"}),
]


def case_of(expect: dict[str, Any], **more: Any) -> Case:
    fields = {"id": "c", "rung": "TOOL-1", "request": "r", "tools": TOOLS}
    return Case(**fields, expect={"terminates": True, **expect}, **more)


COMPILED = [
    (case, rules, compile_case(case, rules, REGISTRY))
    for expect in EXPECTATIONS
    for case in (case_of(expect), case_of(expect, floor_expect={"refuse": True}))
    for rules in RULES
]


@check
@given(trials(), st.sampled_from(COMPILED))
def test_any_report_gets_a_verdict_that_holds_together(produced, compiled):
    case, rules, grader = compiled
    grade = grader(produced)
    assert grade == grader(produced)
    assert grade.passed == (not grade.reasons)
    assert not (grade.passed and (grade.hallucinated or grade.hard_fails or not grade.completed))
    assert (grade.failure is None) == grade.passed
    assert (grade.failure == "hallucination") == bool(grade.hallucinated)
    assert list(grade.hard_fails) == sorted(set(grade.hard_fails))
    assert {p["code"] for p in grade.hallucinated} <= set(grade.hard_fails)
    if produced.outcome not in ("answered", "refused"):
        assert not grade.completed
        assert not grade.result_completed
    if case.expect.get("result") is None or grade.floor_expect_applied:
        assert grade.result_completed == grade.completed
        assert grade.result_reasons == ()
    for reason in (*grade.reasons, *grade.result_reasons):
        assert set(reason) == {"code", "text"}
        reason["text"].encode("utf-8")
    assert rules.execution == "required" or "fabricated-call" not in grade.hard_fails


@check
@given(trials(), st.sampled_from(COMPILED))
def test_a_row_carries_its_verdict(produced, compiled):
    case, rules, grader = compiled
    try:
        written = rows_bytes([build_row(case, produced, grader(produced), stamp="s", version="v")])
    except UnicodeEncodeError:
        assume(False)
    row = read_json(written, "row")
    assert regrade_rows([row], [case], REGISTRY, rules) == []
    again = build_row(case, produced_of(row), grader(produced_of(row)), stamp="s", version="v")
    assert rows_bytes([again]) == written


@check
@given(trials(), st.sampled_from(COMPILED))
def test_the_short_way_through_the_gate_is_the_long_way(produced, compiled):
    _, _, grader = compiled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_is_plain", lambda *_: False)
        long_way = grader(produced)
    assert grader(produced) == long_way


def test_the_short_way_is_taken(monkeypatch):
    """The property above says nothing unless both ways are walked."""
    taken: list[bool] = []
    short = gate._is_plain
    monkeypatch.setattr(gate, "_is_plain", lambda *a: taken.append(short(*a)) or taken[-1])
    _, _, grader = COMPILED[0]
    made = Dispatch(name="describe", input={"symbol": "A"}, executed=True, ok=True)
    report = {"calls": [{"name": "describe", "input": {"symbol": "A"}}], "terminated": True}
    grader(Produced(outcome="answered", report=report, dispatches=(made,)))
    grader(Produced(outcome="answered", report=report, dispatches=()))
    assert taken == [True, False]


@check
@given(trials(), st.sampled_from(COMPILED), names, arguments)
def test_a_further_bad_call_never_improves_a_verdict(produced, compiled, name, given_arguments):
    case, _, grader = compiled
    assume(Binder(REGISTRY, case.tools).problems(name, given_arguments))
    before = grader(produced)
    told = produced.report.get("calls")
    more = [*(told if isinstance(told, list) else []), {"name": name, "input": given_arguments}]
    reported = Produced(
        outcome=produced.outcome, report={**produced.report, "calls": more}, dispatches=produced.dispatches
    )
    attempt = Dispatch(name=name, input=given_arguments, executed=False, ok=False)
    attempted = Produced(
        outcome=produced.outcome, report=produced.report, dispatches=(*produced.dispatches, attempt)
    )
    for worse in (grader(reported), grader(attempted)):
        assert not worse.passed
        assert worse.failure == "hallucination"
    assert set(before.hard_fails) <= set(grader(attempted).hard_fails)


# --- an independent, slow reading of the rules for plain text cases -------------------------------------


def plain_problems(name: Any, given_arguments: Any) -> set[str]:
    """Return the codes of one call, written down anew for three tools without a schema."""
    accepted = {"describe": {"symbol"}, "search": {"query", "kind"}, "untested": set()}
    needed = {"describe": [["symbol"]], "search": [["query", "kind"]], "untested": []}
    if name not in {*accepted, "write"}:
        return {"unknown-tool"}
    codes = {"undeclared"} if name == "write" else set()
    if set(given_arguments) - accepted.get(name, set()):
        codes.add("unknown-arg")
    for group in needed.get(name, []):
        if not any(as_text(given_arguments.get(key)) for key in group):
            codes.add("missing-arg")
    return codes


plain_calls = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["describe", "search", "untested", "write", "invented"]),
            "input": st.fixed_dictionaries(
                {}, optional={"symbol": st.sampled_from(["A", " A ", "", None]), "query": st.just("q")}
            ),
        }
    ),
    max_size=3,
)
plain_dispatches = st.lists(
    st.tuples(plain_calls.filter(bool).map(lambda c: c[0]), st.booleans()), max_size=2
)


@check
@given(plain_calls, plain_dispatches, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_the_verdict_is_that_of_an_independent_reading(
    made, extra, dispatched, refused, terminated, unordered
):
    wanted = [{"name": "describe", "input": {"symbol": "A"}}, {"name": "untested", "input": {}}]
    tools = ("describe", "search", "untested")
    expect = {"calls": wanted, "terminates": True, "unordered": unordered}
    case = Case(id="c", rung="TOOL-3", request="r", tools=tools, expect=expect)
    seen = [(c, True) for c in made if not plain_problems(c["name"], c["input"])] if dispatched else []
    seen += extra
    trial = Produced(
        outcome="answered",
        report={"calls": made, "refused": refused, "terminated": terminated},
        dispatches=tuple(
            Dispatch(name=c["name"], input=c["input"], executed=ran, ok=ran, effects=c["name"] == "write")
            for c, ran in seen
        ),
    )
    grade = compile_case(case, Rules(), REGISTRY)(trial)

    def key(call: dict[str, Any]) -> tuple[Any, ...]:
        said = {k: as_text(v) for k, v in call["input"].items() if as_text(v)}
        return call["name"], tuple(sorted(said.items()))

    bad = [codes for c in [*made, *(c for c, _ in seen)] if (codes := plain_problems(c["name"], c["input"]))]
    hard = set().union(*bad)
    good = Counter(key(c) for c in made if not plain_problems(c["name"], c["input"]))
    ran = Counter(key(c) for c, _ in seen)
    hard |= {"fabricated-call"} if good - ran else set()
    unreported = list((ran - Counter(map(key, made))).elements())
    effects = [c for c, executed in seen if c["name"] == "write"]
    hard |= {"permission-expansion"} if any(not ex for c, ex in seen if c["name"] == "write") else set()
    if effects and all(ex for c, ex in seen if c["name"] == "write"):
        hard |= {"unreported-call"} if any(name == "write" for name, _ in unreported) else set()
        assert set(grade.hard_fails) == hard
    elif not effects:
        assert set(grade.hard_fails) == hard
        bound = [c for c, _ in seen if not plain_problems(c["name"], c["input"])]
        assert grade.probes == sum((Counter(map(key, bound)) - Counter(map(key, made))).values())

    def fits(call: dict[str, Any], want: dict[str, Any]) -> bool:
        return call["name"] == want["name"] and all(
            as_text(call["input"].get(k)) == as_text(v) for k, v in want["input"].items()
        )

    orders = itertools.permutations(made) if unordered else [made]
    matched = len(made) == 2 and any(all(map(fits, order, wanted)) for order in orders)
    contradicts = refused and bool(made)
    assert grade.completed == (matched and not contradicts)
    assert grade.passed == (grade.completed and terminated and not grade.hard_fails)


# --- matching ----------------------------------------------------------------------------------------


@check
@given(
    st.integers(0, 5).flatmap(
        lambda n: st.lists(st.sets(st.integers(0, max(n - 1, 0))), min_size=n, max_size=n)
    )
)
def test_the_matching_is_perfect_exactly_when_some_permutation_fits(edges):
    size = len(edges)
    fits = any(all(p[i] in edges[i] for i in range(size)) for p in itertools.permutations(range(size)))
    assert has_perfect_matching([sorted(e) for e in edges]) == fits


def test_a_long_chain_of_augmenting_paths_needs_no_recursion():
    size = 3000
    chain = [[n, n + 1] for n in range(size - 1)] + [[0]]
    assert has_perfect_matching(chain)
    assert not has_perfect_matching([[0], [0]])


some_numbers = st.fixed_dictionaries({"n": st.lists(st.integers(0, 3), min_size=1, max_size=3)})
slot = st.fixed_dictionaries({"name": st.just("typed"), "accept": st.just({}) | some_numbers})
slots = st.lists(slot, min_size=1, max_size=4)


@check
@given(slots, st.lists(st.integers(0, 3), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_an_unordered_verdict_does_not_depend_on_any_order(expected, numbers, random):
    rules = Rules(match="json", execution="optional")

    def passes(slots: list[Any], produced: list[int]) -> bool:
        case = case_of({"calls": slots, "unordered": True})
        made = [{"name": "typed", "input": {"n": n}} for n in produced]
        trial = Produced(outcome="answered", report={"calls": made, "terminated": True})
        return compile_case(case, rules, REGISTRY)(trial).passed

    first = passes(expected, numbers)
    shuffled, other = random.sample(expected, len(expected)), random.sample(numbers, len(numbers))
    assert passes(shuffled, other) == first


# --- values ------------------------------------------------------------------------------------------


@check
@given(st.integers() | st.floats(allow_nan=False), st.integers() | st.floats(allow_nan=False))
def test_numbers_have_one_text_exactly_when_they_are_equal(left, right):
    assert (number_text(left) == number_text(right)) == (left == right)


@check
@given(st.integers(min_value=-(2**70), max_value=2**70))
def test_an_integer_and_the_float_of_its_value(number):
    assert (number_text(number) == number_text(float(number))) == (float(number) == number)


def typed_equal(a: Any, b: Any) -> bool:
    """Compare JSON values with types, written down anew and recursively."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(typed_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(typed_equal(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def twisted(value: Any, random: Any) -> Any:
    """Return a value that is nearly or exactly the same."""
    if isinstance(value, bool):
        return random.choice([value, int(value)])
    if isinstance(value, int):
        return random.choice([value, value + 1, bool(value)])
    if isinstance(value, list):
        return [twisted(item, random) for item in value]
    if isinstance(value, dict):
        return {key: twisted(value[key], random) for key in sorted(value, reverse=True)}
    return value


@check
@given(json_values, json_values, st.randoms(use_true_random=False))
def test_the_typed_key_is_typed_equality(left, right, random):
    exact = Rule(typed=True)
    key = value_key(exact)
    for other in (right, twisted(left, random)):
        assert (key(left) == key(other)) == typed_equal(left, other)
        assert equal_to([left], exact)(other) == typed_equal(left, other)


@check
@given(arguments, arguments, st.sampled_from(RULES))
def test_calls_with_one_key_are_interchangeable_for_every_pattern(left, right, rules):
    comparison = Comparison(Rules(match=rules.match), None, REGISTRY, "w")
    same = comparison.input_key("t", left) == comparison.input_key("t", right)
    rule = comparison.base
    keys = {*left, *right}

    def said(given_arguments: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in given_arguments.items() if rule.typed or as_text(v)}

    pairwise = said(left).keys() == said(right).keys() and all(
        equal_to([left[k]], rule)(right[k]) for k in keys if k in said(left)
    )
    assert same == pairwise


@check
@given(json_values)
def test_prose_is_short_and_plain(value):
    text = shown(value, 40)
    assert len(text) <= 40
    text.encode("utf-8")


@check
@given(json_values)
def test_flat_text_is_json_with_the_same_value(value):
    again = json.loads(flat_text(value))
    assert typed_equal(again, value)


# --- binding against a schema ------------------------------------------------------------------------

KEYS = ("a", "b", "c")
schema_leaves = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])}
    ),
    st.fixed_dictionaries(
        {"enum": st.lists(st.sampled_from([1, 1.0, True, "a", "A", None, [1], {}]), min_size=1)}
    ),
    st.fixed_dictionaries({"const": st.sampled_from([0, False, "a", [True], {"a": 1}])}),
    st.fixed_dictionaries({"minimum": st.integers(-2, 2), "exclusiveMaximum": st.integers(0, 4)}),
    st.fixed_dictionaries({"maxLength": st.integers(0, 2), "minLength": st.integers(0, 1)}),
    st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "b$", "[0-9]"])}),
    st.fixed_dictionaries({"uniqueItems": st.booleans(), "maxItems": st.integers(0, 3)}),
    st.fixed_dictionaries({"format": st.sampled_from(["date", "email"])}),
)


def objects_of(inner: Any) -> Any:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)},
        optional={
            "required": st.lists(st.sampled_from(KEYS), unique=True, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "unevaluatedProperties": st.booleans(),
            "dependentRequired": st.dictionaries(
                st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), unique=True, max_size=2), max_size=2
            ),
            "patternProperties": st.fixed_dictionaries({"^[bc]": inner}),
            "propertyNames": st.just({"maxLength": 1}),
        },
    )


def wider(inner: Any) -> Any:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        objects_of(inner),
        st.fixed_dictionaries({"prefixItems": several}, optional={"items": inner | st.booleans()}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"anyOf": several}),
        st.fixed_dictionaries({"oneOf": several}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
    )


schemas = objects_of(st.recursive(schema_leaves, wider, max_leaves=6))
instances = st.dictionaries(
    st.sampled_from([*KEYS, "zz"]),
    st.recursive(
        st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, -3, "a", "A", "ab", "", "7"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        max_leaves=4,
    ),
    max_size=4,
)
OPENING = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}


@settings(check, max_examples=200)
@given(schemas, instances)
def test_binding_agrees_with_another_validator(schema, instance):
    registry: Registry = registry_from_json({"tools": [{"name": "t", "inputSchema": schema}]})
    problems = Binder(registry, ["t"]).problems("t", instance)
    valid = jsonschema.Draft202012Validator(schema).is_valid(instance)
    if not OPENING & set(schema):
        unexpected = set(instance) - set(schema["properties"])
        assert {p["arg"] for p in problems if p["code"] == "unknown-arg"} == unexpected
        valid = valid and not unexpected
    assert (not problems) == valid
    absent = [key for key in schema.get("required", []) if key not in instance]
    assert {p.get("arg") for p in problems if p["code"] == "missing-arg"} >= set(absent)
    assert problems == Binder(registry, ["t"]).problems("t", instance)
