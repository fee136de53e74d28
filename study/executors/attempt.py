"""An attempt in a worker process, followed from outside: what the worker tells, checked and bounded."""

from __future__ import annotations

import time
from collections import Counter

import msgspec

from study.driver import MOST_DISPATCHES
from study.executors.channel import (
    LONGEST,
    Dispatched,
    Ended,
    Executed,
    RawDispatch,
    RubbishError,
    Started,
)
from study.executors.handle import Handle
from study.executors.settling import NO_REPORT, TIMED_OUT
from study.executors.trials import RESET_S, Execution, flat, produced_bytes
from study.records import Outcome, Produced

START_S = 600.0
"""How long a worker may take to start, the setup of its driver included."""

MARGIN_S = 1.0
"""How long beyond the time limit a worker may take to end its driver and answer."""

SETTLE_S = 30.0
"""How long the answer of a worker may take on its way once its driver is over."""


class _Counts(msgspec.Struct, forbid_unknown_fields=True):
    known_subtotal: int
    missing_calls: int


class _Usage(msgspec.Struct, forbid_unknown_fields=True):
    calls: int
    input: _Counts
    output: _Counts


class _Answer(Produced):
    """What an attempt produced, its dispatches as the worker wrote them."""

    dispatches: tuple[RawDispatch, ...] = ()


_encode = msgspec.json.Encoder().encode
_decode_produced = msgspec.json.Decoder(_Answer).decode


class Attempt:
    """What is known of an attempt while it runs: enough to record it when its worker is lost.

    Parameters
    ----------
    timeout_s : float
        Wall-clock limit of the trial.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._dispatches: list[RawDispatch] = []
        self._started = self._ended = False
        self.begin()

    def begin(self) -> None:
        """Count the time from now."""
        self._began, self._started_at_s = time.perf_counter(), time.time()
        self._latency_s = 0.0

    def follow(self, handle: Handle, number: int) -> Executed:
        """Read what the worker tells of the attempt of that number until it is over.

        Raises
        ------
        StoppedError, ClosedError, LateError
        RubbishError
            For anything but one start, dispatches, one end and an answer, within the limits of a trial.
        """
        try:
            return self._follow(handle, number)
        finally:
            self._latency_s = time.perf_counter() - self._began

    def _follow(self, handle: Handle, number: int) -> Executed:
        deadline = time.monotonic() + RESET_S + MARGIN_S
        before = handle.channel.n_bytes
        while True:
            message = handle.receive(deadline)
            if not isinstance(message, Started | Dispatched | Ended | Executed) or message.number != number:
                raise RubbishError(f"an unexpected message came from the worker: {type(message).__name__}")
            if handle.channel.n_bytes - before > LONGEST or len(self._dispatches) > MOST_DISPATCHES:
                raise RubbishError(
                    f"a trial may send {LONGEST} bytes and {MOST_DISPATCHES} dispatches at most"
                )
            if isinstance(message, Executed):
                return self._checked(message)
            if isinstance(message, Dispatched):
                self._dispatches.append(flat(message.dispatch))
            elif isinstance(message, Started) and not self._started:
                self._started = True
                self.begin()
                deadline = time.monotonic() + self._timeout_s + MARGIN_S
            elif isinstance(message, Ended) and not self._ended:
                self._ended = True
                deadline = time.monotonic() + SETTLE_S
            else:
                raise RubbishError(f"a second message of kind {type(message).__name__} came from the worker")

    def _checked(self, message: Executed) -> Executed:
        """Return an answer whose parts can be read and graded, and that hides no dispatch.

        Raises
        ------
        RubbishError
            For one that only a driver can have written, which reached into its worker.
        """
        try:
            produced = _decode_produced(message.produced)
            if message.usage is not None:
                msgspec.convert(message.usage, _Usage)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise RubbishError(f"what came from the worker is no answer: {error}") from None
        if produced.outcome != message.outcome:
            raise RubbishError("what came from the worker contradicts itself")
        seen, told = Counter(map(_encode, self._dispatches)), Counter(map(_encode, produced.dispatches))
        # a time limit may strike between the record in the worker and the message about it
        if seen != told and not (message.outcome == "timeout" and seen <= told):
            raise RubbishError("the record of dispatches in the worker was changed")
        return message

    def late(self) -> tuple[Outcome, dict[str, str]]:
        """Return outcome and error of an attempt whose worker did not answer in time."""
        if not self._started:
            problem = f"the driver or the toolset was not reset within {RESET_S:g} s"
        elif self._ended:
            problem = f"no answer {SETTLE_S:g} s after the driver was over"
        else:
            problem = f"no answer {MARGIN_S:g} s after the time limit"
        error = {"type": "WorkerKilled", "message": f"{problem}; the worker was killed"}
        return ("timeout" if self._started else "infrastructure"), error

    def lost(self, outcome: Outcome, error: dict[str, str] | None) -> Execution:
        """Return the execution of an attempt that did not come to its end."""
        report = TIMED_OUT if outcome == "timeout" else NO_REPORT
        return Execution(
            outcome,
            produced_bytes(outcome, report, tuple(self._dispatches)),
            error=error,
            started_at_s=self._started_at_s,
            latency_s=self._latency_s,
        )
