"""Latency of paired arms, tasks as clusters, time-outs kept at the limit."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from analysis.contrasts import latency_summaries, quantile_ratio_interval, shift_function
from analysis.intervals import check_level, task_interval
from analysis.quantiles import REPORTED, draw_quantiles
from analysis.resampling import CHUNK_CELLS
from analysis.results import Interval, LatencySummary
from analysis.taskvalues import Floats, Ragged, TrialScores, check_same_tasks
from analysis.timing import checked_times
from study.errors import InputError
from study.records import ARMS

__all__ = [
    "difference_interval",
    "differences",
    "geometric_mean",
    "gmr",
    "log_means",
    "mean_in_seconds",
    "mean_log_ratio",
    "mean_restricted_difference",
    "quantile_ratio_interval",
    "quantiles",
    "restricted_mean",
    "restricted_mean_difference",
    "restricted_means",
    "shift_function",
]

MANY_VALUES = 4_000
"""From that many tasks on, bootstrap rows round the values of tasks to a lattice."""

_LEVELS = 512


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
    """Return p50, p90, p95 and p99 of the latency of each arm with their intervals; descriptive.

    Parameters
    ----------
    baseline, candidate, censored, resamples, rng, chunk_cells
        See :func:`analysis.quantiles.draw_quantiles`; both arms share the resamples.
    level : float
        Two-sided confidence level of each interval, see :func:`analysis.contrasts.expanded_interval`.

    Returns
    -------
    dict of str to LatencySummary

    Raises
    ------
    InputError
        As :func:`analysis.quantiles.draw_quantiles`; and for a level outside (0, 1).
    """
    check_level(level)
    drawn = draw_quantiles(
        baseline,
        candidate,
        REPORTED,
        censored=censored,
        resamples=resamples,
        rng=rng,
        chunk_cells=chunk_cells,
    )
    return latency_summaries(drawn, level)


def log_means(times: TrialScores, what: str) -> Floats:
    """Return the mean log latency of each task, shape (n_tasks,).

    Raises
    ------
    InputError
        For times that are missing, negative or not finite; and for a time of zero, which has no logarithm.
    """
    tasks = checked_times(times, what)
    if (tasks.flat == 0).any():
        raise InputError("a latency of 0 s", code="array", where=what, allowed="seconds above 0")
    return Ragged(np.log(tasks.flat), tasks.counts).means()


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
    values = differences(log_means(baseline, ARMS[0]), log_means(candidate, ARMS[1]))
    return difference_interval(values, level=level, method=method, resamples=resamples, rng=rng)


def mean_log_ratio(baseline: TrialScores, candidate: TrialScores) -> float:
    """Return the estimate that :func:`gmr` surrounds: the log of the geometric-mean ratio."""
    values = differences(log_means(baseline, ARMS[0]), log_means(candidate, ARMS[1]))
    return math.fsum(values) / len(values)


def geometric_mean(times: TrialScores, *, level: float = 0.95) -> tuple[float, Interval]:
    """Return the geometric mean of one arm in seconds, tasks weighing equally, with Student's interval.

    The interval is computed on task mean logs and told in seconds; see :func:`gmr` for its refusals.
    """
    return mean_in_seconds(log_means(times, "times"), level=level)


def mean_in_seconds(logs: Floats, *, level: float) -> tuple[float, Interval]:
    """Return what :func:`geometric_mean` does from the values of :func:`log_means`."""
    found = task_interval(logs, bounds=(-math.inf, math.inf), denominator=None, level=level, method="t")
    if found.low is not None and found.high is not None:
        found = msgspec.structs.replace(found, low=math.exp(found.low), high=math.exp(found.high))
    return math.exp(math.fsum(logs) / len(logs)), found


def restricted_means(times: TrialScores, cap: float, what: str) -> Floats:
    """Return the mean of min(latency, cap) of each task in seconds, shape (n_tasks,).

    Parameters
    ----------
    times : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Seconds; time-outs at the limit or beyond.
    cap : float
        The limit in seconds, declared in advance and the same in both arms; infinite where none is known.
    what : str
        Name of the argument, for errors.

    Raises
    ------
    InputError
        For times that are missing, negative or not finite, and a cap that is not above 0.
    """
    if not cap > 0:
        raise InputError(f"cap = {cap!r}", where="cap", allowed="seconds above 0")
    tasks = checked_times(times, what)
    return Ragged(np.minimum(tasks.flat, cap), tasks.counts).means()


def restricted_mean(
    times: TrialScores, *, cap: float = math.inf, level: float = 0.95
) -> tuple[float, Interval]:
    """Return the restricted mean latency of one arm in seconds, with Student's interval over tasks."""
    means = restricted_means(times, cap, "times")
    found = task_interval(means, bounds=(-math.inf, math.inf), denominator=None, level=level, method="t")
    return math.fsum(means) / len(means), found


