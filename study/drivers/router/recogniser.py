"""Recognition of the goal behind an observed trace: containment in declared plans, never a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from study.driver import Context, LoopResult
from study.drivers.router.binding import achievers
from study.drivers.router.proof import GRAPH, step_name
from study.drivers.router.rules import RULES, GoalRule

STAMP = "recognize-0.1.0"
MAX_TRACE = 32
"""Of a longer trace only the newest steps are read."""


def declared_goals(
    tools: Sequence[str], ctx: Context, rules: Sequence[GoalRule] = RULES
) -> dict[str, tuple[str, ...]]:
    """Return goal id -> the tools of its plan, sorted by id; every tool of a plan is declared."""
    known = {topic: capability.name for topic, capability in achievers(tools, ctx).items()}
    plans: dict[str, tuple[str, ...]] = {f"cap:{topic}": (name,) for topic, name in known.items()}
    for rule in rules:
        if all(topic in known for topic in rule.sub_goals):
            plans[rule.goal] = tuple(known[topic] for topic in rule.sub_goals)
    return {goal: plans[goal] for goal in sorted(plans)}


def recognise(
    trace: Sequence[Mapping[str, Any]],
    tools: Sequence[str],
    ctx: Context,
    rules: Sequence[GoalRule] = RULES,
) -> LoopResult:
    """Infer the goal of a trace.

    Parameters
    ----------
    trace : sequence of mapping
        The observed calls; only their ``name`` is compared.
    tools : sequence of str
        The declared tools.
    ctx : Context
    rules : sequence of GoalRule, optional

    Returns
    -------
    LoopResult
        One goal with its proof; a refusal with all goals that fit; or a rejection. No call is made.
    """
    names = [step.get("name") for step in trace][-MAX_TRACE:]
    plans = declared_goals(tools, ctx, rules)
    fitting = [goal for goal, plan in plans.items() if names and _is_subsequence(names, plan)]
    if not fitting:
        return LoopResult(refused=True, reject=True, driver=STAMP, why="the trace fits no declared goal")
    if len(fitting) > 1:
        return LoopResult(
            refused=True, ambiguous_goals=fitting, driver=STAMP, why=f"the trace fits {len(fitting)} goals"
        )
    goal = fitting[0]
    return LoopResult(
        inferred_goal=goal, proof=_proof(goal, plans[goal]), driver=STAMP, why=f"only {goal} fits"
    )


def _is_subsequence(names: Sequence[Any], plan: Sequence[str]) -> bool:
    rest = iter(plan)
    return all(any(name == step for step in rest) for name in names)


def _proof(goal: str, plan: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fit, then the plan as a chain of links."""
    proof: list[dict[str, Any]] = [{"kind": "goal-fit", "goal": goal, "plan": list(plan), "ok": True}]
    for number, tool in enumerate(plan, 1):
        producer = GRAPH if number == 1 else step_name(number - 1)
        link = {"kind": "causal-link", "producer": producer, "consumer": step_name(number), "tool": tool}
        proof.append({**link, "ok": True})
    return proof
