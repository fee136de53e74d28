"""The tilted bootstrap of a weighted sum of group means."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from analysis.sums import NEAR, GridSum, Group, bernstein_reach, grid_sum
from analysis.taskvalues import Floats
from study.errors import InputError, listed

CLAIMS = ("non-inferior", "superior", "equivalent")

Claim: TypeAlias = Literal["non-inferior", "superior", "equivalent"]

Tail: TypeAlias = Literal["mid", "full", "open"]
"""What of the probability of the observed sum itself belongs to a tail: half of it, all, nothing."""

_TILT_LIMIT = 700.0  # exp() overflows beyond
_COMPLEMENT: dict[Tail, Tail] = {"mid": "mid", "full": "open", "open": "full"}


class _Law(NamedTuple):
    """The law of the sum under the tilt ``anchor``, from the observed sum upwards.

    ``excess`` are distances above the observed sum, ``mass`` the probabilities there times the weight of
    the tail; ``log_moments`` the cumulant generating functions of one task of each group at the anchor.
    """

    anchor: float
    log_moments: tuple[float, ...]
    excess: Floats
    mass: Floats


def estimate(groups: Sequence[Group]) -> float:
    """Return the weighted sum of the groups' means."""
    means = [math.fsum(group.values) / len(group.values) for group in groups]
    return math.fsum(group.weight * mean for group, mean in zip(groups, means, strict=True))


def value_range(groups: Sequence[Group]) -> tuple[float, float]:
    """Return the smallest and the largest value that the estimate can take."""
    ends = [sorted(group.weight * end for end in group.bounds) for group in groups]
    return math.fsum(low for low, _ in ends), math.fsum(high for _, high in ends)


def limits(groups: Sequence[Group], level: float, *, strict: bool = False) -> tuple[float, float]:
    r"""Return the limits of the tilted bootstrap for a weighted sum of group means.

    Parameters
    ----------
    groups : sequence of Group
        Strata, arms, or a single group; their tasks are independent.
    level : float
        Two-sided level.
    strict : bool
        Count all of the probability of the observed sum in each tail, not half of it: wider.

    Returns
    -------
    (float, float)
        Deterministic; within the range of the estimate; they contain it and never coincide.

    Notes
    -----
    With weights :math:`w_g` and :math:`T_g` tasks in group g the estimate is
    :math:`\sum_g w_g \bar x_g = \sum_g c_g \sum_i x_{gi}`, :math:`c_g = w_g / T_g`. The reference law
    :math:`F_g` holds mass 1 at each value of the group and the pseudo mass at each end of its range. All
    groups are tilted by one parameter, :math:`F_{g,\theta}(x) \propto F_g(x) e^{\theta c_g x}`, which is the
    family closest to the reference laws, :math:`\sum_g T_g KL(G_g \| F_g)`, for a given value of the
    weighted sum. The lower limit is :math:`\sum_g w_g E_{g,\theta}(x)` at the :math:`\theta` under which
    the sum of all tasks reaches the observed one with the mid-p tail :math:`\Phi(-t)`, t being the
    quantile of Student's law with :func:`degrees_of_freedom`; the upper limit is the mirrored lower limit
    of the mirrored values, so that exchanging arms mirrors the limits to the last bit.

    Sources: bootstrap tilting, Efron 1981, Canadian Journal of Statistics 9:139-158; least favourable
    families, DiCiccio and Romano 1990, International Statistical Review 58:59-76. The law of the sum is
    exact, by FFT; it is computed once, tilted to the observed mean, where the tail that is needed keeps its
    relative precision.
    """
    quantile = t_quantile(level, degrees_of_freedom(groups))
    tail: Tail = "full" if strict else "mid"
    lowest, highest = value_range(groups)
    lower = lowest + _lower_offset(grid_sum(groups), quantile, tail)
    upper = highest - _lower_offset(grid_sum(_mirrored(groups)), quantile, tail)
    observed = estimate(groups)
    return max(lowest, min(lower, observed)), min(highest, max(upper, observed))


