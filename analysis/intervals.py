"""Interval methods on one value a task."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from analysis import tilting
from analysis.resampling import generator, resampled_means, resampled_moments
from analysis.results import Interval, Status
from analysis.sums import Group
from analysis.taskvalues import Floats
from analysis.tilting import t_quantile
from study.errors import InputError, did_you_mean, listed

STUDY_METHODS = ("tilted", "percentile", "t")
"""The methods that the report of a study shows: the one that decides, and two beside it."""

LEAST_LEVEL = 1e-12
"""Smallest confidence level that is worked with."""

METHODS = (*STUDY_METHODS, "bca", "studentized")
"""The methods of :func:`task_interval`."""

FEWEST_TASKS = 5
"""Below this many tasks there is a point estimate only."""

FEW_TASKS = 10
"""Below this many tasks an interval is printed, but never decides."""


def task_interval(
    values: Floats,
    *,
    bounds: tuple[float, float],
    denominator: int | None,
    level: float,
    method: str = "tilted",
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return an interval for the mean of the task population.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        One finite value a task.
    bounds : (float, float)
        Declared range of the values (used by ``tilted``).
    denominator : int or None
        Common denominator of the values; None bins them on 1/840.
    level : float
        Two-sided confidence level, strictly between 0 and 1.
    method : {"tilted", "percentile", "t", "bca", "studentized"}
    resamples, rng
        Used by ``percentile``, ``bca`` and ``studentized``.

    Returns
    -------
    Interval
        Below 5 tasks ``refused``; below 10 ``few_tasks``. All methods but ``tilted`` are also refused when
        all tasks are tied: they have no width to give, and none is not an answer. ``bca`` and
        ``studentized`` are refused as well where the limit would lie beyond the extreme resamples.

    Raises
    ------
    InputError
        For a level outside (0, 1), an unknown method, too few resamples, or a bad generator.
    """
    check_level(level)
    if method not in METHODS:
        raise InputError(
            f"method {method!r}{did_you_mean(method, METHODS)}", where="method", allowed=listed(METHODS)
        )
    limits = None
    if len(values) >= FEWEST_TASKS:
        if method == "tilted":
            limits = tilted_limits(values, bounds, denominator, level)
        elif method == "t":
            limits = t_limits(values, level)
        else:
            limits = _BOOTSTRAPS[method](values, level, resamples, rng)
    if limits is None:
        return Interval(low=None, high=None, level=level, method=method, status="refused")
    status = "few_tasks" if len(values) < FEW_TASKS else "ok"
    return Interval(low=limits[0], high=limits[1], level=level, method=method, status=status)


def check_level(level: float) -> None:
    """Raise :class:`InputError` unless a confidence level lies strictly between 0 and 1.

    A level below 1e-12 is refused too: its tails cannot be told from one half.
    """
    if isinstance(level, (float, np.floating)) and 0 < level < LEAST_LEVEL:
        raise InputError(
            f"level = {level!r}", where="level", allowed=f"at least {LEAST_LEVEL:g}, and below 1"
        )
    if isinstance(level, bool) or not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"level = {level!r}", where="level", allowed="a number strictly between 0 and 1")


def tilted_limits(
    values: Floats, bounds: tuple[float, float], denominator: int | None, level: float
) -> tuple[float, float]:
    """Return the limits of the tilted task bootstrap for the mean of bounded values.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        At least two values within ``bounds``.
    bounds : (float, float)
        The declared range.
    denominator : int or None
        The values are multiples of 1/denominator above the lower bound; None bins them linearly on 1/840.
    level : float
        Two-sided level.

    Returns
    -------
    (float, float)
        Deterministic; within the range; they contain the mean and never coincide.

    Notes
    -----
    The reference law holds mass 1 at each value and 1/2 at each end of the range. It is tilted
    exponentially; T tasks are drawn from it, and a limit is the mean of the tilt under which the observed
    sum has the mid-p tail Phi(-t), t the quantile of Student's law with T - 1 degrees of freedom. This is
    :func:`analysis.tilting.limits` with a single group.
    """
    return tilting.limits([Group(values, bounds, denominator)], level)


