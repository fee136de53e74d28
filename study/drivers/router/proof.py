"""Proof steps: causal links, preconditions that were met, effects that were achieved."""

from __future__ import annotations

from typing import Any

from study.driver import ToolResult
from study.drivers.router.binding import BoundStep

Proof = list[dict[str, Any]]
GRAPH = "graph"


def step_name(number: int) -> str:
    """Return what a proof calls the step of that number (from 1)."""
    return f"step-{number}"


def call_proof(bound: BoundStep, result: ToolResult, number: int, producer: str = GRAPH) -> Proof:
    """Return the proof of one call that was answered.

    Parameters
    ----------
    bound : BoundStep
    result : ToolResult
    number : int
        Of the call, from 1.
    producer : str
        ``graph``, or the earlier step from which the entity was taken.
    """
    capability, name = bound.capability, step_name(number)
    entity = result.resolved or bound.label
    about: dict[str, Any] = {} if entity is None else {"entity": entity}
    link = {
        "kind": "causal-link",
        "producer": producer,
        "consumer": name,
        "tool": capability.name,
        "ok": True,
    }
    steps: Proof = [{**link, **about}]
    for condition in capability.preconditions:
        steps.append({"kind": "precondition", "condition": dict(condition), "step": name, "ok": True})
    for change in ("add", "del"):
        for effect in capability.effects[change]:
            steps.append({"kind": "effect", "change": change, "effect": effect, "step": name, **about})
    return steps


def fold_proof(fold: str, numbers: list[int], size: int) -> Proof:
    """Return the proof step of a fold over the answers of some steps."""
    return [{"kind": "fold", "fold": fold, "over": [step_name(n) for n in numbers], "size": size, "ok": True}]