def p_value(groups: Sequence[Group], at: float, *, strict: bool = False) -> float:
    """Return the one-sided p-value of "the weighted sum of means is at most ``at``".

    ``p <= (1 - level) / 2`` exactly when the lower limit of :func:`limits` is at least ``at``.

    Parameters
    ----------
    groups, strict
        See :func:`limits`.
    at : float
        Strictly inside the range of the estimate.

    Returns
    -------
    float
        Student's tail beyond the normal quantile of the tail of the observed sum, under the tilt whose
        weighted mean is ``at``.

    Raises
    ------
    InputError
        For a value at or beyond an end of the range.
    """
    low, high = value_range(groups)
    if not low < at < high:
        raise InputError(f"the value {at}", where="at", allowed=f"strictly between {low} and {high}")
    degrees = degrees_of_freedom(groups)
    tail: Tail = "full" if strict else "mid"
    up = grid_sum(groups)
    if up.mean >= at - low:
        z = -special.ndtri_exp(_log_tail_at(up, at - low, tail))
        return float(special.stdtr(degrees, -z))
    down = grid_sum(_mirrored(groups))
    z = -special.ndtri_exp(_log_tail_at(down, high - at, _COMPLEMENT[tail]))
    return float(special.stdtr(degrees, z))


def claim_p_value(groups: Sequence[Group], claim: str, margin: float) -> float:
    """Return the one-sided p-value of a claim on a difference, more being better.

    Parameters
    ----------
    groups : sequence of Group
    claim : {"non-inferior", "superior", "equivalent"}
        Above ``-margin``; above 0; between ``-margin`` and ``margin`` (the larger of two one-sided p-values).
    margin : float
        Strictly inside the range of the difference; not used for superior.
    """
    p = p_value(groups, 0.0 if claim == "superior" else -margin)
    return max(p, p_value(_mirrored(groups), -margin)) if claim == "equivalent" else p


def checked_margin(claim: str, margin: float, width: float) -> float:
    """Return a margin as a share of the range of scores.

    Raises
    ------
    InputError
        For an unknown claim, and for a margin that a claim needs outside (0, ``width``).
    """
    if claim not in CLAIMS:
        raise InputError(f"claim {claim!r}", where="claim", allowed=listed(CLAIMS))
    if claim != "superior" and not 0 < margin < width:
        raise InputError(f"margin {margin!r}", where="margin", allowed=f"strictly between 0 and {width:g}")
    return margin / width


def degrees_of_freedom(groups: Sequence[Group]) -> float:
    r"""Return T - 1 for a single group, and Satterthwaite's approximation for several.

    Returns
    -------
    float
        :math:`(\sum_g V_g)^2 / \sum_g V_g^2 / (T_g - 1)` with :math:`V_g = w_g^2 s_g^2 / T_g`, the variances
        :math:`s_g^2` being those of the values and pseudo tasks together, which are never 0. Not rounded.

    Notes
    -----
    Satterthwaite 1946, doi:10.2307/3002019.
    """
    if len(groups) == 1:
        return len(groups[0].values) - 1
    variances = [g.weight**2 * _augmented_variance(g) / len(g.values) for g in groups]
    parts = [v**2 / (len(g.values) - 1) for v, g in zip(variances, groups, strict=True)]
    return math.fsum(variances) ** 2 / math.fsum(parts)


def t_quantile(level: float, degrees: float) -> float:
    """Return the upper quantile of Student's law for a two-sided level."""
    return -float(special.stdtrit(degrees, (1 - level) / 2))


def all_ties_bound(weights: Sequence[float], n_tasks: Sequence[int], tail: float = 0.025) -> float:
    r"""Return the largest loss that goes unseen by all tasks of all strata with a given probability.

    Parameters
    ----------
    weights : sequence of float, shape (n_strata,)
        Positive.
    n_tasks : sequence of int, shape (n_strata,)
        Tasks of each stratum.
    tail : float
        One-sided level.

    Returns
    -------
    float
        :math:`\max \sum_h w_h q_h` over shares :math:`q_h` of broken tasks with
        :math:`\prod_h (1 - q_h)^{T_h} \ge` ``tail``. For one stratum ``1 - tail^(1/T)``. A margin below it
        cannot be shown by these tasks, however well they go.

    Notes
    -----
    The maximum has :math:`1 - q_h = \min(1, \lambda T_h / w_h)`: the condition then decides
    :math:`\lambda`.
    """
    w, t = np.asarray(weights, dtype=np.float64), np.asarray(n_tasks, dtype=np.float64)

    def kept(log_rate: float) -> Floats:
        return np.minimum(0.0, log_rate + np.log(t / w))

    def gap(log_rate: float) -> float:
        return float(t @ kept(log_rate)) - math.log(tail)

    top = float(np.log(w / t).max())
    log_rate = _root(gap, top + math.log(tail), top)
    return float(w @ -np.expm1(kept(log_rate)))