def tilted_p_value(values: Floats, bounds: tuple[float, float], denominator: int | None, at: float) -> float:
    """Return the one-sided p-value of "the mean is at most ``at``" by the tilted task bootstrap.

    ``p <= (1 - level) / 2`` exactly when the lower limit of :func:`tilted_limits` is at least ``at``.

    Parameters
    ----------
    values, bounds, denominator
        See :func:`tilted_limits`.
    at : float
        Strictly inside the range.

    Returns
    -------
    float
        Student's tail beyond the normal quantile of the mid-p tail.
    """
    return tilting.p_value([Group(values, bounds, denominator)], at)


def strata_status(weights: Sequence[float], n_tasks: Sequence[int]) -> Status:
    """Return whether an interval over strata may be shown (``few_tasks``) and may decide (``ok``)."""
    if min(n_tasks) < FEWEST_TASKS:
        return "refused"
    total = sum(n_tasks)
    thin = any(
        n < FEW_TASKS and weight > n / total + 1e-12 for weight, n in zip(weights, n_tasks, strict=True)
    )
    return "few_tasks" if thin or total < FEW_TASKS else "ok"


def tied(values: Floats) -> bool:
    """Return whether all values are equal, up to what rounding leaves of equal numbers."""
    return bool(np.ptp(values) <= 1e-12)


def t_limits(values: Floats, level: float) -> tuple[float, float] | None:
    """Return Student's limits mean -+ t_{T-1} s / sqrt(T); None when all values are equal."""
    if tied(values):
        return None
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = t_quantile(level, len(values) - 1) * error
    return mean - half, mean + half


def percentile_limits(
    values: Floats, level: float, resamples: int, rng: int | np.random.Generator
) -> tuple[float, float] | None:
    """Return the plain percentile limits of the task bootstrap; None when all values are equal.

    Quantiles of the resampled means at (1 -+ level)/2, by (resamples + 1) p and interpolation.
    """
    tail = (1 - level) / 2
    check_resamples(resamples, tail)
    source = generator(rng)
    if tied(values):
        return None
    means = resampled_means(values, resamples, source)
    low, high = np.quantile(means, [tail, 1 - tail], method="weibull")
    return float(low), float(high)


def bca_limits(
    values: Floats, level: float, resamples: int, rng: int | np.random.Generator
) -> tuple[float, float] | None:
    r"""Return the bias-corrected and accelerated limits of the task bootstrap for the mean.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        One finite value a task.
    level : float
        Two-sided confidence level.
    resamples : int
        The adjusted quantiles lie further out than those of the plain percentile limits, so more are needed.
    rng : int or numpy.random.Generator
        The resampled means are those of :func:`percentile_limits` with the same generator.

    Returns
    -------
    (float, float) or None
        None when all values are equal, and when an adjusted quantile lies beyond the extreme resamples.

    Raises
    ------
    InputError
        For too few resamples, or a bad generator.

    Notes
    -----
    Efron 1987, doi:10.1080/01621459.1987.10478410: the quantiles of the resampled means at
    :math:`\Phi(z_0 + (z_0 \pm z)/(1 - a (z_0 \pm z)))`, with the acceleration a of the jackknife, for a mean
    :math:`\sum (x - \bar x)^3 / (6 (\sum (x - \bar x)^2)^{3/2})`. :math:`z_0` is the normal quantile of the
    share of resampled means below the mean, those equal to it counting one half: on the lattice of counts of
    passes many are equal.
    """
    tail = (1 - level) / 2
    check_resamples(resamples, tail)
    source = generator(rng)
    if tied(values):
        return None
    means = resampled_means(values, resamples, source)
    mean = math.fsum(values) / len(values)
    near = np.abs(means - mean) <= 1e-12
    share = (np.count_nonzero((means < mean) & ~near) + np.count_nonzero(near) / 2) / resamples
    if not 0 < share < 1:
        return None
    shift = float(special.ndtri(share))
    centred = values - mean
    acceleration = float(np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5))

    def adjusted(probability: float) -> float:
        z = shift + float(special.ndtri(probability))
        return float(special.ndtr(shift + z / (1 - acceleration * z)))

    probabilities = adjusted(tail), adjusted(1 - tail)
    if any(fewest_resamples(min(p, 1 - p)) > resamples for p in probabilities if 0 < p < 1):
        return None
    if not all(0 < p < 1 for p in probabilities):
        return None
    low, high = np.quantile(means, probabilities, method="weibull")
    return float(low), float(high)


