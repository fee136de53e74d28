"""The paired difference of two arms, tasks as clusters, from arrays of trial scores."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from analysis.intervals import FEWEST_TASKS, task_interval, tilted_p_value
from analysis.results import Interval
from analysis.taskvalues import Floats, TrialScores, differences, paired_values
from study.errors import InputError, listed

DIFFERENCE_RANGE = (-1.0, 1.0)
CLAIMS = ("non-inferior", "superior", "equivalent")


def task_differences(baseline: TrialScores, candidate: TrialScores) -> Floats:
    """Return candidate - baseline of each task's mean score, shape (n_tasks,); see :func:`interval`."""
    return differences(*paired_values(baseline, candidate))[0]


def mean_difference(baseline: TrialScores, candidate: TrialScores) -> float:
    """Return the estimate that :func:`interval` surrounds: tasks weigh equally."""
    values = task_differences(baseline, candidate)
    return math.fsum(values) / len(values)


def interval(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    level: float = 0.95,
    method: str = "tilted",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return an interval for the mean over tasks of candidate - baseline.

    Parameters
    ----------
    baseline, candidate : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Scores of trials in [0, 1], usually 0 or 1; task i is the same task in both arms. Repetitions may
        differ in number between tasks and arms; tasks weigh equally. Nothing may be missing.
    level : float
        Two-sided confidence level.
    method : {"tilted", "percentile", "t"}
        ``tilted`` decides: the tilted task bootstrap, deterministic, see
        :func:`analysis.intervals.tilted_limits`. ``percentile`` (plain task bootstrap) and ``t``
        (Student, n_tasks - 1 degrees of freedom) are for comparison.
    resamples : int
        Resamples of ``percentile``.
    rng : int or numpy.random.Generator
        Seed or generator of ``percentile``.

    Returns
    -------
    Interval
        With fewer than 5 tasks ``status`` is ``refused`` and the limits are None, with fewer than 10 it is
        ``few_tasks``. ``percentile`` and ``t`` are refused when all tasks are tied.

    Raises
    ------
    InputError
        For arrays that do not match, no tasks, a task without trials, values that are missing, not finite
        or outside [0, 1], an unknown method, or a level outside (0, 1).

    Examples
    --------
    >>> from analysis.paired import interval
    >>> found = interval([[1]] * 20, [[1]] * 20)
    >>> print(f"{found.low:.4f} {found.high:.4f} {found.status}")
    -0.1614 0.1614 ok
    """
    values, denominator = differences(*paired_values(baseline, candidate))
    return task_interval(
        values,
        bounds=DIFFERENCE_RANGE,
        denominator=denominator,
        level=level,
        method=method,
        resamples=resamples,
        rng=rng,
    )


def p_value(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    claim: Literal["non-inferior", "superior", "equivalent"],
    margin: float = 0.0,
) -> float:
    """Return the one-sided p-value of a claim by the tilted task bootstrap.

    It is at most ``(1 - level) / 2`` exactly when :func:`interval` at that level bears the claim out: the
    lower limit at or above ``-margin`` (non-inferior), at or above 0 (superior), or both limits
    within ``margin`` (equivalent: the larger of two one-sided p-values).

    Parameters
    ----------
    baseline, candidate
        See :func:`interval`; a higher score is better.
    claim : {"non-inferior", "superior", "equivalent"}
    margin : float
        In (0, 1) for non-inferior and equivalent; not used for superior.

    Raises
    ------
    InputError
        As :func:`interval`; and for fewer than 5 tasks, an unknown claim, or a margin outside (0, 1).
    """
    if claim not in CLAIMS:
        raise InputError(f"claim {claim!r}", where="claim", allowed=listed(CLAIMS))
    if claim != "superior" and not 0 < margin < 1:
        raise InputError(f"margin {margin!r}", where="margin", allowed="strictly between 0 and 1")
    values, denominator = differences(*paired_values(baseline, candidate))
    if len(values) < FEWEST_TASKS:
        raise InputError(
            f"{len(values)} tasks", where="baseline", allowed=f"at least {FEWEST_TASKS} tasks for a p-value"
        )
    at = 0.0 if claim == "superior" else -margin
    p = tilted_p_value(values, DIFFERENCE_RANGE, denominator, at)
    if claim == "equivalent":
        p = max(p, tilted_p_value(-values, DIFFERENCE_RANGE, denominator, at))
    return p
