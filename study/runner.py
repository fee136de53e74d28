"""Walks a schedule: executes what is missing, writes the journal, emits events; prints nothing."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from study.digest import digest_file
from study.driver import Toolset
from study.drivers import LoadedDriver
from study.errors import StudyError
from study.executors import Execution, InProcess, PreparedCase
from study.journal import Attempt, Header, Journal, JournalState, Session, first_link, read_journal
from study.opening import choose_folder, create, note_end, note_start, read_unfinished
from study.plan import Plan
from study.product import final_attempts, read_frozen
from study.records import ARMS, Produced, Record
from study.runs import RunFolder
from study.schedule import Assignment, trial_seed

STUCK_EXIT = 2


class Event(Record):
    """What a run tells while it goes on: pooled counts over both arms, never one arm's."""

    kind: Literal["started", "resumed", "trial", "stuck", "finished"]
    done: int
    total: int
    timeouts: int = 0
    errors: int = 0
    message: str = ""


class Interrupted(Exception):  # noqa: N818
    """The run was interrupted; every finished trial is kept."""


Listener = Callable[[Event], None]


def _ignore(event: Event) -> None:
    """Listen to nothing."""


def run_plan(
    plan: Plan,
    base: Path,
    *,
    stamp: str | None = None,
    listener: Listener = _ignore,
    deviations: Sequence[tuple[str, str]] = (),
) -> RunFolder:
    """Execute a plan until every trial has its final attempt.

    Parameters
    ----------
    plan : Plan
    base : Path
        The folder of the study's runs, ``runs/<study>``.
    stamp : str, optional
        Default: the first 12 hex digits of the lock's digest.
    listener : callable
        Told of each step.
    deviations : sequence of (kind, text)
        Further deviations to record at the start.

    Returns
    -------
    RunFolder
        With a complete journal; nothing is graded yet.

    Raises
    ------
    Interrupted
        After a ``KeyboardInterrupt``; the running attempt is on record as cancelled.
    RunError, LockError, IntegrityError
        When the place cannot be written, belongs to another lock, or was changed.
    """
    folder, resumed = choose_folder(base, stamp or plan.lock_digest[:12], plan)
    state = read_unfinished(folder, plan) if resumed else None
    if state is None:
        create(folder, base, plan)
    frozen = read_frozen(folder)
    finals = final_attempts(frozen, state, str(folder.journal)) if state else {}
    note_start(folder, plan, deviations, state)
    walk = _Walk(folder, plan, finals, state, listener)
    try:
        walk.run()
    except KeyboardInterrupt:
        raise Interrupted(str(folder.path)) from None
    state = read_journal(folder.journal, plan.lock_digest)
    note_end(folder, state, walk.close_failures)
    return folder