def check_weights(weights: Sequence[float], n_strata: int) -> None:
    """Raise :class:`InputError` unless weights are one positive finite number a stratum, with sum 1."""
    found = np.asarray(weights, dtype=np.float64)
    allowed = "one positive number a stratum, with sum 1, as declared in the plan"
    if n_strata == 0:
        raise InputError("no strata", code="array", where="strata", allowed="at least one stratum")
    if found.shape != (n_strata,):
        raise InputError(
            f"weights of shape {found.shape} for {n_strata} strata", where="weights", allowed=allowed
        )
    if not (np.isfinite(found).all() and (found > 0).all() and abs(math.fsum(found) - 1) <= NEAR):
        raise InputError(f"weights {found.tolist()}", where="weights", allowed=allowed)


def _mirrored(groups: Sequence[Group]) -> list[Group]:
    return [group._replace(weight=-group.weight) for group in groups]


def _augmented_variance(group: Group) -> float:
    values, ends, mass = group.values, np.array(group.bounds), group.pseudo_mass
    size = len(values) + 2 * mass
    mean = (math.fsum(values) + mass * math.fsum(ends)) / size
    squares = math.fsum((values - mean) ** 2) + mass * math.fsum((ends - mean) ** 2)
    return squares / (size - 1)


def _tilted(nodes: Floats, mass: Floats, tilt: float) -> tuple[float, Floats]:
    """Return the log of the moment generating function, and the tilted probabilities."""
    exponent = tilt * nodes
    top = float(exponent.max())
    scaled = mass * np.exp(exponent - top)
    moment = float(scaled.sum())
    return top + math.log(moment), scaled / moment


def _binned_mean(total: GridSum, tilt: float) -> float:
    """Return the weighted mean of the binned laws under a tilt."""
    means = [p.weight * float(_tilted(p.nodes, p.mass, tilt * p.scale)[1] @ p.nodes) for p in total.parts]
    return sum(means)


def _tilted_mean(total: GridSum, tilt: float) -> float:
    """Return the weighted mean of the laws before binning under a tilt."""
    means = [
        p.weight * float(_tilted(p.values, p.probabilities, tilt * p.scale)[1] @ p.values)
        for p in total.parts
    ]
    return sum(means)


def _log_moments(total: GridSum, tilt: float) -> tuple[float, ...]:
    return tuple(_tilted(part.nodes, part.mass, tilt * part.scale)[0] for part in total.parts)


def _reach(total: GridSum) -> float:
    """Return the most that one task can add to the sum."""
    return max(part.scale * part.width for part in total.parts)


def _largest_tilt(total: GridSum) -> float:
    """Return the tilt beyond which every group sits at an end of its range."""
    return _TILT_LIMIT / min(part.scale * part.width for part in total.parts)


