"""Where trials run: in process, one at a time, behind a wall-clock backstop."""

from __future__ import annotations

import asyncio
import copy
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from signal import ITIMER_REAL, SIGALRM, setitimer
from time import monotonic, perf_counter, time
from types import FrameType, MappingProxyType
from typing import Any

import msgspec

from study.binding import Binder
from study.cases import Case
from study.digest import encode_json, is_list, is_object
from study.driver import Call, Context, LoopResult, Toolset
from study.drivers import LoadedDriver
from study.errors import StudyError
from study.records import Outcome, Produced
from study.registry import Registry

REPORTABLE: frozenset[str] = frozenset({"unparseable", "empty", "transport_error"})
"""Outcomes that a driver may report itself."""

_set_handler: Callable[[int, Any], Any] = getattr(import_module("_signal"), "signal", signal.signal)
"""The function below ``signal.signal``, which spends several microseconds on enumerations."""

REPORT_LIMIT_BYTES = 16 * 2**20
REPEAT_ALARM_S = 0.25
STUCK_AFTER_ALARMS = 40

TIMED_OUT = msgspec.Raw(b'{"calls":[],"refused":false,"terminated":false,"proof":[],"driver":"timeout"}')
_NO_REPORT = msgspec.Raw(b"{}")
_OPTIONAL = (
    ("outcome", "outcome"),
    ("composed", "composed"),
    ("recovered", "recovered"),
    ("candidate_results", "candidateResults"),
    ("inferred_goal", "inferredGoal"),
    ("reject", "reject"),
    ("ambiguous_goals", "ambiguousGoals"),
    ("why", "why"),
    ("observed", "observed"),
)
_ANSWERS = ("inferred_goal", "reject", "ambiguous_goals", "composed", "candidate_results")


class PreparedCase:
    """A case with everything that its trials share: tools, binder, toolset."""

    __slots__ = ("binder", "case", "registry", "tools", "toolset", "trace")

    def __init__(self, case: Case, registry: Registry, toolset: Toolset | None) -> None:
        self.case = case
        self.registry = registry
        self.toolset = toolset
        self.tools = case.tools
        self.trace = case.trace or ()
        self.binder = Binder(registry, case.tools)


class Execution:
    """What came of one attempt: ``outcome, produced, usage, error, started_at_s, latency_s``."""

    __slots__ = ("error", "latency_s", "outcome", "produced", "started_at_s", "usage")

    def __init__(
        self,
        produced: Produced,
        usage: dict[str, Any] | None,
        error: dict[str, str] | None,
        started_at_s: float,
        latency_s: float,
    ) -> None:
        self.produced = produced
        self.outcome: Outcome = produced.outcome
        self.usage = usage
        self.error = error
        self.started_at_s = started_at_s
        self.latency_s = latency_s

    def to_bytes(self) -> bytes:
        """Return what was produced as JSON, as the journal keeps it."""
        return msgspec.json.encode(self.produced)


class _Backstop(BaseException):
    """Raised by the alarm inside a driver that has used up its time."""


class _DriverExitError(BaseException):
    """Raised in place of ``os._exit``, which would end the study with the driver's own exit code."""


class InvalidResultError(Exception):
    """A driver returned something that is no :class:`LoopResult`, or one that is not JSON."""


