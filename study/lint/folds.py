"""What the ``compose`` of a case makes of the answers to its calls, and which calls it needs.

========================= ========================================== =====================================
compose                   calls                                      result
========================= ========================================== =====================================
nothing                   one                                        its answer
``fallback``              two                                        the first answer, if empty the second
``guard``                 two                                        the second answer if the first is
                                                                     empty, else nothing
``intersection``          two                                        what both answers hold
``recover``               one; a second if its answer is empty       the answer to the last call
``hop LABEL``             an enumeration, then one call by one tool  the enumerated labels whose call is
                          about each label of its answer             answered with LABEL among others
``reach LABEL``           the same, and so on about the new labels   the enumerated labels from which these
                          of these answers but LABEL                 answers lead to LABEL
``goal:coverage-gap``     impact of a module, untested               what both answers hold
``... global``            untested, then the impact of each module   the module with the largest impact,
                          in its answer                              of several the first
``goal:cochange-risk``    cochanges of a module, untested            what both answers hold
========================= ========================================== =====================================

Calls about several labels are in label order and about full labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from study.binding import as_text, shown
from study.lint.oracle import Oracle
from study.records import Record
from study.registry import Registry

GOALS: dict[str, tuple[str, str]] = {
    "goal:coverage-gap": ("impact", "untested"),
    "goal:cochange-risk": ("cochanges", "untested"),
}
"""The goals whose plans are known: id -> topics of the calls of the scoped form, in order."""

DEEPEST = 8
"""How many levels deep ``reach`` goes."""


class AnsweredCall(Record):
    """One call with its answer."""

    name: str
    input: dict[str, Any]
    answer: frozenset[str]

    @property
    def about(self) -> str:
        """What its only argument names."""
        return named_by(self.input)


class Plan(Record):
    """The expected calls of a case, each with its answer, and what else its fold looks at.

    Attributes
    ----------
    calls : sequence of AnsweredCall
        At least one.
    named : str
        What ``compose`` says after its first word.
    recover : dict or None
        As expected.
    registry : Registry
    oracle : Oracle
    """

    calls: Sequence[AnsweredCall]
    named: str
    recover: dict[str, Any] | None
    registry: Registry
    oracle: Oracle


class DiffersError(Exception):
    """A plan is not what its ``compose`` needs; the arguments are code and text of the finding."""


Fold = Callable[[Plan], frozenset[str]]
"""Checks the calls of a plan and returns its result; raises :class:`DiffersError`."""


def named_by(arguments: dict[str, Any]) -> str:
    """Return the value of the only argument as text, blank for any other number of arguments."""
    values = list(arguments.values())
    return as_text(values[0]) if len(values) == 1 else ""


def fold_of(compose: str, n_calls: int) -> tuple[Fold | None, str]:
    """Return the fold that ``compose`` means, if any, and what it names after its first word."""
    word, _, named = " ".join(compose.split()).partition(" ")
    if word in _FOLDS and (not named or word in _NAMING):
        return _FOLDS[word], named
    return (_single if n_calls == 1 else None), ""


def recovery(plan: Plan) -> frozenset[str]:
    """Check that a second call, and ``expect.recover``, are there exactly if the first answer is empty."""
    calls, fires = plan.calls, plan.recover is not None
    if len(calls) > 2:
        raise DiffersError("recheck-plan", f"there are {len(calls)} calls; a recovery has one or two")
    if calls[0].answer and (len(calls) == 2 or fires):
        text = f"the first call is answered with {len(calls[0].answer)} label(s), so no recovery fires"
        raise DiffersError("recheck-recovery", text)
    if not calls[0].answer and not (len(calls) == 2 and fires):
        text = "the answer to the first call is empty, so a second call and expect.recover must follow"
        raise DiffersError("recheck-recovery", text)
    if fires:
        wanted = {"after": calls[0].name, "fallback": calls[1].name}
        if plan.recover != wanted:
            raise DiffersError("recheck-recovery", f"expect.recover must be {shown(wanted)}")
    return calls[-1].answer


def _single(plan: Plan) -> frozenset[str]:
    return plan.calls[0].answer


def _two(plan: Plan) -> tuple[frozenset[str], frozenset[str]]:
    if len(plan.calls) != 2:
        raise DiffersError("recheck-plan", f"two calls are needed, and there are {len(plan.calls)}")
    return plan.calls[0].answer, plan.calls[1].answer


def _fallback(plan: Plan) -> frozenset[str]:
    first, second = _two(plan)
    return first or second


def _guard(plan: Plan) -> frozenset[str]:
    first, second = _two(plan)
    return frozenset() if first else second


def _intersection(plan: Plan) -> frozenset[str]:
    first, second = _two(plan)
    return first & second


def _hop(plan: Plan) -> frozenset[str]:
    return plan.calls[0].answer & _holding_target(plan, 1)


def _reach(plan: Plan) -> frozenset[str]:
    leading, size = _holding_target(plan, DEEPEST), -1
    while len(leading) != size:
        size = len(leading)
        leading |= {hop.about for hop in plan.calls[1:] if hop.answer & leading}
    return plan.calls[0].answer & leading


def _holding_target(plan: Plan, depth: int) -> set[str]:
    """Check the hops level by level; return the labels whose hop holds the target."""
    target, hops = plan.named, plan.calls[1:]
    if target not in plan.oracle.readings(target):
        raise DiffersError("recheck-compose", f"the target {target!r} is the full label of nothing")
    tools = sorted({hop.name for hop in hops})
    if len(tools) > 1:
        raise DiffersError("recheck-plan", f"the hops are calls of several tools: {shown(tools)}")
    answers = {hop.about: hop.answer for hop in hops}
    wanted: list[str] = []
    level = plan.calls[0].answer
    for _ in range(depth):
        wanted += sorted(level)
        level = frozenset[str]().union(*(answers.get(label, ()) for label in level)) - {target, *wanted}
    _require_labels("the hops", hops, wanted)
    return {label for label, answer in answers.items() if target in answer}


def _scoped(plan: Plan, topics: tuple[str, str]) -> frozenset[str]:
    if plan.named:
        raise DiffersError("recheck-compose", f"this goal has no mode {plan.named!r}")
    _require_tools(plan, topics)
    focus = plan.calls[0].about
    if set(plan.oracle.readings(focus).values()) != {"module"}:
        raise DiffersError("recheck-plan", f"the focus {focus!r} is no module")
    return _intersection(plan)


def _coverage_gap(plan: Plan) -> frozenset[str]:
    impact, untested = GOALS["goal:coverage-gap"]
    if plan.named != "global":
        return _scoped(plan, (impact, untested))
    first, *others = plan.calls
    _require_tools(plan, (untested, *[impact for _ in others]))
    modules = sorted(label for label in first.answer if plan.oracle.readings(label).get(label) == "module")
    _require_labels("the calls after the first", others, modules)
    largest = max((len(other.answer) for other in others), default=0)
    return frozenset([other.about for other in others if len(other.answer) == largest][:1])


def _cochange_risk(plan: Plan) -> frozenset[str]:
    return _scoped(plan, GOALS["goal:cochange-risk"])


def _require_tools(plan: Plan, topics: Sequence[str]) -> None:
    achievers = {topic: name for name, known in plan.registry.items() for topic in known.topics}
    if [call.name for call in plan.calls] != [achievers.get(topic) for topic in topics]:
        raise DiffersError("recheck-plan", f"the calls must make known, in order: {', '.join(topics)}")


def _require_labels(what: str, calls: Sequence[AnsweredCall], wanted: list[str]) -> None:
    asked = [call.about for call in calls]
    if asked != wanted:
        text = f"{what} are about {shown(asked)}; they must be about {shown(wanted)}, in this order"
        raise DiffersError("recheck-plan", text)


_FOLDS: dict[str, Fold] = {
    "fallback": _fallback,
    "guard": _guard,
    "intersection": _intersection,
    "recover": recovery,
    "hop": _hop,
    "reach": _reach,
    "goal:coverage-gap": _coverage_gap,
    "goal:cochange-risk": _cochange_risk,
}
"""First word of ``compose`` -> its fold."""

_NAMING = frozenset({"hop", "reach", *GOALS})
"""Words of ``compose`` after which something else is named."""
