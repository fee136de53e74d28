"""Repetitions of a task: pass^k and pass@k without bias, and where the variance of outcomes comes from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from analysis.intervals import FEW_TASKS, task_interval
from analysis.results import Interval, Status
from analysis.taskvalues import (
    Floats,
    Ragged,
    TaskValues,
    TrialScores,
    check_same_tasks,
    common_denominator,
    differences,
    trial_groups,
)
from study.errors import InputError, did_you_mean, listed
from study.records import Record

MEASURES = ("pass_hat_k", "pass_at_k")
"""``pass_hat_k``: all of k trials of a task pass; ``pass_at_k``: at least one of them does."""

ICC_METHOD = "ANOVA, one way, tasks random"


class VarianceComponents(Record):
    """Where the variance of one arm's outcomes comes from.

    Attributes
    ----------
    within : float or None
        Variance of trials of the same task; None with a single repetition of every task.
    between : float or None
        Variance of the tasks' own rates, estimated without bias: it may be negative where the data show less
        than chance within tasks explains.
    icc : float or None
        Intraclass correlation, ``between / (between + within)``; may be negative too.
    design_effect : float or None
        Variance of the mean with tasks as clusters over its variance with all trials as independent; about
        ``1 + (R - 1) icc`` with R repetitions. The trials are worth their number divided by it.
    method : str
        Name of the estimator.
    n_tasks, n_trials : int
    status : str
        ``not_identified`` where some of the numbers above are None; ``few_tasks`` with fewer than 10.
    """

    within: float | None
    between: float | None
    icc: float | None
    design_effect: float | None
    method: str
    n_tasks: int
    n_trials: int
    status: Status


def pass_hat_k(outcomes: TrialScores, k: int) -> float:
    """Return the mean over tasks of the probability that k trials of a task all pass (pass^k).

    Parameters
    ----------
    outcomes : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        0 or 1; nothing may be missing.
    k : int
        From 1 to the smallest number of repetitions of a task.

    Returns
    -------
    float
        In [0, 1]; see :func:`task_probabilities`.

    Raises
    ------
    InputError
        As :func:`task_probabilities`.

    Examples
    --------
    >>> from analysis.reliability import pass_hat_k
    >>> print(f"{pass_hat_k([[1, 1, 1, 0], [1, 1, 0, 0]], 2):.4f}")
    0.3333
    """
    return _mean(task_probabilities(outcomes, k, measure="pass_hat_k").means)


def pass_at_k(outcomes: TrialScores, k: int) -> float:
    """Return the mean over tasks of the probability that at least one of k trials passes (pass@k).

    Parameters and errors are those of :func:`pass_hat_k`.

    Examples
    --------
    >>> from analysis.reliability import pass_at_k
    >>> print(f"{pass_at_k([[1, 1, 1, 0], [1, 1, 0, 0]], 2):.4f}")
    0.9167
    """
    return _mean(task_probabilities(outcomes, k, measure="pass_at_k").means)


def task_probabilities(
    outcomes: TrialScores, k: int, *, measure: str = "pass_hat_k", what: str = "outcomes"
) -> TaskValues:
    r"""Return each task's pass^k or pass@k.

    Parameters
    ----------
    outcomes : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        0 or 1. Repetitions may differ in number between tasks.
    k : int
        From 1 to the smallest number of repetitions of a task.
    measure : {"pass_hat_k", "pass_at_k"}
    what : str
        Name of the argument, for errors.

    Returns
    -------
    TaskValues
        ``means``, shape (n_tasks,): with c passes in R trials :math:`\binom{c}{k} / \binom{R}{k}` and
        :math:`1 - \binom{R-c}{k} / \binom{R}{k}`, which have no bias. ``denominator``: the least common
        multiple of the :math:`\binom{R}{k}`, None above 2520.

    Raises
    ------
    InputError
        For no tasks, a task without trials, values other than 0 and 1, a k that is no positive integer, a
        task with fewer than k repetitions (no more can be known of it than was tried), another measure.

    Notes
    -----
    pass@k: Chen et al. 2021, doi:10.48550/arXiv.2107.03374; pass^k: Yao et al. 2024,
    doi:10.48550/arXiv.2406.12045.
    """
    if measure not in MEASURES:
        raise InputError(
            f"measure {measure!r}{did_you_mean(measure, MEASURES)}", where="measure", allowed=listed(MEASURES)
        )
    trials = _outcomes(outcomes, what)
    counts = trials.counts
    _check_k(k, counts, what)
    passes = _sums(trials)
    # few tasks differ in passes and repetitions: each kind is computed once, in whole numbers
    kinds, kind_of = np.unique(np.stack([passes, counts]), axis=1, return_inverse=True)
    known = [_share(int(c), int(n), k, measure) for c, n in kinds.T]
    values = np.array(known)[kind_of.ravel()]
    denominator = common_denominator([math.comb(int(n), k) for n in np.unique(counts)])
    return TaskValues(values, counts, denominator)


def interval(
    outcomes: TrialScores,
    k: int,
    *,
    measure: str = "pass_hat_k",
    level: float = 0.95,
    method: str = "tilted",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return an interval for one arm's pass^k or pass@k, tasks as clusters.

    Parameters
    ----------
    outcomes, k, measure
        See :func:`task_probabilities`.
    level, method, resamples, rng
        See :func:`analysis.paired.interval`.

    Returns
    -------
    Interval
        Within [0, 1] by the default method. With fewer than 5 tasks ``refused``, with fewer than 10
        ``few_tasks``.

    Raises
    ------
    InputError
        As :func:`task_probabilities` and :func:`analysis.paired.interval`.

    Examples
    --------
    >>> from analysis.reliability import interval
    >>> found = interval([[1, 1, 1]] * 20, 3)
    >>> print(f"{found.low:.5f} {found.high:.0f}")
    0.84727 1
    """
    values = task_probabilities(outcomes, k, measure=measure)
    return task_interval(
        values.means,
        bounds=(0.0, 1.0),
        denominator=values.denominator,
        level=level,
        method=method,
        resamples=resamples,
        rng=rng,
    )


