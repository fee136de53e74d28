"""The seam: what a driver is given, what it returns, and how it is named."""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, cast, runtime_checkable

import msgspec

from study.binding import Binder, Problem
from study.digest import encode_json, is_list, is_object
from study.records import Dispatch
from study.registry import Capability, Registry
from study.usage import UsageLedger


@dataclass
class Call:
    """One tool call: a name and its arguments."""

    name: str
    input: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class ToolResult:
    """The answer of a tool.

    Attributes
    ----------
    ok : bool
        Whether the tool answered; ``error`` says why not.
    text : str
        What a person or a model reads.
    error : str or None
        Set exactly when ``ok`` is false.
    resolved : str or None
        The entity that the primary argument bound.
    result : Any
        The machine twin of ``text``: for graph tools the uncapped, sorted list of labels.
    """

    ok: bool
    text: str = ""
    error: str | None = None
    resolved: str | None = None
    result: Any = None


@dataclass
class LoopResult:
    """What a driver returns for one request.

    Attributes
    ----------
    calls : list of Call
        The tool calls that were made, in order.
    refused, terminated : bool
        Whether the driver declined, and whether its loop came to an end.
    proof : list of dict
        Steps ``{"kind": ..., "ok": bool, ...}``; required only where a case demands it.
    driver : str
        The stamp of the driver (name and version) that produced this row.
    outcome : str or None
        Only to report ``unparseable``, ``empty`` or ``transport_error``; otherwise left out.
    composed, recovered, candidate_results, inferred_goal, reject, ambiguous_goals
        The optional graded fields.
    why, observed : str or None
        Provenance; never graded.
    """

    calls: list[Call] = field(default_factory=list[Call])
    refused: bool = False
    terminated: bool = True
    proof: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    driver: str = ""
    outcome: str | None = None
    composed: list[str] | None = None
    recovered: bool | None = None
    candidate_results: list[Call] | None = None
    inferred_goal: str | None = None
    reject: bool | None = None
    ambiguous_goals: list[str] | None = None
    why: str | None = None
    observed: str | None = None


@dataclass
class Resolution:
    """The binding of a term: ``label`` of the entity, its ``kind``, and the tied labels if any."""

    label: str | None
    kind: str | None = None
    tied: tuple[str, ...] = ()


class ToolError(Exception):
    """Raised by a tool to answer ``ok=False``; any other exception of a toolset is a bug of the toolset."""


