"""Grades into the metric pair of each rung, its gate and the ladder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from study.cases import Case, Rules
from study.grading.trivial import FIRST_DECLARED, REFUSE_ALL, first_declared, refuse_all
from study.grading.verdict import compile_case
from study.records import RUNGS, Grade, Record
from study.registry import Registry

COMPLETION_FLOOR = 0.5
"""The smallest completion that passes a gate; exactly this much passes."""


class RungScore(Record, rename="camel"):
    """Counts and rates of one rung, or of all of them together.

    Attributes
    ----------
    rung : str
        ``TOOL-0`` to ``TOOL-9``, or ``overall``.
    total, passed, completed, result_completed, hallucinated : int
        Numbers of cases; ``hallucinated`` counts cases with at least one bad call.
    hard_failed : int
        Cases with at least one hard fail of any code: hallucinated ones, and those whose report contradicts
        what the harness saw (0 in a file from before this was counted).
    honest_miss, wrong_answer : int
        The failing cases that are no hallucination: no call made, or other calls than expected.
    completion, result_completion, hallucination_rate : float
        Shares of ``total``; 0 when that is 0.
    gate_pass : bool
        No hallucination and no other hard fail at all, at a completion of at least the floor.
    """

    rung: str
    total: int
    passed: int
    completed: int
    result_completed: int
    hallucinated: int
    honest_miss: int
    wrong_answer: int
    completion: float
    result_completion: float
    hallucination_rate: float
    gate_pass: bool
    hard_failed: int = 0


class Receipt(Record, rename="camel"):
    """Why a rung is skipped."""

    rung: str
    reason: str


class Ladder(Record, rename="camel"):
    """The rungs with rows in ascending order, the first whose gate fails, and a receipt for each above."""

    order: tuple[str, ...]
    gated_at: str | None
    receipts: tuple[Receipt, ...]


class Rollup(Record, rename="camel"):
    """Everything that a ladder report shows.

    Attributes
    ----------
    rungs : tuple of RungScore
        Rungs with rows, ascending.
    overall : RungScore
        All rows; its gate accepts nothing, since it can pass while the ladder is gated.
    ladder : Ladder
    rung_reached : str or None
        The highest rung of an unbroken chain of passed gates from TOOL-0; a rung without rows breaks it.
    trivial : dict
        Driver -> its rung scores on the same cases, for the two drivers that know nothing. They run no
        tool, so their result completion is that of a driver without results.
    """

    rungs: tuple[RungScore, ...]
    overall: RungScore
    ladder: Ladder
    rung_reached: str | None
    trivial: dict[str, tuple[RungScore, ...]] = msgspec.field(
        default_factory=dict[str, tuple[RungScore, ...]]
    )

    def to_json(self) -> dict[str, Any]:
        """Return the rollup as plain JSON."""
        return msgspec.json.decode(msgspec.json.encode(self))


def percent(n: int, d: int) -> int:
    """Return ``100 n / d`` as a whole number, halves rounded up; 0 when d is 0."""
    return (200 * n + d) // (2 * d) if d else 0


def roll_up(
    graded: Iterable[tuple[str, Grade]], trivial: Mapping[str, Iterable[tuple[str, Grade]]] | None = None
) -> Rollup:
    """Roll grades up to rungs and ladder.

    Parameters
    ----------
    graded : iterable of (str, Grade)
        Rung and grade of each row.
    trivial : mapping, optional
        What :func:`trivial_grades` returns for the same cases.
    """
    rows = list(graded)
    rungs = _rung_scores(rows)
    return Rollup(
        rungs=rungs,
        overall=_score("overall", [grade for _, grade in rows]),
        ladder=climb(rungs),
        rung_reached=_rung_reached(rungs),
        trivial={name: _rung_scores(more) for name, more in (trivial or {}).items()},
    )


def _rung_scores(rows: Iterable[tuple[str, Grade]]) -> tuple[RungScore, ...]:
    by_rung: dict[str, list[Grade]] = {}
    for rung, grade in rows:
        by_rung.setdefault(rung, []).append(grade)
    return tuple(_score(rung, by_rung[rung]) for rung in sorted(by_rung, key=_rung_order))


def _rung_order(rung: str) -> tuple[int, str]:
    return (RUNGS.index(rung) if rung in RUNGS else len(RUNGS), rung)


def _score(rung: str, grades: list[Grade]) -> RungScore:
    total = len(grades)
    completed = sum(grade.completed for grade in grades)
    result_completed = sum(grade.result_completed for grade in grades)
    hallucinated = sum(bool(grade.hallucinated) for grade in grades)
    hard_failed = sum(bool(grade.hallucinated or grade.hard_fails) for grade in grades)
    completion = completed / total if total else 0.0
    return RungScore(
        rung=rung,
        total=total,
        passed=sum(grade.passed for grade in grades),
        completed=completed,
        result_completed=result_completed,
        hallucinated=hallucinated,
        honest_miss=sum(grade.failure == "honest_miss" for grade in grades),
        wrong_answer=sum(grade.failure == "wrong_answer" for grade in grades),
        completion=completion,
        result_completion=result_completed / total if total else 0.0,
        hallucination_rate=hallucinated / total if total else 0.0,
        gate_pass=hard_failed == 0 and completion >= COMPLETION_FLOOR,
        hard_failed=hard_failed,
    )


def climb(rungs: Iterable[RungScore]) -> Ladder:
    """Apply the gates in ascending order: the first that fails gates every rung above it."""
    order: list[str] = []
    gate: RungScore | None = None
    receipts: list[Receipt] = []
    for score in rungs:
        order.append(score.rung)
        if gate is not None:
            receipts.append(Receipt(rung=score.rung, reason=_receipt(gate)))
        elif not score.gate_pass:
            gate = score
    return Ladder(order=tuple(order), gated_at=gate.rung if gate else None, receipts=tuple(receipts))


def _receipt(gate: RungScore) -> str:
    """Say which rate failed; where rounding would hide it, the counts follow."""
    if gate.hallucinated:
        share, count = percent(gate.hallucinated, gate.total), gate.hallucinated
        text, hidden = f"gated by {gate.rung} hallucination {share}%", share == 0
    elif gate.hard_failed:
        share, count = percent(gate.hard_failed, gate.total), gate.hard_failed
        text, hidden = f"gated by {gate.rung} hard fails {share}%", share == 0
    else:
        share, count = percent(gate.completed, gate.total), gate.completed
        floor = percent(round(COMPLETION_FLOOR * 100), 100)
        text, hidden = f"gated by {gate.rung} completion {share}% < {floor}%", share >= floor
    return f"{text} ({count} of {gate.total})" if hidden else text


def _rung_reached(rungs: Iterable[RungScore]) -> str | None:
    passed = {score.rung for score in rungs if score.gate_pass}
    reached = None
    for rung in RUNGS:
        if rung not in passed:
            break
        reached = rung
    return reached


def trivial_grades(
    cases: Iterable[Case], rules: Rules, registry: Registry, goals: frozenset[str] | None = None
) -> dict[str, list[tuple[str, Grade]]]:
    """Return rung and grade of each case for refuse-all and for first-declared.

    Nothing is run: their trials are written down and graded like any other.

    Raises
    ------
    SuiteError
        When a case cannot be compiled.
    """
    rows: dict[str, list[tuple[str, Grade]]] = {REFUSE_ALL: [], FIRST_DECLARED: []}
    for case in cases:
        grader = compile_case(case, rules, registry, goals)
        rows[REFUSE_ALL].append((case.rung, grader(refuse_all())))
        rows[FIRST_DECLARED].append((case.rung, grader(first_declared(case, rules, registry))))
    return rows
