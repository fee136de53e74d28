"""What a trial is given, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import accumulate
from time import monotonic
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from study.binding import Binder
from study.cases import Case
from study.driver import Context, Toolset
from study.drivers import LoadedDriver
from study.executors.settling import (
    NO_REPORT,
    Backstop,
    CutShortError,
    InvalidResultError,
    Settled,
    described,
)
from study.records import Dispatch, Outcome, Produced
from study.registry import Registry
from study.usage import UsageLedger


class PreparedCase:
    """A case with everything that its trials share: tools, binder, toolset."""

    __slots__ = ("binder", "case", "registry", "snapshot", "tools", "toolset", "trace")

    def __init__(self, case: Case, registry: Registry, toolset: Toolset | None) -> None:
        self.case = case
        self.registry = registry
        self.toolset = toolset
        self.snapshot = getattr(toolset, "evidence", None)
        self.tools = case.tools
        self.trace = case.trace or ()
        self.binder = Binder(registry, case.tools)

    def context(
        self,
        config: Mapping[str, Any] = MappingProxyType({}),
        seed: int = 0,
        limit_s: float | None = None,
        observer: Callable[[Dispatch], None] | None = None,
    ) -> Context:
        """Return the context of a new trial of this case."""
        return Context(
            self.registry,
            self.toolset,
            self.binder,
            config=config,
            seed=seed,
            deadline=None if limit_s is None else monotonic() + limit_s,
            trace=deepcopy(self.trace) if self.trace else (),
            observer=observer,
        )

    @property
    def evidence(self) -> Any:
        """The toolset's snapshot of evidence, None where it takes none."""
        return None if self.snapshot is None else self.snapshot()


class Execution(msgspec.Struct):
    """What came of one attempt.

    Attributes
    ----------
    outcome : str
    produced : Raw
        The :class:`study.records.Produced` of the attempt as JSON: what the journal keeps.
    usage, error : dict or None
    started_at_s : float
        Unix time.
    latency_s : float
        Seconds of work; those of ``slept_s`` only where the attempt timed out.
    slept_s : float
        Seconds that the driver waited through its context.
    """

    outcome: Outcome
    produced: msgspec.Raw
    started_at_s: float
    latency_s: float
    usage: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    slept_s: float = 0.0


DEEPEST = 200
"""Levels of JSON that one attempt may produce: far below where readers of JSON give up."""

_TOO_DEEP = msgspec.Raw(b'["arguments that are nested too deeply"]')
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))
_encode = msgspec.json.Encoder().encode


def produced_bytes(
    outcome: Outcome, report: msgspec.Raw, dispatches: tuple[Dispatch, ...] = (), evidence: Any = None
) -> msgspec.Raw:
    """Return the JSON of a :class:`study.records.Produced`."""
    return msgspec.Raw(
        _encode(
            Produced(
                outcome=outcome,
                report=report,  # pyright: ignore[reportArgumentType]  (raw JSON until it is read back)
                dispatches=dispatches,
                evidence=evidence,
            )
        )
    )


def executed(
    settled: Settled, context: Context, prepared: PreparedCase, started_at_s: float, elapsed_s: float
) -> Execution:
    """Return the execution of a trial that is over.

    Parameters
    ----------
    settled : Settled
    context : Context
        Of the trial.
    prepared : PreparedCase
    started_at_s : float
        Unix time of its start.
    elapsed_s : float
        Seconds from the call of the driver to its return or its time limit.
    """
    try:
        evidence = prepared.evidence
    except Exception as failure:
        evidence = None
        settled = "infrastructure", NO_REPORT, described(failure)
    dispatches = context.dispatched
    usage, slept_s = None, 0.0
    try:
        usage, slept_s = _measured(context, elapsed_s)
        produced = produced_bytes(settled[0], settled[1], dispatches, evidence)
        _check_depth(produced)
    except InvalidResultError as failure:
        settled = _spoiled(settled, failure)
        produced = produced_bytes(settled[0], settled[1], tuple(map(flat, dispatches)))
    outcome, _, error = settled
    if outcome == "timeout":
        slept_s = 0.0
    return Execution(
        outcome,
        produced,
        usage=usage,
        error=error,
        started_at_s=started_at_s,
        latency_s=elapsed_s - slept_s,
        slept_s=slept_s,
    )


def _spoiled(settled: Settled, failure: Exception) -> Settled:
    """Return what a trial came to that cannot be kept; a driver that was broken off stays just that."""
    if settled[0] in ("timeout", "cancelled"):
        return settled
    return "driver_error", NO_REPORT, described(failure)


def _measured(context: Context, elapsed_s: float) -> tuple[dict[str, Any] | None, float]:
    """Return usage and seconds slept of a context, which the driver may have written to."""
    usage, slept_s = context.usage, context.slept_s
    if type(usage) is not UsageLedger or type(slept_s) is not float or not slept_s >= 0.0:
        raise InvalidResultError("the driver replaced what its context counts")
    return usage.to_json(), min(slept_s, elapsed_s)


def _check_depth(json: msgspec.Raw) -> None:
    data = bytes(json)
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return
    brackets = _TEXTS.sub(b"", data).translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets))) > DEEPEST:
        raise InvalidResultError(
            f"a result or the arguments of a dispatch are nested more than {DEEPEST} deep"
        )


Seen = TypeVar("Seen", bound=Dispatch)


def flat(dispatch: Seen) -> Seen:
    """Return a dispatch whose arguments, where they are nested too deeply, say so instead."""
    try:
        _check_depth(dispatch.input)
    except InvalidResultError:
        return msgspec.structs.replace(dispatch, input=_TOO_DEEP)
    return dispatch


RESET_S = 120.0
"""How long driver and toolset may take to be reset before a trial."""


def reset(driver: LoadedDriver, prepared: PreparedCase, condition: str) -> Settled | None:
    """Ask driver and toolset to start afresh; return what a failure of that makes of the trial."""
    try:
        driver.reset(condition)
    except BaseException as failure:
        return not_reset("driver_error", failure)
    reset_tools = getattr(prepared.toolset, "reset", None)
    if reset_tools is not None:
        try:
            reset_tools(condition)
        except BaseException as failure:
            return not_reset("infrastructure", failure)
    return None


def not_reset(outcome: Outcome, failure: BaseException) -> Settled:
    """Return what a trial came to before its driver was called."""
    if isinstance(failure, CutShortError):
        return "cancelled", NO_REPORT, None
    if isinstance(failure, Backstop):
        error = {"type": "ResetTimeout", "message": "the reset before the trial did not end in time"}
        return outcome, NO_REPORT, error
    return outcome, NO_REPORT, described(failure)