class _Walk:
    """One session over a schedule."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        finals: Mapping[int, Attempt],
        state: JournalState | None,
        listener: Listener,
    ) -> None:
        self.folder = folder
        self.plan = plan
        self.finals = finals
        self.state = state
        self.listener = listener
        self.session = len(state.sessions) + 1 if state else 1
        self.attempts = _attempts_so_far(state)
        self.prepared = _prepare(plan)
        self.done = len(finals)
        self.timeouts = sum(a.outcome == "timeout" for a in finals.values())
        self.errors = sum(a.outcome == "driver_error" for a in finals.values())
        self.current: Assignment | None = None
        self.close_failures: list[str] = []

    def run(self) -> None:
        plan = self.plan
        journal = self._open()
        self.journal = journal
        self._emit("resumed" if self.state else "started")
        conditions = plan.protocol.design.conditions or {}
        executor = InProcess(
            plan.protocol.limits.trial_timeout_s,
            cold=conditions.get("cache") == "cold",
            on_stuck=self._stuck,
        )
        opened: list[LoadedDriver] = []
        try:
            with executor:
                for arm in ARMS:
                    _setup(plan.drivers[arm], plan.configs[arm], f"{plan.protocol_path}:arms.{arm}.driver")
                    opened.append(plan.drivers[arm])
                for assignment in plan.schedule:
                    if assignment.trial not in self.finals:
                        self._execute(executor, assignment)
            self._emit("finished")
        finally:
            journal.close()
            self.close_failures = _close(opened, plan.toolsets)

    def _open(self) -> Journal:
        state, digest = self.state, self.plan.lock_digest
        if state is None:
            journal = Journal(self.folder.journal, first_link(digest))
            journal.append(Header(schema=1, study=self.plan.protocol.id, lock_digest=digest))
        else:
            journal = Journal(self.folder.journal, state.link, state.intact_bytes)
        journal.append(
            Session(
                session=self.session,
                started_at_s=time.time(),
                environment_digest=digest_file(self.folder.environment),
            )
        )
        return journal

    def _execute(self, executor: InProcess, assignment: Assignment) -> None:
        plan = self.plan
        self.current = assignment
        execution = executor.execute(
            plan.drivers[assignment.arm],
            self.prepared[assignment.case_id],
            copy.deepcopy(plan.configs[assignment.arm]),
            trial_seed(plan.protocol.design.seed, assignment.case_id, assignment.repetition),
        )
        self._record(assignment, execution)
        if execution.outcome == "cancelled":
            raise KeyboardInterrupt
        self.done += 1
        self.timeouts += execution.outcome == "timeout"
        self.errors += execution.outcome == "driver_error"
        self._emit("trial")

    def _record(self, assignment: Assignment, execution: Execution) -> None:
        number = self.attempts.get(assignment.trial, 0) + 1
        self.journal.append(
            Attempt(
                trial=assignment.trial,
                pair=assignment.pair,
                arm=assignment.arm,  # pyright: ignore[reportArgumentType]  (one of ARMS by construction)
                case_id=assignment.case_id,
                repetition=assignment.repetition,
                attempt=number,
                session=self.session,
                outcome=execution.outcome,
                produced=execution.produced,
                usage=execution.usage,
                error=execution.error,
                started_at_s=execution.started_at_s,
                latency_s=execution.latency_s,
            )
        )

    def _stuck(self, elapsed_s: float) -> None:
        """Record the trial of a driver that swallows its time limit, and end the process."""
        assignment = self.current
        if assignment is not None:
            produced = Produced(
                outcome="timeout",
                report={"calls": [], "refused": False, "terminated": False, "driver": "timeout"},
            )
            self._record(assignment, Execution(produced, None, None, time.time() - elapsed_s, elapsed_s))
            self.journal.close()
            name = self.plan.drivers[assignment.arm].name
            message = (
                f"the driver {name!r} ({assignment.arm}) goes on after its time limit and swallows every "
                f"interrupt; trial {assignment.trial} is recorded as a timeout; repeat the command to resume"
            )
            self._emit("stuck", message)
        os._exit(STUCK_EXIT)

    def _emit(
        self, kind: Literal["started", "resumed", "trial", "stuck", "finished"], message: str = ""
    ) -> None:
        self.listener(
            Event(
                kind=kind,
                done=self.done,
                total=len(self.plan.schedule),
                timeouts=self.timeouts,
                errors=self.errors,
                message=message,
            )
        )


def _attempts_so_far(state: JournalState | None) -> dict[int, int]:
    counts: dict[int, int] = {}
    for attempt in state.attempts if state else ():
        counts[attempt.trial] = counts.get(attempt.trial, 0) + 1
    return counts


def _prepare(plan: Plan) -> dict[str, PreparedCase]:
    return {
        case.id: PreparedCase(case, part.suite.registry, plan.toolsets[part.suite.file.id])
        for part in plan.selection.suites
        for case in part.cases
    }


def _setup(driver: LoadedDriver, config: Mapping[str, Any], where: str) -> None:
    try:
        driver.setup(config)
    except Exception as error:
        raise StudyError(
            f"the driver's setup failed: {type(error).__name__}: {error}",
            where=where,
            next_step="mend the driver and repeat the command",
        ) from None


def _close(drivers: Sequence[LoadedDriver], toolsets: Mapping[str, Toolset | None]) -> list[str]:
    """Close drivers and toolsets; return what failed, since every trial is over by then."""
    closers = [(f"driver {driver.name!r}", driver.close) for driver in drivers]
    closers += [
        (f"toolset of {name!r}", closer)
        for name, toolset in toolsets.items()
        if (closer := getattr(toolset, "close", None)) is not None
    ]
    failures: list[str] = []
    for what, close in closers:
        try:
            close()
        except Exception as error:
            failures.append(f"closing the {what} failed: {type(error).__name__}: {error}")
    return failures
