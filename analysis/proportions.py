"""The rate of one arm, tasks as clusters, from arrays of trial scores."""

from __future__ import annotations

import math

from analysis.intervals import task_interval
from analysis.results import Interval
from analysis.taskvalues import TrialScores, task_values


def rate(outcomes: TrialScores) -> float:
    """Return the estimate that :func:`rate_interval` surrounds: the mean over tasks of their mean scores."""
    means = task_values(outcomes, "outcomes").means
    return math.fsum(means) / len(means)


def rate_interval(outcomes: TrialScores, *, level: float = 0.95) -> Interval:
    """Return an interval for one arm's rate by the one-arm tilted task bootstrap.

    Parameters
    ----------
    outcomes : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Scores of trials in [0, 1]; tasks weigh equally. Nothing may be missing.
    level : float
        Two-sided confidence level.

    Returns
    -------
    Interval
        Within [0, 1]. With fewer than 5 tasks ``refused``, with fewer than 10 ``few_tasks``. When every
        trial scores 1 the lower limit is ``(2 a)^(1/T)`` with ``a = Phi(-t_{T-1})``, when every trial scores
        0 the upper limit is its mirror image (see :func:`analysis.intervals.tilted_limits`).

    Raises
    ------
    InputError
        For no tasks, a task without trials, values that are missing, not finite or outside [0, 1], and a
        level outside (0, 1).

    Examples
    --------
    >>> from analysis.proportions import rate_interval
    >>> found = rate_interval([[1]] * 20)
    >>> print(f"{found.low:.5f} {found.high:.0f}")
    0.84727 1
    """
    values = task_values(outcomes, "outcomes")
    return task_interval(values.means, bounds=(0.0, 1.0), denominator=values.denominator, level=level)
