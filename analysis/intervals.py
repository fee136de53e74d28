"""Interval methods on one value a task."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from scipy import fft, optimize, special

from analysis.resampling import generator, resampled_means
from analysis.results import Interval
from analysis.taskvalues import Floats
from study.errors import InputError, did_you_mean, listed

METHODS = ("tilted", "percentile", "t")
"""The methods of :func:`task_interval`."""

FEWEST_TASKS = 5
"""Below this many tasks there is a point estimate only."""

FEW_TASKS = 10
"""Below this many tasks an interval is printed, but never decides."""

PSEUDO_MASS = 0.5
"""Mass of the pseudo task at each end of the range."""

BINNED_LATTICE = 840
"""Steps per unit when the values have no common denominator."""

_WINDOW_LOG_TAIL = 45.0  # mass outside the FFT window is below exp(-45) = 3e-20
_TILT_LIMIT = 700.0  # exp() overflows beyond


class _Steps(NamedTuple):
    """The augmented law of one task on a lattice from the lower end of the range upwards.

    ``step`` is the lattice step; ``nodes`` and ``mass`` are positions above the lower end, and
    probabilities, after binning; ``values`` and ``weights`` the same before binning; ``total`` is the
    position of the observed sum, in lattice steps.
    """

    n_tasks: int
    width: float
    step: float
    nodes: Floats
    mass: Floats
    values: Floats
    weights: Floats
    total: float


class _Law(NamedTuple):
    """The law of the sum under the tilt ``anchor``, from the observed sum upwards.

    ``excess`` are distances above the observed sum, ``mass`` the probabilities there times the mid-p
    weight; ``log_moment`` is the cumulant generating function of one task at the anchor.
    """

    anchor: float
    log_moment: float
    excess: Floats
    mass: Floats


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
    method : {"tilted", "percentile", "t"}
    resamples, rng
        Used by ``percentile``.

    Returns
    -------
    Interval
        Below 5 tasks ``refused``; below 10 ``few_tasks``. ``percentile`` and ``t`` are also refused when
        all tasks are tied: they have no width to give, and none is not an answer.

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
        elif method == "percentile":
            limits = percentile_limits(values, level, resamples, rng)
        else:
            limits = t_limits(values, level)
    if limits is None:
        return Interval(low=None, high=None, level=level, method=method, status="refused")
    status = "few_tasks" if len(values) < FEW_TASKS else "ok"
    return Interval(low=limits[0], high=limits[1], level=level, method=method, status=status)


def check_level(level: float) -> None:
    """Raise :class:`InputError` unless a confidence level lies strictly between 0 and 1."""
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
    sum has the mid-p tail Phi(-t), t the quantile of Student's law with T - 1 degrees of freedom. Sources:
    bootstrap tilting, Efron 1981, Canadian Journal of Statistics 9:139-158; least favourable families,
    DiCiccio and Romano 1990, International Statistical Review 58:59-76.

    The law of the sum is exact, by FFT; it is computed once, tilted to the observed mean, where the tail
    that is needed keeps its relative precision. The upper limit is the mirrored lower limit of the mirrored
    values, so that exchanging arms mirrors the limits to the last bit.
    """
    quantile = t_quantile(level, len(values) - 1)
    low, high = bounds
    lower = low + _lower_offset(_steps(values - low, high - low, denominator), quantile)
    upper = high - _lower_offset(_steps(high - values, high - low, denominator), quantile)
    mean = math.fsum(values) / len(values)
    return max(low, min(lower, mean)), min(high, max(upper, mean))


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
    low, high = bounds
    if not low < at < high:
        raise InputError(f"the value {at}", where="at", allowed=f"strictly between {low} and {high}")
    up = _steps(values - low, high - low, denominator)
    degrees = len(values) - 1
    if up.total * up.step / up.n_tasks >= at - low:
        z = -special.ndtri_exp(_log_tail_at(up, at - low))
        return float(special.stdtr(degrees, -z))
    down = _steps(high - values, high - low, denominator)
    z = -special.ndtri_exp(_log_tail_at(down, high - at))
    return float(special.stdtr(degrees, z))


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


def t_quantile(level: float, degrees: int) -> float:
    """Return the upper quantile of Student's law for a two-sided level."""
    return -float(special.stdtrit(degrees, (1 - level) / 2))


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


def _steps(offsets: Floats, width: float, denominator: int | None) -> _Steps:
    """Put the values (distances from the lower end) and the two half pseudo tasks on a lattice."""
    offsets = np.sort(offsets)
    per_unit = denominator or BINNED_LATTICE
    points = round(width * per_unit) + 1
    position = offsets * per_unit
    if denominator:
        index = np.rint(position).astype(np.int64)
        counts = np.bincount(index, minlength=points).astype(np.float64)
        total = float(index.sum())
    else:
        index = np.floor(position + 1e-6).astype(np.int64)
        share = np.clip(position - index, 0, 1)
        share[share < 1e-5] = 0
        counts = np.bincount(index, 1 - share, points + 1) + np.bincount(index + 1, share, points + 1)
        counts, total = counts[:points], math.fsum(position)
    counts[0] += PSEUDO_MASS
    counts[-1] += PSEUDO_MASS
    size = len(offsets) + 2 * PSEUDO_MASS
    used = np.flatnonzero(counts)
    nodes, mass = used / per_unit, counts[used] / size
    if denominator:
        values, weights = nodes, mass
    else:
        values = np.concatenate(([0.0], offsets, [width]))
        weights = np.concatenate(([PSEUDO_MASS], np.ones(len(offsets)), [PSEUDO_MASS])) / size
    return _Steps(len(offsets), width, 1 / per_unit, nodes, mass, values, weights, total)


