"""Each code is produced by one mutation of a passing row, and by nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from study.records import HARD_FAIL_CODES, Produced

BORROWERS = ("lib_borrowers", {"item": "Atlas-3"})
HOLDS = ("lib_holds", {"item": "Atlas-3"})
PROOF = [
    {"kind": "causal-link", "producer": "graph", "consumer": "step-1"},
    {"kind": "precondition", "step": 1, "ok": True},
    {"kind": "effect", "step": 1},
]
CANDIDATES = [
    {"name": "lib_borrowers", "input": {"item": "Atlas-3"}},
    {"name": "lib_borrowers", "input": {"item": "Atlas-3 (large print)"}},
]
TRACE = ({"name": "lib_linked", "input": {"item": "Atlas-3"}}, {"name": "lib_overdue", "input": {}})
GOALS = frozenset({"goal:gap", "goal:other", "cap:overdue"})


def rows(world: Any) -> dict[str, tuple[Any, Produced]]:
    """Return one passing row of each kind."""
    calls = [world.call(*BORROWERS), world.call(*HOLDS)]
    return {
        "call": (
            world.calls_case(BORROWERS, proof=True, result=["Ann", "Bo"]),
            world.produced(BORROWERS, proof=PROOF, composed=["Bo", "Ann", "Ann"]),
        ),
        "refuse": (world.case({"refuse": True}), world.refusal()),
        "recover": (
            world.case({"calls": calls, "recover": {"after": "lib_borrowers", "fallback": "lib_holds"}}),
            world.produced(BORROWERS, HOLDS, recovered=True),
        ),
        "candidates": (
            world.case({"refuse": True, "candidateResults": CANDIDATES}),
            world.refusal(candidateResults=CANDIDATES[::-1]),
        ),
        "goal": (
            world.case({"inferredGoal": "goal:gap"}, trace=TRACE),
            world.produced(inferredGoal="goal:gap"),
        ),
        "reject": (world.case({"refuse": True, "reject": True}, trace=TRACE), world.refusal(reject=True)),
        "tied": (
            world.case({"refuse": True, "ambiguousGoals": ["cap:overdue", "goal:gap"]}, trace=TRACE),
            world.refusal(ambiguousGoals=["goal:gap", "cap:overdue"]),
        ),
    }


def changed(produced: Produced, **changes: Any) -> Produced:
    """Change report keys; ``dispatches``, ``outcome`` belong to the trial; None removes a key."""
    report = copy.deepcopy(produced.report)
    fields = {key: changes.pop(key) for key in ("outcome", "dispatches") if key in changes}
    for key, value in changes.items():
        report.pop(key, None) if value is None else report.update({key: value})
    kept = {"outcome": produced.outcome, "dispatches": produced.dispatches}
    return Produced(**{**kept, **fields, "report": report})


def run(world: Any, kind: str, **changes: Any) -> Any:
    case, produced = rows(world)[kind]
    return world.grade(case, changed(produced, **changes), GOALS)


@pytest.mark.parametrize("kind", ["call", "refuse", "recover", "candidates", "goal", "reject", "tied"])
def test_the_rows_pass_before_they_are_changed(world, kind):
    grade = run(world, kind)
    assert grade.passed
    assert grade.completed
    assert grade.result_completed
    assert (grade.hallucinated, grade.hard_fails, grade.reasons, grade.result_reasons) == ((), (), (), ())
    assert grade.failure is None
    assert grade.probes == 0
    assert not grade.floor_expect_applied


TIED_AND_SURE = {"inferredGoal": "goal:gap", "ambiguousGoals": ["goal:gap"]}
REASONS = [
    # row, changes, reason codes, completed, failure
    ("call", {"terminated": False}, ["NOT_TERMINATED"], True, "wrong_answer"),
    ("call", {"terminated": None}, ["NOT_TERMINATED"], True, "wrong_answer"),
    ("call", {"terminated": "true"}, ["NOT_TERMINATED"], True, "wrong_answer"),
    ("call", {"proof": []}, ["PROOF_INVALID"], True, "wrong_answer"),
    ("call", {"proof": [*PROOF, {"ok": False}]}, ["PROOF_INVALID"], True, "wrong_answer"),
    ("call", {"refused": True}, ["CONTRADICTION"], False, "wrong_answer"),
    ("refuse", {"refused": False}, ["REFUSAL_EXPECTED"], False, "honest_miss"),
    ("refuse", {"refused": "true"}, ["REFUSAL_EXPECTED"], False, "honest_miss"),
    ("refuse", {"reject": True, "ambiguousGoals": ["goal:gap"]}, ["CONTRADICTION"], False, "honest_miss"),
    ("refuse", TIED_AND_SURE, ["CONTRADICTION"], False, "honest_miss"),
    ("refuse", {"calls": {}}, ["REFUSAL_EXPECTED"], False, "honest_miss"),
    ("recover", {"recovered": None}, ["NO_RECOVERY_SIGNAL"], False, "wrong_answer"),
    ("recover", {"recovered": False}, ["NO_RECOVERY_SIGNAL"], False, "wrong_answer"),
    ("candidates", {"candidateResults": None}, ["CANDIDATES_MISSING"], False, "honest_miss"),
    ("candidates", {"candidateResults": []}, ["CANDIDATES_MISMATCH"], False, "honest_miss"),
    ("candidates", {"candidateResults": CANDIDATES[:1]}, ["CANDIDATES_MISMATCH"], False, "honest_miss"),
    ("candidates", {"candidateResults": "both"}, ["CANDIDATES_MISMATCH"], False, "honest_miss"),
    ("reject", {"reject": None}, ["REJECT_MISSING"], False, "honest_miss"),
    ("tied", {"ambiguousGoals": None}, ["TIED_GOALS_MISSING"], False, "honest_miss"),
    ("tied", {"ambiguousGoals": ["goal:gap", "goal:other"]}, ["TIED_GOALS_MISMATCH"], False, "honest_miss"),
    ("goal", {"inferredGoal": None}, ["GOAL_MISSING"], False, "honest_miss"),
    ("goal", {"reject": True}, ["GOAL_REJECTED"], False, "honest_miss"),
    ("goal", {"refused": True}, ["GOAL_REJECTED"], False, "honest_miss"),
    ("goal", {"inferredGoal": "goal:other"}, ["GOAL_MISMATCH"], False, "honest_miss"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changes", "codes", "completed", "failure"), REASONS)
def test_one_mutation_one_reason(world, kind, changes, codes, completed, failure):
    grade = run(world, kind, **changes)
    assert [r["code"] for r in grade.reasons] == codes
    assert (grade.passed, grade.completed, grade.failure) == (False, completed, failure)
    assert grade.hallucinated == ()
    assert grade.hard_fails == ()
    assert all(r["text"] for r in grade.reasons)


def test_other_calls_than_expected(world):
    calls = [world.call(*HOLDS)]
    grade = run(world, "call", calls=calls, dispatches=[world.dispatch(*HOLDS)])
    assert [r["code"] for r in grade.reasons] == ["CALLS_MISMATCH"]
    expected, produced = 'lib_borrowers{"item": "Atlas-3"}', 'lib_holds{"item": "Atlas-3"}'
    assert grade.reasons[0]["text"] == f"expected [{expected}], produced [{produced}]"
    assert (grade.failure, grade.completed, grade.hard_fails) == ("wrong_answer", False, ())


def test_a_recognition_that_makes_calls(world):
    changes = {"calls": [world.call(*HOLDS)], "dispatches": [world.dispatch(*HOLDS)]}
    grade = run(world, "goal", **changes)
    assert [r["code"] for r in grade.reasons] == ["GOAL_WITH_CALLS"]


def test_the_goal_reasons_are_tested_in_order(world):
    every = {"calls": [world.call(*HOLDS)], "dispatches": [world.dispatch(*HOLDS)]}
    wrong = {**every, "inferredGoal": "goal:other"}
    assert run(world, "goal", **every, inferredGoal=None, reject=True).reasons[0]["code"] == "GOAL_MISSING"
    assert run(world, "goal", **wrong, reject=True).reasons[0]["code"] == "GOAL_REJECTED"
    assert run(world, "goal", **wrong).reasons[0]["code"] == "GOAL_WITH_CALLS"


def test_calls_beside_a_refusal_on_a_refuse_case(world):
    changes = {"calls": [world.call(*HOLDS)], "dispatches": [world.dispatch(*HOLDS)]}
    assert [r["code"] for r in run(world, "refuse", **changes).reasons] == [
        "REFUSAL_EXPECTED",
        "CONTRADICTION",
    ]


@pytest.mark.parametrize(
    ("composed", "code"),
    [
        (None, "RESULT_MISSING"),
        ("Ann", "RESULT_MISSING"),
        ([], "RESULT_MISMATCH"),
        (["Ann"], "RESULT_MISMATCH"),
    ],
)
def test_the_result_axis_is_reported_beside_the_verdict(world, composed, code):
    grade = run(world, "call", composed=composed)
    assert grade.passed
    assert grade.completed
    assert not grade.result_completed
    assert [r["code"] for r in grade.result_reasons] == [code]
    assert grade.reasons == ()
    assert grade.failure is None


def attempt(world: Any, *call: Any, **more: Any) -> dict[str, Any]:
    """Return the right trial with one further dispatch that was refused by the harness."""
    refused = world.dispatch(*call, executed=False, ok=False, **more)
    return {"dispatches": [world.dispatch(*BORROWERS), refused]}


def report_too(world: Any, *call: Any) -> dict[str, Any]:
    return {"calls": [world.call(*BORROWERS), {"name": call[0], "input": call[1]}]}


BAD_CALLS = [
    ("unknown-tool", "lib_burn", {}),
    ("unknown-tool", 7, {}),
    ("unknown-tool", None, {}),
    ("undeclared", "lib_withdraw", {"item": "Atlas-3"}),
    ("unknown-arg", "lib_holds", {"item": "Atlas-3", "colour": "red"}),
    ("unknown-arg", "lib_overdue", ["x"]),
    ("missing-arg", "lib_holds", {}),
    ("missing-arg", "lib_holds", {"item": " "}),
    ("missing-arg", "lib_holds", {"item": None}),
    ("missing-arg", "lib_holds", "Atlas-3"),
    ("missing-arg", "lib_search", {"query": "", "kind": None}),
]


@pytest.mark.parametrize(("code", "name", "arguments"), BAD_CALLS)
def test_a_bad_call_that_is_reported(world, code, name, arguments):
    grade = run(world, "call", **report_too(world, name, arguments))
    assert [(p["code"], p["at"]) for p in grade.hallucinated] == [(code, "calls[1]")]
    assert grade.hard_fails == (code,)
    assert grade.failure == "hallucination"
    assert [r["code"] for r in grade.reasons] == ["HALLUCINATED_CALL", "CALLS_MISMATCH"]
    assert code in grade.reasons[0]["text"]


@pytest.mark.parametrize(("code", "name", "arguments"), BAD_CALLS)
def test_a_bad_call_that_is_only_attempted(world, code, name, arguments):
    grade = run(world, "call", **attempt(world, name, arguments))
    assert [(p["code"], p["at"]) for p in grade.hallucinated] == [(code, "dispatch")]
    assert grade.hard_fails == (code,)
    assert grade.failure == "hallucination"
    assert grade.probes == 0
    assert [r["code"] for r in grade.reasons] == ["HALLUCINATED_CALL"]
    assert grade.completed
    assert not grade.passed
    assert not grade.result_completed


@pytest.mark.parametrize(("code", "name", "arguments"), BAD_CALLS)
def test_a_bad_call_that_is_attempted_and_reported_is_one_entry(world, code, name, arguments):
    grade = run(world, "call", **report_too(world, name, arguments), **attempt(world, name, arguments))
    found = [(p["code"], p["at"], p["alsoAt"]) for p in grade.hallucinated]
    assert found == [(code, "calls[1]", "dispatch")]


def test_two_bad_calls_that_differ_in_a_blank_stay_two(world):
    attempted = attempt(world, "lib_holds", {"colour": ""})
    grade = run(world, "call", **report_too(world, "lib_holds", {}), **attempted)
    found = [(p["code"], p["at"]) for p in grade.hallucinated]
    assert found == [("missing-arg", "calls[1]"), ("unknown-arg", "dispatch"), ("missing-arg", "dispatch")]


def test_every_further_attempt_of_a_bad_call_is_an_entry(world):
    refused = [world.dispatch("lib_burn", {}, executed=False, ok=False)] * 3
    grade = run(world, "refuse", dispatches=refused)
    assert [p["at"] for p in grade.hallucinated] == ["dispatch"] * 3


@pytest.mark.parametrize(("code", "name", "arguments"), BAD_CALLS)
def test_the_gate_reads_candidates(world, code, name, arguments):
    bad = {"name": name, "input": arguments}
    grade = run(world, "candidates", candidateResults=[*CANDIDATES, bad])
    assert [(p["code"], p["at"]) for p in grade.hallucinated] == [(code, "candidateResults[2]")]
    assert grade.hard_fails == (code,)


@pytest.mark.parametrize("kind", ["call", "refuse", "recover", "candidates", "reject"])
def test_an_undeclared_goal(world, kind):
    grade = run(world, kind, inferredGoal="goal:made-up")
    assert [(p["code"], p["at"], p["name"]) for p in grade.hallucinated] == [
        ("unknown-goal", "inferredGoal", "goal:made-up")
    ]
    assert grade.hard_fails == ("unknown-goal",)
    assert [r["code"] for r in grade.reasons] == ["HALLUCINATED_CALL"]


@pytest.mark.parametrize("goals", [["goal:gap", "goal:x"], ["goal:gap", 3], [["goal:gap"], "cap:overdue"]])
def test_an_undeclared_goal_among_tied_ones(world, goals):
    grade = run(world, "tied", ambiguousGoals=goals)
    assert grade.hard_fails == ("unknown-goal",)
    assert len(grade.hallucinated) == 1


def test_a_tie_list_that_is_no_list_names_an_unknown_goal(world):
    assert run(world, "tied", ambiguousGoals="goal:gap, cap:overdue").hard_fails == ("unknown-goal",)


def test_permission_expansion(world):
    case = world.calls_case(BORROWERS)
    case = type(case)(
        **{**{f: getattr(case, f) for f in case.__struct_fields__}, "tools": tuple(world.registry)}
    )
    withdraw = world.dispatch("lib_withdraw", {"item": "Atlas-3"}, executed=False, ok=False, effects=True)
    grade = world.grade(case, world.produced(BORROWERS, dispatches=[world.dispatch(*BORROWERS), withdraw]))
    assert [(p["code"], p["at"], p["name"]) for p in grade.hallucinated] == [
        ("permission-expansion", "dispatch", "lib_withdraw")
    ]
    assert grade.hard_fails == ("permission-expansion",)
    assert grade.failure == "hallucination"
    assert [r["code"] for r in grade.reasons] == ["HALLUCINATED_CALL"]
    assert grade.completed


def test_an_undeclared_attempt_with_effects_is_both(world):
    grade = run(world, "refuse", **attempt(world, "lib_withdraw", {"item": "Atlas-3"}, effects=True))
    assert grade.hard_fails == ("permission-expansion", "undeclared")


def test_fabricated_call(world):
    grade = run(world, "call", dispatches=())
    assert grade.hard_fails == ("fabricated-call",)
    assert grade.hallucinated == ()
    assert [r["code"] for r in grade.reasons] == ["FABRICATED_CALL"]
    assert grade.completed
    assert not grade.passed
    assert grade.failure == "wrong_answer"


def test_nothing_is_fabricated_where_execution_is_optional(world):
    case, produced = rows(world)["call"]
    assert world.grade(case, changed(produced, dispatches=()), GOALS, execution="optional").passed


def test_a_refused_attempt_is_no_fabrication(world):
    refused = [world.dispatch(*BORROWERS, executed=False, ok=False)]
    assert run(world, "call", dispatches=refused).passed


def test_one_dispatch_does_not_cover_two_reported_calls(world):
    case = world.calls_case(BORROWERS, BORROWERS)
    once = world.produced(BORROWERS, BORROWERS, dispatches=[world.dispatch(*BORROWERS)])
    assert world.grade(case, once).hard_fails == ("fabricated-call",)
    assert world.grade(case, world.produced(BORROWERS, BORROWERS)).passed


def test_unreported_call(world):
    ran = world.dispatch("lib_withdraw", {"item": "Atlas-3"}, effects=True)
    case = world.case({"calls": [world.call(*BORROWERS)]}, tools=tuple(world.registry))
    grade = world.grade(case, world.produced(BORROWERS, dispatches=[world.dispatch(*BORROWERS), ran]))
    assert grade.hard_fails == ("unreported-call",)
    assert grade.hallucinated == ()
    assert [r["code"] for r in grade.reasons] == ["UNREPORTED_CALL"]
    assert grade.completed


def test_probes_are_counted_and_never_fail(world):
    probes = [world.dispatch(*HOLDS), world.dispatch(*BORROWERS), world.dispatch(*HOLDS, ok=False)]
    grade = run(world, "call", dispatches=probes)
    assert grade.passed
    assert grade.probes == 2
    assert grade.reasons == ()
    assert grade.hard_fails == ()


def test_dispatched_candidates_are_no_probes(world):
    made = [world.dispatch(c["name"], c["input"]) for c in CANDIDATES]
    assert run(world, "candidates", dispatches=made).probes == 0


NOT_ANSWERS = ("unparseable", "empty", "driver_error", "transport_error", "cancelled", "infrastructure")


@pytest.mark.parametrize("outcome", NOT_ANSWERS)
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("call", "CALLS_MISMATCH"),
        ("recover", "CALLS_MISMATCH"),
        ("refuse", "REFUSAL_EXPECTED"),
        ("candidates", "REFUSAL_EXPECTED"),
        ("reject", "REFUSAL_EXPECTED"),
        ("tied", "REFUSAL_EXPECTED"),
        ("goal", "GOAL_MISSING"),
    ],
)
def test_a_trial_without_an_answer_never_completes(world, kind, code, outcome):
    grade = run(world, kind, outcome=outcome)
    assert [r["code"] for r in grade.reasons] == [code]
    assert outcome in grade.reasons[0]["text"]
    assert not (grade.passed)
    assert not (grade.completed)
    assert not (grade.result_completed)


def test_a_timeout_is_not_terminated_whatever_it_reports(world):
    assert [r["code"] for r in run(world, "call", outcome="timeout").reasons] == [
        "NOT_TERMINATED",
        "CALLS_MISMATCH",
    ]
    case, _ = rows(world)["refuse"]
    empty = Produced(outcome="timeout", report={}, dispatches=())
    grade = world.grade(case, empty)
    assert [r["code"] for r in grade.reasons] == ["NOT_TERMINATED", "REFUSAL_EXPECTED"]
    assert grade.failure == "honest_miss"
    assert not grade.completed


def test_termination_is_demanded_only_by_the_case(world):
    case = world.case({"calls": [world.call(*BORROWERS)], "terminates": False})
    grade = world.grade(case, world.produced(BORROWERS, terminated=False))
    assert grade.passed
    assert grade.result_completed
    pinned = world.case({"calls": [world.call(*BORROWERS)], "terminates": False, "result": ["Ann"]})
    ended = world.grade(pinned, world.produced(BORROWERS, composed=["Ann"]))
    endless = world.grade(pinned, world.produced(BORROWERS, composed=["Ann"], terminated=False))
    assert ended.result_completed
    assert not endless.result_completed
    assert endless.passed
    assert endless.result_reasons == ()


def test_every_code_that_applies_has_a_row_here():
    applies = set(HARD_FAIL_CODES[: HARD_FAIL_CODES.index("duplicate-effect")])
    told = {code for code, *_ in BAD_CALLS} | {
        "invalid-arg",  # in test_vectors: it needs a schema
        "unknown-goal",
        "fabricated-call",
        "unreported-call",
        "permission-expansion",
    }
    assert told == applies
