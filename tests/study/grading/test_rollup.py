"""The metric pair of a rung, its gate, the ladder and the two trivial drivers."""

from __future__ import annotations

import json

import pytest

from study.cases import Rules
from study.grading.rollup import climb, percent, roll_up, trivial_grades
from study.records import RUNGS, Grade

PASS = Grade(passed=True, completed=True, result_completed=True)
MISS = Grade(passed=False, completed=False, result_completed=False, failure="honest_miss")
WRONG = Grade(passed=False, completed=False, result_completed=False, failure="wrong_answer")
UNPROVEN = Grade(passed=False, completed=True, result_completed=False, failure="wrong_answer")
BAD = Grade(
    passed=False,
    completed=True,
    result_completed=False,
    failure="hallucination",
    hallucinated=({"code": "undeclared"}, {"code": "unknown-arg"}),
    hard_fails=("undeclared", "unknown-arg"),
)
FABRICATED = Grade(
    passed=False,
    completed=True,
    result_completed=True,
    failure="wrong_answer",
    hard_fails=("fabricated-call",),
)


def rows(**by_rung):
    """Name rungs ``t0=[...]``."""
    return [(f"TOOL-{name[1:]}", grade) for name, grades in by_rung.items() for grade in grades]


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [(5, 8, 63), (7, 14, 50), (0, 0, 0), (1, 3, 33), (2, 3, 67), (1, 200, 1), (1, 201, 0), (199, 200, 100)],
)
def test_percentages_round_half_up(n, d, expected):
    assert percent(n, d) == expected


def test_counts_and_rates():
    score = roll_up(rows(t1=[PASS, MISS, WRONG, UNPROVEN, BAD])).overall
    assert (score.rung, score.total, score.passed) == ("overall", 5, 1)
    assert (score.completed, score.result_completed, score.hallucinated) == (3, 1, 1)
    assert (score.honest_miss, score.wrong_answer) == (1, 2)
    assert (score.completion, score.result_completion, score.hallucination_rate) == (0.6, 0.2, 0.2)


@pytest.mark.parametrize(
    ("grades", "passes"),
    [
        ([PASS, MISS], True),
        ([UNPROVEN, MISS], True),
        ([PASS, MISS, MISS], False),
        ([PASS] * 99 + [BAD], False),
        ([PASS] * 99 + [FABRICATED], False),
        ([MISS], False),
        ([PASS], True),
    ],
)
def test_the_gate_is_no_hallucination_at_half_completion(grades, passes):
    assert roll_up(rows(t0=grades)).rungs[0].gate_pass is passes


def test_an_empty_total_has_rates_of_zero():
    rollup = roll_up([])
    assert (rollup.rungs, rollup.ladder.order, rollup.rung_reached) == ((), (), None)
    assert (rollup.overall.total, rollup.overall.completion, rollup.overall.gate_pass) == (0, 0.0, False)


def test_the_first_failing_gate_gates_everything_above():
    half = [PASS, PASS, MISS, MISS, MISS]
    rollup = roll_up(rows(t5=[PASS], t0=[PASS], t2=half, t4=[BAD]))
    assert rollup.ladder.order == ("TOOL-0", "TOOL-2", "TOOL-4", "TOOL-5")
    assert rollup.ladder.gated_at == "TOOL-2"
    receipts = [(r.rung, r.reason) for r in rollup.ladder.receipts]
    why = "gated by TOOL-2 completion 40% < 50%"
    assert receipts == [("TOOL-4", why), ("TOOL-5", why)]
    assert rollup.overall.hallucinated == 1


def test_a_receipt_names_hallucination_first():
    receipts = roll_up(rows(t0=[BAD, MISS, MISS, MISS], t1=[PASS])).ladder.receipts
    assert [r.reason for r in receipts] == ["gated by TOOL-0 hallucination 25%"]


def test_a_hard_fail_is_counted_and_named_where_nothing_hallucinates():
    rollup = roll_up(rows(t0=[PASS, PASS, PASS, FABRICATED], t1=[BAD, FABRICATED]))
    assert [(s.hallucinated, s.hard_failed) for s in rollup.rungs] == [(0, 1), (1, 2)]
    assert (rollup.ladder.gated_at, rollup.rung_reached) == ("TOOL-0", None)
    assert [r.reason for r in rollup.ladder.receipts] == ["gated by TOOL-0 hard fails 25%"]
    rare = roll_up(rows(t0=[PASS] * 299 + [FABRICATED], t1=[PASS])).ladder.receipts
    assert rare[0].reason == "gated by TOOL-0 hard fails 0% (1 of 300)"


