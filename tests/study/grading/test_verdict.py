"""The verdict: pinned subsets, positions, arm overrides, declared goals and malformed reports."""

from __future__ import annotations

import pytest

from study.cases import Rules
from study.errors import SuiteError
from study.grading import GRADER_VERSION, compile_case
from study.records import Produced

ATLAS = ("lib_borrowers", {"item": "Atlas-3"})
HOLDS = ("lib_holds", {"item": "Atlas-3"})


def codes(grade):
    return [r["code"] for r in grade.reasons]


def test_the_grader_has_a_version():
    assert GRADER_VERSION
    assert isinstance(GRADER_VERSION, str)


def test_pinned_input_is_a_lower_bound(world):
    case = world.calls_case(HOLDS)
    more = ("lib_holds", {"item": "Atlas-3", "limit": 5})
    assert world.grade(case, world.produced(more)).passed
    assert codes(world.grade(world.calls_case(more), world.produced(HOLDS))) == ["CALLS_MISMATCH"]


def test_sequences_match_by_position_and_length(world):
    case = world.calls_case(ATLAS, HOLDS)
    assert world.grade(case, world.produced(ATLAS, HOLDS)).passed
    for calls in ([HOLDS, ATLAS], [ATLAS], [ATLAS, HOLDS, HOLDS], []):
        assert codes(world.grade(case, world.produced(*calls))) == ["CALLS_MISMATCH"]


def test_a_matching_call_with_a_bad_key_is_completed_and_fails(world):
    grade = world.grade(world.calls_case(HOLDS), world.produced(("lib_holds", {"item": "Atlas-3", "x": 1})))
    assert grade.completed
    assert codes(grade) == ["HALLUCINATED_CALL"]
    assert grade.result_completed, "without a pinned result the axis mirrors completion"


def test_a_hallucination_beats_everything(world):
    wrong = world.produced(ATLAS, ("lib_burn", {}), terminated=False, refused=True)
    grade = world.grade(world.calls_case(ATLAS, proof=True), wrong)
    assert grade.failure == "hallucination"
    assert codes(grade) == [
        "HALLUCINATED_CALL",
        "NOT_TERMINATED",
        "PROOF_INVALID",
        "CALLS_MISMATCH",
        "CONTRADICTION",
    ]


def test_a_result_beside_a_hallucination_is_not_completed(world):
    case = world.calls_case(HOLDS, result=["Ann"])
    grade = world.grade(case, world.produced(("lib_holds", {"item": "Atlas-3", "x": 1}), composed=["Ann"]))
    assert (grade.completed, grade.result_completed, grade.result_reasons) == (True, False, ())


def test_labels_are_compared_as_trimmed_text(world):
    case = world.calls_case(HOLDS, result=["1", " Ann"])
    assert world.grade(case, world.produced(HOLDS, composed=["Ann ", 1, 1])).result_completed


def test_an_empty_result_is_a_real_answer(world):
    case = world.calls_case(HOLDS, result=[])
    assert world.grade(case, world.produced(HOLDS, composed=[])).result_completed
    grade = world.grade(case, world.produced(HOLDS))
    assert [r["code"] for r in grade.result_reasons] == ["RESULT_MISSING"]


@pytest.mark.parametrize(
    ("stamp", "applies"),
    [("resolver-0.8.0", True), ("goal-0.8.1", False), ("my-resolver-1", False), (None, False)],
)
def test_floor_expect_replaces_the_expectation_of_resolvers(world, stamp, applies):
    case = world.case({"calls": [world.call(*ATLAS)], "proof": True}, floor_expect={"refuse": True})
    grade = world.grade(case, world.refusal(driver=stamp))
    assert (grade.passed, grade.floor_expect_applied) == (applies, applies)
    answered = world.grade(case, world.produced(ATLAS, driver=stamp, proof=[{"kind": "effect"}]))
    assert (answered.passed, answered.floor_expect_applied) == (not applies, applies)


def test_floor_expect_inherits_termination(world):
    case = world.case({"calls": [world.call(*ATLAS)]}, floor_expect={"refuse": True})
    assert codes(world.grade(case, world.refusal(driver="resolver-1", terminated=False))) == [
        "NOT_TERMINATED"
    ]


