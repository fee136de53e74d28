"""The rate of one arm, tasks as clusters, from arrays of trial scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from analysis import tilting
from analysis.intervals import FEW_TASKS, FEWEST_TASKS, check_level, strata_status, task_interval
from analysis.ranges import UNIT_RANGE, in_unit_range, range_width, scaled
from analysis.results import Interval, Status
from analysis.sums import PSEUDO_MASS, Group
from analysis.taskvalues import TaskValues, TrialScores, task_values
from study.errors import InputError, listed
from study.records import Record

SIDES = ("lower", "upper")


class Bound(Record):
    """A one-sided bound.

    Attributes
    ----------
    bound : float or None
        In the unit of the scores; None when ``status`` refuses it.
    side : {"lower", "upper"}
        ``lower``: the rate is at least the bound.
    level : float
        One-sided confidence level.
    method : str
    n_tasks : int
    status : str
        ``ok``, ``few_tasks`` (printed, never decides), ``refused``.
    """

    bound: float | None
    side: Literal["lower", "upper"]
    level: float
    method: str
    n_tasks: int
    status: Status


def rate(outcomes: TrialScores, *, score_range: tuple[float, float] = UNIT_RANGE) -> float:
    """Return the estimate that :func:`rate_interval` surrounds: the mean over tasks of their mean scores."""
    means = _values(outcomes, score_range).means
    return score_range[0] + math.fsum(means) / len(means) * range_width(score_range)


def rate_interval(
    outcomes: TrialScores, *, level: float = 0.95, score_range: tuple[float, float] = UNIT_RANGE
) -> Interval:
    """Return an interval for one arm's rate by the one-arm tilted task bootstrap.

    Parameters
    ----------
    outcomes : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Scores of trials in [0, 1]; tasks weigh equally. Nothing may be missing.
    level : float
        Two-sided confidence level.
    score_range : (float, float)
        Declared smallest and largest score of a trial, where it is not [0, 1].

    Returns
    -------
    Interval
        Within the declared range. With fewer than 5 tasks ``refused``, with fewer than 10 ``few_tasks``.
        When every trial scores 1 the lower limit is ``(2 a)^(1/T)`` with ``a = Phi(-t_{T-1})``, when every
        trial scores 0 the upper limit is its mirror image (see :func:`analysis.intervals.tilted_limits`).
        A claim that a rate is at least some value uses :func:`strict` instead.

    Raises
    ------
    InputError
        For no tasks, a task without trials, values that are missing, not finite or outside the range, and a
        level outside (0, 1).

    Examples
    --------
    >>> from analysis.proportions import rate_interval
    >>> found = rate_interval([[1]] * 20)
    >>> print(f"{found.low:.5f} {found.high:.0f}")
    0.84727 1
    """
    values = _values(outcomes, score_range)
    found = task_interval(values.means, bounds=UNIT_RANGE, denominator=values.denominator, level=level)
    return scaled(found, range_width(score_range), score_range[0])


def strict(
    outcomes: TrialScores,
    *,
    side: Literal["lower", "upper"] = "lower",
    level: float = 0.975,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> Bound:
    """Return the one-sided bound for a claim about one arm's rate, such as "at least 90 %".

    Parameters
    ----------
    outcomes, score_range
        See :func:`rate_interval`.
    side : {"lower", "upper"}
        ``lower`` for a claim that the rate is at least some value, ``upper`` for at most.
    level : float
        One-sided confidence level, above 1/2.

    Returns
    -------
    Bound
        The limit of the one-arm tilted bootstrap with the full tail, ``P(S >= observed) = a``, where the
        two-sided interval counts half of the probability of the observed sum: at a rate of 1 its only open
        side has twice the error. When every trial scores 1 the lower bound is ``a^(1/T)`` with
        ``a = Phi(-t_{T-1})``. With fewer than 5 tasks ``refused``, with fewer than 10 ``few_tasks``.

    Raises
    ------
    InputError
        As :func:`rate_interval`; and for another side, or a level outside (1/2, 1).

    Examples
    --------
    >>> from analysis.proportions import strict
    >>> print(f"{strict([[1]] * 50).bound:.3f}")
    0.927
    """
    check_level(level)
    if level <= 0.5:
        raise InputError(f"level = {level!r}", where="level", allowed="a one-sided level above 0.5")
    if side not in SIDES:
        raise InputError(f"side {side!r}", where="side", allowed=listed(SIDES))
    values = _values(outcomes, score_range)
    n_tasks = len(values.means)
    bound = None
    if n_tasks >= FEWEST_TASKS:
        group = Group(values.means, UNIT_RANGE, values.denominator)
        limits = tilting.limits([group], 2 * level - 1, strict=True)
        bound = score_range[0] + range_width(score_range) * limits[SIDES.index(side)]
    status: Status = "refused" if bound is None else "few_tasks" if n_tasks < FEW_TASKS else "ok"
    return Bound(bound=bound, side=side, level=level, method="tilted, strict", n_tasks=n_tasks, status=status)


def stratified_rate(
    strata: Sequence[TrialScores],
    weights: Sequence[float],
    *,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> float:
    """Return the weighted sum over strata of one arm's rate; see :func:`stratified_rate_interval`."""
    found = tilting.estimate(_groups(strata, weights, score_range))
    return score_range[0] + found * range_width(score_range)


def stratified_rate_interval(
    strata: Sequence[TrialScores],
    weights: Sequence[float],
    *,
    level: float = 0.95,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> Interval:
    """Return an interval for the weighted sum over strata of one arm's rate.

    Parameters
    ----------
    strata : sequence of n_strata arrays of scores
        Each as in :func:`rate_interval`.
    weights : sequence of float, shape (n_strata,)
        As the plan declares them; positive, sum 1.
    level : float
        Two-sided confidence level.
    score_range : (float, float)
        See :func:`rate_interval`.

    Returns
    -------
    Interval
        Method, pseudo tasks and status as in :func:`analysis.paired.stratified_interval`.

    Raises
    ------
    InputError
        As :func:`rate_interval`; and for weights that are not one positive number a stratum, with sum 1.
    """
    check_level(level)
    groups = _groups(strata, weights, score_range)
    status = strata_status(weights, [len(group.values) for group in groups])
    limits = (None, None) if status == "refused" else tilting.limits(groups, level)
    found = Interval(low=limits[0], high=limits[1], level=level, method="tilted, strata", status=status)
    return scaled(found, range_width(score_range), score_range[0])


def _values(outcomes: TrialScores, score_range: tuple[float, float]) -> TaskValues:
    return task_values(in_unit_range(outcomes, "outcomes", score_range), "outcomes")


def _groups(
    strata: Sequence[TrialScores], weights: Sequence[float], score_range: tuple[float, float]
) -> list[Group]:
    tilting.check_weights(weights, len(strata))
    mass = min(PSEUDO_MASS, 1 / len(strata))
    return [
        Group(values.means, UNIT_RANGE, values.denominator, float(weight), mass)
        for values, weight in zip((_values(s, score_range) for s in strata), weights, strict=True)
    ]