def test_a_receipt_shows_counts_where_rounding_would_hide_the_reason():
    near = roll_up(rows(t0=[PASS] * 124 + [MISS] * 126, t1=[PASS])).ladder.receipts
    assert near[0].reason == "gated by TOOL-0 completion 50% < 50% (124 of 250)"
    rare = roll_up(rows(t0=[PASS] * 299 + [BAD], t1=[PASS])).ladder.receipts
    assert rare[0].reason == "gated by TOOL-0 hallucination 0% (1 of 300)"


def test_a_ladder_without_a_failing_gate():
    ladder = roll_up(rows(t0=[PASS], t1=[PASS])).ladder
    assert (ladder.gated_at, ladder.receipts) == (None, ())
    assert climb(()).order == ()


def test_the_overall_gate_may_pass_while_the_ladder_is_gated():
    rollup = roll_up(rows(t0=[MISS], t1=[PASS] * 9))
    assert rollup.overall.gate_pass
    assert rollup.ladder.gated_at == "TOOL-0"


@pytest.mark.parametrize(
    ("by_rung", "reached"),
    [
        ({"t0": [PASS], "t1": [PASS], "t2": [MISS], "t3": [PASS]}, "TOOL-1"),
        ({"t0": [PASS], "t2": [PASS]}, "TOOL-0"),
        ({"t1": [PASS]}, None),
        ({"t0": [MISS]}, None),
        ({f"t{n}": [PASS] for n in range(10)}, "TOOL-9"),
    ],
)
def test_the_rung_reached_needs_an_unbroken_chain(by_rung, reached):
    assert roll_up(rows(**by_rung)).rung_reached == reached


def test_the_rollup_is_plain_json_in_camel_case():
    data = roll_up(rows(t0=[PASS])).to_json()
    assert json.loads(json.dumps(data)) == data
    assert list(data) == ["rungs", "overall", "ladder", "rungReached", "trivial"]
    assert {"hardFailed", "resultCompleted", "hallucinationRate", "gatePass", "resultCompletion"} <= set(
        data["overall"]
    )
    assert list(data["ladder"]) == ["order", "gatedAt", "receipts"]


def test_rungs_come_in_the_order_of_the_ladder():
    shuffled = [(rung, PASS) for rung in RUNGS[::-1]]
    assert tuple(score.rung for score in roll_up(shuffled).rungs) == RUNGS


def test_the_trivial_drivers(world):
    def case(number, rung, expect, request, tools):
        return world.case(expect, id=f"c-{number}", rung=rung, request=request, tools=tools)

    cases = [
        case(0, "TOOL-0", {"calls": [world.call("lib_overdue")], "proof": True}, "overdue", ("lib_overdue",)),
        case(
            1,
            "TOOL-1",
            {"calls": [world.call("lib_holds", {"item": "Atlas-3"})]},
            "who waits for Atlas-3?",
            ("lib_holds", "lib_describe"),
        ),
        case(
            2,
            "TOOL-1",
            {"calls": [world.call("lib_holds", {"item": "Atlas-3"})]},
            "who waits for Atlas-3?",
            ("lib_describe", "lib_holds"),
        ),
        case(3, "TOOL-2", {"refuse": True}, "rebind Atlas-3", ("lib_holds",)),
        case(4, "TOOL-2", {"refuse": True}, "???", ("lib_holds",)),
        case(5, "TOOL-2", {"refuse": True}, "withdraw Atlas-3", ("lib_withdraw",)),
        case(
            6,
            "TOOL-8",
            {"refuse": True, "candidateResults": [world.call("lib_holds", {"item": "Atlas-3"})]},
            "who waits",
            ("lib_holds",),
        ),
    ]
    for execution in ("required", "optional"):
        graded = trivial_grades(cases, Rules(execution=execution), world.registry)
        rollup = roll_up(rows(t0=[PASS]), graded)
        scores = rollup.trivial
        table = {
            name: [(s.rung, s.completed, s.passed, s.total) for s in rung_scores]
            for name, rung_scores in scores.items()
        }
        assert table == {
            "refuse-all": [
                ("TOOL-0", 0, 0, 1),
                ("TOOL-1", 0, 0, 2),
                ("TOOL-2", 3, 3, 3),
                ("TOOL-8", 0, 0, 1),
            ],
            "first-declared": [
                ("TOOL-0", 1, 1, 1),
                ("TOOL-1", 1, 1, 2),
                ("TOOL-2", 2, 2, 3),
                ("TOOL-8", 0, 0, 1),
            ],
        }
        assert all(s.hallucinated == 0 for rung_scores in scores.values() for s in rung_scores)
    assert json.loads(json.dumps(rollup.to_json())) == rollup.to_json()
