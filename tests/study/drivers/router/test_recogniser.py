"""Recognition: containment in declared plans, three outcomes, no calls."""

from __future__ import annotations

import pytest

from study.drivers.router.recogniser import MAX_TRACE, STAMP, declared_goals, recognise
from study.grading.proof import proof_problem

ALL = ["tmct_impact", "tmct_untested", "tmct_cochanges", "tmct_callers"]


def steps(*names):
    return [{"name": f"tmct_{name}", "input": {"anything": 1}} for name in names]


@pytest.mark.parametrize(
    "names, tools, goal",
    [
        (["impact", "untested"], ALL, "goal:coverage-gap"),
        (["cochanges", "untested"], ALL, "goal:cochange-risk"),
        (["callers"], ALL, "cap:callers"),
        (["impact"], ["tmct_impact", "tmct_callers"], "cap:impact"),
        (["untested"], ["tmct_untested"], "cap:untested"),
    ],
)
def test_one_fit(toy, names, tools, goal):
    result = toy.ask("We looked at it in this order.", tools, trace=steps(*names))
    assert (result.inferred_goal, result.driver, result.refused) == (goal, STAMP, False)
    assert proof_problem(result.proof) is None
    assert result.proof[0]["kind"] == "goal-fit"
    assert (result.calls, toy.last.dispatched) == ([], ())


@pytest.mark.parametrize(
    "names, goals",
    [
        (["impact"], ["cap:impact", "goal:coverage-gap"]),
        (["cochanges"], ["cap:cochanges", "goal:cochange-risk"]),
        (["untested"], ["cap:untested", "goal:cochange-risk", "goal:coverage-gap"]),
    ],
)
def test_several_fits_are_listed(toy, names, goals):
    result = toy.ask("Describe Lot.", ALL, trace=steps(*names))
    assert (result.refused, result.ambiguous_goals, result.reject) == (True, goals, None)
    assert (result.calls, toy.last.dispatched) == ([], ())


@pytest.mark.parametrize(
    "names",
    [
        ["untested", "impact"],
        ["callers", "callers"],
        ["impact", "untested", "callers"],
        ["describe"],
        ["no_such_tool"],
    ],
)
def test_no_fit_is_rejected(toy, names):
    result = toy.ask("Describe Lot.", ALL, trace=steps(*names))
    assert (result.refused, result.reject, result.ambiguous_goals) == (True, True, None)
    assert (result.calls, toy.last.dispatched) == ([], ())


def test_an_empty_trace_is_rejected(toy):
    toy.ask("x")
    assert recognise([], ALL, toy.last).reject is True


def test_only_the_newest_steps_count(toy):
    toy.ask("x", ALL)
    long = steps(*(["callers"] * MAX_TRACE))
    assert recognise(long, ALL, toy.last).reject is True
    assert len(long) == MAX_TRACE


def test_goals_are_sorted_and_wholly_declared(toy):
    toy.ask("x", ALL)
    assert list(declared_goals(ALL, toy.last)) == [
        "cap:callers",
        "cap:cochanges",
        "cap:impact",
        "cap:untested",
        "goal:cochange-risk",
        "goal:coverage-gap",
    ]
    assert list(declared_goals(["tmct_impact"], toy.last)) == ["cap:impact"]
