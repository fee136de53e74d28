"""Measured drivers from their ladder rows, with intervals over tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.benchmark import CaseEntry, CaseOutcome, DriverResult, FailingRow, RungResult, TaskRate
from analysis.proportions import rate, rate_interval
from study.digest import is_list, sha256
from study.grading.rollup import Rollup, RungScore
from study.grading.rows import Row, rows_bytes


def driver_result(
    name: str,
    rows: Sequence[Row],
    rollup: Rollup,
    cases: Iterable[CaseEntry],
    *,
    slug: str,
    floor: bool,
    code_digest: str | None = None,
    level: float = 0.95,
) -> DriverResult:
    """Return the result of one measured driver: its rollup, with an interval over tasks for each rung.

    Parameters
    ----------
    name, slug : str
        The driver as it was asked for, and in file names.
    rows : sequence of Row
        Its ladder rows, one a case.
    rollup : Rollup
        Of the same rows.
    cases : iterable of CaseEntry
        At least the cases of the rows.
    floor : bool
        Whether the driver is an anchor.
    code_digest : str, optional
        SHA-256 over its source files.
    level : float
        Two-sided confidence level.
    """
    task_of = {case.id: case.cluster for case in cases}
    receipts = {receipt.rung: receipt.reason for receipt in rollup.ladder.receipts}

    def result(score: RungScore) -> RungResult:
        part = [row for row in rows if score.rung in ("overall", row["rung"])]
        scores = [(task_of[str(row["caseId"])], bool(row["verdict"]["completed"])) for row in part]
        return RungResult(
            score=score,
            completion=task_rate(scores, level=level),
            receipt=receipts.get(score.rung),
            trivial={
                trivial: sum(s.completed for s in known if score.rung in ("overall", s.rung))
                for trivial, known in rollup.trivial.items()
            },
        )

    problems = Counter(str(problem["code"]) for row in rows for problem in row["verdict"]["hallucinated"])
    hard_fails = Counter(str(code) for row in rows for code in row["verdict"].get("hardFails", ()))
    return DriverResult(
        name=name,
        slug=slug,
        version=str(rows[0]["version"]) if rows else "",
        stamps=tuple(dict.fromkeys(str(row["driver"]) for row in rows)),
        floor=floor,
        rungs=tuple(result(score) for score in rollup.rungs),
        overall=result(rollup.overall),
        ladder=rollup.ladder,
        rung_reached=rollup.rung_reached,
        calls=sum(_calls(row) for row in rows),
        problems=dict(sorted(problems.items())),
        hard_fails=dict(sorted(hard_fails.items())),
        failing=tuple(_told(row, "reasons") for row in rows if not row["verdict"]["pass"]),
        result_only=tuple(_told(row, "resultReasons") for row in rows if _result_only(row)),
        outcomes={str(row["caseId"]): _outcome(row) for row in rows},
        rows_digest=sha256(rows_bytes(rows)),
        code_digest=code_digest,
    )


def task_rate(scores: Iterable[tuple[str, bool]], *, level: float = 0.95) -> TaskRate:
    """Return the rate of cases that count, with tasks as the sample.

    Parameters
    ----------
    scores : iterable of (str, bool)
        Task, and whether one of its cases counts; at least one.
    level : float
        Two-sided confidence level of :func:`analysis.proportions.rate_interval`.
    """
    by_task: dict[str, list[bool]] = {}
    for task, counts in scores:
        by_task.setdefault(task, []).append(counts)
    groups = [by_task[task] for task in sorted(by_task)]
    return TaskRate(n_tasks=len(groups), estimate=rate(groups), interval=rate_interval(groups, level=level))


def _calls(row: Row) -> int:
    """Return how many calls the gate checked: reported ones and candidates, or what was dispatched."""
    produced = row["produced"]
    told = [produced.get("calls"), produced.get("candidateResults")]
    return max(sum(len(calls) for calls in told if is_list(calls)), len(produced.get("dispatches", [])))


def _result_only(row: Row) -> bool:
    return bool(row["verdict"]["pass"]) and not row["verdict"]["resultCompleted"]


def _told(row: Row, reasons: str) -> FailingRow:
    verdict = row["verdict"]
    return FailingRow(
        case_id=str(row["caseId"]),
        rung=str(row["rung"]),
        request=str(row["request"]),
        failure=verdict.get("failure"),
        reasons=tuple(str(reason["text"]) for reason in verdict[reasons]),
    )


def _outcome(row: Row) -> CaseOutcome:
    verdict = row["verdict"]
    return CaseOutcome(
        passed=verdict["pass"],
        completed=verdict["completed"],
        result_completed=verdict["resultCompleted"],
        failure=verdict.get("failure"),
        floor_expect_applied=row.get("floorExpectApplied") is True,
    )
