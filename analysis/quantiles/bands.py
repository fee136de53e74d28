"""The distribution function of latency, tasks weighing equally, with a simultaneous band."""

from __future__ import annotations

import math

import numpy as np

from analysis.intervals import FEW_TASKS, check_level
from analysis.results import Distribution
from analysis.taskvalues import TrialScores
from analysis.timing import SortedTimes, checked_times, sort_times

METHOD = "DKW on tasks"
MOST_POINTS = 201
"""Most points that are kept of a distribution function."""


def distribution(times: TrialScores, *, level: float = 0.95) -> Distribution | None:
    r"""Return the distribution function of the latency of one arm.

    Parameters
    ----------
    times : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Seconds, none missing; a trial that ended at the time limit stands there.
    level : float
        Simultaneous level of the band: it holds the whole function with that probability.

    Returns
    -------
    Distribution or None
        At most 201 of its steps, evenly spaced in share; None with fewer than 10 tasks.

    Raises
    ------
    InputError
        For times that are missing, negative or not finite, and a level outside (0, 1).

    Notes
    -----
    The band of Dvoretzky, Kiefer and Wolfowitz with the constant of Massart 1990
    (doi:10.1214/aop/1176990746), :math:`\pm\sqrt{\ln(2/\alpha)/(2T)}`, with the number of tasks for the
    sample size. It is exact in finite samples with one trial a task. Repetitions can only make it wide: the
    limiting process then has a smaller covariance, and so a smaller supremum (Anderson 1955,
    doi:10.1090/S0002-9939-1955-0069229-1).
    """
    return banded(sort_times(checked_times(times, "times")), level)


def banded(arm: SortedTimes, level: float) -> Distribution | None:
    """Return the distribution function of sorted times; see :func:`distribution`."""
    check_level(level)
    if arm.n_tasks < FEW_TASKS:
        return None
    shares = np.minimum(arm.total / (arm.unit * arm.n_tasks), 1.0)
    last = np.append(np.flatnonzero(np.diff(arm.times)), len(arm.times) - 1)  # of equal times the last one
    if len(last) > MOST_POINTS:
        wanted = np.linspace(shares[last[0]], 1.0, MOST_POINTS)
        last = last[np.unique(np.searchsorted(shares[last], wanted - 1e-12))]
    band = math.sqrt(math.log(2 / (1 - level)) / (2 * arm.n_tasks))
    kept = shares[last]
    return Distribution(
        times_s=tuple(float(x) for x in arm.times[last]),
        shares=tuple(float(x) for x in kept),
        low=tuple(float(x) for x in np.maximum(kept - band, 0.0)),
        high=tuple(float(x) for x in np.minimum(kept + band, 1.0)),
        band=band,
        level=level,
        method=METHOD,
        n_tasks=arm.n_tasks,
        n_trials=len(arm.times),
    )