class InProcess:
    """Runs trials in this process; use it as a context manager, in the main thread.

    Parameters
    ----------
    timeout_s : float
        Wall-clock limit of one trial.
    cold : bool
        Whether driver and toolset are reset before each trial.
    on_stuck : callable, optional
        Called inside the alarm, with the elapsed seconds, when a driver has swallowed its time limit for
        ten seconds. It must not return.

    Notes
    -----
    The limit is an interval timer whose signal raises inside the driver: two system calls a trial, where
    handing the call to a thread or to ``asyncio.wait_for`` costs several times a short trial.
    """

    def __init__(
        self, timeout_s: float, *, cold: bool = False, on_stuck: Callable[[float], None] | None = None
    ) -> None:
        self._timeout_s = timeout_s
        self._cold = cold
        self._on_stuck = on_stuck
        self._alarms = 0
        self._started = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._previous: dict[int, Any] = {}
        self._exit: Any = os._exit
        self._interrupted = False

    def __enter__(self) -> InProcess:
        if threading.current_thread() is not threading.main_thread():
            raise StudyError(
                "trials run in the main thread only: their time limit is an alarm, which others do not get",
                next_step="call it from the main thread, or use the command line",
            )
        self._process = os.getpid()
        self._previous = {
            SIGALRM: signal.signal(SIGALRM, self._alarm),
            signal.SIGINT: signal.signal(signal.SIGINT, self._interrupt),
        }
        os._exit = self._refuse_exit
        return self

    def __exit__(self, *exception: object) -> None:
        setitimer(ITIMER_REAL, 0)
        os._exit = self._exit
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _refuse_exit(self, status: int) -> Any:
        if os.getpid() != self._process:
            self._exit(status)
        raise _DriverExitError(f"os._exit({status})")

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def _alarm(self, signum: int, frame: FrameType | None) -> None:
        self._alarms += 1
        if self._alarms > STUCK_AFTER_ALARMS and self._on_stuck is not None:
            self._on_stuck(perf_counter() - self._started)
        raise _Backstop

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
            Also for a driver that raises, returns rubbish or runs out of time. A ``KeyboardInterrupt``
            while the driver runs gives the outcome ``cancelled``.
        """
        if self._cold:
            driver.reset("cold")
            reset = getattr(prepared.toolset, "reset", None)
            if reset is not None:
                reset("cold")
        context = Context(
            prepared.registry,
            prepared.toolset,
            prepared.binder,
            config=config,
            seed=seed,
            deadline=monotonic() + self._timeout_s,
            trace=copy.deepcopy(prepared.trace) if prepared.trace else (),
        )
        usage = context.usage
        started_at_s = time()
        value, failure, latency_s = self._call(driver, prepared, context)
        context.close()
        outcome, report, error = _settled(value, failure, context, self._interrupted)
        evidence = getattr(prepared.toolset, "evidence", None)
        produced = Produced(
            outcome=outcome,
            report=report,  # pyright: ignore[reportArgumentType]  (raw JSON until it is read back)
            dispatches=context.dispatched,
            evidence=None if evidence is None else evidence(),
        )
        return Execution(produced, usage.to_json(), error, started_at_s, latency_s)

    def _call(
        self, driver: LoadedDriver, prepared: PreparedCase, context: Context
    ) -> tuple[Any, BaseException | None, float]:
        self._alarms = 0
        value: Any = None
        failure: BaseException | None = None
        latency_s = 0.0
        self._started = started = perf_counter()
        try:
            try:
                # a driver of an earlier trial may have replaced the handler or the function
                _set_handler(SIGALRM, self._alarm)
                setitimer(ITIMER_REAL, self._timeout_s, REPEAT_ALARM_S)
                value = driver.call(prepared.case.request, prepared.tools, context)
                if driver.is_async or hasattr(value, "__await__"):
                    value = self._await(value)
            finally:
                latency_s = perf_counter() - started
                setitimer(ITIMER_REAL, 0)
        except BaseException as error:
            setitimer(ITIMER_REAL, 0)
            failure = error
        if os.getpid() != self._process:
            # a child that the driver forked came back here: it must not go on with the study of its parent
            self._exit(0)
        if self._alarms or latency_s > self._timeout_s:
            failure = _Backstop()
        return value, failure, latency_s

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        loop = self._loop
        try:
            return loop.run_until_complete(awaitable)
        except BaseException:
            setitimer(ITIMER_REAL, 0)
            self._loop = None
            _discard(loop)
            raise


def _discard(loop: asyncio.AbstractEventLoop) -> None:
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


def _settled(
    value: Any, failure: BaseException | None, context: Context, interrupted: bool
) -> tuple[Outcome, msgspec.Raw, dict[str, str] | None]:
    """Settle an attempt; reading a hostile result may itself raise anything."""
    if isinstance(failure, KeyboardInterrupt) and interrupted:
        return "cancelled", _NO_REPORT, None
    try:
        return _settle(value, failure, context)
    except BaseException as error:
        return "driver_error", _NO_REPORT, _described(error)


def _settle(
    value: Any, failure: BaseException | None, context: Context
) -> tuple[Outcome, msgspec.Raw, dict[str, str] | None]:
    """Return outcome, report bytes and error of what the driver returned or raised."""
    if isinstance(failure, _Backstop):
        return "timeout", TIMED_OUT, None
    if failure is not None:
        outcome: Outcome = "infrastructure" if context.failed_by_toolset(failure) else "driver_error"
        return outcome, _NO_REPORT, _described(failure)
    try:
        result = _as_result(value)
        report = _encode_report(result)
    except InvalidResultError as error:
        return "driver_error", _NO_REPORT, _described(error)
    return _outcome(result), msgspec.Raw(report), None


def _described(error: BaseException) -> dict[str, str]:
    try:
        message = str(error)
    except BaseException:
        message = "(its message cannot be shown)"
    message = message.encode("utf-8", "replace").decode("utf-8")
    return {"type": type(error).__name__, "message": message[:2000]}


def _as_result(value: Any) -> LoopResult:
    if isinstance(value, LoopResult):
        result = value
    elif is_object(value):
        try:
            result = LoopResult(**value)
        except TypeError as error:
            raise InvalidResultError(f"the returned mapping is no LoopResult: {error}") from None
    else:
        raise InvalidResultError(f"the driver returned {type(value).__name__} instead of a LoopResult")
    if result.outcome is not None and result.outcome not in REPORTABLE:
        raise InvalidResultError(
            f"outcome {result.outcome!r:.60}; a driver may report {sorted(REPORTABLE)} or None"
        )
    return result


def _outcome(result: LoopResult) -> Outcome:
    if result.outcome is not None:
        return result.outcome  # pyright: ignore[reportReturnType]  (one of REPORTABLE)
    if result.calls:
        return "answered"
    if result.refused:
        return "refused"
    given = any(getattr(result, name) is not None for name in _ANSWERS)
    return "answered" if given else "empty"


def _encode_report(result: LoopResult) -> bytes:
    report: dict[str, Any] = {
        "calls": _plain_calls(result.calls),
        "refused": result.refused,
        "terminated": result.terminated,
        "proof": result.proof,
        "driver": result.driver,
    }
    for name, key in _OPTIONAL:
        value = getattr(result, name)
        if value is not None:
            report[key] = _plain_calls(value) if name == "candidate_results" else value
    try:
        data = encode_json(report)
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        raise InvalidResultError(f"the driver's result is not JSON: {error}") from None
    if len(data) > REPORT_LIMIT_BYTES:
        raise InvalidResultError(
            f"the driver's result has {len(data)} bytes; at most {REPORT_LIMIT_BYTES} are kept"
        )
    return data


def _plain_calls(calls: Any) -> Any:
    if isinstance(calls, tuple):
        calls = list(calls)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not is_list(calls):
        return calls
    return [_plain_call(call) for call in calls]


def _plain_call(call: Any) -> Any:
    if not isinstance(call, Call):
        return call
    arguments: Any = call.input
    return {"name": call.name, "input": {} if arguments is None else arguments}
