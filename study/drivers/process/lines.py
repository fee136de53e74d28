"""What the harness says to a child: JSON lines out of a context, and a report into a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from study.digest import encode_json
from study.driver import Call, Context, LoopResult
from study.drivers.process.messages import (
    PROTOCOL,
    Ask,
    Capability,
    Dispatch,
    Report,
    ReportedCall,
    Resolve,
    Sleep,
)
from study.drivers.process.wire import WireError
from study.environment import toolkit_version


def hello_line() -> bytes:
    """Return the harness's hello."""
    said = {"harness": "driver-study", "version": toolkit_version()}
    return _line({"kind": "hello", "protocol": PROTOCOL, **said})


def setup_line(config: dict[str, Any]) -> bytes:
    """Return the message with the configuration."""
    return _line({"kind": "setup", "config": config})


def reset_line(condition: str) -> bytes:
    """Return the message that asks the child to start afresh."""
    return _line({"kind": "reset", "condition": condition})


def goodbye_line() -> bytes:
    """Return the last message."""
    return _line({"kind": "goodbye"})


def request_line(number: int, request: str, tools: Sequence[str], ctx: Context) -> bytes:
    """Return the message that begins a trial."""
    declared = [capability for name in tools if (capability := ctx.capability(name)) is not None]
    return _line(
        {
            "kind": "request",
            "id": number,
            "request": request,
            "tools": list(tools),
            "capabilities": msgspec.to_builtins(declared),
            "config": dict(ctx.config),
            "seed": str(ctx.seed),
            "timeLeftS": ctx.remaining_s,
            "trace": list(ctx.trace),
            "commands": {verb: list(meaning) for verb, meaning in ctx.commands.items()},
        }
    )


def answer_line(ask: Ask, ctx: Context) -> bytes:
    """Do what the child asked for, and return the answer.

    Raises
    ------
    Exception
        Whatever the context raises: a failure of the toolset is not the child's.
    """
    head = {"kind": "answer", "id": ask.id, "to": ask.kind}
    if isinstance(ask, Dispatch):
        return _dispatched(head, ask, ctx)
    if isinstance(ask, Resolve):
        found = (ctx.resolve_memory_term if ask.memory else ctx.resolve)(ask.term)
        return _line({**head, "label": found.label, "entityKind": found.kind, "tied": list(found.tied)})
    if isinstance(ask, Capability):
        return _line({**head, "capability": msgspec.to_builtins(ctx.capability(ask.name))})
    if isinstance(ask, Sleep):
        _sleep(ask.seconds, ctx)
        return _line(head)
    return _line({**head, "problems": ctx.problems(ask.name, ask.input)})


def _sleep(seconds: float, ctx: Context) -> None:
    """Wait, but not much beyond the time limit: not every thread has an alarm that would end the wait."""
    left = ctx.remaining_s
    try:
        ctx.sleep(seconds if left is None else min(seconds, max(left, 0.0) + 1.0))
    except ValueError as error:
        raise WireError(f"sent 'sleep' of a wrong shape: {error}") from None


def _dispatched(head: dict[str, Any], ask: Dispatch, ctx: Context) -> bytes:
    """Return the tool's answer; a machine twin that is not JSON is left out, which the answer then says."""
    given = ctx.dispatch(ask.name, ask.input)
    answer = {**head, "ok": given.ok, "text": given.text, "error": given.error, "resolved": given.resolved}
    try:
        return _line({**answer, "result": given.result})
    except (TypeError, ValueError, RecursionError):
        omitted = f"a result of type {type(given.result).__name__} that is not JSON"
    plain = {key: _unicode(value) for key, value in answer.items()}
    return _line({**plain, "result": None, "omitted": omitted})


def _unicode(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _line(message: dict[str, Any]) -> bytes:
    return encode_json(message) + b"\n"


def loop_result(report: Report, stamp: str) -> LoopResult:
    """Return the report as a driver in this process returns it; ``stamp`` stands in for a missing one."""
    given = {name: getattr(report, name) for name in report.__struct_fields__}
    given["calls"] = _calls(report.calls)
    given["proof"] = list(report.proof)
    if report.candidate_results is not None:
        given["candidate_results"] = _calls(report.candidate_results)
    if report.driver is None:
        given["driver"] = stamp
    return LoopResult(**given)


def _calls(calls: Sequence[ReportedCall]) -> list[Call]:
    return [Call(call.name, call.input) for call in calls]
