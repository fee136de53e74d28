"""What an attempt came to: from whatever a driver returned or raised to an outcome and report bytes."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from study.digest import encode_json, is_list, is_object
from study.driver import OVERRUN, Call, Context, DispatchLimitError, LoopResult
from study.records import Outcome

REPORTABLE: frozenset[str] = frozenset({"unparseable", "empty", "transport_error"})
"""Outcomes that a driver may report itself."""

REPORT_LIMIT_BYTES = 16 * 2**20
MESSAGE_CHARACTERS = 2000
NAME_CHARACTERS = 200

TIMED_OUT = msgspec.Raw(b'{"calls":[],"refused":false,"terminated":false,"proof":[],"driver":"timeout"}')
NO_REPORT = msgspec.Raw(b"{}")
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
_optional = attrgetter(*(name for name, _ in _OPTIONAL))
_NONE_GIVEN = (None,) * len(_OPTIONAL)
_ANSWERS = ("inferred_goal", "reject", "ambiguous_goals", "composed", "candidate_results")

_type_name: Callable[[type], str] = type.__dict__["__name__"].__get__
"""The name of a class, whatever its metaclass says."""

Settled = tuple[Outcome, msgspec.Raw, dict[str, str] | None]
"""Outcome, report bytes, and the error behind them if any."""

Scalar = str | int | bool | None


class _PlainCall(msgspec.Struct):
    name: str
    input: dict[str, Scalar]


class _PlainReport(msgspec.Struct):
    """What most drivers return: calls with flat arguments, steps of a proof, no optional field."""

    calls: list[_PlainCall]
    refused: bool
    terminated: bool
    proof: list[dict[str, Scalar]]
    driver: str


_encode_plain = msgspec.json.Encoder().encode


class Backstop(BaseException):
    """Raised inside a driver that has used up its time."""


class CutShortError(BaseException):
    """Raised inside a driver when its run is being stopped."""


class DriverExitError(BaseException):
    """Raised in place of a call that would end the study with the driver's own exit code."""


class InvalidResultError(Exception):
    """A driver returned something that is no :class:`LoopResult`, or one that is not JSON."""


def settle(value: Any, failure: BaseException | None, context: Context) -> Settled:
    """Return outcome, report bytes and error of what a driver returned or raised.

    Parameters
    ----------
    value : Any
        What it returned. Reading a hostile object may itself raise anything: a ``driver_error``.
    failure : BaseException or None
        What it raised; :class:`Backstop` and :class:`CutShortError` are the harness's own.
    context : Context
        Of the trial, closed.
    """
    try:
        return _settle(value, failure, context)
    except BaseException as error:
        return "driver_error", NO_REPORT, described(error)


def _settle(value: Any, failure: BaseException | None, context: Context) -> Settled:
    if isinstance(failure, CutShortError):
        return "cancelled", NO_REPORT, None
    if isinstance(failure, Backstop):
        return "timeout", TIMED_OUT, None
    if context.overrun:
        failure = failure if isinstance(failure, DispatchLimitError) else DispatchLimitError(OVERRUN)
    if failure is not None:
        outcome: Outcome = "infrastructure" if context.failed_by_toolset(failure) else "driver_error"
        return outcome, NO_REPORT, described(failure)
    try:
        result = _as_result(value)
        report = _encode_report(result)
    except InvalidResultError as error:
        return "driver_error", NO_REPORT, described(error)
    return _outcome(result), msgspec.Raw(report), None


def described(error: BaseException) -> dict[str, str]:
    """Return type and message of an exception as the journal keeps them."""
    try:
        # the text may be of a class of the driver's own, whose methods may do anything
        message = str.encode(str(error)[:MESSAGE_CHARACTERS], "utf-8", "replace").decode("utf-8")
    except BaseException:
        message = "(its message cannot be shown)"
    return {"type": _type_name(type(error))[:NAME_CHARACTERS], "message": message}


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
    data = _plain_bytes(result)
    if data is None:
        data = _any_bytes(result)
    if len(data) > REPORT_LIMIT_BYTES:
        raise InvalidResultError(
            f"the driver's result has {len(data)} bytes; at most {REPORT_LIMIT_BYTES} are kept"
        )
    return data


def _plain_bytes(result: LoopResult) -> bytes | None:
    """Return what :func:`_any_bytes` would return, in a fifth of its time, or None for all that is not plain.

    Conversion takes sets for lists and objects for calls, which JSON does not: both are looked at before.
    """
    if type(result.calls) is not list or type(result.proof) is not list or _optional(result) != _NONE_GIVEN:
        return None
    for call in result.calls:
        if type(call) is not Call:
            return None
    try:
        return _encode_plain(msgspec.convert(result, _PlainReport, from_attributes=True))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def _any_bytes(result: LoopResult) -> bytes:
    report: dict[str, Any] = {
        "calls": _plain_calls(result.calls),
        "refused": result.refused,
        "terminated": result.terminated,
        "proof": result.proof,
        "driver": result.driver,
    }
    optional = _optional(result)
    if optional != _NONE_GIVEN:
        for (name, key), value in zip(_OPTIONAL, optional, strict=True):
            if value is not None:
                report[key] = _plain_calls(value) if name == "candidate_results" else value
    try:
        return encode_json(report)
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        raise InvalidResultError(f"the driver's result is not JSON: {error}") from None


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