@pytest.mark.parametrize("floor", [{}, {"refuse": False}, {"refuse": 1}, {"refuse": True, "proof": True}])
def test_floor_expect_has_one_form(world, floor):
    with pytest.raises(SuiteError, match="floorExpect"):
        compile_case(world.case({"refuse": True}, floor_expect=floor), Rules(), world.registry)


@pytest.mark.parametrize(
    "expect",
    [
        {},
        {"calls": []},
        {"calls": {}},
        {"refuse": False},
        {"inferredGoal": 3},
        {"refuse": True, "candidateResults": {}},
        {"refuse": True, "candidateResults": []},
        {"refuse": True, "ambiguousGoals": "a"},
        {"calls": [{"name": "lib_overdue"}], "result": "Ann"},
        {"calls": [{"name": "lib_overdue"}], "compare": ["exact"]},
    ],
)
def test_an_expectation_without_a_meaning_is_refused(world, expect):
    with pytest.raises(SuiteError, match="c-1"):
        compile_case(world.case(expect), Rules(), world.registry)


def test_goals_that_the_files_declare(world):
    case = world.case({"inferredGoal": "goal:gap"}, tools=("lib_overdue",), trace=())
    named = [
        ("goal:gap", ()),
        ("cap:overdue", ()),
        ("goal:suite", ()),
        ("cap:holds", ("unknown-goal",)),
        ("goal:invented", ("unknown-goal",)),
    ]
    for goal, hard_fails in named:
        grade = world.grade(case, world.produced(inferredGoal=goal), goals=None)
        expected = hard_fails if goal != "goal:suite" else ("unknown-goal",)
        assert grade.hard_fails == expected
        listed = compile_case(case, Rules(goals=("goal:suite",)), world.registry)
        assert listed(world.produced(inferredGoal=goal)).hard_fails == hard_fails


def test_given_goals_replace_the_declared_ones(world):
    case = world.case({"inferredGoal": "goal:gap"}, trace=())
    grade = world.grade(case, world.produced(inferredGoal="goal:gap"), goals=frozenset())
    assert grade.hard_fails == ("unknown-goal",)
    assert grade.completed


def test_candidates_are_compared_in_full_as_sets(world):
    case = world.case({"refuse": True, "candidateResults": [world.call(*ATLAS), world.call(*HOLDS)]})
    same = [
        world.call("lib_holds", {"item": " Atlas-3 ", "limit": ""}),
        world.call(*ATLAS),
        world.call(*ATLAS),
    ]
    assert world.grade(case, world.refusal(candidateResults=same)).passed
    for other in ({"item": "Atlas-3", "limit": 5}, {"item": "Atlas-4"}):
        different = [world.call(*ATLAS), world.call("lib_holds", other)]
        grade = world.grade(case, world.refusal(candidateResults=different))
        assert codes(grade) == ["CANDIDATES_MISMATCH"]


@pytest.mark.parametrize("arguments", [None, "absent"])
def test_absent_and_null_arguments_are_no_arguments(world, arguments):
    call = {"name": "lib_overdue"} if arguments == "absent" else {"name": "lib_overdue", "input": None}
    produced = Produced(
        outcome="answered",
        report={"calls": [call], "terminated": True, "refused": False},
        dispatches=(world.dispatch("lib_overdue", {}),),
    )
    assert world.grade(world.calls_case(("lib_overdue",)), produced).passed


def test_long_and_odd_values_stay_short_in_prose(world):
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    calls = [("lib_holds", {"item": deep, "limit": "x" * 10**6}), ("a\ud800\n" * 500, {"k": 10**5000})]
    grade = world.grade(world.calls_case(HOLDS), world.produced(*calls))
    assert grade.hard_fails == ("unknown-tool",)
    for reason in grade.reasons:
        assert len(reason["text"]) < 1000
        reason["text"].encode("utf-8")


def test_prose_does_not_depend_on_key_order(world):
    one, two = {"item": "Atlas-9", "limit": 1}, {"limit": 1, "item": "Atlas-9"}
    case = world.calls_case(HOLDS)
    grades = [world.grade(case, world.produced(("lib_holds", arguments))) for arguments in (one, two)]
    assert grades[0] == grades[1]
