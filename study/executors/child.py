"""A station in worker processes, one for each arm, which may crash, hang, leak or print as they like."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from study.errors import RunError, StudyError
from study.executors.attempt import START_S, Attempt
from study.executors.channel import (
    ClosedError,
    Executed,
    LateError,
    Ready,
    Refused,
    RubbishError,
    Run,
    Setup,
)
from study.executors.handle import Handle, StoppedError
from study.executors.trials import Execution
from study.records import Outcome

GROWTH_LIMIT_BYTES = 2**30
"""A worker whose resident memory grew by more than this since its first trial is replaced."""


class WorkerProcess:
    """A station whose trials run in worker processes: one for each arm, so that neither touches the other.

    Parameters
    ----------
    setup : Setup
        What the workers build their benches from.
    expected : dict
        The identity that they must report (:mod:`study.executors.identity`).
    name : str
        What the journal calls the station.
    stopping : callable
        Whether what runs must end now: the process is killed then, and the trial is ``cancelled``.
    """

    def __init__(
        self, setup: Setup, expected: dict[str, Any], name: str, stopping: Callable[[], bool]
    ) -> None:
        self.name = name
        self._arms = {arm: _ArmWorker(_only(setup, arm), _of(expected, arm), stopping) for arm in setup.arms}

    def execute(self, arm: str, case_id: str, seed: int) -> Execution:
        """Run one attempt; a worker that dies or does not answer costs this attempt and is replaced."""
        return self._arms[arm].execute(arm, case_id, seed)

    def start(self) -> None:
        """Start the workers before their first attempts, so that what is wrong shows at once."""
        for worker in self._arms.values():
            worker.launch()
        for worker in self._arms.values():
            worker.get_ready()

    def close(self) -> Sequence[str]:
        """Let the workers close their drivers and end; return what failed."""
        return [failure for worker in self._arms.values() for failure in worker.close()]


def _only(setup: Setup, arm: str) -> Setup:
    return msgspec.structs.replace(setup, arms={arm: setup.arms[arm]})


def _of(expected: dict[str, Any], arm: str) -> dict[str, Any]:
    """Return the part of an identity that the worker of one arm reports."""
    return {
        name: value
        for name, value in expected.items()
        if not name.startswith("arms.") or name.startswith(f"arms.{arm}.")
    }


class _ArmWorker:
    """The worker process of one arm: started when it is needed, replaced when it is lost."""

    def __init__(self, setup: Setup, expected: dict[str, Any], stopping: Callable[[], bool]) -> None:
        self._setup = setup
        self._expected = expected
        self._stopping = stopping
        self._handle: Handle | None = None
        self._ready = False
        self._first_rss: int | None = None
        self._number = 0
        self._failures: list[str] = []

    def launch(self) -> None:
        """Start the process without waiting for it."""
        if self._handle is None:
            self._handle = Handle(self._stopping)

    def get_ready(self) -> None:
        """Start the process if there is none, and wait until its bench stands.

        Raises
        ------
        StudyError
            When it cannot be built, or was built from something else than the lock says.
        """
        try:
            self._usable()
        except StoppedError:
            self._kill()

    def _usable(self) -> Handle:
        """Return a worker that waits for its next trial."""
        if self._ready and self._handle is not None and self._handle.spoiled:
            self._kill()
        self.launch()
        handle = self._handle
        assert handle is not None
        if not self._ready:
            try:
                self._introduce(handle)
            except StudyError:
                self._kill()
                raise
            self._ready = True
        return handle

    def _introduce(self, handle: Handle) -> None:
        try:
            handle.channel.send(self._setup)
            message = handle.receive(time.monotonic() + START_S)
        except (ClosedError, LateError, RubbishError) as failure:
            raise RunError(
                f"a worker process did not start: {handle.death(failure)['message']}",
                next_step="repeat the command: every trial so far is kept",
            ) from None
        if isinstance(message, Refused):
            raise StudyError(
                f"in a worker process: {message.problem}", where=message.where, next_step=message.next_step
            )
        found = message.identity if isinstance(message, Ready) else {}
        for name, value in self._expected.items():
            if found.get(name) != value:
                raise RunError(
                    f"{name} was {value!r:.80} when the run began; a worker process found "
                    f"{found.get(name)!r:.80}",
                    code="changed-during-run",
                    next_step="restore it and resume, or choose another --stamp to begin a new run",
                )
        self._first_rss = None

    def execute(self, arm: str, case_id: str, seed: int) -> Execution:
        """Run one attempt."""
        attempt = Attempt(self._setup.timeout_s)
        outcome: Outcome
        try:
            if self._stopping():
                raise StoppedError
            handle = self._usable()
            self._number += 1
            attempt.begin()
            try:
                handle.channel.send(Run(number=self._number, arm=arm, case_id=case_id, seed=seed))
                return self._finished(attempt.follow(handle, self._number))
            except (ClosedError, RubbishError) as failure:
                outcome, error = "driver_error", handle.death(failure)
        except StoppedError:
            outcome, error = "cancelled", None
        except LateError:
            outcome, error = attempt.late()
        self._kill()
        return attempt.lost(outcome, error)

    def _finished(self, message: Executed) -> Execution:
        if self._first_rss is None:
            self._first_rss = message.rss_bytes
        elif message.rss_bytes - self._first_rss > GROWTH_LIMIT_BYTES:
            self._failures += self._end()
        return Execution(
            message.outcome,
            message.produced,
            usage=message.usage,
            error=message.error,
            started_at_s=message.started_at_s,
            latency_s=message.latency_s,
            slept_s=message.slept_s,
        )

    def _kill(self) -> None:
        if self._handle is not None:
            self._handle.kill()
        self._handle, self._ready = None, False

    def _end(self) -> Sequence[str]:
        handle, ready = self._handle, self._ready
        if handle is None or not ready:
            self._kill()
            return ()
        self._handle, self._ready = None, False
        return handle.close()

    def close(self) -> Sequence[str]:
        """Let the worker close its driver and end; return what failed, also of those before it."""
        return [*self._failures, *self._end()]
