"""What the floor drivers share: how a request becomes at most one checked call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from study.binding import as_text
from study.digest import is_list
from study.driver import Call, Context, LoopResult, ToolResult
from study.registry import Capability

FloorCall = Callable[[str, Sequence[str], Context], LoopResult]
OBSERVED_LIMIT = 240
_TOKEN = re.compile(r"[^\W\d]\w*(?:[./-]+\w+)*")


def floor_driver(stamp: str) -> Callable[[FloorCall], FloorCall]:
    """Mark a function as a floor driver with that stamp."""

    def mark(function: FloorCall) -> FloorCall:
        vars(function).update(stamp=stamp, floor=True)
        return function

    return mark


def tokens(request: str) -> list[str]:
    """Return the identifier-like tokens of a request, in order: ``Book``, ``app.loans``, ``src/a.py``."""
    return _TOKEN.findall(request)


def refusal(stamp: str, why: str) -> LoopResult:
    """Return a refusal with its reason."""
    return LoopResult(refused=True, driver=stamp, why=why)


def why_not(ctx: Context, capability: Capability | None, name: str, arguments: dict[str, Any]) -> str | None:
    """Return why a call must not be attempted, or None when it is read-only, declared and binds."""
    if capability is None:
        return f"{name} is not registered"
    if not capability.read_only:
        return f"{name} has effects"
    problems = ctx.problems(name, arguments)
    return problems[0]["text"] if problems else None


def call_once(ctx: Context, name: str, arguments: dict[str, Any], *, stamp: str, why: str) -> LoopResult:
    """Make one call and report it; refuse when it does not bind, its entity is tied, or the tool errs.

    Parameters
    ----------
    ctx : Context
    name : str
        The tool to call.
    arguments : dict
        Its arguments.
    stamp, why : str
        Reported with the call.

    Returns
    -------
    LoopResult
        With one call, its proof and what was observed; or a refusal.
    """
    capability = ctx.capability(name)
    problem = why_not(ctx, capability, name, arguments) or _tie(ctx, capability, arguments)
    if problem:
        return refusal(stamp, problem)
    result = ctx.dispatch(name, arguments)
    if not result.ok:
        return refusal(stamp, result.error or f"{name} answered nothing")
    return report(capability, Call(name, arguments), result, stamp=stamp, why=why)


def report(
    capability: Capability | None, call: Call, result: ToolResult, *, stamp: str, why: str
) -> LoopResult:
    """Return the report of a call that was made; only a call that was answered has a proof."""
    return LoopResult(
        calls=[call],
        proof=_proof(capability, result) if capability and result.ok else [],
        driver=stamp,
        composed=_labels(result),
        why=why,
        observed=result.text[:OBSERVED_LIMIT] or None,
    )


def _proof(capability: Capability, result: ToolResult) -> list[dict[str, Any]]:
    """Return the preconditions, met or the tool would have erred, then the effects."""
    bound = {} if result.resolved is None else {"bound": result.resolved}
    steps: list[dict[str, Any]] = []
    for condition in capability.preconditions:
        extra = bound if condition.get("kind") == "resolves" else {}
        steps.append({"kind": "precondition", "condition": dict(condition), "ok": True, **extra})
    for change in ("add", "del"):
        for effect in capability.effects[change]:
            steps.append({"kind": "effect", "change": change, "effect": effect, **bound})
    return steps


def _tie(ctx: Context, capability: Capability | None, arguments: dict[str, Any]) -> str | None:
    """Return a text about the first argument that stands for several entities, or None."""
    if capability is None:
        return None
    entities = {c.get("param") for c in capability.preconditions if c.get("kind") == "resolves"}
    for parameter in capability.parameters:
        term = as_text(arguments.get(parameter.arg))
        if term and (parameter.name in entities or parameter.arg in entities):
            tied = ctx.resolve(term).tied
            if tied:
                return f"{term!r} may be {' or '.join(tied)}"
    return None


def _labels(result: ToolResult) -> list[str] | None:
    labels = result.result
    if result.ok and is_list(labels) and all(isinstance(label, str) for label in labels):
        return list(labels)
    return None
