"""The closed-world goal reasoner: one rule deduced from focus, declared tools and mode, then pursued."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import Context, LoopResult
from study.drivers.router.binding import BoundStep, RefusalError, achievers
from study.drivers.router.execution import Run, refused
from study.drivers.router.proof import GRAPH, fold_proof, step_name
from study.drivers.router.reading import Step
from study.drivers.router.rules import RULES, GoalRule
from study.drivers.router.wishes import Wish

STAMP = "goal-0.8.1"
MAX_TICKS = 16
"""How many intentions are pursued at most; each is one call."""


def reason(wish: Wish, tools: Sequence[str], ctx: Context, rules: Sequence[GoalRule] = RULES) -> LoopResult:
    """Deduce the goal of a request and achieve it, or refuse.

    Parameters
    ----------
    wish : Wish
    tools : sequence of str
        The declared tools.
    ctx : Context
    rules : sequence of GoalRule, optional

    Returns
    -------
    LoopResult
        Refused unless exactly one rule applies; with candidates where its focus is tied.
    """
    run = Run(tools, ctx, MAX_TICKS)
    try:
        rule = applicable(wish, tools, ctx, rules)
        run.proof.append(
            {
                "kind": "goal-rule",
                "rule": rule.id,
                "goal": rule.goal,
                "mode": wish.mode,
                "invariant": rule.invariant,
                "ok": True,
            }
        )
        composed = _Pursuit(rule, wish, run).answer()
    except RefusalError as refusal:
        return refused(refusal, STAMP)
    return LoopResult(
        calls=run.calls,
        proof=run.proof,
        driver=STAMP,
        composed=composed,
        why=f"{rule.goal}, {wish.mode}",
        observed=run.observed,
    )


def applicable(wish: Wish, tools: Sequence[str], ctx: Context, rules: Sequence[GoalRule]) -> GoalRule:
    """Return the one rule that applies.

    Raises
    ------
    RefusalError
        When none applies, or more than one.
    """
    known = achievers(tools, ctx)
    kind = wish.about
    if wish.focus is not None:
        resolution = ctx.resolve(wish.focus)
        if resolution.label is None and not resolution.tied:
            raise RefusalError(f"nothing is called {wish.focus!r}")
        kind = resolution.kind
    tied = wish.focus is not None and kind is None
    found = [
        rule
        for rule in rules
        if rule.id in wish.rules
        and wish.mode in rule.modes
        and (tied or kind == rule.focus_class)
        and all(topic in known for topic in rule.sub_goals)
    ]
    if not found:
        raise RefusalError("no goal rule applies to this focus with the declared tools in this mode")
    if len(found) > 1:
        raise RefusalError(f"several goals fit: {', '.join(rule.goal for rule in found)}")
    return found[0]


class _Pursuit:
    """The loop that achieves one rule: each tick picks one open intention and makes one call."""

    def __init__(self, rule: GoalRule, wish: Wish, run: Run) -> None:
        self._rule = rule
        self._wish = wish
        self._run = run
        self._answers: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self._violating: list[str] | None = None

    def answer(self) -> list[str]:
        """Return the composed answer.

        Raises
        ------
        RefusalError
            When an intention cannot be achieved, or the ticks are used up.
        """
        scoped = self._wish.mode == "scoped"
        for _ in range(MAX_TICKS + 1):
            intention = self._scoped_intention() if scoped else self._global_intention()
            if intention is None:
                return self._scoped_answer() if scoped else self._global_answer()
            self._achieve(*intention)
        raise RefusalError(f"the goal is not achieved within {MAX_TICKS} ticks")

    def _scoped_intention(self) -> tuple[str, str | None] | None:
        """Return the first sub-goal that is not achieved."""
        for topic in self._rule.sub_goals:
            if topic not in self._answers:
                return topic, self._wish.focus if self._takes_focus(topic) else None
        return None

    def _global_intention(self) -> tuple[str, str | None] | None:
        """Return the coverage query, then one priority query for each violating entity: the one expansion."""
        if self._violating is None:
            return self._rule.coverage_topic, None
        return next(((self._rule.priority_topic, e) for e in self._violating if e not in self._sizes), None)

    def _takes_focus(self, topic: str) -> bool:
        return bool(self._run.known[topic].required)

    def _achieve(self, topic: str, entity: str | None) -> None:
        bound: BoundStep = self._run.bind(Step(topic=topic, term=entity))
        expanded = self._wish.mode == "global" and entity is not None
        labels = self._run.call(bound, step_name(1) if expanded else GRAPH)
        if self._wish.mode == "scoped":
            self._answers[topic] = labels
        elif self._violating is None:
            kinds = self._run.ctx.resolve
            self._violating = [x for x in labels if kinds(x).kind == self._rule.focus_class]
            self._run.need(len(self._violating))
        elif entity is not None:
            self._sizes[entity] = len(labels)

    def _scoped_answer(self) -> list[str]:
        other = set(self._answers[self._rule.compose.b])
        composed = [label for label in self._answers[self._rule.compose.a] if label in other]
        self._run.proof += fold_proof(self._rule.compose.op, [1, 2], len(composed))
        return composed

    def _global_answer(self) -> list[str]:
        best = min(self._sizes, key=lambda label: (-self._sizes[label], label), default=None)
        numbers = list(range(1, len(self._run.calls) + 1))
        self._run.proof += fold_proof("largest", numbers, 0 if best is None else 1)
        return [] if best is None else [best]
