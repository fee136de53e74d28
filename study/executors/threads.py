"""A station in a thread of this process, beside others: for drivers that mostly wait."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic, perf_counter, time
from typing import Any

from study.driver import Context
from study.errors import RunError
from study.executors.settling import Backstop, CutShortError, settle
from study.executors.stations import Bench
from study.executors.trials import Execution, PreparedCase, executed

STEP_S = 0.1
REPEATS = 40
REPEAT_S = 0.05
MOST_LEFT_BEHIND = 16
"""Drivers that go on after their time limit, whose threads cannot be ended, before the run gives up."""


class LoopThread:
    """One event loop in a thread of its own, for the async drivers of all stations."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="async drivers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the loop."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            self.loop.close()


class Leftovers:
    """Counts drivers that go on after their trial, over all stations of a run."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def add(self, thread: threading.Thread, name: str) -> None:
        """Count one more.

        Raises
        ------
        RunError
            When there are too many.
        """
        self._threads = [known for known in self._threads if known.is_alive()]
        self._threads.append(thread)
        if len(self._threads) > MOST_LEFT_BEHIND:
            raise RunError(
                f"{len(self._threads)} calls of drivers go on after their time limit and cannot be ended; "
                f"the last one is of {name!r}",
                next_step="resume with --executor process, which ends them with their process",
            )


class InThread:
    """A station whose drivers are called in threads, or on a shared event loop where they are async.

    Parameters
    ----------
    bench : Bench
    timeout_s : float
    loop : LoopThread
    leftovers : Leftovers
    stopping : callable
        Whether what runs must end now.
    name : str

    Notes
    -----
    A thread can be asked to end by an exception, which code that waits inside the system does not see: it
    is left behind, its dispatches are refused, and the next trial gets a new thread.
    """

    def __init__(
        self,
        bench: Bench,
        timeout_s: float,
        loop: LoopThread,
        leftovers: Leftovers,
        stopping: Callable[[], bool],
        name: str,
    ) -> None:
        self._bench = bench
        self._timeout_s = timeout_s
        self._loop = loop.loop
        self._leftovers = leftovers
        self._stopping = stopping
        self.name = name

    def execute(self, arm: str, case_id: str, seed: int) -> Execution:
        """Run one attempt."""
        prepared = self._bench.prepared[case_id]
        context = prepared.context(self._bench.config(arm), seed, self._timeout_s)
        call = _Call(self._bench.drivers[arm].call, prepared, context, self._loop)
        started_at_s = time()
        failure = self._watch(call)
        context.close()
        if failure is not None and not call.end(failure):
            self._leftovers.add(call.thread, self._bench.drivers[arm].name)
        elapsed_s = call.elapsed_s
        if failure is None and elapsed_s > self._timeout_s:
            failure = Backstop()
        settled = settle(call.value, failure or call.failure, context)
        return executed(settled, context, prepared, started_at_s, elapsed_s)

    def _watch(self, call: _Call) -> BaseException | None:
        """Wait for a call; return why it must end, None when it is over by itself."""
        until = monotonic() + self._timeout_s
        while not call.over.wait(min(STEP_S, max(0.0, until - monotonic()))):
            if self._stopping():
                return CutShortError()
            if monotonic() >= until:
                return Backstop()
        return None

    def close(self) -> Sequence[str]:
        """Give up nothing: drivers and toolsets belong to the bench."""
        return ()


class _Call:
    """One call of a driver in a thread of its own."""

    def __init__(
        self,
        call: Callable[..., Any],
        prepared: PreparedCase,
        context: Context,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._call = call
        self._prepared = prepared
        self._context = context
        self._loop = loop
        self._task: Future[Any] | None = None
        self._began = perf_counter()
        self._ended: float | None = None
        self.value: Any = None
        self.failure: BaseException | None = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run_quietly, daemon=True)
        self.thread.start()

    @property
    def elapsed_s(self) -> float:
        """Seconds from the call of the driver to its end, or until now."""
        return (self._ended or perf_counter()) - self._began

    def _run_quietly(self) -> None:
        # the exception that asks a driver to end may come when it has just ended
        with suppress(Backstop, CutShortError):
            self._run()

    def _run(self) -> None:
        try:
            try:
                self._began = perf_counter()
                value = self._call(self._prepared.case.request, self._prepared.tools, self._context)
                if hasattr(value, "__await__"):
                    self._task = asyncio.run_coroutine_threadsafe(_awaited(value), self._loop)
                    value = self._task.result()
                self.value = value
            finally:
                self._ended = perf_counter()
        except BaseException as error:
            self.failure = error
        finally:
            self.over.set()

    def end(self, reason: BaseException) -> bool:
        """Ask the call to end; return whether it did."""
        if self._task is not None:
            self._task.cancel()
        for _ in range(REPEATS):
            if self.over.wait(REPEAT_S):
                return True
            if self._task is None and self.thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self.thread.ident), ctypes.py_object(type(reason))
                )
        return self.over.is_set()


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
