"""Latency of paired arms, tasks as clusters, time-outs kept at the limit."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.intervals import (
    FEW_TASKS,
    check_level,
    check_resamples,
    clopper_pearson_upper,
    t_quantile,
    task_interval,
)
from analysis.resampling import CHUNK_CELLS, generator, task_weights
from analysis.results import Interval, LatencySummary, Status
from analysis.taskvalues import Floats, TrialScores, check_same_tasks, common_denominator, trial_groups
from study.errors import InputError
from study.records import ARMS

MEDIAN = 0.5
FEWEST_BEYOND = 2.5
"""A quantile needs at least this many trials beyond it."""

HARRELL_DAVIS = "Harrell-Davis, expanded percentile"
ORDER_STATISTIC = "order statistic"

_CENSORED_LEVEL = 0.95
_NOTHING = 1e-15


class _Arm(NamedTuple):
    """One arm: times in ascending order, the task of each, and its share of the task in 1/unit."""

    times: Floats
    task: NDArray[np.int64]
    share: Floats
    unit: int | None
    n_tasks: int


class _Average(NamedTuple):
    """A weighted average of order statistics: beta ``shape``, its ``table`` over whole cumulated weights.

    Only times ``first`` to ``last`` are looked at; ``before`` is each task's weight below ``first``.
    """

    arm: _Arm
    shape: tuple[float, float]
    table: Floats | None
    first: int
    last: int
    before: NDArray[np.int64]


def quantiles(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    censored: tuple[TrialScores, TrialScores] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
    chunk_cells: int = CHUNK_CELLS,
) -> dict[str, LatencySummary]:
    """Return the median latency of each arm with its interval; descriptive.

    Parameters
    ----------
    baseline, candidate : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Seconds of each trial; the same tasks in both arms. A trial that ended at the time limit enters
        with the limit. Tasks weigh equally. Nothing may be missing.
    censored : (baseline, candidate), optional
        The same shapes: 1 where the trial ended at the time limit, else 0.
    level, resamples, rng
        Of the task bootstrap; both arms share its draws.
    chunk_cells : int
        Bounds the memory; the result does not depend on it.

    Returns
    -------
    dict of str to LatencySummary
        ``refused`` with fewer than 10 tasks, or fewer than 2.5 trials beyond the median.
        ``not_identified`` when the share of time-outs can reach one half (its upper 95 % bound): then the
        plain order statistic, without an interval. Else the estimator of Harrell and Davis 1982
        (doi:10.1093/biomet/69.3.635) with the expanded percentile interval of the task bootstrap, at the
        levels ``Phi(-+ sqrt(T/(T-1)) t_{T-1})`` (Hesterberg 2015, doi:10.1080/00031305.2015.1089789).

    Raises
    ------
    InputError
        For tasks that do not match, no tasks, a task without trials, times that are missing, negative or
        not finite, and settings out of range.
    """
    check_level(level)
    times = [_times(arm, name) for arm, name in zip((baseline, candidate), ARMS, strict=True)]
    check_same_tasks(len(times[0]), len(times[1]))
    flags = [_flags(group, arm) for group, arm in zip(censored or (None, None), times, strict=True)]
    arms = [_sorted(arm) for arm in times]
    states: list[Status] = [_state(arm, flag, MEDIAN) for arm, flag in zip(arms, flags, strict=True)]
    limits = (
        _expanded(arms, MEDIAN, level, resamples, generator(rng), chunk_cells)
        if "ok" in states
        else [None, None]
    )
    return {
        name: LatencySummary(
            n_tasks=arms[n].n_tasks,
            n_trials=len(arms[n].times),
            censored=int(sum(task.sum() for task in flags[n])),
            p50_s=_point(arms[n], states[n], MEDIAN),
            p50_interval=limits[n] if states[n] == "ok" else None,
            status=states[n],
            method=ORDER_STATISTIC if states[n] == "not_identified" else HARRELL_DAVIS,
        )
        for n, name in enumerate(ARMS)
    }


def log_means(times: TrialScores, what: str) -> Floats:
    """Return the mean log latency of each task, shape (n_tasks,).

    Raises
    ------
    InputError
        As :func:`quantiles`; and for a time of zero, which has no logarithm.
    """
    tasks = _times(times, what)
    if any((task == 0).any() for task in tasks):
        raise InputError("a latency of 0 s", code="array", where=what, allowed="seconds above 0")
    return np.array([math.fsum(np.log(task)) / len(task) for task in tasks])


def gmr(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    level: float = 0.95,
    method: str = "t",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return an interval for the log of the geometric-mean latency ratio, paired by task.

    Parameters
    ----------
    baseline, candidate
        Seconds, see :func:`quantiles`.
    level : float
        Two-sided confidence level.
    method : {"t", "percentile"}
        Student with n_tasks - 1 degrees of freedom on the differences of task mean logs; or the plain
        task bootstrap, for comparison.
    resamples, rng
        Of ``percentile``.

    Returns
    -------
    Interval
        On the log scale: ``exp`` gives the ratio candidate / baseline. ``refused`` with fewer than 5
        tasks, and when all tasks have the same ratio.

    Raises
    ------
    InputError
        As :func:`log_means`; and for another method.
    """
    if method not in ("t", "percentile"):
        raise InputError(f"method {method!r}", where="method", allowed="t, percentile")
    left, right = log_means(baseline, ARMS[0]), log_means(candidate, ARMS[1])
    check_same_tasks(len(left), len(right))
    return task_interval(
        right - left,
        bounds=(-math.inf, math.inf),
        denominator=None,
        level=level,
        method=method,
        resamples=resamples,
        rng=rng,
    )


