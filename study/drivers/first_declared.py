"""The anchor that always calls the first declared tool."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import Call, Context, LoopResult
from study.drivers.floor import floor_driver, refusal, report, tokens, why_not
from study.registry import Capability

STAMP = "first-declared"


@floor_driver(STAMP)
def drive(request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
    """Call the first declared tool with the last identifier-like token of the request.

    Refuses only when the call does not bind. The call is reported whatever the tool answers, so the anchor
    is also a measure for suites without a toolset.
    """
    if not tools:
        return refusal(STAMP, "no tool is declared")
    name = tools[0]
    capability = ctx.capability(name)
    key = _primary_argument(capability)
    found = tokens(request)
    arguments = {key: found[-1]} if found and key else {}
    problem = why_not(ctx, capability, name, arguments)
    if problem:
        return refusal(STAMP, problem)
    result = ctx.dispatch(name, arguments)
    return report(capability, Call(name, arguments), result, stamp=STAMP, why="the first declared tool")


def _primary_argument(capability: Capability | None) -> str | None:
    if capability is None:
        return None
    needed = [*capability.required, *(group[0] for group in capability.any_present if group)]
    return needed[0] if needed else None
