import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.binding import Binder
from study.driver import ToolResult
from study.drivers import load_driver
from study.drivers.stub import RULES, STOPWORDS, drive

HITS = [
    ("list everything untested", "tmct_untested", {}),
    ("which functions come without tests", "tmct_untested", {}),
    ("what is the impact of loans.desk", "tmct_impact", {"module": "loans.desk"}),
    ("what does renew call", "tmct_callees", {"symbol": "renew"}),
    ("show the callees of renew", "tmct_callees", {"symbol": "renew"}),
    ("Who calls Shelf?", "tmct_callers", {"symbol": "Shelf"}),
    ("where is Shelf used", "tmct_callers", {"symbol": "Shelf"}),
    ("which tests exercise Shelf", "tmct_tests_for", {"symbol": "Shelf"}),
    ("Exports of loans/desk.py", "tmct_exports", {"module": "loans/desk.py"}),
    ("subclasses of Shelf, please", "tmct_subclasses", {"class": "Shelf"}),
    ("List the members of Shelf", "tmct_members", {"class": "Shelf"}),
    ("history of renew", "tmct_history", {"symbol": "renew"}),
    ("give me the signature of `renew`", "tmct_signature", {"symbol": "renew"}),
    ("co-changes of loans/desk.py", "tmct_cochanges", {"symbol": "loans/desk.py"}),
    ("what is related to Shelf", "tmct_related", {"term": "Shelf"}),
    ("Describe Shelf", "tmct_describe", {"symbol": "Shelf"}),
    ("what is renew", "tmct_describe", {"symbol": "renew"}),
    ("search for overdue loans", "tmct_search", {"query": "overdue loans"}),
    ("Find  late fees?", "tmct_search", {"query": "late fees"}),
    ("look up late fees", "tmct_search", {"query": "late fees"}),
]
ORDER = [
    "tmct_untested",
    "tmct_impact",
    "tmct_callees",
    "tmct_callers",
    "tmct_tests_for",
    "tmct_exports",
    "tmct_subclasses",
    "tmct_members",
    "tmct_history",
    "tmct_signature",
    "tmct_cochanges",
    "tmct_related",
    "tmct_describe",
    "tmct_search",
]


def cues(rule):
    return [*sorted(rule.words), *(" ".join(sorted(pair)) for pair in rule.pairs)]


@pytest.mark.parametrize("request_, tool, arguments", HITS)
def test_one_rule_hits(request_, tool, arguments, make_context, all_tools):
    ctx = make_context(all_tools)
    got = drive(request_, all_tools, ctx)
    assert [(c.name, c.input) for c in got.calls] == [(tool, arguments)]
    assert not got.refused
    assert got.terminated
    assert got.driver == "stub-floor"
    assert [(d.name, d.executed, d.ok) for d in ctx.dispatched] == [(tool, True, True)]


def test_every_rule_is_hit_above():
    assert {tool for _, tool, _ in HITS} == {rule.tool for rule in RULES}


def test_the_rules_are_in_order():
    assert [rule.tool for rule in RULES] == ORDER


@pytest.mark.parametrize("first", range(14))
def test_the_first_rule_that_hits_decides(first, make_context, all_tools):
    words = " ".join(cues(rule)[0] for rule in reversed(RULES[first:]))
    got = drive(f"{words} Shelf", all_tools, make_context(all_tools))
    assert [c.name for c in got.calls] == [ORDER[first]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.tool)
def test_every_cue_reaches_its_rule_and_is_no_entity(rule, make_context, all_tools):
    for cue in cues(rule):
        got = drive(f"{cue} Shelf", all_tools, make_context(all_tools))
        assert [c.name for c in got.calls] == [rule.tool], cue
        assert set(cue.split()) <= STOPWORDS


def test_an_undeclared_tool_does_not_fall_through(make_context):
    tools = ["tmct_describe"]
    ctx = make_context(tools)
    got = drive("describe the callers of Shelf", tools, ctx)
    assert got.refused
    assert got.calls == []
    assert "not declared" in got.why
    assert ctx.dispatched == ()


@pytest.mark.parametrize(
    "request_, why",
    [
        ("", "no keyword"),
        ("rebind Shelf", "no keyword"),
        ("describe it", "no entity"),
        ("callers of Nowhere", "no entity 'Nowhere'"),
        ("describe Atlas", "Atlas-3 or Atlas-4"),
        ("search", "needs one of"),
    ],
)
def test_refusals(request_, why, make_context, all_tools):
    got = drive(request_, all_tools, make_context(all_tools))
    assert got.refused
    assert got.terminated
    assert (got.calls, got.proof, got.composed) == ([], [], None)
    assert why in got.why


