"""The paired difference on these very tasks, repetitions being what was sampled."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from analysis.intervals import FEW_TASKS, FEWEST_TASKS, check_level
from analysis.results import Interval, Status
from analysis.taskvalues import Ragged, TrialScores, paired_values, trial_groups
from study.errors import InputError

METHOD = "pseudo trials, these tasks only"

CAVEAT = "says nothing about new tasks"
"""Printed beside every number of this module."""

FEWEST_TRIALS = 30
"""Tasks times repetitions of an arm below which there is no interval."""


def interval(baseline: TrialScores, candidate: TrialScores, *, level: float = 0.95) -> Interval:
    r"""Return an interval for the mean difference over these tasks, were they repeated without end.

    The tasks are taken as given, not as a sample: this is a narrower question than that of
    :func:`analysis.paired.interval`, and an answer only to who declared it before the run. Its point estimate
    is :func:`analysis.paired.mean_difference`.

    Parameters
    ----------
    baseline, candidate : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Outcomes of trials, 0 or 1; task i is the same task in both arms. At least two repetitions of every
        task in either arm; they may differ in number. Nothing may be missing.
    level : float
        Two-sided confidence level.

    Returns
    -------
    Interval
        Within [-1, 1]. ``descriptive``: never the headline, and it says nothing about new tasks. ``refused``
        with fewer than 5 tasks, or with fewer than 30 trials an arm (tasks times the harmonic mean of
        repetitions); ``few_tasks`` with fewer than 10 tasks.

    Raises
    ------
    InputError
        For arrays that do not match, values other than 0 and 1, a task with a single repetition in an arm
        (repetitions then show nothing about chance within a task), and a level outside (0, 1).

    Notes
    -----
    :math:`\bar d \pm z SE` with :math:`SE^2 = \sum_{i,a} v_{ai} / T^2 + z^2 / (T \bar R)^2`,
    :math:`v_{ai} = p_{ai} (1 - p_{ai}) / (R_{ai} - 1)`, :math:`\bar R` the harmonic mean of all repetitions
    and z the normal quantile. The second term stands for :math:`z^2` trials that the data did not show:
    without any discordance the half width is :math:`z^2 / (T \bar R)`, a rule of three on trials, where the
    plain variance would give no width.

    Examples
    --------
    >>> from analysis.fixed_tasks import interval
    >>> found = interval([[1, 1, 1]] * 20, [[1, 1, 1]] * 20)
    >>> print(f"{found.low:.4f} {found.high:.4f} {found.status}")
    -0.0640 0.0640 descriptive
    """
    check_level(level)
    left, right = paired_values(baseline, candidate)
    for arm, what in ((baseline, "baseline"), (candidate, "candidate")):
        _check_repeated_outcomes(trial_groups(arm, what), what)
    n_tasks = len(left.means)
    counts = np.concatenate([left.counts, right.counts])
    repetitions = len(counts) / math.fsum(1 / counts)
    enough = n_tasks >= FEWEST_TASKS and n_tasks * repetitions >= FEWEST_TRIALS * (1 - 1e-12)
    if not enough:
        return Interval(low=None, high=None, level=level, method=METHOD, status="refused")
    z = -float(special.ndtri((1 - level) / 2))
    rates = np.concatenate([left.means, right.means])
    variance = math.fsum(rates * (1 - rates) / (counts - 1)) / n_tasks**2
    half = z * math.sqrt(variance + (z / (n_tasks * repetitions)) ** 2)
    mean = math.fsum(right.means - left.means) / n_tasks
    status: Status = "few_tasks" if n_tasks < FEW_TASKS else "descriptive"
    return Interval(
        low=max(-1.0, mean - half), high=min(1.0, mean + half), level=level, method=METHOD, status=status
    )


def _check_repeated_outcomes(tasks: Ragged, what: str) -> None:
    single = np.flatnonzero(tasks.counts < 2)
    if len(single):
        raise InputError(
            f"task {single[0]} has a single repetition",
            code="array",
            where=what,
            allowed="at least 2 repetitions of every task",
            next_step="repeat the tasks, or ask about new tasks with analysis.paired.interval",
        )
    bad = (tasks.flat != 0) & (tasks.flat != 1)
    if bad.any():
        raise InputError(f"the value {tasks.flat[bad][0]}", code="array", where=what, allowed="0 or 1")
