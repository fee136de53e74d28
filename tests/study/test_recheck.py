"""The second look at expectations: sound cases about the toy graph, then one mutation at a time.

The answers were read off cases/toy/graph.json by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from study.cases import Case, Rules, load_suite
from study.declare import lint, oracle_of
from study.errors import SuiteError
from study.lint import Oracle, lint_case, lint_suite, recheck_cases
from study.toolsets import load_toolset
from study.toolsets.codegraph import PlainGraph
from study.toolsets.functions import FunctionToolset

TOY = Path(__file__).resolve().parents[2] / "cases" / "toy"
SUITE = load_suite(TOY)
ORACLE = PlainGraph(TOY / "graph.json")
RULES = Rules(goals=("goal:coverage-gap", "goal:cochange-risk"))

LOTS, VAULT, HUMIDITY = "seedbank.lots", "seedbank.vault", "seedbank.humidity"
WEIGH, ROOM_WEIGH = f"{LOTS}.Lot.weigh", f"{VAULT}.ColdRoom.weigh"
STORE, SHELVES = f"{VAULT}.ColdRoom.store", f"{VAULT}.ColdRoom.shelves"
FROZEN, PACKED = f"{LOTS}.FrozenLot", f"{LOTS}.PackedLot"
DRY, PROBE = f"{HUMIDITY}.dry_until", f"{HUMIDITY}.read_probe"
UNTESTED_MODULES = [
    f"seedbank.{n}" for n in ("catalogue", "fieldbook", "germination", "humidity", "settings")
]
KEYS = {"members": "class", "subclasses": "class", "impact": "module", "architecture": "package"}


def call(tool: str, about: str | None = None, **more: Any) -> dict[str, Any]:
    given = {} if about is None else {KEYS.get(tool, "symbol"): about}
    return {"name": f"tmct_{tool}", "input": given, **more}


def hops(tool: str, *labels: str) -> list[dict[str, Any]]:
    return [call(tool, label) for label in labels]


FIRED = [call("subclasses", "FrozenLot"), call("callers", "FrozenLot")]
FIRES = {"after": "tmct_subclasses", "fallback": "tmct_callers"}
ENUMERATED = [call("members", "ColdRoom"), *hops("callees", SHELVES, STORE, ROOM_WEIGH)]
DEEPER = [*ENUMERATED, *hops("callees", DRY, FROZEN, WEIGH)]
SCOPED = [call("impact", "lots"), call("untested")]
GLOBAL = [call("untested"), *hops("impact", *UNTESTED_MODULES)]
TIED = [call("callers", WEIGH), call("callers", ROOM_WEIGH)]

SOUND: dict[str, dict[str, Any]] = {
    "answer": {"calls": [call("callers", "read_probe")], "result": [DRY]},
    "answer empty": {"calls": [call("callers", "sow")], "result": []},
    "answer free compose": {
        "calls": [call("callers", "read_probe")],
        "result": [DRY],
        "compose": "as it is",
    },
    "accept": {"calls": [call("callers", "read_probe", accept={"symbol": [PROBE]})], "result": [DRY]},
    "accept alone": {
        "calls": [{"name": "tmct_callers", "accept": {"symbol": ["read_probe", PROBE]}}],
        "result": [DRY],
    },
    "accept unpinned": {"calls": [call("callers", "read_probe", accept={"symbol": ["sow"]})]},
    "omit": {
        "calls": [{"name": "tmct_search", "input": {"query": "Room.st", "kind": "method"}, "omit": ["kind"]}],
        "result": [STORE],
    },
    "steps": {"calls": [call("members", "Lot"), call("untested"), call("tests_for", "sow")]},
    "fallback": {
        "calls": [call("subclasses", "FrozenLot"), call("members", "Lot")],
        "result": [f"{LOTS}.Lot.species", WEIGH],
        "compose": "fallback",
    },
    "fallback first": {
        "calls": [call("subclasses", "PackedLot"), call("members", "PackedLot")],
        "result": [FROZEN],
        "compose": "fallback",
    },
    "guard": {
        "calls": [call("subclasses", "FrozenLot"), call("describe", "FrozenLot")],
        "result": [FROZEN],
        "compose": "guard",
    },
    "guard shut": {
        "calls": [call("subclasses", "Lot"), call("describe", "Lot")],
        "result": [],
        "compose": "guard",
    },
    "intersection": {
        "calls": [call("callers", "Lot.weigh"), call("untested")],
        "result": [ROOM_WEIGH],
        "compose": "intersection",
    },
    "recover": {"calls": FIRED, "recover": FIRES, "result": [STORE], "compose": "recover"},
    "recover implied": {"calls": FIRED, "recover": FIRES, "result": [STORE]},
    "recover not needed": {
        "calls": [call("subclasses", "Lot")],
        "result": [FROZEN, PACKED],
        "compose": "recover",
    },
    "hop": {"calls": ENUMERATED, "result": [STORE, ROOM_WEIGH], "compose": f"hop {WEIGH}"},
    "hop nothing": {"calls": [call("members", "FrozenLot")], "result": [], "compose": f"hop {WEIGH}"},
    "hop tests": {
        "calls": [call("subclasses", "Lot"), *hops("tests_for", FROZEN, PACKED)],
        "result": [PACKED],
        "compose": "hop tests.test_lots",
    },
    "reach": {"calls": DEEPER, "result": [STORE], "compose": f"reach {PROBE}"},
    "reach member": {
        "calls": [*ENUMERATED, *hops("callees", DRY, FROZEN), call("callees", PROBE)],
        "result": [STORE, ROOM_WEIGH],
        "compose": f"reach {WEIGH}",
    },
    "goal": {
        "calls": SCOPED,
        "result": UNTESTED_MODULES[:1] + UNTESTED_MODULES[2:4],
        "compose": "goal:coverage-gap",
    },
    "goal global": {
        "calls": GLOBAL,
        "result": ["seedbank.settings"],
        "compose": "goal:coverage-gap global",
    },
    "goal cochange": {
        "calls": [call("cochanges", VAULT), call("untested")],
        "result": [HUMIDITY],
        "compose": "goal:cochange-risk",
    },
    "refuse": {"refuse": True},
    "candidates": {"refuse": True, "candidateResults": TIED, "request": "Who calls `weigh`?"},
    "candidates dotted": {"refuse": True, "candidateResults": TIED, "request": "I changed sow. And WEIGH."},
    "goal inferred": {
        "inferredGoal": "goal:coverage-gap",
        "trace": (call("impact", "lots"), call("untested")),
    },
    "capability inferred": {"inferredGoal": "cap:members", "trace": (call("members", "Lot"),)},
    "goals tied": {
        "refuse": True,
        "ambiguousGoals": ["goal:coverage-gap", "goal:cochange-risk", "cap:untested"],
        "trace": (call("untested"),),
    },
    "rejected": {"refuse": True, "reject": True, "trace": (call("untested"), call("impact", "lots"))},
    "rejected repetition": {"refuse": True, "reject": True, "trace": (call("members", "Lot"),) * 2},
    "rejected length": {
        "refuse": True,
        "reject": True,
        "trace": (call("impact", "lots"), call("untested"), call("members", "Lot")),
    },
}
FIELDS = ("compose", "request", "tools", "trace")


def case_of(kind: str, drop: str = "", **changes: Any) -> Case:
    """Return a sound case with some changes; ``drop`` names a key to leave out."""
    told = {**SOUND[kind], **changes}
    told.pop(drop, None)
    expect = {"terminates": True, **{key: told[key] for key in told if key not in FIELDS}}
    tools = tuple(name for name in SUITE.registry if name not in ("tmct_related", "tmct_sprite"))
    base = {"id": "c", "rung": "TOOL-5", "request": "about seeds", "tools": tools}
    return Case(**{**base, **{key: told[key] for key in told if key in FIELDS}, "expect": expect})


def findings(case: Case, oracle: Oracle = ORACLE, rules: Rules = RULES) -> list[tuple[str, str]]:
    found = recheck_cases([case], rules, SUITE.registry, oracle, where="cases.jsonl")
    assert all(f.where == "cases.jsonl:c" and f.text for f in found)
    return [(f.code, f.level) for f in found]


@pytest.mark.parametrize("kind", SOUND)
def test_sound_cases(kind):
    case = case_of(kind)
    assert lint_case(case, RULES, SUITE.registry, where="f", labels=ORACLE.labels) == []
    assert findings(case) == []


MUTATIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("recheck-call", "answer", {"calls": [call("callers", "nobody")]}),
    ("recheck-call", "answer", {"calls": [call("callers", "weigh")]}),
    ("recheck-call", "answer", {"calls": [call("members", "sow")]}),
    ("recheck-call", "steps", {"calls": [call("members", "Lot"), call("exports", "Lot")]}),
    ("recheck-call", "accept", {"calls": [call("callers", "read_probe", accept={"symbol": ["nobody"]})]}),
    ("recheck-call", "recover", {"calls": [FIRED[0], call("callers", "weigh")]}),
    ("recheck-alternative", "accept", {"calls": [call("callers", "read_probe", accept={"symbol": ["sow"]})]}),
    (
        "recheck-alternative",
        "omit",
        {"calls": [{**SOUND["omit"]["calls"][0], "accept": {"kind": ["class"]}}]},
    ),
    ("recheck-call", "omit", {"calls": [{**SOUND["omit"]["calls"][0], "accept": {"kind": ["thing"]}}]}),
    ("recheck-result", "answer", {"result": []}),
    ("recheck-result", "answer", {"result": [PROBE]}),
    ("recheck-result", "answer", {"result": [DRY, PROBE]}),
    ("recheck-result", "answer empty", {"result": [DRY]}),
    ("recheck-result", "answer free compose", {"result": []}),
    ("recheck-result", "accept alone", {"result": []}),
    ("recheck-result", "fallback", {"result": [WEIGH]}),
    ("recheck-result", "fallback", {"compose": "intersection"}),
    ("recheck-result", "fallback first", {"result": [FROZEN, f"{PACKED}.seal"]}),
    ("recheck-result", "fallback first", {"compose": "guard"}),
    ("recheck-result", "guard", {"result": []}),
    ("recheck-result", "guard shut", {"result": [f"{LOTS}.Lot"]}),
    ("recheck-result", "guard shut", {"compose": "fallback"}),
    ("recheck-result", "intersection", {"result": [ROOM_WEIGH, STORE]}),
    ("recheck-result", "recover", {"result": []}),
    ("recheck-result", "recover not needed", {"result": [PACKED]}),
    ("recheck-result", "hop", {"result": [STORE]}),
    ("recheck-result", "hop", {"compose": f"hop {DRY}"}),
    ("recheck-result", "hop nothing", {"result": [WEIGH]}),
    ("recheck-result", "hop tests", {"result": [FROZEN, PACKED]}),
    ("recheck-result", "reach", {"result": []}),
    ("recheck-result", "reach", {"result": [STORE, ROOM_WEIGH]}),
    ("recheck-result", "goal", {"result": UNTESTED_MODULES}),
    ("recheck-result", "goal global", {"result": [HUMIDITY]}),
    ("recheck-result", "goal global", {"result": []}),
    ("recheck-result", "goal cochange", {"result": [HUMIDITY, LOTS]}),
    ("recheck-plan", "fallback", {"calls": [call("subclasses", "FrozenLot")]}),
    ("recheck-plan", "guard", {"calls": [*SOUND["guard"]["calls"], call("untested")]}),
    ("recheck-plan", "intersection", {"calls": [call("untested")]}),
    ("recheck-plan", "recover", {"calls": [*FIRED, call("untested")]}),
    ("recheck-plan", "hop", {"calls": ENUMERATED[:-1]}),
    ("recheck-plan", "hop", {"calls": [*ENUMERATED, call("callees", DRY)]}),
    ("recheck-plan", "hop", {"calls": [ENUMERATED[0], *ENUMERATED[:0:-1]]}),
    ("recheck-plan", "hop", {"calls": [*ENUMERATED[:-1], call("callers", ROOM_WEIGH)]}),
    ("recheck-plan", "hop", {"calls": [*ENUMERATED[:-1], call("callees", "ColdRoom.weigh")]}),
    ("recheck-plan", "hop", {"compose": f"reach {WEIGH}"}),
    ("recheck-plan", "hop nothing", {"calls": [call("members", "FrozenLot"), call("callees", FROZEN)]}),
    ("recheck-plan", "reach", {"calls": DEEPER[:-1]}),
    ("recheck-plan", "reach", {"calls": [*DEEPER, call("callees", PROBE)]}),
    ("recheck-plan", "reach", {"compose": f"hop {PROBE}"}),
    ("recheck-plan", "goal", {"calls": SCOPED[::-1]}),
    ("recheck-plan", "goal", {"calls": [call("cochanges", "lots"), call("untested")]}),
    ("recheck-plan", "goal", {"calls": [call("impact", "Lot"), call("untested")]}),
    ("recheck-plan", "goal", {"calls": [call("impact", "test_lots"), call("untested")]}),
    ("recheck-plan", "goal", {"calls": SCOPED[:1]}),
    ("recheck-plan", "goal", {"compose": "goal:coverage-gap global"}),
    ("recheck-plan", "goal", {"compose": "goal:cochange-risk"}),
    ("recheck-plan", "goal global", {"calls": GLOBAL[:-1]}),
    ("recheck-plan", "goal global", {"calls": [GLOBAL[0], *GLOBAL[:0:-1]]}),
    ("recheck-plan", "goal global", {"calls": [*GLOBAL, call("impact", LOTS)]}),
    ("recheck-plan", "goal global", {"calls": [*GLOBAL[:-1], call("impact", "settings")]}),
    ("recheck-plan", "goal global", {"calls": [*GLOBAL[:-1], call("history", "seedbank.settings")]}),
    ("recheck-plan", "goal global", {"compose": "goal:coverage-gap"}),
    ("recheck-compose", "hop", {"compose": "hop"}),
    ("recheck-compose", "hop", {"compose": "hop Lot.weigh"}),
    ("recheck-compose", "reach", {"compose": f"reach {PROBE}s"}),
    ("recheck-compose", "goal", {"compose": "goal:coverage-gap everywhere"}),
    ("recheck-compose", "goal cochange", {"compose": "goal:cochange-risk global"}),
    ("recheck-recovery", "recover", {"drop": "recover"}),
    ("recheck-recovery", "recover", {"calls": FIRED[:1]}),
    ("recheck-recovery", "recover", {"calls": [call("subclasses", "Lot"), FIRED[1]]}),
    ("recheck-recovery", "recover", {"recover": {"after": "tmct_callers", "fallback": "tmct_subclasses"}}),
    ("recheck-recovery", "recover implied", {"calls": [call("subclasses", "Lot"), FIRED[1]]}),
    ("recheck-recovery", "recover implied", {"calls": FIRED[:1]}),
    ("recheck-recovery", "recover not needed", {"recover": FIRES}),
    ("recheck-recovery", "recover not needed", {"calls": FIRED[:1], "result": []}),
    ("recheck-recovery", "recover not needed", {"calls": [call("subclasses", "Lot"), FIRED[1]]}),
    ("recheck-recovery", "fallback", {"recover": {"after": "tmct_subclasses", "fallback": "tmct_members"}}),
    ("recheck-candidates", "candidates", {"candidateResults": TIED[:1]}),
    ("recheck-candidates", "candidates", {"candidateResults": [TIED[0], call("callers", STORE)]}),
    ("recheck-candidates", "candidates", {"candidateResults": [TIED[0], call("callers", "ColdRoom.weigh")]}),
    ("recheck-candidates", "candidates", {"candidateResults": [*TIED, call("callers", STORE)]}),
    ("recheck-candidates", "candidates", {"candidateResults": [*TIED, TIED[0]]}),
    ("recheck-candidates", "candidates", {"candidateResults": [TIED[0], call("callees", ROOM_WEIGH)]}),
    ("recheck-candidates", "candidates", {"candidateResults": [call("members", WEIGH)] * 2}),
    ("recheck-candidates", "candidates", {"request": "Who calls Lot.weigh?"}),
    ("recheck-candidates", "candidates", {"request": "Who outweighs it?"}),
    ("recheck-trace", "goal inferred", {"inferredGoal": "goal:cochange-risk"}),
    ("recheck-trace", "goal inferred", {"trace": SOUND["goal inferred"]["trace"][::-1]}),
    ("recheck-trace", "goal inferred", {"trace": SOUND["goal inferred"]["trace"][:1]}),
    ("recheck-trace", "capability inferred", {"trace": (call("members", "Lot"),) * 2}),
    ("recheck-trace", "goals tied", {"ambiguousGoals": ["goal:coverage-gap", "cap:untested"]}),
    ("recheck-trace", "goals tied", {"tools": ("tmct_impact", "tmct_untested")}),
    ("recheck-trace", "goals tied", {"drop": "ambiguousGoals"}),
    ("recheck-trace", "rejected", {"trace": SOUND["rejected"]["trace"][::-1]}),
    ("recheck-trace", "rejected", {"drop": "reject"}),
    ("recheck-trace", "rejected length", {"trace": SOUND["rejected length"]["trace"][:2]}),
]


@pytest.mark.parametrize(("code", "kind", "changes"), MUTATIONS)
def test_one_mutation_one_code(code, kind, changes):
    assert findings(case_of(kind, **changes)) == [(code, "error")]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("fallback", {"drop": "compose"}),
        ("fallback", {"compose": "fallback twice"}),
        ("intersection", {"compose": "the difference"}),
        ("recover implied", {"calls": [*FIRED, call("untested")]}),
        ("recover implied", {"compose": "whatever", "drop": "result"}),
    ],
)
def test_several_calls_without_a_known_compose_are_a_warning(kind, changes):
    assert findings(case_of(kind, **changes)) == [("not-rechecked", "warning")]


def test_a_goal_of_the_suite_without_a_known_plan_is_a_warning():
    rules = Rules(goals=(*RULES.goals, "goal:harvest"))
    assert findings(case_of("goal inferred"), rules=rules) == [("not-rechecked", "warning")]
    assert findings(case_of("goal inferred"), rules=Rules(goals=("cap:untested",))) == []


def test_the_first_of_equally_large_impacts_wins():
    graph = Answers(
        {
            ("tmct_untested", ""): {"b", "a", "a.f"},
            ("tmct_impact", "a"): {"c"},
            ("tmct_impact", "b"): {"d"},
        },
        {"a": "module", "b": "module", "a.f": "function"},
    )
    case = case_of("goal global", calls=[call("untested"), *hops("impact", "a", "b")], result=["a"])
    assert findings(case, graph) == []
    assert findings(msgspec.structs.replace(case, expect={**case.expect, "result": ["b"]}), graph) == [
        ("recheck-result", "error")
    ]


def test_no_untested_module_means_no_module():
    graph = Answers({("tmct_untested", ""): {"a.f"}}, {"a.f": "function"})
    assert findings(case_of("goal global", calls=[call("untested")], result=[]), graph) == []


def test_a_transitive_filter_goes_around_a_circle_once():
    graph = Answers(
        {
            ("tmct_members", "C"): {"C.a", "C.b", "C.d"},
            ("tmct_callees", "C.a"): {"f"},
            ("tmct_callees", "C.b"): {"C.a"},
            ("tmct_callees", "C.d"): {"C.d"},
            ("tmct_callees", "f"): {"g", "C.a"},
            ("tmct_callees", "g"): {"f", "t"},
        },
        {"t": "function"},
    )
    calls = [call("members", "C"), *hops("callees", "C.a", "C.b", "C.d", "f", "g")]
    assert findings(case_of("reach", calls=calls, result=["C.a", "C.b"], compose="reach t"), graph) == []
    again = [*calls, call("callees", "f")]
    assert findings(case_of("reach", calls=again, result=["C.a", "C.b"], compose="reach t"), graph) == [
        ("recheck-plan", "error")
    ]


def test_readings_that_the_tool_does_not_take_are_no_candidates():
    graph = Answers(
        {}, {"a.item": "class", "b.item": "function", "item": "module"}, takes={"class", "function"}
    )
    two = hops("signature", "a.item", "b.item")
    assert findings(case_of("candidates", candidateResults=two, request="item's signature"), graph) == []
    three = [*two, call("signature", "item")]
    assert findings(case_of("candidates", candidateResults=three, request="item's signature"), graph) == [
        ("recheck-candidates", "error")
    ]


@pytest.mark.parametrize("kind", ["answer", "candidates"])
def test_a_tool_that_the_oracle_does_not_know_is_a_warning(kind):
    assert findings(case_of(kind), Answers({}, {}, takes=None)) == [("not-rechecked", "warning")]


class Answers:
    """An oracle of a few written answers; a name means every label that ends with it."""

    def __init__(self, answers, kinds, takes=frozenset({"function"})):
        self.answers, self.kinds, self.kinds_taken = answers, kinds, takes

    def answer(self, name, arguments):
        return frozenset(self.answers[name, next(iter(arguments.values()), "")])

    def readings(self, term):
        return {
            label: kind for label, kind in self.kinds.items() if label.split(".")[-1] == term.split(".")[-1]
        }

    def takes(self, tool):
        return self.kinds_taken


# --- how the oracle reaches the lint -------------------------------------------------------------------


def mutated(**expect: Any):
    """Return the toy suite with a change to the first case that pins a result."""
    first = next(case for case in SUITE.cases if "result" in case.expect)
    changed = msgspec.structs.replace(first, expect={**first.expect, **expect})
    cases = tuple(changed if case.id == first.id else case for case in SUITE.cases)
    return msgspec.structs.replace(SUITE, cases=cases), first.id


def test_the_code_graph_offers_its_oracle_and_others_need_not():
    oracle = oracle_of(load_toolset("codegraph", SUITE))
    assert isinstance(oracle, PlainGraph)
    assert oracle.labels == ORACLE.labels
    assert oracle_of(None) is None
    assert oracle_of(FunctionToolset({"t": list})) is None


def test_what_is_no_oracle_is_not_asked():
    tools = FunctionToolset({"t": list})
    tools.oracle = "delphi"
    assert oracle_of(tools) is None


def test_a_wrong_expectation_stops_a_run():
    suite, case = mutated(result=["seedbank.vault"])
    with pytest.raises(SuiteError) as caught:
        lint(suite, load_toolset("codegraph", suite))
    assert f"cases.jsonl:{case}: recheck-result: by the answer to its call, expect.result" in str(
        caught.value
    )
    assert lint(SUITE, load_toolset("codegraph", SUITE)) == []


def test_without_an_oracle_nothing_is_looked_at_twice():
    suite, _ = mutated(result=["seedbank.vault"])
    assert {f.code for f in lint_suite(suite)} == {"sealed-changed"}


def test_a_case_with_an_error_is_not_looked_at_twice():
    suite, case = mutated(result="seedbank.vault")
    found = [f.code for f in lint_suite(suite, oracle=ORACLE) if f.where.endswith(f":{case}")]
    assert found == ["result", "sealed-changed"]