def test_a_tie_is_refused_before_the_tool_runs(make_context, all_tools):
    ctx = make_context(all_tools)
    drive("describe Atlas", all_tools, ctx)
    assert ctx.dispatched == ()


def test_free_text_is_not_resolved(make_context, all_tools):
    got = drive("search Atlas", all_tools, make_context(all_tools))
    assert got.calls[0].input == {"query": "Atlas"}


@pytest.mark.parametrize(
    "request_, entity",
    [
        ("describe renew in Shelf", "Shelf"),
        ("describe Shelf of renew", "Shelf"),
        ("describe loans.desk then renew", "loans.desk"),
        ("describe Shelf loans/desk.py", "loans/desk.py"),
        ("Describe the Shelf's", "Shelf"),
        ("describe renew.", "renew"),
    ],
)
def test_the_entity_is_the_last_that_looks_like_a_name(request_, entity, make_context, all_tools):
    got = drive(request_, all_tools, make_context(all_tools))
    assert got.calls[0].input == {"symbol": entity}


def test_proof_and_observation(make_context, all_tools):
    got = drive("describe Shelf", all_tools, make_context(all_tools))
    assert got.proof == [
        {"kind": "precondition", "condition": {"kind": "graph-loaded"}, "ok": True},
        {
            "kind": "precondition",
            "condition": {"kind": "resolves", "param": "target", "class": "any"},
            "ok": True,
            "bound": "Shelf",
        },
        {
            "kind": "effect",
            "change": "add",
            "effect": {"kind": "knows", "topic": "describe"},
            "bound": "Shelf",
        },
    ]
    assert got.composed == ["b", "a"]
    assert len(got.observed) == 240
    assert "tmct_describe" in got.why


@pytest.mark.parametrize("result, composed", [("text", None), ([], []), ([1], None), (None, None)])
def test_only_a_list_of_labels_is_composed(result, composed, make_context, all_tools):
    class Toolset:
        names = all_tools

        def dispatch(self, name, arguments):
            return ToolResult(ok=True, result=result)

    got = drive("describe Shelf", all_tools, make_context(all_tools, Toolset()))
    assert got.composed == composed
    assert got.observed is None
    assert not got.refused


def test_a_bug_of_the_toolset_is_not_hidden(make_context, all_tools):
    class Toolset:
        names = all_tools

        def dispatch(self, name, arguments):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive("describe Shelf", all_tools, make_context(all_tools, Toolset()))


WORDS = st.sampled_from(
    [*sorted(STOPWORDS), "Shelf", "renew", "Atlas", "loans.desk", "loans/desk.py", "Nowhere", "?", ",", "x_1"]
)
REQUESTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=9).map(" ".join))


@settings(deadline=None)
@given(
    request_=REQUESTS, data=st.data(), name=st.sampled_from(["stub", "shim", "first-declared", "refuse-all"])
)
def test_no_floor_leaves_the_declared_set(request_, data, name, make_context, registry, all_tools):
    tools = data.draw(st.lists(st.sampled_from([*all_tools, "tmct_ghost"]), unique=True))
    ctx = make_context(tools)
    got = load_driver(name, where="test").call(request_, tools, ctx)
    binder = Binder(registry, tools)
    assert len(got.calls) <= 1
    assert got.refused == (not got.calls)
    assert got.terminated
    assert [binder.problems(c.name, c.input) for c in got.calls] == [[] for _ in got.calls]
    assert all(d.executed for d in ctx.dispatched)
    answered = [(d.name, msgspec.json.decode(msgspec.json.encode(d.input))) for d in ctx.dispatched if d.ok]
    assert answered == [(c.name, c.input) for c in got.calls if got.proof]
    assert all(step.get("ok", True) for step in got.proof)


@settings(deadline=None)
@given(request_=REQUESTS)
def test_the_stub_is_deterministic(request_, make_context, all_tools):
    first, second = (drive(request_, all_tools, make_context(all_tools)) for _ in range(2))
    assert first == second


def test_one_request_takes_microseconds(make_context, all_tools):
    ctx = make_context(all_tools)
    drive("find overdue loans", all_tools, ctx)
    rounds = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            drive("please describe the Shelf in loans", all_tools, ctx)
        rounds.append((time.perf_counter() - start) / 100)
    assert min(rounds) < 200e-6