def mean_log_ratio(baseline: TrialScores, candidate: TrialScores) -> float:
    """Return the estimate that :func:`gmr` surrounds: the log of the geometric-mean ratio."""
    left, right = log_means(baseline, ARMS[0]), log_means(candidate, ARMS[1])
    check_same_tasks(len(left), len(right))
    return math.fsum(right - left) / len(left)


def geometric_mean(times: TrialScores, *, level: float = 0.95) -> tuple[float, Interval]:
    """Return the geometric mean of one arm in seconds, tasks weighing equally, with Student's interval.

    The interval is computed on task mean logs and told in seconds; see :func:`gmr` for its refusals.
    """
    logs = log_means(times, "times")
    found = task_interval(logs, bounds=(-math.inf, math.inf), denominator=None, level=level, method="t")
    if found.low is not None and found.high is not None:
        found = msgspec.structs.replace(found, low=math.exp(found.low), high=math.exp(found.high))
    return math.exp(math.fsum(logs) / len(logs)), found


def _times(times: TrialScores, what: str) -> list[Floats]:
    tasks = trial_groups(times, what)
    flat = np.concatenate(tasks)
    bad = ~(np.isfinite(flat) & (flat >= 0))
    if bad.any():
        raise InputError(
            f"the latency {flat[bad][0]}",
            code="array",
            where=what,
            allowed="finite seconds from 0, none missing",
        )
    return tasks


def _flags(flags: TrialScores | None, times: list[Floats]) -> list[Floats]:
    if flags is None:
        return [np.zeros(len(task)) for task in times]
    groups = trial_groups(flags, "censored")
    same = [len(group) for group in groups] == [len(task) for task in times]
    if not same or any(((group != 0) & (group != 1)).any() for group in groups):
        raise InputError(
            "flags that do not match the times", where="censored", allowed="0 or 1 for each time of the arm"
        )
    return groups


def _sorted(tasks: list[Floats]) -> _Arm:
    counts = np.array([len(task) for task in tasks])
    times, task = np.concatenate(tasks), np.repeat(np.arange(len(tasks)), counts)
    order = np.lexsort((task, times))
    unit = common_denominator([int(n) for n in np.unique(counts)])
    share = ((unit or 1) / counts)[task]
    return _Arm(times[order], task[order], share[order], unit, len(tasks))


def _state(arm: _Arm, flags: list[Floats], q: float) -> Status:
    """Return whether the quantile may be told (``refused``, ``not_identified``, ``ok``)."""
    if arm.n_tasks < FEW_TASKS or len(arm.times) * (1 - q) < FEWEST_BEYOND:
        return "refused"
    ended = math.fsum(float(task.mean()) for task in flags)
    if clopper_pearson_upper(ended, arm.n_tasks, _CENSORED_LEVEL) >= 1 - q:
        return "not_identified"
    return "ok"


def _point(arm: _Arm, state: Status, q: float) -> float | None:
    if state == "refused":
        return None
    weights = np.ones((1, arm.n_tasks), dtype=np.int64)
    if state == "ok":
        return float(_harrell_davis(_average(arm, q), weights)[0])
    reached = _shares(arm, weights)[0] >= q - 1e-12
    return float(arm.times[reached.argmax()])