@runtime_checkable
class Toolset(Protocol):
    """The tools of a suite, behind one dispatcher.

    Optional on a toolset object: ``resolve(term) -> Resolution`` and, for memory facts,
    ``resolve_memory_term(term)``; ``commands`` (the terse verbs: verb -> (tool, primary argument key or
    None)); ``labels``, what a pinned result may name; ``oracle``, the suite's answers by a second route
    (:mod:`study.lint.recheck`); ``evidence() -> JSON`` (a snapshot put into the trial record);
    ``reset(condition)``, ``close()``.
    """

    @property
    def names(self) -> Sequence[str]:
        """Every name that :meth:`dispatch` can run."""
        ...

    def dispatch(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one tool; raise :class:`ToolError` for a miss."""
        ...


class Context:
    """What a driver may use while it handles one request.

    Attributes
    ----------
    config : mapping
        The arm's settings; a copy of its own for each trial.
    seed : int
        Derived from the study seed, the case and the repetition: the same in both arms.
    deadline : float or None
        ``time.monotonic()`` value at which the trial is stopped.
    trace : tuple of dict
        The observed calls of a recognition case; empty otherwise.
    usage : UsageLedger
        What :meth:`record_usage` added up.
    slept_s : float
        Seconds that :meth:`sleep` and :meth:`asleep` took.
    overrun : bool
        Whether the trial tried more dispatches than are kept (:data:`MOST_DISPATCHES`, or
        :data:`RECORD_LIMIT_BYTES` of names, arguments and errors): it is a ``driver_error`` then.
    """

    __slots__ = (
        "_binder",
        "_closed",
        "_kept_bytes",
        "_observer",
        "_record",
        "_registry",
        "_toolset",
        "_toolset_failures",
        "config",
        "deadline",
        "overrun",
        "seed",
        "slept_s",
        "trace",
        "usage",
    )

    def __init__(
        self,
        registry: Registry,
        toolset: Toolset | None,
        binder: Binder,
        *,
        config: Mapping[str, Any] = MappingProxyType({}),
        seed: int = 0,
        deadline: float | None = None,
        trace: tuple[dict[str, Any], ...] = (),
        observer: Callable[[Dispatch], None] | None = None,
    ) -> None:
        self._registry = registry
        self._toolset = toolset
        self._binder = binder
        self.config = config
        self.seed = seed
        self.deadline = deadline
        self.trace = trace
        self._record: list[Dispatch] = []
        self.usage = UsageLedger()
        self._toolset_failures: list[BaseException] = []
        self._closed = False
        self._observer = observer
        self._kept_bytes = 0
        self.overrun = False
        self.slept_s = 0.0

    def dispatch(self, name: str, input: Mapping[str, Any] | None = None) -> ToolResult:  # noqa: A002
        """Run one declared, registered, read-only tool.

        Anything else is never executed: the answer is ``ok=False`` and the attempt is on record.
        """
        if self._closed:
            return ToolResult(ok=False, error="the trial is over")
        if self.overrun:
            raise DispatchLimitError(OVERRUN)
        arguments, kept = _kept_arguments(input)
        problems = self._binder.problems(name, arguments)
        capability = self._registry.get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        effects = capability is not None and not capability.read_only
        if problems:
            return self._refuse(name, kept, effects, f"{problems[0]['code']}: {problems[0]['text']}")
        if effects:
            return self._refuse(name, kept, effects, "has effects; only read-only tools are dispatched")
        if self._toolset is None:
            return self._refuse(name, kept, effects, "this suite has no toolset")
        try:
            result = self._toolset.dispatch(name, arguments)
        except ToolError as error:
            result = ToolResult(ok=False, error=str(error) or "the tool answered nothing")
        except Exception as error:
            self._toolset_failures.append(error)
            self._note(name, kept, executed=True, ok=False, effects=effects, error=type(error).__name__)
            raise
        self._note(name, kept, executed=True, ok=result.ok, effects=effects, error=result.error)
        result.result = _own(result.result)
        return result

    async def adispatch(self, name: str, input: Mapping[str, Any] | None = None) -> ToolResult:  # noqa: A002
        """Run :meth:`dispatch` for ``async`` drivers."""
        return self.dispatch(name, input)

    def problems(self, name: str, input: Mapping[str, Any] | None = None) -> list[Problem]:  # noqa: A002
        """Return why a call would not bind or is not declared, empty when it may be dispatched."""
        return self._binder.problems(name, {} if input is None else input)

    def capability(self, name: str) -> Capability | None:
        """Return the registered capability of that name, or None."""
        return self._registry.get(name)

    def resolve(self, term: str) -> Resolution:
        """Bind a term to an entity with the toolset's own oracle."""
        resolve = getattr(self._toolset, "resolve", None)
        return resolve(term) if resolve else Resolution(label=None)

    def resolve_memory_term(self, term: str) -> Resolution:
        """Bind a mention to a term of the toolset's memory facts."""
        resolve = getattr(self._toolset, "resolve_memory_term", None)
        return resolve(term) if resolve else Resolution(label=None)

    def close(self) -> None:
        """End the trial: later dispatches, of threads left behind, are not executed."""
        self._closed = True

    def failed_by_toolset(self, failure: BaseException) -> bool:
        """Whether an exception that ended the trial came out of the toolset."""
        return any(failure is known for known in self._toolset_failures)

    @property
    def dispatched(self) -> tuple[Dispatch, ...]:
        """The harness's own record of what was dispatched so far."""
        return tuple(self._record)

    @property
    def commands(self) -> Mapping[str, tuple[str, str | None]]:
        """The toolset's terse verbs: verb -> (tool, primary argument key or None); empty without any."""
        return getattr(self._toolset, "commands", {})

    def record_usage(self, *, calls: int = 1, **tokens: int | None) -> None:
        """Add the token counts of one model call (``input``, ``output``); None means not known."""
        self.usage.add(calls=calls, **tokens)

    def sleep(self, seconds: float) -> None:
        """Wait, for a rate limit or a retry of one's own: the time is recorded apart from the latency.

        Raises
        ------
        ValueError
            For a number that is negative or not finite.
        """
        _check_wait(seconds)
        started = time.perf_counter()
        try:
            time.sleep(seconds)
        finally:
            self.slept_s += time.perf_counter() - started

    async def asleep(self, seconds: float) -> None:
        """Run :meth:`sleep` for ``async`` drivers."""
        _check_wait(seconds)
        started = time.perf_counter()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.slept_s += time.perf_counter() - started

    @property
    def remaining_s(self) -> float | None:
        """Seconds until the deadline, or None without one."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def _refuse(self, name: Any, kept: msgspec.Raw, effects: bool, reason: str) -> ToolResult:
        self._note(name, kept, executed=False, ok=False, effects=effects, error=reason)
        return ToolResult(ok=False, error=reason)

    def _note(self, name: Any, kept: msgspec.Raw, **seen: Any) -> None:
        known = name if isinstance(name, str) else None
        self._kept_bytes += len(memoryview(kept)) + len(known or "") + len(seen["error"] or "")
        if len(self._record) >= MOST_DISPATCHES or self._kept_bytes > RECORD_LIMIT_BYTES:
            self.overrun = True
            raise DispatchLimitError(OVERRUN)
        dispatch = Dispatch(name=known, input=kept, **seen)
        self._record.append(dispatch)
        if self._observer is not None:
            self._observer(dispatch)


class DispatchLimitError(Exception):
    """Raised by a dispatch beyond what is kept of one trial."""


MOST_DISPATCHES = 10_000
RECORD_LIMIT_BYTES = 16 * 2**20
OVERRUN = f"a trial may dispatch {MOST_DISPATCHES} times and {RECORD_LIMIT_BYTES} bytes at most"


def _check_wait(seconds: float) -> None:
    if not 0 <= seconds < math.inf:
        raise ValueError(f"cannot wait {seconds!r} seconds; allowed: a finite number from 0")


_NOT_JSON = ["arguments that are not JSON"]
_TOO_LONG = ["arguments that are too long"]
ARGUMENTS_LIMIT_BYTES = 2**20


def _own(value: Any) -> Any:
    """Return a result that the driver may change without changing what the next trial is given."""
    if value is None or isinstance(value, str | int | float):
        return value
    if is_list(value) and all(isinstance(item, str) for item in value):
        return list(value)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _kept_arguments(given: Any) -> tuple[Any, msgspec.Raw]:
    """Return the arguments to check and their bytes as they were at the call.

    Arguments that are not JSON, or longer than a mebibyte, become a list, which never binds.
    """
    arguments: Any = {} if given is None else given
    if not is_object(arguments) and isinstance(arguments, Mapping):
        arguments = dict(cast("Mapping[Any, Any]", arguments))
    try:
        data = encode_json(arguments)
    except (TypeError, ValueError, RecursionError):
        return _NOT_JSON, msgspec.Raw(encode_json(_NOT_JSON))
    if len(data) > ARGUMENTS_LIMIT_BYTES:
        return _TOO_LONG, msgspec.Raw(encode_json(_TOO_LONG))
    return arguments, msgspec.Raw(data)


class Driver(Protocol):
    """An agent under test: a function, or an object with ``__call__``; sync or async.

    Optional attributes: ``stamp`` (name and version, kept in the lock), ``floor`` (True for an anchor that
    is no candidate for use), ``setup(config)``, ``reset(condition)``, ``close()``.
    """

    def __call__(
        self, request: str, tools: Sequence[str], ctx: Context, /
    ) -> LoopResult | Awaitable[LoopResult]:
        """Handle one request with the declared tools."""
        ...
