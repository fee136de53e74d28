"""Walks a schedule: hands out what is missing, writes the journal, emits events; prints nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

import msgspec

from study.conduct import refuse_crowded
from study.digest import digest_file
from study.errors import RunError
from study.executors import Done, Execution, Interrupts, PairJob, TrialJob, run_pair
from study.executors.exits import end_process
from study.executors.settling import TIMED_OUT
from study.executors.trials import produced_bytes
from study.journal import Attempt, Header, Journal, Progress, Session, Stop, first_link, read_progress
from study.opening import budget_text, choose_folder, create, note_end, note_start, read_unfinished
from study.pace import Budget, Rate, wall_s
from study.plan import Plan
from study.product import final_attempts, read_frozen
from study.runs import RunFolder
from study.schedule import Assignment, trial_seed
from study.staging import Stage, check_executor
from study.tally import Tally

STUCK_EXIT = 2
STEP_S = 0.1

EventKind = Literal["started", "resumed", "trial", "retry", "stopping", "stuck", "budget", "finished"]


class Event(NamedTuple):
    """What a run tells while it goes on.

    Attributes
    ----------
    kind : str
    done, total : int
        Trials that are over, and trials of the plan.
    tally : Tally
        The counts so far, pooled over both arms unless one asks for an arm. It goes on counting.
    message : str
    """

    kind: EventKind
    done: int
    total: int
    tally: Tally
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
    executor: str = "inprocess",
    workers: int | None = None,
    listener: Listener = _ignore,
    unblinded: bool = False,
) -> RunFolder:
    """Execute a plan until every trial has its final attempt, or a declared budget is used up.

    Parameters
    ----------
    plan : Plan
    base : Path
        The folder of the study's runs, ``runs/<study>``.
    stamp : str, optional
        Default: the first 12 hex digits of the lock's digest.
    executor : str
        ``inprocess``, ``process``, ``dask`` or ``dask://HOST:PORT``.
    workers : int, optional
        Default 1; on a running cluster all that it has.
    listener : callable
        Told of each step, in the calling thread.
    unblinded : bool
        Whether the listener shows counts per arm, which is recorded.

    Returns
    -------
    RunFolder
        With a complete journal; nothing is graded yet.

    Raises
    ------
    Interrupted
        After Ctrl-C or SIGTERM; what ran then and did not end within the grace is on record as cancelled.
    RunError, LockError, IntegrityError
        When the place cannot be written, belongs to another lock, or was changed.
    """
    n_workers = check_executor(executor, workers)
    refuse_crowded(plan.protocol, executor, n_workers)
    folder, resumed = choose_folder(base, stamp or plan.lock_digest[:12], plan)
    state = read_unfinished(folder, plan) if resumed else None
    if state is None:
        create(folder, base, plan, executor, n_workers)
    if state is not None:
        final_attempts(read_frozen(folder), state, str(folder.journal))
    if state is None or state.stop is None:
        walk = _Walk(folder, plan, state, listener, executor, n_workers, unblinded=unblinded)
        try:
            walk.run()
        finally:
            failures = walk.failures
        if walk.interrupted:
            raise Interrupted(str(folder.path))
        resumed = read_progress(folder.journal, plan.lock_digest) if state is not None else None
        note_end(folder, walk.infrastructure, failures, walk.stop_text, resumed)
    return folder


class _Walk:
    """One session over a schedule."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        state: Progress | None,
        listener: Listener,
        executor: str,
        workers: int,
        *,
        unblinded: bool,
    ) -> None:
        limits = plan.protocol.limits
        self.folder = folder
        self.plan = plan
        self.state = state
        self.listener = listener
        self.executor = executor
        self.workers = workers
        self.unblinded = unblinded
        self.session = len(state.sessions) + 1 if state else 1
        self.tried = _Tried(state)
        self.watched = listener is not _ignore
        self.tally = Tally(plan, folder, state, watched=self.watched)
        self.infrastructure: list[tuple[Assignment, dict[str, str] | None]] = []
        self.rate = Rate(limits.trials_per_minute)
        self.budget = Budget(
            limits,
            wall_s=wall_s((a.session, a.elapsed_s) for a in state.attempts) if state else 0.0,
            usages=[attempt.usage for attempt in state.attempts] if state else (),
        )
        self.interrupts = Interrupts(limits.grace_s)
        self.failures: list[str] = []
        self.running: dict[Future[Any], PairJob] = {}
        self.at_hand: tuple[TrialJob, ...] = ()
        self.told: SimpleQueue[Done | Future[Any]] = SimpleQueue()
        self.stop: Stop | None = None
        self.stop_text: str | None = None
        self.ended = False
        self.inline = False

    @property
    def left(self) -> int:
        """How many trials have no final attempt yet."""
        return len(self.plan.schedule) - len(self.tried.finals)

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt ended the session before the run was over."""
        return self.interrupts.asked and not self.ended

    def run(self) -> None:
        """Execute what is missing."""
        self.journal = journal = self._open()
        self._emit("resumed" if self.state else "started")
        stage = Stage(
            self.plan,
            self.executor,
            self.workers,
            deliver=self._deliver,
            interrupts=self.interrupts,
            on_stuck=self._stuck,
            marker=self.folder.stuck,
        )
        self.inline = stage.inline
        try:
            self._take_up_stuck()
            with self.interrupts:
                self._on_stage(stage)
                if self.stop is not None and self.left:
                    journal.append(self.stop)
                    self.stop_text = budget_text(self.stop, len(self.tried.finals))
                    self._emit("budget", self.stop_text)
                    self.ended = True
                elif not self.left:
                    self.ended = True
                    self._emit("finished")
        finally:
            journal.close()
            self.failures = stage.failures

    def _on_stage(self, stage: Stage) -> None:
        """Walk; what other stations finished is kept also when one of them failed."""
        try:
            with stage:
                try:
                    self._walk(stage)
                except BaseException:
                    self.interrupts.abort()
                    raise
        except BaseException:
            with suppress(RunError):
                while not self.told.empty():
                    told = self.told.get()
                    if isinstance(told, Done):
                        self._record(told)
            raise

    def _open(self) -> Journal:
        state, digest, declared = self.state, self.plan.lock_digest, self.plan.protocol.journal
        group = msgspec.structs.asdict(declared) if declared is not None else {}
        if state is None:
            journal = Journal(self.folder.journal, first_link(digest), **group)
            journal.append(Header(schema=1, study=self.plan.protocol.id, lock_digest=digest))
        else:
            journal = Journal(self.folder.journal, state.link, state.intact_bytes, **group)
        # once the journal is this process's own, and before the session counts: a kill between the two leaves
        # a note too many, never one too few
        note_start(self.folder, self.plan, state, unblinded=self.unblinded)
        journal.append(
            Session(
                session=self.session,
                started_at_s=time.time(),
                environment_digest=digest_file(self.folder.environment),
                executor=self.executor,
                workers=self.workers or None,
                unblinded=self.unblinded,
            )
        )
        return journal

    def _take_up_stuck(self) -> None:
        """Record the trial at which the last session had to be killed, if it was.

        In process with one worker it is the first one without a final attempt. With several workers nobody
        knows whose driver it was.
        """
        marker = self.folder.stuck
        if self.state is None or not marker.exists():
            return
        last = self.state.sessions[-1]
        left = [a.trial for a in self.plan.schedule if a.trial not in self.tried.finals]
        if left and last.executor == "inprocess" and last.workers == 1:
            elapsed_s = float(marker.read_text().strip() or 0)
            self._record(self._timed_out(left[0], elapsed_s))
        marker.unlink()

    def _timed_out(self, trial: int, elapsed_s: float) -> Done:
        execution = Execution(
            "timeout",
            produced_bytes("timeout", TIMED_OUT),
            started_at_s=time.time() - elapsed_s,
            latency_s=elapsed_s,
        )
        return Done(trial, self.tried.before(trial)[0], False, execution, 0.0, "main")

    def _walk(self, stage: Stage) -> None:
        """Hand out pairs until none is left, an interrupt comes or a budget is used up."""
        jobs = self._jobs()
        job = next(jobs, None)
        said = halted = False
        waiting_since: float | None = None
        while job is not None or self.running:
            if self.interrupts.asked and not said:
                said = True
                self._emit("stopping", _stopping_text(len(self.running), self.interrupts.grace_s))
            if self.interrupts.asked or self._budget_used():
                job = None
                stage.hold()
            if self.interrupts.over and not halted:
                halted = True
                stage.halt()
            free = job is not None and len(self.running) < stage.at_once
            if free and self.rate.wait_s:
                waiting_since = waiting_since or time.monotonic()
                self._listen()
            elif free and job is not None:
                if waiting_since is not None:
                    job = job._replace(waited_s=time.monotonic() - waiting_since)
                    waiting_since = None
                self._hand_out(stage, job)
                job = next(jobs, None)
            elif job is not None or self.running:
                self._listen()
        self._drain()

    def _hand_out(self, stage: Stage, job: PairJob) -> None:
        self.rate.start(len(job.trials))
        self.at_hand = job.trials
        future = stage.executor.submit(run_pair, job)
        self.running[future] = job
        if stage.inline:
            self._over(future)
        else:
            future.add_done_callback(self.told.put)

    def _deliver(self, done: Done) -> None:
        """Take an attempt from a station: at once in the main thread, by the queue from others."""
        if self.inline:
            self._record(done)
        else:
            self.told.put(done)

    def _listen(self) -> None:
        """Wait for what stations tell, but not long."""
        try:
            told = self.told.get(timeout=STEP_S)
        except Empty:
            self.journal.tick()
            return
        self._take(told)
        self._drain()

    def _drain(self) -> None:
        while not self.told.empty():
            self._take(self.told.get())

    def _take(self, told: Done | Future[Any]) -> None:
        if isinstance(told, Done):
            self._record(told)
        else:
            self._over(told)

    def _over(self, future: Future[Any]) -> None:
        """Take note that a pair is over.

        What an executor returns are attempts that it could not tell before.
        """
        del self.running[future]
        if not future.cancelled():
            for done in future.result() or ():
                self._record(done)

    def _budget_used(self) -> bool:
        if self.stop is None:
            exhausted = self.budget.exhausted()
            if exhausted is not None and self.left:
                self.stop = Stop(reason=exhausted.name, limit=exhausted.limit, used=exhausted.amount)
        return self.stop is not None

    def _jobs(self) -> Iterator[PairJob]:
        """Yield the pairs with their trials that have no final attempt yet, in scheduled order."""
        seed, schedule, finals = self.plan.protocol.design.seed, self.plan.schedule, self.tried.finals
        for first in range(0, len(schedule), 2):
            case_id, repetition = schedule[first].case_id, schedule[first].repetition
            of_pair = trial_seed(seed, case_id, repetition)
            trials = [
                TrialJob(a.trial, a.arm, case_id, of_pair, *self.tried.before(a.trial))
                for a in (schedule[first], schedule[first + 1])
                if a.trial not in finals
            ]
            if trials:
                yield PairJob(schedule[first].pair, tuple(trials))

    def _record(self, done: Done) -> None:
        execution, assignment = done.execution, self.plan.schedule[done.trial]
        self.journal.append(self._attempt(assignment, done))
        self.tried.add(done.trial, done.attempt, execution.outcome, retried=done.retried)
        self.budget.add(execution.usage)
        if done.retried or execution.outcome == "cancelled":
            self.tally.mark(assignment, execution)
        if done.retried:
            self.rate.start(1)
            self._emit("retry", f"{execution.outcome}: one more attempt of trial {done.trial}")
        elif execution.outcome != "cancelled":
            if execution.outcome == "infrastructure":
                self.infrastructure.append((assignment, execution.error))
            if self.watched:
                self.tally.add(assignment, execution)
                self._emit("trial")

    def _attempt(self, assignment: Assignment, done: Done) -> Attempt:
        execution = done.execution
        attempt = Attempt(
            trial=assignment.trial,
            pair=assignment.pair,
            arm=assignment.arm,  # pyright: ignore[reportArgumentType]  (one of ARMS by construction)
            case_id=assignment.case_id,
            repetition=assignment.repetition,
            attempt=done.attempt,
            session=self.session,
            outcome=execution.outcome,
            produced=execution.produced,  # pyright: ignore[reportArgumentType]  (raw JSON until it is read)
            usage=execution.usage,
            error=execution.error,
            started_at_s=execution.started_at_s,
            latency_s=execution.latency_s,
            retried=done.retried,
            elapsed_s=self.budget.session_s,
            worker=done.worker,
        )
        return msgspec.structs.replace(attempt, waited_s=done.waited_s) if done.waited_s else attempt

    def _stuck(self, elapsed_s: float) -> None:
        """Record the trial of a driver that swallows its time limit in the main thread; end the process."""
        current = next((trial for trial in self.at_hand if trial.trial not in self.tried.finals), None)
        if current is not None:
            self._record(self._timed_out(current.trial, elapsed_s))
            self.journal.close()
            name = self.plan.drivers[current.arm].name
            self._emit(
                "stuck",
                f"the driver {name!r} ({current.arm}) goes on after its time limit and swallows every "
                f"interrupt; trial {current.trial} is recorded as a timeout; repeat the command to resume",
            )
        end_process(STUCK_EXIT)

    def _emit(self, kind: EventKind, message: str = "") -> None:
        self.listener(Event(kind, len(self.tried.finals), len(self.plan.schedule), self.tally, message))


class _Tried:
    """What became of the trials so far: which are over, how many attempts the others had."""

    def __init__(self, state: Progress | None) -> None:
        self.finals: set[int] = set()
        self._attempts: dict[int, int] = {}
        self._retried: dict[int, int] = {}
        for attempt in state.attempts if state else ():
            self.add(attempt.trial, attempt.attempt, attempt.outcome, retried=attempt.retried)

    def add(self, trial: int, attempt: int, outcome: str, *, retried: bool) -> None:
        """Count an attempt."""
        if retried:
            self._retried[trial] = self._retried.get(trial, 0) + 1
        elif outcome != "cancelled":
            self.finals.add(trial)
            return
        self._attempts[trial] = attempt

    def before(self, trial: int) -> tuple[int, int]:
        """Return the number of a trial's next attempt, and how many earlier ones were retried."""
        if not self._attempts:
            return 1, 0
        return self._attempts.get(trial, 0) + 1, self._retried.get(trial, 0)


def _stopping_text(pairs: int, grace_s: float) -> str:
    if not pairs:
        return "stopping"
    return f"stopping: running pairs have {grace_s:g} s to end; interrupt again to stop at once"
