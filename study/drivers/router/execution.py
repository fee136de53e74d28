"""Execution of a plan: bound as a whole first, then called, observed and folded."""

from __future__ import annotations

from collections.abc import Sequence

from study.digest import is_list
from study.driver import Call, Context, LoopResult, ToolResult
from study.drivers.router.binding import BoundStep, RefusalError, achiever, achievers, bind
from study.drivers.router.plans import MAX_DEPTH, MAX_STEPS, Plan
from study.drivers.router.proof import GRAPH, Proof, call_proof, fold_proof, step_name
from study.drivers.router.reading import Step

OBSERVED_LIMIT = 240


class Run:
    """The calls of one request with what they answered.

    Parameters
    ----------
    tools : sequence of str
    ctx : Context
    budget : int
        The most calls.
    """

    def __init__(self, tools: Sequence[str], ctx: Context, budget: int = MAX_STEPS) -> None:
        self.known = achievers(tools, ctx)
        self.ctx = ctx
        self.budget = budget
        self.calls: list[Call] = []
        self.proof: Proof = []
        self.observed: str | None = None

    def bind(self, step: Step, at_hand: str | None = None) -> BoundStep:
        """Bind a step; see :func:`study.drivers.router.binding.bind`."""
        return bind(step, self.known, self.ctx, at_hand=at_hand)

    def need(self, calls: int) -> None:
        """Refuse unless that many more calls are within the budget."""
        if len(self.calls) + calls > self.budget:
            raise RefusalError(f"the plan has more than {self.budget} calls")

    def call(self, bound: BoundStep, producer: str = GRAPH) -> list[str]:
        """Make one call and return the labels of its answer.

        Raises
        ------
        RefusalError
            When the budget is used up or the tool errs.
        """
        self.need(1)
        name = bound.capability.name
        result = self.ctx.dispatch(name, bound.arguments)
        if not result.ok:
            raise RefusalError(result.error or f"{name} answered nothing")
        self.calls.append(Call(name, dict(bound.arguments)))
        self.proof += call_proof(bound, result, len(self.calls), producer)
        self.observed = result.text[:OBSERVED_LIMIT] or None
        return labels_of(result)


def labels_of(result: ToolResult) -> list[str]:
    """Return the labels of an answer, sorted and unique; an answer of another form is one label, its text."""
    if is_list(result.result):
        return sorted({str(label) for label in result.result})
    return [result.text] if result.text.strip() else []


def execute(plan: Plan, tools: Sequence[str], ctx: Context, *, stamp: str) -> LoopResult:
    """Execute a plan.

    Parameters
    ----------
    plan : Plan
    tools : sequence of str
        The declared tools.
    ctx : Context
    stamp : str

    Returns
    -------
    LoopResult
        The calls with their proof; or a refusal without calls, with the candidates of a tie.
    """
    run = Run(tools, ctx)
    try:
        composed, recovered = _carried_out(plan, run)
    except RefusalError as refusal:
        return refused(refusal, stamp)
    return LoopResult(
        calls=run.calls,
        proof=run.proof,
        driver=stamp,
        composed=composed,
        recovered=recovered or None,
        why=f"{plan.method}: {', '.join(step.topic for step in plan.steps)}",
        observed=run.observed,
    )


def refused(refusal: RefusalError, stamp: str) -> LoopResult:
    """Return the report of a refusal."""
    return LoopResult(
        refused=True, driver=stamp, why=refusal.why, candidate_results=refusal.candidates or None
    )


def _carried_out(plan: Plan, run: Run) -> tuple[list[str] | None, bool]:
    run.need(len(plan.steps))
    bound = [None if step.each else run.bind(step) for step in plan.steps]
    for step in plan.steps:
        achiever(step.topic, run.known)
    if plan.fold == "recover":
        return _recover(plan, bound, run)
    if plan.fold == "reach":
        return _reach(plan, bound[0], run), False
    answers = _in_order(plan, bound, run)
    if plan.fold == "none":
        return (answers[0] if len(run.calls) == 1 else None), False
    first, second = answers
    if plan.fold == "intersection":
        composed = [label for label in first if label in set(second)]
    elif plan.fold == "fallback-if-empty":
        composed = first or second
    else:
        composed = [] if first else second
    run.proof += fold_proof(plan.fold, [1, 2], len(composed))
    return composed, False


def _in_order(plan: Plan, bound: Sequence[BoundStep | None], run: Run) -> list[list[str]]:
    """Call the steps in order; a step for each label of the answer before stands for several calls."""
    answers: list[list[str]] = []
    named_in: dict[str, int] = {}
    for step, ready in zip(plan.steps, bound, strict=True):
        if ready is None:
            answers.append(_each(step, answers[-1] if answers else None, run))
            continue
        source = named_in.get(step.term or "") if step.threaded else None
        answers.append(run.call(ready, GRAPH if source is None else step_name(source)))
        if step.term is not None:
            named_in[step.term] = len(run.calls)
    return answers


def _each(step: Step, labels: list[str] | None, run: Run) -> list[str]:
    if labels is None:
        raise RefusalError("there is no answer before to take each of")
    run.need(len(labels))
    producer = step_name(len(run.calls))
    found: set[str] = set()
    for ready in [run.bind(step, label) for label in labels]:
        found.update(run.call(ready, producer))
    return sorted(found)


def _recover(plan: Plan, bound: Sequence[BoundStep | None], run: Run) -> tuple[list[str], bool]:
    """Run the primary, observe its answer, run the fallback only if that is empty."""
    primary, fallback = bound
    if primary is None or fallback is None:
        raise RefusalError("a recovery needs steps that name their entity")
    answer = run.call(primary)
    if answer:
        return answer, False
    run.proof.append({"kind": "observation", "step": step_name(1), "empty": True, "ok": True})
    return run.call(fallback), True


def _reach(plan: Plan, first: BoundStep | None, run: Run) -> list[str]:
    """Enumerate, hop from every member, keep the members from which the target is reached."""
    if first is None or plan.hop is None or plan.target is None:
        raise RefusalError("a member filter needs a set, a hop and a target")
    target = (
        run.bind(Step(topic="description", term=plan.target)).label if "description" in run.known else None
    )
    target = target or _target_label(plan, run)
    members = run.call(first)
    run.need(len(members))
    edges: dict[str, list[str]] = {}
    producers = dict.fromkeys(members, step_name(1))
    level = members
    for _ in range(MAX_DEPTH if plan.deep else 1):
        run.need(len(level))
        for label, ready in [(label, run.bind(Step(topic=plan.hop, term=label))) for label in level]:
            edges[label] = run.call(ready, producers[label])
            for found in edges[label]:
                producers.setdefault(found, step_name(len(run.calls)))
        level = sorted({found for label in level for found in edges[label]} - edges.keys() - {target})
        if not level:
            break
    kept = [member for member in members if _reaches(member, target, edges)]
    run.proof += fold_proof("reach", list(range(1, len(run.calls) + 1)), len(kept))
    return kept


def _target_label(plan: Plan, run: Run) -> str:
    """Return the label of the target.

    Raises
    ------
    RefusalError
        For an unknown or tied target; the readings of a tie are those of the hop.
    """
    label = run.bind(Step(topic=plan.hop or "", term=plan.target)).label
    if label is None:
        raise RefusalError(f"nothing is called {plan.target!r}")
    return label


def _reaches(member: str, target: str, edges: dict[str, list[str]]) -> bool:
    seen, queue = {member}, [member]
    for label in queue:
        for found in edges.get(label, ()):
            if found == target:
                return True
            if found not in seen:
                seen.add(found)
                queue.append(found)
    return False