def restricted_mean_difference(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    cap: float = math.inf,
    level: float = 0.95,
    method: str = "t",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    r"""Return an interval for the difference of the restricted mean latencies, paired by task.

    Parameters
    ----------
    baseline, candidate, cap
        See :func:`restricted_means`.
    level, method, resamples, rng
        See :func:`gmr`.

    Returns
    -------
    Interval
        Candidate - baseline in seconds. ``refused`` with fewer than 5 tasks, and when all tasks have the
        same difference.

    Raises
    ------
    InputError
        As :func:`restricted_means`; for tasks that do not match, and another method.

    Notes
    -----
    :math:`\bar d \mp t_{T-1} s_d / \sqrt T` on the differences of task means of min(latency, cap). Time-outs
    keep their place, and what happens beyond the cap does not enter; Royston and Parmar 2013,
    doi:10.1186/1471-2288-13-152.
    """
    left, right = (
        restricted_means(arm, cap, name) for arm, name in zip((baseline, candidate), ARMS, strict=True)
    )
    values = differences(left, right)
    return difference_interval(values, level=level, method=method, resamples=resamples, rng=rng)


def mean_restricted_difference(baseline: TrialScores, candidate: TrialScores, cap: float) -> float:
    """Return the estimate that :func:`restricted_mean_difference` surrounds, in seconds."""
    left, right = (
        restricted_means(arm, cap, name) for arm, name in zip((baseline, candidate), ARMS, strict=True)
    )
    values = differences(left, right)
    return math.fsum(values) / len(values)


def differences(baseline: Floats, candidate: Floats) -> Floats:
    """Return candidate - baseline of each task; raise :class:`InputError` unless tasks match."""
    check_same_tasks(len(baseline), len(candidate))
    return candidate - baseline


def difference_interval(
    values: Floats,
    *,
    level: float = 0.95,
    method: str = "t",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return what :func:`gmr` and :func:`restricted_mean_difference` do from :func:`differences`."""
    if method not in ("t", "percentile"):
        raise InputError(f"method {method!r}", where="method", allowed="t, percentile")
    if method == "percentile" and len(values) >= MANY_VALUES:
        values = _on_lattice(values)
    return task_interval(
        values,
        bounds=(-math.inf, math.inf),
        denominator=None,
        level=level,
        method=method,
        resamples=resamples,
        rng=rng,
    )


def _on_lattice(values: Floats) -> Floats:
    """Round values to 512 levels, keeping their mean: equal values are resampled together.

    Rounding adds less than 1 % to the standard deviation unless single values lie far outside of the rest;
    levels are spread over the central values, and what lies outside keeps its own.
    """
    low, high = np.quantile(values, [0.001, 0.999])
    step = float(high - low) / _LEVELS
    if not step > 0:
        return values
    inside = (values >= low) & (values <= high)
    rounded = np.where(inside, low + np.rint((values - low) / step) * step, values)
    return rounded + (math.fsum(values) - math.fsum(rounded)) / len(values)