def _shares(arm: _Arm, weights: NDArray[np.int64]) -> Floats:
    """Return, per resample, the share of the weight up to each time; shape (resamples, n_trials)."""
    total = np.cumsum(np.take(weights, arm.task, axis=1) * arm.share, axis=1)
    return np.minimum(total / ((arm.unit or 1) * arm.n_tasks), 1.0)


def _average(arm: _Arm, q: float) -> _Average:
    """Prepare the weighted average of order statistics: a table of weights, and the times that matter."""
    n = len(arm.times)
    shape = (q * (n + 1), (1 - q) * (n + 1))
    if arm.unit is None:
        return _Average(arm, shape, None, 0, n - 1, np.zeros(arm.n_tasks, dtype=np.int64))
    steps = arm.unit * arm.n_tasks
    table = special.betainc(*shape, np.arange(steps + 1) / steps)
    # cumulated weights are whole numbers, so that one table serves every resample; away from the quantile it
    # is 0 or 1, in a window that covers the spread of the resamples as well
    shares = _shares(arm, np.ones((1, arm.n_tasks), dtype=np.int64))[0]
    below = np.bincount(arm.task[shares <= q], arm.share[shares <= q], arm.n_tasks) / arm.unit
    reach = 9 * math.sqrt(q * (1 - q) / (n + 2)) + 4 * float(np.std(below)) / math.sqrt(arm.n_tasks)
    first, last = np.searchsorted(shares, [q - reach, q + reach])
    before = np.bincount(arm.task[:first], arm.share[:first], arm.n_tasks)
    return _Average(arm, shape, table, int(first), min(int(last), n - 1), np.rint(before).astype(np.int64))


def _harrell_davis(average: _Average, weights: NDArray[np.int64]) -> Floats:
    """Return the weighted average of the order statistics in each resample, shape (resamples,)."""
    arm, table = average.arm, average.table
    gaps = np.diff(arm.times)
    if table is None:
        below = special.betainc(*average.shape, _shares(arm, weights)[:, :-1])
        return arm.times[-1] - _row_sums(below, gaps)
    first, last = average.first, average.last
    start = weights @ average.before
    drawn = np.take(weights, arm.task[first:last], axis=1) * np.rint(arm.share[first:last]).astype(np.int64)
    below = table[start[:, None] + np.cumsum(drawn, axis=1)]
    result = arm.times[last] - _row_sums(below, gaps[first:last])
    outside = (table[start] > _NOTHING) & (first > 0)
    if last < len(arm.times) - 1:
        outside |= below[:, -1] < 1 - _NOTHING
    if outside.any():
        whole = average._replace(first=0, last=len(arm.times) - 1, before=np.zeros_like(average.before))
        result[outside] = _harrell_davis(whole, weights[outside])
    return result


def _row_sums(values: Floats, gaps: Floats) -> Floats:
    # not a matrix product, which rounds differently for different numbers of rows
    return (values * gaps).sum(axis=1)


def _expanded(
    arms: list[_Arm], q: float, level: float, resamples: int, rng: np.random.Generator, chunk_cells: int
) -> list[Interval]:
    n_tasks = arms[0].n_tasks
    stretch = math.sqrt(n_tasks / (n_tasks - 1))
    tail = float(special.ndtr(-stretch * t_quantile(level, n_tasks - 1)))
    check_resamples(resamples, tail)
    most_trials = max(len(arm.times) for arm in arms)
    blocks = task_weights(
        np.ones(n_tasks, dtype=np.int64), resamples, rng, max(1, chunk_cells * n_tasks // most_trials)
    )
    averages = [_average(arm, q) for arm in arms]
    drawn = [[_harrell_davis(average, block) for average in averages] for block in blocks]
    intervals: list[Interval] = []
    for n in range(len(arms)):
        values = np.concatenate([pair[n] for pair in drawn])
        low, high = (float(x) for x in np.quantile(values, [tail, 1 - tail], method="weibull"))
        flat = not low < high
        intervals.append(
            Interval(
                low=None if flat else low,
                high=None if flat else high,
                level=level,
                method=HARRELL_DAVIS,
                status="refused" if flat else "ok",
            )
        )
    return intervals
