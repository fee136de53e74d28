"""The paired difference of two arms, tasks as clusters, from arrays of trial scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from analysis import formatting, tilting
from analysis.intervals import (
    FEW_TASKS,
    FEWEST_TASKS,
    check_level,
    strata_status,
    task_interval,
    tilted_p_value,
)
from analysis.ranges import UNIT_RANGE, in_unit_range, range_width, scaled
from analysis.results import Interval
from analysis.sums import PSEUDO_MASS, Group
from analysis.taskvalues import Floats, TaskValues, TrialScores, differences, paired_values
from analysis.tilting import Claim, checked_margin
from study.errors import InputError, listed

DIFFERENCE_RANGE = (-1.0, 1.0)
PSEUDO_TASKS = ("shared", "each")
STRATIFIED = "tilted, strata"

Stratum: TypeAlias = tuple[TrialScores, TrialScores]
"""Scores of the baseline and of the candidate on the tasks of one stratum."""


def task_differences(
    baseline: TrialScores, candidate: TrialScores, *, score_range: tuple[float, float] = UNIT_RANGE
) -> Floats:
    """Return candidate - baseline of each task's mean score, shape (n_tasks,); see :func:`interval`."""
    return differences(*_both(baseline, candidate, score_range))[0] * range_width(score_range)


def mean_difference(
    baseline: TrialScores, candidate: TrialScores, *, score_range: tuple[float, float] = UNIT_RANGE
) -> float:
    """Return the estimate that :func:`interval` surrounds: tasks weigh equally."""
    values = differences(*_both(baseline, candidate, score_range))[0]
    return math.fsum(values) / len(values) * range_width(score_range)


