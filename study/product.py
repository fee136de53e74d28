"""From a run's frozen inputs and its journal to graded rows; pure, and never a rerun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from study.cases import Case, load_suite
from study.digest import JSON, encode_json, is_list, read_bytes, read_json_lines
from study.errors import IntegrityError
from study.grading import compile_case
from study.journal import Attempt, JournalState, read_journal
from study.lock import lock_digest, read_lock
from study.protocol import Protocol, parse_protocol
from study.records import Grade, Record
from study.runs import RunFolder, write_file
from study.schedule import Assignment, build_schedule
from study.selection import Selection, select

REGRESSION = "compatibility-regression"

_NOBODYS_FAULT = ("infrastructure", "cancelled")


class FrozenRun(Record):
    """What a run folder says was to be run: its lock, and what follows from its inputs."""

    lock: dict[str, JSON]
    protocol: Protocol
    written: dict[str, JSON]
    selection: Selection
    schedule: list[Assignment]

    @property
    def lock_digest(self) -> str:
        """SHA-256 of the lock."""
        return lock_digest(self.lock)


def write_inputs(folder: RunFolder, protocol: bytes, selection: Selection) -> None:
    """Copy the frozen inputs into a run folder: protocol, suite files, registries, selected cases."""
    write_file(folder.inputs / "protocol.toml", protocol)
    for part in selection.suites:
        place = folder.inputs / "suites" / part.suite.file.id
        lines = [case.to_line() for case in part.cases]
        write_file(place / part.suite.file.cases, b"".join(lines))
        write_file(place / part.suite.file.registry, encode_json(part.suite.registry.to_json()) + b"\n")
        write_file(place / "suite.toml", read_bytes(part.suite.folder / "suite.toml", "suite"))


def read_frozen(folder: RunFolder) -> FrozenRun:
    """Read the lock and the inputs of a run; loads no driver and no toolset.

    Raises
    ------
    IntegrityError
        When the inputs cannot be read as what the lock froze.
    """
    lock = read_lock(folder.lock)
    place = folder.inputs / "protocol.toml"
    protocol, written = parse_protocol(read_bytes(place, "frozen protocol"), str(place))
    suites = [
        load_suite(folder.inputs / "suites" / entry["id"], selected_only=True) for entry in lock["suites"]
    ]
    selection = select(protocol, suites, str(place))
    schedule = build_schedule(protocol.design.seed, selection.pairs, protocol.design.repetitions)
    return FrozenRun(lock=lock, protocol=protocol, written=written, selection=selection, schedule=schedule)


def final_attempts(frozen: FrozenRun, state: JournalState, where: str) -> dict[int, Attempt]:
    """Return trial -> final attempt, after checking that each belongs to its assignment.

    Raises
    ------
    IntegrityError
        For an attempt of a trial, pair, arm or case that the schedule does not have.
    """
    for attempt in state.attempts:
        planned = frozen.schedule[attempt.trial] if 0 <= attempt.trial < len(frozen.schedule) else None
        told = (attempt.pair, attempt.arm, attempt.case_id, attempt.repetition)
        if planned is None or told != (planned.pair, planned.arm, planned.case_id, planned.repetition):
            raise IntegrityError(f"trial {attempt.trial} is not the one that was scheduled", where=where)
    return state.finals


def grade_attempts(frozen: FrozenRun, attempts: Sequence[Attempt]) -> list[dict[str, JSON]]:
    """Grade a journal's attempts: one row a finished trial, in schedule order.

    The row is that of the final attempt. A tool call that an earlier, cancelled attempt made or tried is on
    record all the same: what is a hallucination in it counts for the trial. A candidate that fails a pinned
    case has a hard fail of its own, whatever the reason, unless nobody was at fault.
    """
    finals = {attempt.trial: attempt for attempt in attempts if attempt.final}
    earlier: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        if not attempt.final:
            earlier.setdefault(attempt.trial, []).append(attempt)
    cases = frozen.selection.cases
    tasks = frozen.lock["tasks"]
    pinned = {*frozen.lock.get("pinned", ())}
    graders = {
        case.id: compile_case(case, part.suite.rules, part.suite.registry) for case, part in cases.values()
    }
    rows: list[dict[str, JSON]] = []
    for planned in frozen.schedule:
        attempt = finals.get(planned.trial)
        if attempt is not None:
            grader = graders[planned.case_id]
            row = _row(
                planned,
                cases[planned.case_id][0],
                tasks[planned.task_id]["family"],
                attempt,
                grader(attempt.produced),
            )
            for cut_off in earlier.get(planned.trial, ()):
                _add_attempted(row, cut_off, grader(cut_off.produced))
            if planned.arm == "candidate" and planned.case_id in pinned:
                _add_regression(row)
            rows.append(row)
    return rows


def _add_attempted(row: dict[str, JSON], attempt: Attempt, grade: Grade) -> None:
    """Add the hallucinations of a cancelled attempt to the row of its trial."""
    if grade.hallucinated:
        found = [{**problem, "attempt": attempt.attempt} for problem in grade.hallucinated]
        row["hallucinated"] = [*row["hallucinated"], *found]
        codes = {problem["code"] for problem in grade.hallucinated}
        row["hard_fails"] = sorted({*row["hard_fails"], *codes})
        row["passed"] = False
        row["failure"] = "hallucination"


def _add_regression(row: dict[str, JSON]) -> None:
    """Add the hard fail of a candidate that fails a case which the lock lists as passing."""
    if not row["passed"] and row["outcome"] not in _NOBODYS_FAULT:
        row["hard_fails"] = sorted({*row["hard_fails"], REGRESSION})


def _row(planned: Assignment, case: Case, family: str, attempt: Attempt, grade: Grade) -> dict[str, JSON]:
    report: dict[str, Any] = attempt.produced.report
    calls = report.get("calls")
    return {
        "trial": planned.trial,
        "pair": planned.pair,
        "position": planned.position,
        "task_id": planned.task_id,
        "case_id": planned.case_id,
        "rung": case.rung,
        "template_family": family,
        "repetition": planned.repetition,
        "arm": planned.arm,
        "driver": _text(report.get("driver")),
        "outcome": attempt.outcome,
        "passed": grade.passed,
        "completed": grade.completed,
        "result_completed": grade.result_completed,
        "failure": grade.failure,
        "hallucinated": list(grade.hallucinated),
        "hard_fails": list(grade.hard_fails),
        "reasons": list(grade.reasons),
        "result_reasons": list(grade.result_reasons),
        "probes": grade.probes,
        "n_calls": len(calls) if is_list(calls) else 0,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def product_bytes(rows: Sequence[dict[str, JSON]]) -> bytes:
    """Return the bytes of ``product.jsonl``: one compact row a line."""
    return b"".join(encode_json(row) + b"\n" for row in rows)


def grade_run(folder: RunFolder) -> list[dict[str, JSON]]:
    """Grade a run from its journal and its frozen inputs."""
    frozen = read_frozen(folder)
    state = read_journal(folder.journal, frozen.lock_digest)
    final_attempts(frozen, state, str(folder.journal))
    return grade_attempts(frozen, state.attempts)


def read_product(folder: RunFolder) -> list[dict[str, JSON]]:
    """Read the rows of ``product.jsonl``."""
    return [row for _, row in read_json_lines(folder.product, "product")]


def product_differences(stored: bytes, rows: Sequence[dict[str, JSON]]) -> list[str]:
    """Return one line for each row of a stored product that is not what regrading gives."""
    found: list[str] = []
    lines = stored.split(b"\n")
    fresh = product_bytes(rows).split(b"\n")
    for number in range(max(len(lines), len(fresh))):
        old = lines[number] if number < len(lines) else None
        new = fresh[number] if number < len(fresh) else None
        if old != new:
            found.append(f"product.jsonl:{number + 1} is not what regrading gives")
    return found
