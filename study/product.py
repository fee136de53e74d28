"""From a run's frozen inputs and its journal to graded rows; pure, and never a rerun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from study.cases import Case, load_suite
from study.digest import JSON, encode_json, is_list, read_bytes, read_json_lines
from study.errors import InputError, IntegrityError, ProtocolError, SuiteError
from study.grading import compile_case
from study.journal import Attempt, AttemptSummary, Entry, JournalState, Progress, Stop, read_entries
from study.lock import DriverIdentity, build_lock, differences, lock_digest, read_lock
from study.protocol import Protocol, parse_protocol
from study.records import ARMS, Grade, Produced, Record
from study.runs import RunFolder, write_file
from study.schedule import Assignment, build_schedule
from study.selection import Selection, select

T = TypeVar("T")

REGRESSION = "compatibility-regression"

_NEVER_RUN = Produced(outcome="cancelled", report={})

_NOBODYS_FAULT = ("infrastructure", "cancelled")


def _itself(row: dict[str, JSON]) -> Any:
    """Return a row as it is."""
    return row


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

    def changes(self) -> list[str]:
        """Return where the lock differs from what follows from the inputs.

        Identities that need code, of drivers, graphs and templates, are taken from the lock.
        """
        stored = self.lock
        derived = build_lock(
            self.written,
            self.selection,
            self.schedule,
            {arm: DriverIdentity(**stored["arms"][arm]) for arm in ARMS},
            {task: entry["family"] for task, entry in stored["tasks"].items()},
            {entry["id"]: entry["graph_digest"] for entry in stored["suites"]},
            stored["sources"],
            stored["grader_version"],
            stored.get("supersedes"),
        )
        return differences(stored, derived)


def write_inputs(folder: RunFolder, protocol: bytes, selection: Selection) -> None:
    """Copy the frozen inputs into a run folder: protocol, suite files, registries, selected cases."""
    write_file(folder.inputs / "protocol.toml", protocol)
    for part in selection.suites:
        place = folder.inputs / "suites" / part.suite.file.id
        lines = [case.to_line() for case in part.cases]
        write_file(place / part.suite.file.cases, b"".join(lines))
        write_file(place / part.suite.file.registry, encode_json(part.suite.registry.to_json()) + b"\n")
        write_file(place / "suite.toml", read_bytes(part.suite.folder / "suite.toml", "suite"))


_RESTORE = "restore the folder; a run whose inputs were changed is void"


def read_frozen(folder: RunFolder, *, checked: bool = True) -> FrozenRun:
    """Read the lock and the inputs of a run; loads no driver and no toolset.

    ``checked=False`` leaves it to the caller to look at :meth:`FrozenRun.changes`.

    Raises
    ------
    IntegrityError
        When the inputs are not those that the lock froze.
    """
    lock = read_lock(folder.lock)
    try:
        frozen = _frozen(folder, lock)
        changes = frozen.changes() if checked else []
    except (SuiteError, ProtocolError, InputError) as error:
        raise IntegrityError(
            f"an input of this run cannot be read: {error.problem}", where=error.where, next_step=_RESTORE
        ) from None
    except (KeyError, TypeError) as error:
        raise IntegrityError(
            f"not a lock that was written for a run: {type(error).__name__}: {error}",
            where=str(folder.lock),
            next_step=_RESTORE,
        ) from None
    if changes:
        raise IntegrityError(
            f"the inputs are not those that the lock froze: {changes[0]}",
            where=str(folder.inputs),
            next_step=_RESTORE,
        )
    return frozen


def _frozen(folder: RunFolder, lock: dict[str, JSON]) -> FrozenRun:
    place = folder.inputs / "protocol.toml"
    protocol, written = parse_protocol(read_bytes(place, "frozen protocol"), str(place))
    suites = [
        load_suite(folder.inputs / "suites" / entry["id"], selected_only=True) for entry in lock["suites"]
    ]
    selection = select(protocol, suites, str(place))
    schedule = build_schedule(protocol.design.seed, selection.pairs, protocol.design.repetitions)
    return FrozenRun(lock=lock, protocol=protocol, written=written, selection=selection, schedule=schedule)


@overload
def final_attempts(frozen: FrozenRun, state: JournalState, where: str) -> dict[int, Attempt]: ...
@overload
def final_attempts(frozen: FrozenRun, state: Progress, where: str) -> Mapping[int, AttemptSummary]: ...
def final_attempts(frozen: FrozenRun, state: Progress, where: str) -> Mapping[int, AttemptSummary]:
    """Return trial -> final attempt, after checking that each belongs to its assignment.

    Raises
    ------
    IntegrityError
        For an attempt of a trial, pair, arm or case that the schedule does not have.
    """
    for attempt in state.attempts:
        _assignment(frozen, attempt, where)
    return state.finals


def _assignment(frozen: FrozenRun, attempt: AttemptSummary, where: str) -> Assignment:
    """Return the assignment of an attempt, after checking that it is the one it tells of."""
    planned = frozen.schedule[attempt.trial] if 0 <= attempt.trial < len(frozen.schedule) else None
    told = (attempt.pair, attempt.arm, attempt.case_id, attempt.repetition)
    if planned is None or told != (planned.pair, planned.arm, planned.case_id, planned.repetition):
        raise IntegrityError(f"trial {attempt.trial} is not the one that was scheduled", where=where)
    return planned


def grade_entries(
    frozen: FrozenRun,
    entries: Iterable[Entry],
    where: str,
    *,
    keep: Callable[[dict[str, JSON]], T] = _itself,
) -> list[T]:
    """Grade a journal's attempts: one row a finished trial, in schedule order.

    Parameters
    ----------
    frozen : FrozenRun
    entries : iterable of Entry
        In the order of the journal; none is held longer than it takes to grade it. Where a declared budget
        ended the run, each trial without a final attempt has a row too, with the outcome ``cancelled``.
    where : str
        The journal, for errors.
    keep : callable
        What is kept of a row; by default the row itself.

    Raises
    ------
    IntegrityError
        For an attempt that is not of its assignment.

    Notes
    -----
    The row is that of the final attempt. A tool call that an earlier attempt made or tried is on record all
    the same: what is a hallucination in it counts for the trial. A candidate that fails a pinned case has a
    hard fail of its own, whatever the reason, unless nobody was at fault.
    """
    cases, pinned = frozen.selection.cases, {*frozen.lock.get("pinned", ())}
    graders = {
        case.id: compile_case(case, part.suite.rules, part.suite.registry) for case, part in cases.values()
    }
    earlier: dict[int, list[tuple[int, Grade]]] = {}
    kept: dict[int, T] = {}

    def graded(planned: Assignment, produced: Produced) -> T:
        family = frozen.lock["tasks"][planned.task_id]["family"]
        row = _row(planned, cases[planned.case_id][0], family, produced, graders[planned.case_id](produced))
        for number, grade in earlier.pop(planned.trial, ()):
            _add_attempted(row, number, grade)
        if planned.arm == "candidate" and planned.case_id in pinned:
            _add_regression(row)
        return keep(row)

    stopped = False
    for entry in entries:
        stopped = stopped or isinstance(entry, Stop)
        if not isinstance(entry, Attempt):
            continue
        planned = _assignment(frozen, entry, where)
        if entry.final:
            kept[entry.trial] = graded(planned, entry.produced)
        else:
            grade = graders[planned.case_id](entry.produced)
            if grade.hallucinated:
                earlier.setdefault(entry.trial, []).append((entry.attempt, grade))
    if stopped:
        for planned in frozen.schedule:
            if planned.trial not in kept:
                kept[planned.trial] = graded(planned, _NEVER_RUN)
    return [kept[trial] for trial in sorted(kept)]


def _add_attempted(row: dict[str, JSON], attempt: int, grade: Grade) -> None:
    """Add the hallucinations of an earlier attempt to the row of its trial."""
    found = [{**problem, "attempt": attempt} for problem in grade.hallucinated]
    row["hallucinated"] = [*row["hallucinated"], *found]
    codes = {problem["code"] for problem in grade.hallucinated}
    row["hard_fails"] = sorted({*row["hard_fails"], *codes})
    row["passed"] = False
    row["failure"] = "hallucination"


def is_regression(outcome: str, *, passed: bool) -> bool:
    """Whether a candidate broke a case that the lock lists as passing."""
    return not passed and outcome not in _NOBODYS_FAULT


def _add_regression(row: dict[str, JSON]) -> None:
    """Add the hard fail of a candidate that fails a case which the lock lists as passing."""
    if is_regression(row["outcome"], passed=row["passed"]):
        row["hard_fails"] = sorted({*row["hard_fails"], REGRESSION})


def _row(planned: Assignment, case: Case, family: str, produced: Produced, grade: Grade) -> dict[str, JSON]:
    report: dict[str, Any] = produced.report
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
        "outcome": produced.outcome,
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


def to_line(row: dict[str, JSON]) -> bytes:
    """Return the line of ``product.jsonl`` that holds a row."""
    return encode_json(row) + b"\n"


def product_bytes(rows: Iterable[dict[str, JSON]]) -> bytes:
    """Return the bytes of ``product.jsonl``: one compact row a line."""
    return b"".join(map(to_line, rows))


def grade_run(folder: RunFolder) -> list[dict[str, JSON]]:
    """Grade a run from its journal and its frozen inputs."""
    return _grade_run(folder, _itself)


def graded_lines(folder: RunFolder) -> list[bytes]:
    """Grade a run as :func:`grade_run` does, straight into the lines of ``product.jsonl``."""
    return _grade_run(folder, to_line)


def _grade_run(folder: RunFolder, keep: Callable[[dict[str, JSON]], T]) -> list[T]:
    frozen = read_frozen(folder)
    entries = read_entries(folder.journal, frozen.lock_digest)
    return grade_entries(frozen, entries, str(folder.journal), keep=keep)


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
