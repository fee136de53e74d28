"""Each planner method: plan, fold, budget, and what its proof says."""

from __future__ import annotations

import itertools

import pytest

from study.drivers.router.plans import MAX_STEPS
from study.grading.proof import proof_problem
from study.registry import registry_from_json
from tests.support.router import TableTools, World, capability, short

LOTS = "seedbank.lots"


@pytest.mark.parametrize(
    "request_, composed",
    [
        (
            "If ColdRoom has no subclasses, show the subclasses of Lot instead.",
            [f"{LOTS}.FrozenLot", f"{LOTS}.PackedLot"],
        ),
        ("If Lot has no subclasses, show its members instead.", [f"{LOTS}.FrozenLot", f"{LOTS}.PackedLot"]),
        ("If ColdRoom has no subclasses, describe it.", ["seedbank.vault.ColdRoom"]),
        ("If Lot has no subclasses, describe it.", []),
        (
            "Of the modules that depend on seedbank.settings, which are untested?",
            ["seedbank.germination", "seedbank.humidity"],
        ),
        ("Which modules that depend on seedbank.catalogue are untested?", []),
        ("Which subclasses of ColdRoom are untested?", []),
        (
            "Which methods of ColdRoom call Lot.weigh?",
            ["seedbank.vault.ColdRoom.store", "seedbank.vault.ColdRoom.weigh"],
        ),
        ("Which methods of ColdRoom call read_probe?", []),
        (
            "Which methods of ColdRoom call read_probe, directly or indirectly?",
            ["seedbank.vault.ColdRoom.store"],
        ),
        (
            "Show the subclasses of ColdRoom, and if there are none, its description.",
            ["seedbank.vault.ColdRoom"],
        ),
        ("Who calls sow?", []),
        ("What does dry_until call?", ["seedbank.humidity.read_probe"]),
        ("Describe Lot, then list its members.", None),
    ],
)
def test_what_is_composed(toy, request_, composed):
    result = toy.ask(request_)
    assert not result.refused, result.why
    assert result.composed == composed
    assert proof_problem(result.proof) is None


def test_a_thread_is_linked_to_the_step_that_named_the_entity(toy):
    proof = toy.ask("Describe Lot, then list its members, then describe sow.").proof
    links = [(s["producer"], s["consumer"]) for s in proof if s["kind"] == "causal-link"]
    assert links == [("graph", "step-1"), ("step-1", "step-2"), ("graph", "step-3")]


def test_recovery_is_told_only_when_the_primary_was_empty(toy):
    assert toy.ask("Show the tests for sow, or its callers if there are none.").recovered is True
    assert toy.ask("Show the tests for Lot, or its callers if there are none.").recovered is None


def test_a_conditional_makes_both_calls_and_tells_no_recovery(toy):
    result = toy.ask("If Lot has no subclasses, describe it.")
    assert (len(result.calls), result.recovered) == (2, None)


def test_without_an_emptiness_cue_there_is_no_recovery(toy):
    assert short(toy.ask("Show the tests for sow, and also its callers.")) == "tests_for(sow) callers(sow)"


NAMES = [
    "Lot",
    "PackedLot",
    "FrozenLot",
    "ColdRoom",
    "sow",
    "dry_until",
    "read_probe",
    "render_card",
    "find_species",
]


def test_the_budget_refuses_and_never_cuts(toy):
    texts = [f"describe {name}" for name in NAMES]
    assert len(toy.ask(", then ".join(texts[:MAX_STEPS])).calls) == MAX_STEPS
    assert short(toy.ask(", then ".join(texts[: MAX_STEPS + 1]))) == "REFUSE"
    assert toy.last.dispatched == ()


def chain_world(members, edges):
    registry = registry_from_json(
        [capability("g_members", "members", "class"), capability("g_callees", "callees", "symbol")]
    )
    labels = {"box", "goal", *members, *edges, *itertools.chain(*edges.values())}
    callees = {label: edges.get(label, []) for label in labels}
    tools = TableTools({"g_members": {"box": members}, "g_callees": callees}, dict.fromkeys(labels, "thing"))
    return World(registry, tools)


@pytest.mark.parametrize("count, refused", [(0, False), (7, False), (8, True)])
def test_a_member_filter_has_all_hops_or_none(count, refused):
    members = [f"box.m{n}" for n in range(count)]
    world = chain_world(members, {member: ["goal"] for member in members})
    result = world.ask("Which members of `box` call `goal`?")
    assert result.refused is refused
    assert len(result.calls) == (0 if refused else 1 + count)
    assert refused or result.composed == members


def test_reach_goes_level_by_level_and_survives_cycles():
    world = chain_world(
        ["box.a", "box.b"], {"box.a": ["x"], "x": ["box.a", "goal"], "box.b": ["y"], "y": ["y"]}
    )
    result = world.ask("Which members of `box` reach `goal`?")
    assert short(result) == "g_members(box) g_callees(box.a) g_callees(box.b) g_callees(x) g_callees(y)"
    assert result.composed == ["box.a"]
    assert proof_problem(result.proof) is None


def test_reach_beyond_the_budget_is_refused():
    chain = {"box.a": ["c0"]} | {f"c{n}": [f"c{n + 1}"] for n in range(9)}
    assert short(chain_world(["box.a"], chain).ask("Which members of `box` reach `goal`?")) == "REFUSE"


def test_each_is_one_call_per_label_within_the_budget():
    members = [f"box.m{n}" for n in range(7)]
    world = chain_world(members, {})
    request = "List the members of `box`, then the callees of each of them."
    assert len(world.ask(request).calls) == 8
    assert short(chain_world([*members, "box.m7"], {}).ask(request)) == "REFUSE"
    assert short(chain_world([], {}).ask(request)) == "g_members(box)"


def test_anaphors_without_an_antecedent_are_refused(toy):
    for request in ("Describe it.", "List its members.", "Who calls that?", "Describe each of them."):
        assert short(toy.ask(request)) == "REFUSE"
