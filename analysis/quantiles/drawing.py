"""Quantiles of latency in both arms, and all of them in the same resamples of tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.intervals import FEW_TASKS, check_resamples, clopper_pearson_upper
from analysis.quantiles.binned import MANY_TASKS, binned_draws, binned_window
from analysis.quantiles.exact import window_draws
from analysis.quantiles.windows import order_statistic, point, window
from analysis.resampling import CHUNK_CELLS, generator
from analysis.results import Status
from analysis.taskvalues import Floats, Ragged, TrialScores, check_same_tasks
from analysis.timing import SortedTimes, checked_flags, checked_times, sort_times
from study.errors import InputError
from study.records import ARMS

REPORTED = (0.5, 0.9, 0.95, 0.99)
"""The quantiles that a study reports."""

DECILES = tuple(n / 10 for n in range(1, 10))

FEWEST_BEYOND = 2.5
"""A quantile is reported with at least this many trials beyond it."""

MANY_TRIALS = 200_000
"""Beyond that many trials of an arm the window of a quantile is binned."""

CENSORED_LEVEL = 0.95
"""One-sided level of the bound of the share of time-outs that decides whether a quantile is identified."""

_TIED = 1e-12


class ArmQuantile(NamedTuple):
    """One quantile of one arm: whether it may be told, and its value in seconds.

    ``beyond`` counts the trials on the thinner side of it; ``at_cap`` says that the value is the time limit
    and the quantile at least that.
    """

    status: Status
    value: float | None
    beyond: float
    at_cap: bool


class QuantileDraws(NamedTuple):
    """All quantiles of both arms in the same resamples of tasks.

    Attributes
    ----------
    probabilities : tuple of float
    arms : dict of str to tuple of ArmQuantile
        By arm, one for each of ``probabilities``.
    draws : ndarray of float, shape (2, n_probabilities, n_resamples)
        Seconds, baseline before candidate; without resamples where no quantile may be told.
    n_tasks : int
    times : tuple of SortedTimes
        By arm.
    n_trials, censored : tuple of int
        By arm; ``censored`` trials ended at the time limit.
    """

    probabilities: tuple[float, ...]
    arms: dict[str, tuple[ArmQuantile, ...]]
    draws: NDArray[np.float64]
    n_tasks: int
    times: tuple[SortedTimes, SortedTimes]
    n_trials: tuple[int, int]
    censored: tuple[int, int]


def draw_quantiles(
    baseline: TrialScores,
    candidate: TrialScores,
    probabilities: Sequence[float] = REPORTED,
    *,
    censored: tuple[TrialScores, TrialScores] | None = None,
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
    chunk_cells: int = CHUNK_CELLS,
) -> QuantileDraws:
    """Estimate quantiles of latency and resample the tasks once for all of them.

    Parameters
    ----------
    baseline, candidate : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Seconds of each trial; the same tasks in both arms. A trial that ended at the time limit enters with
        the limit. Tasks weigh equally. Nothing may be missing.
    probabilities : sequence of float
        In (0, 1).
    censored : (baseline, candidate), optional
        The same shapes: 1 where the trial ended at the time limit, else 0.
    resamples, rng
        Of the task bootstrap.
    chunk_cells : int
        Bounds the memory; the result does not depend on it.

    Returns
    -------
    QuantileDraws
        ``refused`` are quantiles of fewer than 10 tasks, or with fewer than 2.5 trials beyond them.
        ``not_identified`` are those of an arm with time-outs whose share (its upper 95 % bound, Clopper and
        Pearson on tasks) can reach 1 - q: the plain order statistic stands for them, for an average of order
        statistics would mix in the limit. All others are those of Harrell and Davis 1982
        (doi:10.1093/biomet/69.3.635).

    Raises
    ------
    InputError
        For tasks that do not match, no tasks, a task without trials, times that are missing, negative or
        not finite, and settings out of range.

    Notes
    -----
    Up to 200,000 trials an arm every resample is evaluated exactly: the times are sorted once, and the
    weights of the tasks cumulated inside a window around the quantile. Beyond, the window is binned
    (:mod:`analysis.quantiles.binned`), and from 4,000 tasks on its sums come from their normal law; limits
    then differ from those of the exact evaluation by less than 3 % of the width of the interval.
    """
    for q in probabilities:
        if not 0 < q < 1:
            raise InputError(f"q = {q!r}", where="probabilities", allowed="strictly between 0 and 1")
    tasks = [checked_times(arm, name) for arm, name in zip((baseline, candidate), ARMS, strict=True)]
    check_same_tasks(len(tasks[0]), len(tasks[1]))
    flags = [checked_flags(group, arm) for group, arm in zip(censored or (None, None), tasks, strict=True)]
    arms = [sort_times(arm) for arm in tasks]
    ends = [_time_outs(arm, flag) for arm, flag in zip(tasks, flags, strict=True)]
    told = [
        [_told(arm, ended, cap, q) for q in probabilities]
        for arm, (ended, cap) in zip(arms, ends, strict=True)
    ]
    wanted = [(n, k) for n in range(2) for k in range(len(probabilities)) if told[n][k].status == "ok"]
    source = generator(rng)
    drawn = np.empty((2, len(probabilities), resamples if wanted else 0))
    if wanted:
        check_resamples(resamples, 0.5)
        jobs = [(arms[n], probabilities[k]) for n, k in wanted]
        drawn[[n for n, _ in wanted], [k for _, k in wanted]] = _draws(jobs, resamples, source, chunk_cells)
    return QuantileDraws(
        probabilities=tuple(probabilities),
        arms=dict(zip(ARMS, map(tuple, told), strict=True)),
        draws=drawn,
        n_tasks=arms[0].n_tasks,
        times=(arms[0], arms[1]),
        n_trials=(len(arms[0].times), len(arms[1].times)),
        censored=(int(flags[0].flat.sum()), int(flags[1].flat.sum())),
    )


def _time_outs(times: Ragged, flags: Ragged) -> tuple[float, float]:
    """Return the sum over tasks of the share of time-outs, and the shortest time of one (else infinite)."""
    if not flags.flat.any():
        return 0.0, math.inf
    return math.fsum(flags.means()), float(times.flat[flags.flat == 1].min())


def _draws(
    jobs: Sequence[tuple[SortedTimes, float]], resamples: int, rng: np.random.Generator, chunk_cells: int
) -> Floats:
    """Return the quantile of each job in each resample, shape (n_jobs, resamples)."""
    n_tasks = jobs[0][0].n_tasks
    if max(len(arm.times) for arm, _ in jobs) > MANY_TRIALS:
        windows = [binned_window(arm, q) for arm, q in jobs]
        return binned_draws(windows, resamples, rng, normal=n_tasks >= MANY_TASKS)
    return window_draws([window(arm, q) for arm, q in jobs], resamples, rng, chunk_cells)


def _told(arm: SortedTimes, ended: float, cap: float, q: float) -> ArmQuantile:
    """Return a quantile as far as it may be told, by the rules of :func:`draw_quantiles`.

    ``ended`` and ``cap`` are those of :func:`_time_outs`.
    """
    beyond = len(arm.times) * min(q, 1 - q)
    if arm.n_tasks < FEW_TASKS or beyond < FEWEST_BEYOND - _TIED:
        return ArmQuantile("refused", None, beyond, at_cap=False)
    if ended and clopper_pearson_upper(ended, arm.n_tasks, CENSORED_LEVEL) >= 1 - q:
        value = order_statistic(arm, q)
        return ArmQuantile("not_identified", value, beyond, at_cap=value >= cap)
    return ArmQuantile("ok", point(window(arm, q)), beyond, at_cap=False)