def studentized_limits(
    values: Floats, level: float, resamples: int, rng: int | np.random.Generator
) -> tuple[float, float] | None:
    r"""Return the limits of the studentized task bootstrap (bootstrap-t) for the mean.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        One finite value a task.
    level : float
        Two-sided confidence level.
    resamples : int
    rng : int or numpy.random.Generator

    Returns
    -------
    (float, float) or None
        None when all values are equal, and when resamples without any spread reach into a quantile: they
        have no studentized mean, so that there is no limit. With few tasks that differ, that is common.

    Raises
    ------
    InputError
        For too few resamples, or a bad generator.

    Notes
    -----
    :math:`\bar x - q_{1-\alpha/2} s/\sqrt T` and :math:`\bar x - q_{\alpha/2} s/\sqrt T`, q the quantiles of
    :math:`(\bar x^* - \bar x) / (s^*/\sqrt T)`; Hall 1988, doi:10.1214/aos/1176350933.
    """
    tail = (1 - level) / 2
    check_resamples(resamples, tail)
    source = generator(rng)
    if tied(values):
        return None
    means, deviations = resampled_moments(values, resamples, source)
    mean = math.fsum(values) / len(values)
    distance = np.where(np.abs(means - mean) <= 1e-12, 0.0, means - mean)
    flat = deviations <= 1e-12
    studentized = distance / np.where(flat, 1.0, deviations)
    studentized[flat & (distance > 0)] = np.inf
    studentized[flat & (distance < 0)] = -np.inf
    ordered = np.sort(studentized)
    position = tail * (resamples + 1)
    first = math.floor(position) - 1
    around = [ordered[first], ordered[first + 1], ordered[-1 - first], ordered[-2 - first]]
    if not np.isfinite(around).all():
        return None
    below = around[0] + (position - first - 1) * (around[1] - around[0])
    above = around[2] + (position - first - 1) * (around[3] - around[2])
    deviation = float(np.std(values, ddof=1))
    return mean - float(above) * deviation, mean - float(below) * deviation


_BOOTSTRAPS = {
    "percentile": percentile_limits,
    "bca": bca_limits,
    "studentized": studentized_limits,
}


def fewest_resamples(tail: float) -> int:
    """Return the number of resamples below which a bootstrap quantile lies beyond the extreme ones."""
    return math.ceil(1 / tail) - 1


def check_resamples(resamples: int, tail: float) -> None:
    """Raise :class:`InputError` for fewer resamples than :func:`fewest_resamples`."""
    fewest = fewest_resamples(tail)
    if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or resamples < fewest:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"resamples = {resamples!r}", where="resamples", allowed=f"an integer from {fewest}")


def clopper_pearson_upper(events: float, n_tasks: int, level: float) -> float:
    """Return the one-sided upper bound of a rate from ``events`` (real-valued) in ``n_tasks`` tasks.

    The beta quantile of Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404:
    ``Beta^{-1}(level; events + 1, n_tasks - events)``; at zero events ``1 - (1 - level)^(1/n_tasks)``.
    """
    if events >= n_tasks:
        return 1.0
    if events == 0:
        return -math.expm1(math.log1p(-level) / n_tasks)
    return float(special.betaincinv(events + 1, n_tasks - events, level))