def interval(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    level: float = 0.95,
    method: str = "tilted",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> Interval:
    """Return an interval for the mean over tasks of candidate - baseline.

    Parameters
    ----------
    baseline, candidate : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Scores of trials in [0, 1], usually 0 or 1; task i is the same task in both arms. Repetitions may
        differ in number between tasks and arms; tasks weigh equally. Nothing may be missing.
    level : float
        Two-sided confidence level.
    method : {"tilted", "percentile", "t", "bca", "studentized"}
        ``tilted`` decides: the tilted task bootstrap, deterministic, see
        :func:`analysis.intervals.tilted_limits`. ``percentile`` (plain task bootstrap) and ``t``
        (Student, n_tasks - 1 degrees of freedom) are for comparison, as are ``bca`` and ``studentized``
        (:func:`analysis.intervals.bca_limits`, :func:`analysis.intervals.studentized_limits`), which no
        report of a study shows: with few tasks or rare failures their coverage is far below the level.
    resamples : int
        Resamples of the bootstrap methods.
    rng : int or numpy.random.Generator
        Seed or generator of the bootstrap methods.
    score_range : (float, float)
        Declared smallest and largest score of a trial, where it is not [0, 1]; the limits are in the unit
        of the scores.

    Returns
    -------
    Interval
        With fewer than 5 tasks ``status`` is ``refused`` and the limits are None, with fewer than 10 it is
        ``few_tasks``. All methods but ``tilted`` are refused when all tasks are tied.

    Raises
    ------
    InputError
        For arrays that do not match, no tasks, a task without trials, values that are missing, not finite
        or outside the declared range, an unknown method, or a level outside (0, 1).

    Examples
    --------
    >>> from analysis.paired import interval
    >>> found = interval([[1]] * 20, [[1]] * 20)
    >>> print(f"{found.low:.4f} {found.high:.4f} {found.status}")
    -0.1614 0.1614 ok
    """
    values, denominator = differences(*_both(baseline, candidate, score_range))
    found = task_interval(
        values,
        bounds=DIFFERENCE_RANGE,
        denominator=denominator,
        level=level,
        method=method,
        resamples=resamples,
        rng=rng,
    )
    return scaled(found, range_width(score_range))


def p_value(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    claim: Claim,
    margin: float = 0.0,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> float:
    """Return the one-sided p-value of a claim by the tilted task bootstrap.

    It is at most ``(1 - level) / 2`` exactly when :func:`interval` at that level bears the claim out: the
    lower limit at or above ``-margin`` (non-inferior), at or above 0 (superior), or both limits
    within ``margin`` (equivalent: the larger of two one-sided p-values). Limit and p-value are solved for
    apart, so that where a limit lies on the margin itself they may differ in the last digits; the decision
    of a study takes both from the interval.

    Parameters
    ----------
    baseline, candidate, score_range
        See :func:`interval`; a higher score is better.
    claim : {"non-inferior", "superior", "equivalent"}
    margin : float
        In (0, 1) for non-inferior and equivalent, or up to the width of the declared range of scores; not
        used for superior.

    Raises
    ------
    InputError
        As :func:`interval`; and for fewer than 5 tasks, an unknown claim, or a margin outside (0, 1).
    """
    margin = checked_margin(claim, margin, range_width(score_range))
    values, denominator = differences(*_both(baseline, candidate, score_range))
    if len(values) < FEWEST_TASKS:
        raise InputError(
            formatting.counted(len(values), "task"),
            where="baseline",
            allowed=f"at least {FEWEST_TASKS} tasks for a p-value",
        )
    at = 0.0 if claim == "superior" else -margin
    p = tilted_p_value(values, DIFFERENCE_RANGE, denominator, at)
    if claim == "equivalent":
        p = max(p, tilted_p_value(-values, DIFFERENCE_RANGE, denominator, at))
    return p


def stratified_difference(
    strata: Sequence[Stratum],
    weights: Sequence[float],
    *,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> float:
    """Return the weighted sum over strata of the mean difference; see :func:`stratified_interval`."""
    return tilting.estimate(_groups(strata, weights, "shared", score_range)) * range_width(score_range)


def stratified_interval(
    strata: Sequence[Stratum],
    weights: Sequence[float],
    *,
    level: float = 0.95,
    pseudo_tasks: str = "shared",
    score_range: tuple[float, float] = UNIT_RANGE,
) -> Interval:
    r"""Return an interval for the weighted sum over strata of the mean of candidate - baseline.

    Parameters
    ----------
    strata : sequence of n_strata pairs (baseline, candidate)
        Scores of the trials of both arms on the tasks of one stratum, each as in :func:`interval`. Tasks
        weigh equally within their stratum.
    weights : sequence of float, shape (n_strata,)
        Weight of each stratum as the plan declares it; positive, sum 1.
    level : float
        Two-sided confidence level.
    pseudo_tasks : {"shared", "each"}
        ``shared``: mass :math:`\min(1/2, 1/H)` at each end of the range in each of the H strata, two pseudo
        tasks in all. ``each``: mass 1/2 in every stratum, stricter and much wider with many strata.
    score_range : (float, float)
        See :func:`interval`.

    Returns
    -------
    Interval
        Limits of the tilted bootstrap with one tilt for all strata, see :func:`analysis.tilting.limits`. With
        fewer than 5 tasks in some stratum ``refused``. ``few_tasks`` (printed, never decides) with fewer
        than 10 tasks in all, and where a stratum with fewer than 10 tasks weighs more than its share of the
        tasks.

    Raises
    ------
    InputError
        As :func:`interval`; and for weights that are not one positive number a stratum, with sum 1.

    Examples
    --------
    >>> from analysis.paired import stratified_interval
    >>> tied = [([[1]] * n, [[1]] * n) for n in (10, 20, 50)]
    >>> found = stratified_interval(tied, (0.2, 0.3, 0.5))
    >>> print(f"{found.low:.4f} {found.high:.4f} {found.status}")
    -0.0580 0.0580 ok
    """
    check_level(level)
    groups = _groups(strata, weights, pseudo_tasks, score_range)
    status = strata_status(weights, [len(group.values) for group in groups])
    if status == "refused":
        return Interval(low=None, high=None, level=level, method=STRATIFIED, status=status)
    low, high = tilting.limits(groups, level)
    found = Interval(low=low, high=high, level=level, method=STRATIFIED, status=status)
    return scaled(found, range_width(score_range))


def stratified_p_value(
    strata: Sequence[Stratum],
    weights: Sequence[float],
    *,
    claim: Claim,
    margin: float = 0.0,
    alpha: float = 0.025,
    pseudo_tasks: str = "shared",
    score_range: tuple[float, float] = UNIT_RANGE,
) -> float:
    """Return the one-sided p-value of a claim on the weighted difference of strata.

    It agrees with :func:`stratified_interval` as :func:`p_value` does with :func:`interval`.

    Parameters
    ----------
    strata, weights, pseudo_tasks, score_range
        See :func:`stratified_interval`.
    claim, margin
        See :func:`p_value`.
    alpha : float
        One-sided level of the claim; the margin must be one that these tasks can show at it.

    Raises
    ------
    InputError
        As :func:`stratified_interval` and :func:`p_value`; where the interval does not decide; and for a
        margin below the bound that goes unseen when all tasks are tied
        (:func:`analysis.tilting.all_ties_bound`).
    """
    margin = checked_margin(claim, margin, range_width(score_range))
    check_level(alpha)
    groups = _groups(strata, weights, pseudo_tasks, score_range)
    n_tasks = [len(group.values) for group in groups]
    if strata_status(weights, n_tasks) != "ok":
        raise InputError(
            f"strata of {listed(str(n) for n in n_tasks)} tasks",
            where="strata",
            allowed=f"at least {FEWEST_TASKS} tasks in each stratum, {FEW_TASKS} in all, and {FEW_TASKS} "
            "in a stratum that weighs more than its share of the tasks",
        )
    bound = tilting.all_ties_bound(weights, n_tasks, alpha)
    if claim != "superior" and bound > margin:
        raise InputError(
            f"the margin {margin:g} of the range of scores",
            where="margin",
            allowed=f"at least {bound:.4f}: a smaller loss can go unseen by all of these tasks",
            next_step="add tasks to the stratum with the largest weight for each task",
        )
    return tilting.claim_p_value(groups, claim, margin)


def _both(
    baseline: TrialScores, candidate: TrialScores, score_range: tuple[float, float]
) -> tuple[TaskValues, TaskValues]:
    return paired_values(
        in_unit_range(baseline, "baseline", score_range), in_unit_range(candidate, "candidate", score_range)
    )


def _groups(
    strata: Sequence[Stratum],
    weights: Sequence[float],
    pseudo_tasks: str,
    score_range: tuple[float, float],
) -> list[Group]:
    tilting.check_weights(weights, len(strata))
    mass = PSEUDO_MASS
    if pseudo_tasks not in PSEUDO_TASKS:
        raise InputError(f"pseudo_tasks {pseudo_tasks!r}", where="pseudo_tasks", allowed=listed(PSEUDO_TASKS))
    if pseudo_tasks == "shared":
        mass = min(mass, 1 / len(strata))
    found: list[Group] = []
    for (baseline, candidate), weight in zip(strata, weights, strict=True):
        values, denominator = differences(*_both(baseline, candidate, score_range))
        found.append(Group(values, DIFFERENCE_RANGE, denominator, float(weight), mass))
    return found