def _tilted(nodes: Floats, mass: Floats, tilt: float) -> tuple[float, Floats]:
    """Return the log of the moment generating function, and the tilted probabilities."""
    exponent = tilt * nodes
    top = float(exponent.max())
    scaled = mass * np.exp(exponent - top)
    moment = float(scaled.sum())
    return top + math.log(moment), scaled / moment


def _tilted_mean(nodes: Floats, mass: Floats, tilt: float) -> float:
    return float(_tilted(nodes, mass, tilt)[1] @ nodes)


def _tilt_for(nodes: Floats, mass: Floats, mean: float, width: float) -> float:
    """Return the tilt under which one task has a given mean, strictly inside the range."""

    def gap(tilt: float) -> float:
        return _tilted_mean(nodes, mass, tilt) - mean

    low, high = -1.0 / width, 1.0 / width
    while gap(low) > 0 and low > -_TILT_LIMIT / width:
        low *= 2
    while gap(high) < 0 and high < _TILT_LIMIT / width:
        high *= 2
    return _root(gap, low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Solve by secant and inverse quadratic steps, with bisection where they leave the bracket."""
    left, right = function(low), function(high)
    if left * right > 0:
        return low if abs(left) < abs(right) else high
    return cast(float, optimize.brentq(function, low, high, xtol=1e-15, maxiter=200))


def _law(steps: _Steps) -> _Law:
    """Return the exact law of the sum of all tasks, tilted to the observed mean."""
    n_tasks, step = steps.n_tasks, steps.step
    mean = steps.total * step / n_tasks
    anchor = _tilt_for(steps.nodes, steps.mass, mean, steps.width)
    log_moment, mass = _tilted(steps.nodes, steps.mass, anchor)
    variance = float(mass @ (steps.nodes - mean) ** 2)
    # Bernstein's inequality bounds the mass that a shorter transform would wrap around
    slack = _WINDOW_LOG_TAIL * steps.width / 3
    reach = slack + math.sqrt(slack**2 + 2 * _WINDOW_LOG_TAIL * n_tasks * variance)
    half = math.ceil(reach / step) + 1
    last = n_tasks * round(steps.width / step)
    size = cast(int, fft.next_fast_len(min(last + 1, 2 * half + 1), real=True))
    one = np.zeros(size)
    np.add.at(one, np.rint(steps.nodes / step).astype(np.int64) % size, mass)
    law = np.fft.irfft(np.fft.rfft(one) ** n_tasks, size)
    grid = np.arange(math.floor(steps.total), min(last, math.floor(steps.total) + half) + 1)
    mass = law[grid % size]
    mass[mass < 1e-15 * mass.max()] = 0
    mass *= np.clip((1 + grid - steps.total) / 2, 0, 1)
    kept = mass > 0
    excess = (grid[kept].astype(np.float64) - steps.total) * step
    return _Law(anchor, log_moment, excess, mass[kept])


def _log_tail(steps: _Steps, law: _Law, tilt: float) -> float:
    """Return the log of the mid-p tail beyond the observed sum under a tilt at or below the anchor."""
    log_moment, _ = _tilted(steps.nodes, steps.mass, tilt)
    shift = tilt - law.anchor
    exponent = shift * law.excess
    top = float(exponent.max())
    tail = math.log(float(law.mass @ np.exp(exponent - top))) + top
    observed = steps.total * steps.step
    return min(0.0, steps.n_tasks * (law.log_moment - log_moment) + shift * observed + tail)


def _lower_offset(steps: _Steps, quantile: float) -> float:
    """Return the lower limit's distance from the lower end of the range."""
    n_tasks = steps.n_tasks
    highest = n_tasks * round(steps.width / steps.step)
    if steps.total <= 0:
        return 0.0
    if steps.total >= highest:
        tail = float(special.ndtr(-quantile))
        return steps.width * (2 * tail) ** (1 / n_tasks)
    law = _law(steps)

    def gap(tilt: float) -> float:
        return float(special.ndtri_exp(_log_tail(steps, law, tilt))) + quantile

    _, mass = _tilted(steps.nodes, steps.mass, law.anchor)
    mean = float(mass @ steps.nodes)
    spread = math.sqrt(n_tasks * float(mass @ (steps.nodes - mean) ** 2))
    if gap(law.anchor) <= 0:
        return steps.total * steps.step / n_tasks
    reach = quantile / spread
    while gap(law.anchor - reach) > 0:
        reach *= 2
        if reach > _TILT_LIMIT / steps.width:
            return 0.0
    return _tilted_mean(steps.values, steps.weights, _root(gap, law.anchor - reach, law.anchor))


def _log_tail_at(steps: _Steps, mean: float) -> float:
    """Return the log mid-p tail under the tilt with a given mean, at or below the observed mean."""
    tilt = _tilt_for(steps.values, steps.weights, mean, steps.width)
    highest = steps.n_tasks * round(steps.width / steps.step)
    if steps.total >= highest:
        log_moment, _ = _tilted(steps.nodes, steps.mass, tilt)
        top = tilt * steps.nodes[-1] + math.log(steps.mass[-1]) - log_moment
        return math.log(0.5) + steps.n_tasks * float(top)
    return _log_tail(steps, _law(steps), tilt)