def _tilt_for(total: GridSum, mean_at: Callable[[GridSum, float], float], mean: float) -> float:
    """Return the tilt with a given weighted mean, strictly inside the range."""
    first, last = 1.0 / _reach(total), _largest_tilt(total)

    def gap(tilt: float) -> float:
        return mean_at(total, tilt) - mean

    low, high = -first, first
    while gap(low) > 0 and low > -last:
        low *= 2
    while gap(high) < 0 and high < last:
        high *= 2
    return _root(gap, low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Solve by secant and inverse quadratic steps, with bisection where they leave the bracket."""
    left, right = function(low), function(high)
    if left * right > 0:
        return low if abs(left) < abs(right) else high
    return cast(float, optimize.brentq(function, low, high, xtol=1e-15, maxiter=200))


def _spread(total: GridSum, tilt: float) -> float:
    """Return the variance of the sum of all tasks under a tilt."""
    variances: list[float] = []
    for part in total.parts:
        mass = _tilted(part.nodes, part.mass, tilt * part.scale)[1]
        mean = float(mass @ part.nodes)
        variances.append(part.n_tasks * part.scale**2 * float(mass @ (part.nodes - mean) ** 2))
    return sum(variances)


def _law(total: GridSum, tail: Tail) -> _Law:
    """Return the exact law of the sum of all tasks, tilted to the observed mean."""
    anchor = _tilt_for(total, _binned_mean, total.mean)
    reach = bernstein_reach(_reach(total), _spread(total, anchor))
    half = math.ceil(reach / total.step) + 1
    last = sum(part.n_tasks * (part.points - 1) for part in total.parts)
    size = cast(int, fft.next_fast_len(min(last + 1, 2 * half + 1), real=True))
    moments: list[float] = []
    transform: NDArray[np.complex128] | None = None
    for part in total.parts:
        log_moment, mass = _tilted(part.nodes, part.mass, anchor * part.scale)
        moments.append(log_moment)
        one = np.zeros(size)
        np.add.at(one, part.where % size, mass)
        factor = np.fft.rfft(one) ** part.n_tasks
        transform = factor if transform is None else transform * factor
    law = np.fft.irfft(cast(NDArray[np.complex128], transform), size)
    first = math.floor(total.total + NEAR) - total.blur + 1
    grid = np.arange(max(0, first), min(last, first + half) + 1)
    mass = law[grid % size]
    mass[mass < 1e-15 * mass.max()] = 0
    above = (1 + (grid - total.total) / total.blur) / 2
    mass *= np.clip(above, 0, 1) if tail == "mid" else above > (NEAR if tail == "full" else 1 - NEAR)
    kept = mass > 0
    excess = (grid[kept].astype(np.float64) - total.total) * total.step
    return _Law(anchor, tuple(moments), excess, mass[kept])


def _log_tail(total: GridSum, law: _Law, tilt: float) -> float:
    """Return the log of the tail beyond the observed sum under a tilt at or below the anchor."""
    if not len(law.mass):
        return -math.inf
    shift = tilt - law.anchor
    exponent = shift * law.excess
    top = float(exponent.max())
    tail = math.log(float(law.mass @ np.exp(exponent - top))) + top
    moments = sum(
        part.n_tasks * (at_anchor - at_tilt)
        for part, at_anchor, at_tilt in zip(
            total.parts, law.log_moments, _log_moments(total, tilt), strict=True
        )
    )
    return min(0.0, moments + shift * (total.observed * total.step) + tail)


def _lower_offset(total: GridSum, quantile: float, tail: Tail) -> float:
    """Return the lower limit's distance from the lower end of the range of the estimate."""
    if total.at_bottom:
        return 0.0
    if total.at_top:
        return _lower_offset_at_top(total, quantile, tail)
    law = _law(total, tail)

    def gap(tilt: float) -> float:
        return float(special.ndtri_exp(_log_tail(total, law, tilt))) + quantile

    if gap(law.anchor) <= 0:
        return total.mean
    reach = quantile / math.sqrt(_spread(total, law.anchor))
    while gap(law.anchor - reach) > 0:
        reach *= 2
        if reach > _largest_tilt(total):
            return 0.0
    return _tilted_mean(total, _root(gap, law.anchor - reach, law.anchor))


def _lower_offset_at_top(total: GridSum, quantile: float, tail: Tail) -> float:
    """Return the offset when all tasks are at the end that makes the sum largest."""
    probability = float(special.ndtr(-quantile)) * (2 if tail == "mid" else 1)
    if len(total.parts) == 1:
        part = total.parts[0]
        return part.weight * part.width * probability ** (1 / part.n_tasks)
    wanted = math.log(probability)
    limit = _largest_tilt(total)
    return _tilted_mean(total, _root(lambda tilt: _log_top(total, tilt) - wanted, -limit, limit))


def _log_top(total: GridSum, tilt: float) -> float:
    """Return the log probability that every task is at the end of its range that makes the sum largest."""
    logs: list[float] = []
    for part in total.parts:
        log_moment, _ = _tilted(part.nodes, part.mass, tilt * part.scale)
        highest = math.log(float(part.mass[part.nodes > part.width / 2].sum()))
        logs.append(part.n_tasks * (tilt * part.scale * part.width + highest - log_moment))
    return sum(logs)


def _log_tail_at(total: GridSum, mean: float, tail: Tail) -> float:
    """Return the log tail under the tilt with a given mean, at or below the observed mean."""
    tilt = _tilt_for(total, _tilted_mean, mean)
    if total.at_top:
        return {"mid": math.log(0.5), "full": 0.0, "open": -math.inf}[tail] + _log_top(total, tilt)
    return _log_tail(total, _law(total, tail), tilt)
