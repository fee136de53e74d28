"""The slope of one value a pair on another, tasks as clusters, by leaving out one task at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.intervals import FEW_TASKS, check_level
from analysis.results import Interval, Status
from analysis.taskvalues import Floats
from analysis.tilting import t_quantile

METHOD = "task jackknife, t"

_NOTHING = 1e-12
_SUMS = 5


class Slope(NamedTuple):
    """A slope with its interval, both None where ``status`` refuses them."""

    estimate: float | None
    interval: Interval | None
    n_tasks: int
    status: Status


def slope(x: Floats, y: Floats, task: NDArray[np.int64], *, level: float) -> Slope:
    r"""Return the least-squares slope of y on x with a task-clustered interval.

    Parameters
    ----------
    x, y : ndarray of float, shape (n_pairs,)
    task : ndarray of int, shape (n_pairs,)
        The task of each pair, numbered from 0 without gaps. Tasks weigh equally.
    level : float
        Two-sided confidence level.

    Returns
    -------
    Slope
        Where x varies within every task, the means of the tasks are taken out of x and y, so that their
        difficulty adds no noise; else only the overall means are. The interval is
        :math:`b \pm t_{G-1} \sqrt{\frac{G-1}{G}\sum_g (b_{(-g)} - b)^2}` over the slopes without one of the
        G tasks (the cluster jackknife CV3 of MacKinnon, Nielsen and Webb 2023,
        doi:10.1002/jae.2969). ``few_tasks`` with fewer than 10 tasks; ``refused`` where y does not vary,
        or x does not without some task.
    """
    check_level(level)
    n_tasks = int(task.max()) + 1 if len(task) else 0
    if n_tasks < FEW_TASKS:
        return Slope(None, None, n_tasks, "few_tasks")
    weight = 1.0 / np.bincount(task)[task]
    within = bool((_task_spread(x, task, n_tasks) > _NOTHING).all())
    if within:
        x, y = (values - np.bincount(task, weight * values)[task] for values in (x, y))
    parts = _sums(x, y, weight, task)
    total = parts.sum(axis=0)
    estimate = float(_slopes(total[None, :], within=within)[0])
    left_out = _slopes(total - parts, within=within)
    error = math.sqrt((n_tasks - 1) / n_tasks * float(((left_out - estimate) ** 2).sum()))
    # also true of NaN, where x does not vary
    if not error > _NOTHING * (float(np.ptp(y)) + _NOTHING):
        return Slope(None, None, n_tasks, "refused")
    half = t_quantile(level, n_tasks - 1) * error
    limits = Interval(low=estimate - half, high=estimate + half, level=level, method=METHOD)
    return Slope(estimate, limits, n_tasks, "ok")


def _task_spread(x: Floats, task: NDArray[np.int64], n_tasks: int) -> Floats:
    low, high = np.full(n_tasks, np.inf), np.full(n_tasks, -np.inf)
    np.minimum.at(low, task, x)
    np.maximum.at(high, task, x)
    return high - low


def _sums(x: Floats, y: Floats, weight: Floats, task: NDArray[np.int64]) -> Floats:
    """Return, for each task, the weighted sums of 1, x, y, xx and xy about the overall means."""
    x, y = (values - np.average(values, weights=weight) for values in (x, y))
    columns = (np.ones_like(x), x, y, x * x, x * y)
    return np.stack([np.bincount(task, weight * column).astype(np.float64) for column in columns], axis=1)


def _slopes(sums: Floats, *, within: bool) -> Floats:
    """Return the slope of each row of sums; NaN where x does not vary."""
    count, x, y, xx, xy = (sums[:, n] for n in range(_SUMS))
    if not within:
        xx, xy = xx - x * x / count, xy - x * y / count
    return np.where(xx > _NOTHING, xy / np.maximum(xx, _NOTHING), np.nan)