def difference(
    baseline: TrialScores, candidate: TrialScores, k: int, *, measure: str = "pass_hat_k"
) -> float:
    """Return the estimate that :func:`difference_interval` surrounds: candidate - baseline."""
    return _mean(_differences(baseline, candidate, k, measure)[0])


def difference_interval(
    baseline: TrialScores,
    candidate: TrialScores,
    k: int,
    *,
    measure: str = "pass_hat_k",
    level: float = 0.95,
    method: str = "tilted",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return an interval for the paired difference in pass^k or pass@k.

    Parameters
    ----------
    baseline, candidate, k, measure
        See :func:`task_probabilities`; task i is the same task in both arms, and has at least k repetitions
        in either.
    level, method, resamples, rng
        See :func:`analysis.paired.interval`.

    Returns
    -------
    Interval
        Within [-1, 1] by the default method, of the tasks' differences on the lattice that their numbers of
        repetitions allow. With fewer than 5 tasks ``refused``, with fewer than 10 ``few_tasks``.

    Raises
    ------
    InputError
        As :func:`task_probabilities` and :func:`analysis.paired.interval`.

    Examples
    --------
    >>> from analysis.reliability import difference_interval
    >>> found = difference_interval([[1, 1, 1]] * 20, [[1, 1, 1]] * 20, 3)
    >>> print(f"{found.low:.4f} {found.high:.4f}")
    -0.1614 0.1614
    """
    values, denominator = _differences(baseline, candidate, k, measure)
    return task_interval(
        values,
        bounds=(-1.0, 1.0),
        denominator=denominator,
        level=level,
        method=method,
        resamples=resamples,
        rng=rng,
    )


def variance_components(outcomes: TrialScores) -> VarianceComponents:
    r"""Return the variance within and between tasks, their intraclass correlation and the design effect.

    Parameters
    ----------
    outcomes : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        0 or 1; nothing may be missing. Repetitions may differ in number between tasks.

    Returns
    -------
    VarianceComponents

    Raises
    ------
    InputError
        For no tasks, a task without trials, and values other than 0 and 1.

    Notes
    -----
    One-way analysis of variance with T tasks of :math:`n_i` trials, N in all: ``within`` is the mean square
    within tasks, ``between`` is :math:`(MS_B - MS_W) / n_0` with
    :math:`n_0 = (N - \sum n_i^2 / N) / (T - 1)`. The design effect is :math:`(s_m^2 / T) / (s^2 / N)`,
    :math:`s_m^2` being the variance of the tasks' means and :math:`s^2` that of all trials. Donner 1986,
    International Statistical Review 54:67-82; design effect: Kish 1965, Survey Sampling.

    Examples
    --------
    >>> from analysis.reliability import variance_components
    >>> found = variance_components([[1, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]] * 5)
    >>> print(f"{found.within:.4f} {found.between:.4f} {found.icc:.3f} {found.design_effect:.2f}")
    0.1667 0.0906 0.352 1.73
    """
    trials = _outcomes(outcomes, "outcomes")
    flat, counts = trials.flat, trials.counts.astype(np.float64)
    means = _sums(trials) / counts
    n_tasks, n_trials = len(means), len(flat)
    within = between = icc = design_effect = None
    if 1 < n_tasks < n_trials:
        inside = math.fsum(counts * means * (1 - means)) / (n_trials - n_tasks)
        across = math.fsum(counts * (means - math.fsum(flat) / n_trials) ** 2) / (n_tasks - 1)
        size = (n_trials - math.fsum(counts**2) / n_trials) / (n_tasks - 1)
        within, between = inside, (across - inside) / size
        icc = between / (between + within) if between + within > 0 else None
    total = float(np.ptp(flat))
    if n_tasks > 1 and total > 0:
        clustered = float(np.var(means, ddof=1)) / n_tasks
        design_effect = clustered / (float(np.var(flat, ddof=1)) / n_trials)
    status: Status = "few_tasks" if n_tasks < FEW_TASKS else "ok"
    return VarianceComponents(
        within=within,
        between=between,
        icc=icc,
        design_effect=design_effect,
        method=ICC_METHOD,
        n_tasks=n_tasks,
        n_trials=n_trials,
        status="not_identified" if icc is None or design_effect is None else status,
    )


def _differences(
    baseline: TrialScores, candidate: TrialScores, k: int, measure: str
) -> tuple[Floats, int | None]:
    left = task_probabilities(baseline, k, measure=measure, what="baseline")
    right = task_probabilities(candidate, k, measure=measure, what="candidate")
    check_same_tasks(len(left.means), len(right.means))
    return differences(left, right)


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values)


def _share(passes: int, trials: int, k: int, measure: str) -> float:
    """Return the share of the choices of k trials that all pass, or that are not all failures."""
    choices = math.comb(trials, k)
    if measure == "pass_hat_k":
        return math.comb(passes, k) / choices
    return (choices - math.comb(trials - passes, k)) / choices


def _sums(trials: Ragged) -> NDArray[np.int64]:
    return np.add.reduceat(trials.flat, trials.starts).astype(np.int64)


def _outcomes(outcomes: TrialScores, what: str) -> Ragged:
    trials = trial_groups(outcomes, what)
    bad = (trials.flat != 0) & (trials.flat != 1)
    if bad.any():
        raise InputError(
            f"the value {trials.flat[bad][0]}", code="array", where=what, allowed="0 or 1, none missing"
        )
    return trials


def _check_k(k: int, counts: NDArray[np.int64], what: str) -> None:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"k = {k!r}", where="k", allowed="an integer from 1")
    short = np.flatnonzero(counts < k)
    if len(short):
        first = int(short[0])
        raise InputError(
            f"task {first} has {counts[first]} repetitions, k = {k}",
            code="array",
            where=what,
            allowed=f"k up to {counts.min()}, the fewest repetitions of a task",
            next_step="choose a smaller k, or leave such tasks out of both arms and say how many they were",
        )
