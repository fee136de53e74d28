r"""Quantiles as weighted averages of order statistics, for many resamples of tasks at a time.

The estimator of Harrell and Davis 1982 (doi:10.1093/biomet/69.3.635) for the quantile q of n times is

.. math:: \hat Q(q) = \int_0^1 \hat F^{-1}(u)\,dB(u) = x_{(n)} - \sum_i (x_{(i+1)} - x_{(i)})\,B(F_i),

B the distribution function of the beta law with parameters q (n + 1) and (1 - q)(n + 1), and :math:`F_i` the
share of the weight up to the i-th time. B is 0 or 1 away from q, so that only a window of the times matters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.taskvalues import Floats
from analysis.timing import SortedTimes

Counts = NDArray[np.integer[Any]]

LONGEST_TABLE = 2**18
"""Most entries of a table of beta probabilities; beyond it neighbouring shares have one entry together."""

NOTHING = 1e-10
"""Beta probability that is taken for 0, and 1 minus it for 1."""

_BETA_REACH = 6.6  # standard deviations of the beta law within which it lies between NOTHING and 1 - NOTHING
_SPREAD_REACH = 5.0


class Window(NamedTuple):
    """What the quantile ``q`` of an arm needs.

    Attributes
    ----------
    first, last : int
        Only the times from ``first`` to ``last`` are looked at.
    before : ndarray of float, shape (n_tasks,)
        Steps of each task below ``first``, whole numbers.
    table : ndarray of float
        Beta probabilities of cumulated steps from ``start``, one for each ``stride`` steps.
    """

    arm: SortedTimes
    q: float
    first: int
    last: int
    before: Floats
    table: Floats
    start: int
    stride: int


def beta_shape(arm: SortedTimes, q: float) -> tuple[float, float]:
    """Return the parameters of the beta law for a quantile of an arm."""
    n = len(arm.times)
    return q * (n + 1), (1 - q) * (n + 1)


def reaches(arm: SortedTimes, q: float) -> tuple[float, float]:
    """Return one standard deviation of the beta law, and one of the resampled share below the quantile."""
    n = len(arm.times)
    below = int(np.searchsorted(arm.total, q * arm.unit * arm.n_tasks, side="right"))
    shares = np.bincount(arm.task[:below], arm.steps[:below], arm.n_tasks) / arm.unit
    return math.sqrt(q * (1 - q) / (n + 2)), float(np.std(shares)) / math.sqrt(arm.n_tasks)


def window(arm: SortedTimes, q: float, *, whole: bool = False) -> Window:
    """Prepare a quantile.

    Parameters
    ----------
    arm : SortedTimes
    q : float
        In (0, 1).
    whole : bool
        Look at all times; the result is the same up to 1e-10 of their range, unless a resample lies more than
        five standard deviations out.
    """
    beta, spread = reaches(arm, q)
    steps = arm.unit * arm.n_tasks
    low = max(0, math.floor((q - _BETA_REACH * beta) * steps))
    high = min(steps, math.ceil((q + _BETA_REACH * beta) * steps))
    a, b = beta_shape(arm, q)
    while low > 0 and special.betainc(a, b, low / steps) > NOTHING:
        low = max(0, low - math.ceil(beta * steps))
    while high < steps and special.betaincc(a, b, high / steps) > NOTHING:
        high = min(steps, high + math.ceil(beta * steps))
    stride = (high - low) // LONGEST_TABLE + 1
    at = low + stride * np.arange((high - low) // stride + 1) + (stride - 1) / 2
    table = special.betainc(a, b, np.minimum(at / steps, 1.0))
    first, last = 0, len(arm.times) - 1
    if not whole:
        reach = _SPREAD_REACH * spread * steps
        first, last = (int(n) for n in np.searchsorted(arm.total, [low - reach, high + reach]))
        last = min(last, len(arm.times) - 1)
    before = np.bincount(arm.task[:first], arm.steps[:first], arm.n_tasks)
    return Window(arm, q, first, last, np.rint(before), table, low, stride)


def harrell_davis(prepared: Window, rows: Counts, started: Counts, weights: Counts) -> Floats:
    """Return the quantile in each resample.

    Parameters
    ----------
    prepared : Window
    rows : ndarray of int, shape (n_tasks,)
        The row of ``weights`` of each task that has a time in the window.
    started : ndarray of int, shape (n_resamples,)
        Steps below the window in each resample.
    weights : ndarray of int, shape (n_rows, n_resamples)
        How often each row was drawn.

    Returns
    -------
    ndarray of float, shape (n_resamples,)
        Seconds. A resample whose quantile lies beyond the window is given the edge of the window.
    """
    if weights.shape[1] == 1:
        # a single column is summed in another order than several are
        return harrell_davis(prepared, rows, np.repeat(started, 2), np.repeat(weights, 2, axis=1))[:1]
    arm, first, last = prepared.arm, prepared.first, prepared.last
    total = weights[rows[arm.task[first:last]]]
    if arm.unit > 1:
        total *= arm.steps[first:last, None].astype(weights.dtype)
    np.cumsum(total, axis=0, out=total)
    total += (started - prepared.start).astype(weights.dtype)
    if prepared.stride > 1:
        total //= prepared.stride
    below = np.take(prepared.table, total, mode="clip")
    below *= np.diff(arm.times[first : last + 1])[:, None]
    # not a matrix product, which rounds differently for different numbers of resamples
    return arm.times[last] - below.sum(axis=0)


def point(prepared: Window) -> float:
    """Return the quantile of the data themselves, in seconds."""
    n_tasks = prepared.arm.n_tasks
    ones = np.ones((n_tasks, 1), dtype=np.int64)
    started = np.array([int(prepared.before.sum())])
    return float(harrell_davis(prepared, np.arange(n_tasks), started, ones)[0])


def order_statistic(arm: SortedTimes, q: float) -> float:
    """Return the smallest time up to which at least the share ``q`` of the weight lies, in seconds."""
    reached = arm.total >= q * arm.unit * arm.n_tasks - 1e-9
    return float(arm.times[reached.argmax()])
