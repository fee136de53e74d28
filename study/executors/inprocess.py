"""Trials in this process and its main thread, one at a time, behind a wall-clock backstop."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from signal import ITIMER_REAL, SIGALRM, setitimer
from time import perf_counter, time
from types import FrameType, MappingProxyType
from typing import Any

from study.driver import Context
from study.drivers import LoadedDriver
from study.errors import StudyError
from study.executors.exits import ExitGuard, end_process
from study.executors.interrupts import Interrupts
from study.executors.settling import Backstop, CutShortError, Settled, settle
from study.executors.trials import RESET_S, Execution, PreparedCase, executed, not_reset, reset
from study.records import Dispatch

_set_handler: Callable[[int, Any], Any] = getattr(import_module("_signal"), "signal", signal.signal)
"""The function below ``signal.signal``, which spends several microseconds on enumerations."""

REPEAT_ALARM_S = 0.25
STUCK_AFTER_ALARMS = 40
SHORTEST_S = 1e-6


class InProcess:
    """Runs trials in this process; use it as a context manager, in the main thread.

    Parameters
    ----------
    timeout_s : float
        Wall-clock limit of one trial.
    cold : bool
        Whether driver and toolset are reset before each trial.
    reset_s : float
        Wall-clock limit of these resets; a driver that exceeds it has a ``driver_error``.
    on_stuck : callable, optional
        Called inside the alarm, with the elapsed seconds, when a driver has swallowed its time limit for
        ten seconds. It must not return.
    interrupts : Interrupts, optional
        Those of the run, already entered. Without them, a Ctrl-C ends the trial at once and one between
        trials raises ``KeyboardInterrupt``.
    observer : callable, optional
        Told of every dispatch as it happens; the time limit does not interrupt it.
    on_start, on_end : callable, optional
        Called just before the driver, after the resets, and just after it.

    Notes
    -----
    The limit is an interval timer whose signal raises inside the driver: two system calls a trial, where
    handing the call to a thread or to ``asyncio.wait_for`` costs several times a short trial.
    """

    def __init__(
        self,
        timeout_s: float,
        *,
        cold: bool = False,
        reset_s: float = RESET_S,
        on_stuck: Callable[[float], None] | None = None,
        interrupts: Interrupts | None = None,
        observer: Callable[[Dispatch], None] | None = None,
        on_start: Callable[[], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._cold = cold
        self._reset_s = reset_s
        self._limit_s = timeout_s
        self._on_stuck = on_stuck
        self._observer = observer
        self._on_start = on_start
        self._on_end = on_end
        self._own = interrupts is None
        self._interrupts = Interrupts() if interrupts is None else interrupts
        self._running = self._observing = self._missed = False
        self._recursion_limit = sys.getrecursionlimit()
        self._alarms = self._cuts = 0
        self._started = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._previous: Any = None
        self._exits = ExitGuard()

    def __enter__(self) -> InProcess:
        if threading.current_thread() is not threading.main_thread():
            raise StudyError(
                "trials run in the main thread only: their time limit is an alarm, which others do not get",
                next_step="call it from the main thread, use the command line, or --executor process",
            )
        self._previous = signal.signal(SIGALRM, self._alarm)
        self._interrupts.act = self._interrupt
        if self._own:
            self._interrupts.__enter__()
        self._exits.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        setitimer(ITIMER_REAL, 0)
        self._exits.__exit__()
        if self._own:
            self._interrupts.__exit__()
        signal.signal(SIGALRM, self._previous)
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _interrupt(self) -> None:
        """Act on an interrupt inside the handler: end the trial, or give it what is left of the grace."""
        if not self._running:
            if self._own:
                raise KeyboardInterrupt
            return
        left_s = max(self._interrupts.left_s, SHORTEST_S)
        until_limit_s = signal.getitimer(ITIMER_REAL)[0]
        if until_limit_s == 0.0 or left_s < until_limit_s:
            setitimer(ITIMER_REAL, left_s, REPEAT_ALARM_S)

    def _alarm(self, signum: int, frame: FrameType | None) -> None:
        if not self._running:
            return
        if self._observing:
            self._missed = True
            return
        elapsed_s = perf_counter() - self._started
        cut_short = self._interrupts.asked and elapsed_s < self._limit_s
        self._cuts += cut_short
        self._alarms += not cut_short
        if self._cuts + self._alarms > STUCK_AFTER_ALARMS and self._on_stuck is not None:
            self._on_stuck(elapsed_s)
        raise CutShortError if cut_short else Backstop

    def _observe(self, dispatch: Dispatch) -> None:
        assert self._observer is not None
        self._observing = True
        try:
            self._observer(dispatch)
        finally:
            self._observing = False
        if self._missed:
            self._missed = False
            self._alarm(SIGALRM, None)

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt came."""
        return self._interrupts.asked

    def execute(
        self,
        driver: LoadedDriver,
        prepared: PreparedCase,
        config: Mapping[str, Any] = MappingProxyType({}),
        seed: int = 0,
    ) -> Execution:
        """Run one attempt and record whatever comes of it.

        Returns
        -------
        Execution
            Also for a driver that raises, returns rubbish or runs out of time. A trial that an interrupt
            ends has the outcome ``cancelled``.
        """
        failed = self._reset(driver, prepared) if self._cold else None
        observer = None if self._observer is None else self._observe
        context = prepared.context(config, seed, self._timeout_s, observer)
        if failed is not None:
            return executed(failed, context, prepared, time(), 0.0)
        if self._on_start is not None:
            self._on_start()
        started_at_s = time()
        value, failure, elapsed_s = self._call(driver, prepared, context)
        context.close()
        if self._on_end is not None:
            self._on_end()
        settled = settle(value, failure, context)
        return executed(settled, context, prepared, started_at_s, elapsed_s)

    def _reset(self, driver: LoadedDriver, prepared: PreparedCase) -> Settled | None:
        """Reset driver and toolset, behind an alarm too: who hangs there would hang the run."""
        self._alarms = self._cuts = 0
        self._limit_s = self._reset_s
        self._started = perf_counter()
        failed: Settled | None = None
        try:
            try:
                self._arm()
                failed = reset(driver, prepared, "cold")
            finally:
                self._disarm()
        except BaseException as late:
            self._disarm()
            failed = not_reset("driver_error", late)
        return failed

    def _arm(self) -> None:
        # a driver of an earlier trial may have replaced the handler or the function
        _set_handler(SIGALRM, self._alarm)
        self._running = True
        setitimer(ITIMER_REAL, max(min(self._limit_s, self._interrupts.left_s), SHORTEST_S), REPEAT_ALARM_S)

    def _disarm(self) -> None:
        self._running = False
        setitimer(ITIMER_REAL, 0)

    def _call(
        self, driver: LoadedDriver, prepared: PreparedCase, context: Context
    ) -> tuple[Any, BaseException | None, float]:
        self._alarms = self._cuts = 0
        self._observing = self._missed = False
        value: Any = None
        failure: BaseException | None = None
        elapsed_s = 0.0
        self._limit_s = self._timeout_s
        self._started = started = perf_counter()
        try:
            try:
                self._arm()
                value = driver.call(prepared.case.request, prepared.tools, context)
                if driver.is_async or hasattr(value, "__await__"):
                    value = self._await(value)
            finally:
                elapsed_s = perf_counter() - started
                self._disarm()
        except BaseException as error:
            self._disarm()
            failure = error
        sys.setrecursionlimit(self._recursion_limit)
        if self._exits.forked:
            # a child that the driver forked came back here: it must not go on with the study of its parent
            end_process(0)
        if self._alarms or elapsed_s > self._timeout_s:
            failure = Backstop()
        elif self._cuts:
            failure = CutShortError()
        return value, failure, elapsed_s

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        loop = self._loop
        # in a notebook this thread runs a loop already, and asyncio would refuse a second one
        outer = asyncio._get_running_loop()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        asyncio._set_running_loop(None)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        try:
            return loop.run_until_complete(awaitable)
        except BaseException:
            self._disarm()
            self._loop = None
            discard(loop)
            raise
        finally:
            asyncio._set_running_loop(outer)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def within(seconds: float, action: Callable[[], object]) -> None:
    """Call a function and raise :class:`Backstop` in it after so many seconds; in the main thread only.

    In another thread there is no such limit.
    """
    if threading.current_thread() is not threading.main_thread():
        action()
        return
    previous = signal.signal(SIGALRM, _raise_backstop)
    try:
        setitimer(ITIMER_REAL, seconds, REPEAT_ALARM_S)
        action()
    finally:
        setitimer(ITIMER_REAL, 0)
        signal.signal(SIGALRM, previous)


def _raise_backstop(signum: int, frame: FrameType | None) -> None:
    raise Backstop


def discard(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left on a loop that was broken off, and close it."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()
    loop.close()
