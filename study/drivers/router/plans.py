"""Plans: the steps of a request with what is done with their answers."""

from __future__ import annotations

from typing import Literal

from study.drivers.router.reading import Step
from study.records import Record

MAX_STEPS = 8
"""The most calls of a plan; a longer plan is refused, never cut."""

MAX_DEPTH = 8
"""How many hops a member filter follows at most."""

Fold = Literal["none", "intersection", "fallback-if-empty", "guard-if-empty", "recover", "reach"]


class Plan(Record):
    """What a request asks for.

    Attributes
    ----------
    method : str
        The planner's method that read it.
    steps : tuple of Step
        Known calls, in order; a step with ``each`` stands for one call per label of the answer before. Of
        a member filter the first step enumerates.
    fold : str
        What is done with the answers.
    hop : str or None
        The topic that a member filter asks of every member.
    target : str or None
        The entity that a member must reach.
    deep : bool
        Whether the hops go on over what they find.
    """

    method: str
    steps: tuple[Step, ...]
    fold: Fold = "none"
    hop: str | None = None
    target: str | None = None
    deep: bool = False
