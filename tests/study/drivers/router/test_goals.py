"""The goal reasoner: which rule applies, its loop, its answers."""

from __future__ import annotations

import pytest

from study.drivers.router.goals import MAX_TICKS, STAMP, reason
from study.drivers.router.resolver import STAMP as RESOLVER
from study.drivers.router.wishes import Wish
from study.grading.proof import proof_problem
from study.registry import registry_from_json
from tests.support.router import TableTools, World, capability, short

GAP = ["tmct_untested", "tmct_impact"]
RISK = ["tmct_untested", "tmct_cochanges"]
BOTH = [*GAP, "tmct_cochanges"]
OPEN = "Is it safe to change {}?"


@pytest.mark.parametrize(
    "tools, wanted, composed",
    [
        (GAP, "impact(seedbank.vault) untested()", ["seedbank.germination", "seedbank.humidity"]),
        (RISK, "cochanges(seedbank.vault) untested()", ["seedbank.humidity"]),
        (BOTH, "REFUSE", None),
        (GAP[:1], "REFUSE", None),
        (["tmct_impact", "tmct_cochanges"], "REFUSE", None),
    ],
)
def test_the_rule_is_deduced_from_the_declared_tools(toy, tools, wanted, composed):
    result = toy.ask(OPEN.format("seedbank.vault"), tools)
    assert (short(result), result.composed, result.driver) == (wanted, composed, STAMP)
    assert result.refused or (result.proof[0]["kind"] == "goal-rule" and proof_problem(result.proof) is None)


@pytest.mark.parametrize("focus", ["sow", "Lot", "Lot.weigh", "tests.test_lots", "seedbank.auction"])
def test_a_focus_of_another_kind_is_refused(toy, focus):
    assert short(toy.ask(OPEN.format(focus), GAP)) == "REFUSE"


def test_the_resolver_deduces_nothing(toy):
    result = toy.resolve(OPEN.format("seedbank.vault"), GAP)
    assert (result.refused, result.driver) == (True, RESOLVER)


def test_plans_come_before_goals_and_keep_the_stamp(toy):
    assert toy.ask("Who calls sow?").driver == RESOLVER
    assert toy.ask("Who frobs sow?").driver == STAMP


def world_of(impacts, untested, kinds=None, ties=None):
    registry = registry_from_json(
        [
            capability("g_impact", "impact", "module"),
            capability("g_untested", "untested"),
            capability("g_cochanges", "cochanges", "symbol"),
        ]
    )
    answers = {"g_impact": impacts, "g_untested": {"": untested}, "g_cochanges": {}}
    return World(registry, TableTools(answers, kinds or dict.fromkeys(impacts, "module"), ties))


def test_global_the_largest_wins_and_the_label_breaks_the_tie():
    impacts = {"a": ["x"], "b": ["x", "y"], "c": ["x", "y"], "d": []}
    world = world_of(impacts, ["a", "b", "c"])
    result = world.ask("Which module is the riskiest to change?")
    assert result.composed == ["b"]
    assert short(result) == "g_untested() g_impact(a) g_impact(b) g_impact(c)"
    assert proof_problem(result.proof) is None


def test_global_without_a_violation_is_the_empty_set():
    result = world_of({"a": []}, []).ask("Which module is the riskiest to change?")
    assert (short(result), result.composed) == ("g_untested()", [])


@pytest.mark.parametrize("count, refused", [(MAX_TICKS - 1, False), (MAX_TICKS, True)])
def test_global_is_bounded(count, refused):
    names = [f"m{n:02}" for n in range(count)]
    result = world_of({name: ["x"] for name in names}, names).ask(
        "Which module has the largest coverage gap?"
    )
    assert result.refused is refused
    assert len(result.calls) == (0 if refused else count + 1)


def test_global_needs_the_class_of_the_rule_and_its_mode(toy):
    assert short(toy.ask("Which class is the riskiest to change?", GAP)) == "REFUSE"
    assert short(toy.ask("Which module has the largest cochange risk?", BOTH)) == "REFUSE"
    wish = Wish(mode="global", rules=("coverage-gap",))
    assert world_of({"a": []}, ["a"]).ask("x", driver=lambda r, tools, ctx: reason(wish, tools, ctx)).refused


def test_a_tied_focus_never_becomes_global():
    world = world_of({"p.core": [], "q.core": []}, [], ties={"core": ["p.core", "q.core"]})
    result = world.ask("What is the coverage gap of `core`?")
    assert short(result) == "REFUSE cand g_impact(p.core) g_impact(q.core)"
