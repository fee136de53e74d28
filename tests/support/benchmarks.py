"""Results of the ladder for tests, built from scripted outcomes without running a driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.benchmark import Benchmark, CaseEntry, Check, DriverResult, SuiteEntry, Times
from analysis.ladder import driver_result
from study.grading.rollup import roll_up
from study.grading.rows import Row, verdict_json
from study.records import Grade

PASS = Grade(passed=True, completed=True, result_completed=True)
MISS = Grade(
    passed=False,
    completed=False,
    result_completed=False,
    failure="honest_miss",
    reasons=({"code": "CALLS_MISMATCH", "text": "expected [a], produced []"},),
)
WRONG = Grade(
    passed=False,
    completed=False,
    result_completed=False,
    failure="wrong_answer",
    reasons=({"code": "CALLS_MISMATCH", "text": "expected [a], produced [b]"},),
)
RESULT = Grade(
    passed=True,
    completed=True,
    result_completed=False,
    result_reasons=({"code": "RESULT_MISMATCH", "text": "another result"},),
)
WAIVED = Grade(passed=True, completed=True, result_completed=True, floor_expect_applied=True)
FABRICATED = Grade(
    passed=False,
    completed=True,
    result_completed=True,
    failure="wrong_answer",
    hard_fails=("fabricated-call",),
    reasons=({"code": "FABRICATED_CALL", "text": "reported, but never dispatched: a"},),
)
BAD = Grade(
    passed=False,
    completed=True,
    result_completed=False,
    failure="hallucination",
    hallucinated=({"code": "undeclared", "at": "calls[0]", "name": "x"},),
    hard_fails=("undeclared",),
    reasons=({"code": "HALLUCINATED_CALL", "text": "undeclared at calls[0]"},),
)


def entry(case: str, rung: str = "TOOL-0", **changes: Any) -> CaseEntry:
    """Build an entry; a case ``t1-b`` belongs to the task ``t1``."""
    fields: dict[str, Any] = {
        "id": case,
        "suite": "s",
        "task": case.rpartition("-")[0] or case,
        "rung": rung,
        "request_digest": f"request of {case}",
        "expect_digest": f"expectation of {case}",
        "floor_expect": False,
        "answer": "calls",
        "topics": ("callers",),
    }
    return CaseEntry(**fields | changes)


def entries(rung: str, tasks: int, per_task: int = 1, **changes: Any) -> list[CaseEntry]:
    """Build ``tasks`` tasks with ``per_task`` cases each."""
    tag = changes.pop("tag", rung.lower())
    return [entry(f"{tag}.{t}-{c}", rung, **changes) for t in range(tasks) for c in range(per_task)]


def row(case: CaseEntry, grade: Grade, *, calls: int = 1, request: str | None = None) -> Row:
    """Build the ladder row of a case."""
    told: Row = {
        "caseId": case.id,
        "rung": case.rung,
        "request": request or f"the request of {case.id}",
        "driver": "scripted-1",
        "version": "scripted-1",
        "produced": {"calls": [{"name": "a", "input": {}}] * calls},
        "verdict": verdict_json(grade),
    }
    return {**told, "floorExpectApplied": True} if grade.floor_expect_applied else told


def driver(
    cases: Sequence[CaseEntry],
    grades: Mapping[str, Grade] | None = None,
    *,
    name: str = "goal",
    floor: bool = False,
    calls: int = 1,
    trivial: Mapping[str, Grade] | None = None,
    request: str | None = None,
    code_digest: str | None = None,
) -> DriverResult:
    """Build the result of a driver that passes every case but those in ``grades``."""
    given = {case.id: (grades or {}).get(case.id, PASS) for case in cases}
    anchors = {n: [(c.rung, g) for c in cases] for n, g in (trivial or {"refuse-all": MISS}).items()}
    return driver_result(
        name,
        [row(case, given[case.id], calls=calls, request=request) for case in cases],
        roll_up([(case.rung, given[case.id]) for case in cases], anchors),
        cases,
        slug=name,
        floor=floor,
        code_digest=code_digest,
    )


def benchmark(cases: Sequence[CaseEntry], *drivers: DriverResult, **changes: Any) -> Benchmark:
    """Build a benchmark of drivers on the same cases."""
    fields: dict[str, Any] = {
        "schema": 1,
        "version": "0.1.0",
        "stamp": "0.1.0",
        "grader": "1.0.0",
        "toolkit": "0.1.0",
        "split": "held-out",
        "selection": {"cases": None, "rung": None, "only": None},
        "command": "study ladder --report",
        "times": Times(run_started="a", run_ended="b", analysis_started="c", analysis_ended="d"),
        "suites": {"s": SuiteEntry(registry="r" * 64, graph="g" * 64, rules="u" * 64)},
        "cases": tuple(cases),
        "drivers": drivers or (driver(cases),),
        "subject": (drivers or (driver(cases),))[0].name,
        "checks": (Check(name="seen", held=True, text="t"), Check(name="unseen", held=None, text="t")),
    }
    return Benchmark(**fields | changes)
