"""How a request was read, planned and proven, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from study.binding import shown
from study.driver import Call, Context, LoopResult
from study.drivers.router.goals import reason
from study.drivers.router.plans import Plan
from study.drivers.router.reading import Step
from study.drivers.router.resolver import parse, resolve
from study.drivers.router.wishes import Wish, read_wish


def explain(request: str, tools: Sequence[str], ctx: Context) -> str:
    """Return the parse, the plan or goal, the outcome and the proof of a request, as lines of text.

    Parameters
    ----------
    request : str
    tools : sequence of str
        The declared tools.
    ctx : Context
        The calls of the plan are really made.
    """
    parsed = parse(request, tools, ctx)
    lines = [f"request  {request}", f"words    {parsed.scanned.line}"]
    lines += [f"name     «{n}» = {name}" for n, name in enumerate(parsed.scanned.names)]
    if parsed.plan is not None:
        lines += [f"read as  {parsed.source}", *_plan_lines(parsed.plan)]
        result = resolve(parsed, tools, ctx)
    else:
        ordered = parsed.source == "order"
        wish = None if ordered else read_wish(parsed.scanned.line, parsed.reader)
        why = (
            "it orders, or wishes, that something is changed" if ordered else "outside the fragment of plans"
        )
        lines.append(f"plan     none: {why}")
        if wish is None:
            return "\n".join(
                [*lines, "goal     none", "outcome  refused: the request is outside the fragment"]
            )
        lines.append(f"goal     {_wish_text(wish)}")
        result = reason(wish, tools, ctx)
    return "\n".join([*lines, *_outcome_lines(result)])


def _plan_lines(plan: Plan) -> list[str]:
    lines = [f"plan     {plan.method}, fold {plan.fold}"]
    lines += [f"  step {n}  {_step_text(step)}" for n, step in enumerate(plan.steps, 1)]
    if plan.hop is not None:
        depth = "to any depth" if plan.deep else "one hop"
        lines.append(f"  hops    {plan.hop} of each, until {plan.target} ({depth})")
    return lines


def _step_text(step: Step) -> str:
    about = "each label of the answer before" if step.each else step.term
    given = [f"{key} {value!r}" for key, value in step.values.items()]
    threaded = ", taken from before" if step.threaded and not step.each else ""
    return (
        f"know {step.topic}" + (f" of {about}" if about else "") + "".join(f", {g}" for g in given) + threaded
    )


def _wish_text(wish: Wish) -> str:
    about = f"focus {wish.focus}" if wish.focus else f"about each {wish.about or 'entity'}"
    return f"{wish.mode}, {about}; the wording fits {' or '.join(wish.rules)}"


def _outcome_lines(result: LoopResult) -> list[str]:
    lines = [f"outcome  refused: {result.why}" if result.refused else f"outcome  {result.why}"]
    lines += [f"call     {_call_text(call)}" for call in result.calls]
    lines += [f"reading  {_call_text(call)}" for call in result.candidate_results or []]
    if result.recovered:
        lines.append("recover  the primary was empty, the fallback ran")
    if result.composed is not None:
        lines.append(f"result   {shown(result.composed, 600)}")
    return [*lines, *(f"proof    {json.dumps(step, ensure_ascii=False)}" for step in result.proof)]


def _call_text(call: Call) -> str:
    return call.name + json.dumps(call.input, ensure_ascii=False)
