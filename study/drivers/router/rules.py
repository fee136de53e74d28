"""The goal rules, as data."""

from __future__ import annotations

from typing import Literal

from study.records import Record

Mode = Literal["scoped", "global"]


class Composition(Record):
    """How the answer is composed: an operation over the answers to two topics."""

    op: Literal["intersection"]
    a: str
    b: str


class GoalRule(Record):
    """One goal that can be deduced.

    Attributes
    ----------
    id : str
    invariant : str
        What should hold; the goal is to find where it does not.
    focus_class : str
        The kind that the focus must be.
    modes : tuple of str
    sub_goals : tuple of str
        Topics that must become known, in order.
    priority_topic, coverage_topic : str
        For the global mode: entities of the focus class in the answer to the coverage topic violate the
        invariant; the size of the answer to the priority topic ranks them.
    compose : Composition
    achieves : str
        Names the goal: ``goal:<achieves>``.
    """

    id: str
    invariant: str
    focus_class: str
    modes: tuple[Mode, ...]
    sub_goals: tuple[str, ...]
    priority_topic: str
    coverage_topic: str
    compose: Composition
    achieves: str

    @property
    def goal(self) -> str:
        """The id of the goal."""
        return f"goal:{self.achieves}"


RULES: tuple[GoalRule, ...] = (
    GoalRule(
        id="coverage-gap",
        invariant="what depends on a module is exercised by a test",
        focus_class="module",
        modes=("scoped", "global"),
        sub_goals=("impact", "untested"),
        priority_topic="impact",
        coverage_topic="untested",
        compose=Composition(op="intersection", a="impact", b="untested"),
        achieves="coverage-gap",
    ),
    GoalRule(
        id="cochange-risk",
        invariant="what changes together with a module is exercised by a test",
        focus_class="module",
        modes=("scoped",),
        sub_goals=("cochanges", "untested"),
        priority_topic="cochanges",
        coverage_topic="untested",
        compose=Composition(op="intersection", a="cochanges", b="untested"),
        achieves="cochange-risk",
    ),
)
