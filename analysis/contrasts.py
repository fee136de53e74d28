"""Limits, ratios, differences and deciles of latency from the resamples of its quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import special

from analysis.claims import holm_adjusted
from analysis.intervals import check_level, check_resamples, t_quantile
from analysis.quantiles import DECILES, REPORTED, ArmQuantile, QuantileDraws, draw_quantiles
from analysis.results import DecileShift, Interval, LatencySummary, QuantileContrast, QuantileSummary, Status
from analysis.taskvalues import Floats, TrialScores
from study.errors import InputError
from study.records import ARMS

HARRELL_DAVIS = "Harrell-Davis, expanded percentile"
ORDER_STATISTIC = "order statistic"

FEWEST_BEYOND_TO_DECIDE = 5.0
"""A claim about a quantile rests on at least this many trials beyond it, in either arm."""

FEWEST_TASKS_TO_DECIDE = 20
"""A claim about a quantile rests on at least this many tasks."""


def expanded_interval(draws: Floats, n_tasks: int, level: float) -> Interval:
    r"""Return the expanded percentile interval of a statistic from its resamples.

    Parameters
    ----------
    draws : ndarray of float, shape (n_resamples,)
        The statistic in each resample of tasks.
    n_tasks : int
        At least 2.
    level : float
        Two-sided confidence level.

    Returns
    -------
    Interval
        ``refused`` when both limits are the same: no spread is no answer.

    Raises
    ------
    InputError
        For a level outside (0, 1), and too few resamples for it.

    Notes
    -----
    Quantiles of the resamples at :math:`\Phi(\mp\sqrt{T/(T-1)}\,t_{T-1,(1+level)/2})`; Hesterberg 2015,
    doi:10.1080/00031305.2015.1089789.
    """
    check_level(level)
    tail = float(special.ndtr(-_stretch(n_tasks) * t_quantile(level, n_tasks - 1)))
    check_resamples(len(draws), tail)
    low, high = (float(x) for x in np.quantile(draws, [tail, 1 - tail], method="weibull"))
    flat = not high - low > 1e-12 * max(abs(low), abs(high))
    return Interval(
        low=None if flat else low,
        high=None if flat else high,
        level=level,
        method=HARRELL_DAVIS,
        status="refused" if flat else "ok",
    )


def expanded_p_value(draws: Floats, n_tasks: int, at: float) -> float:
    """Return the one-sided p-value of "the statistic is at least ``at``" by the expanded percentile method.

    Parameters
    ----------
    draws, n_tasks
        See :func:`expanded_interval`.
    at : float

    Returns
    -------
    float
        At most (1 - level) / 2 exactly where the upper limit of :func:`expanded_interval` is at most ``at``;
        never below what the number of resamples can show.
    """
    ordered, count = np.sort(draws), len(draws)
    below = int(np.searchsorted(ordered, at, side="right"))
    place = float(below)
    if 0 < below < count:
        place += (at - ordered[below - 1]) / (ordered[below] - ordered[below - 1])
    tail = min(max(1 - place / (count + 1), 1 / (count + 1)), 1.0 - 1 / (count + 1))
    return float(special.stdtr(n_tasks - 1, special.ndtri(tail) / _stretch(n_tasks)))


def claim_p_value(draws: Floats, n_tasks: int, *, claim: str, margin: float = 0.0) -> float:
    """Return the one-sided p-value of a claim on a contrast of latency, of which less is better.

    Parameters
    ----------
    draws, n_tasks
        Of candidate - baseline; see :func:`expanded_interval`.
    claim : {"non-inferior", "superior", "equivalent"}
    margin : float
        Positive, in the unit of the draws; not used for superior.
    """
    p = expanded_p_value(draws, n_tasks, 0.0 if claim == "superior" else margin)
    return max(p, expanded_p_value(-draws, n_tasks, margin)) if claim == "equivalent" else p


def _stretch(n_tasks: int) -> float:
    return math.sqrt(n_tasks / (n_tasks - 1))


def decides(drawn: QuantileDraws, k: int) -> bool:
    """Return whether a claim may rest on the k-th quantile: enough tasks, enough trials beyond it."""
    sides = [drawn.arms[arm][k] for arm in ARMS]
    return drawn.n_tasks >= FEWEST_TASKS_TO_DECIDE and all(
        side.status == "ok" and side.beyond >= FEWEST_BEYOND_TO_DECIDE - 1e-12 for side in sides
    )


def quantile_summary(drawn: QuantileDraws, arm: str, k: int, level: float) -> QuantileSummary:
    """Return the k-th quantile of an arm with its interval, in seconds."""
    found, row = drawn.arms[arm][k], ARMS.index(arm)
    told = found.status == "ok"
    return QuantileSummary(
        probability=drawn.probabilities[k],
        value_s=found.value,
        interval=expanded_interval(drawn.draws[row, k], drawn.n_tasks, level) if told else None,
        status=found.status,
        method=ORDER_STATISTIC if found.status == "not_identified" else HARRELL_DAVIS,
        at_cap=found.at_cap,
    )


def quantile_contrast(drawn: QuantileDraws, k: int, level: float) -> QuantileContrast:
    """Return the k-th quantile of the candidate against that of the baseline, as ratio and difference.

    The ratio is None where a quantile is 0 s.
    """
    sides = [drawn.arms[arm][k] for arm in ARMS]
    status = _joint(sides)
    record = QuantileContrast(
        probability=drawn.probabilities[k],
        log_ratio=None,
        log_ratio_interval=None,
        difference_s=None,
        difference_interval=None,
        status=status,
        decides=decides(drawn, k),
    )
    left, right = sides[0].value, sides[1].value
    if status != "ok" or left is None or right is None:
        return record
    base, cand = drawn.draws[0, k], drawn.draws[1, k]
    record = msgspec.structs.replace(
        record,
        difference_s=right - left,
        difference_interval=expanded_interval(cand - base, drawn.n_tasks, level),
    )
    if min(left, right, base.min(), cand.min()) <= 0:
        return record
    return msgspec.structs.replace(
        record,
        log_ratio=math.log(right / left),
        log_ratio_interval=expanded_interval(np.log(cand) - np.log(base), drawn.n_tasks, level),
    )


def _joint(sides: Sequence[ArmQuantile]) -> Status:
    states = [side.status for side in sides]
    if "refused" in states:
        return "refused"
    return "not_identified" if "not_identified" in states else "ok"


def latency_summaries(drawn: QuantileDraws, level: float) -> dict[str, LatencySummary]:
    """Return the reported quantiles of each arm; ``status`` and ``p50_s`` are those of the median."""
    places = [k for k, q in enumerate(drawn.probabilities) if q in REPORTED]
    result: dict[str, LatencySummary] = {}
    for n, arm in enumerate(ARMS):
        told = tuple(quantile_summary(drawn, arm, k, level) for k in places)
        median = told[0]
        result[arm] = LatencySummary(
            n_tasks=drawn.n_tasks,
            n_trials=drawn.n_trials[n],
            censored=drawn.censored[n],
            p50_s=median.value_s,
            p50_interval=median.interval,
            status=median.status,
            method=median.method,
            quantiles=told,
        )
    return result


def quantile_ratio_interval(
    baseline: TrialScores,
    candidate: TrialScores,
    q: float,
    *,
    censored: tuple[TrialScores, TrialScores] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Return an interval for the log of the ratio of a quantile, candidate / baseline, paired by task.

    Parameters
    ----------
    baseline, candidate, censored, resamples, rng
        See :func:`analysis.quantiles.draw_quantiles`.
    q : float
        In (0, 1).
    level : float
        Two-sided confidence level.

    Returns
    -------
    Interval
        On the log scale. ``refused`` and ``not_identified`` as the quantiles themselves; ``few_tasks``, which
        never decides, with fewer than 20 tasks or fewer than 5 trials beyond the quantile.

    Raises
    ------
    InputError
        As :func:`analysis.quantiles.draw_quantiles`; and for a quantile of 0 s.
    """
    check_level(level)
    drawn = draw_quantiles(baseline, candidate, (q,), censored=censored, resamples=resamples, rng=rng)
    found = quantile_contrast(drawn, 0, level)
    if found.status != "ok":
        return Interval(low=None, high=None, level=level, method=HARRELL_DAVIS, status=found.status)
    if found.log_ratio_interval is None:
        raise InputError("a quantile of 0 s", code="array", where="times", allowed="seconds above 0")
    if found.log_ratio_interval.status == "ok" and not found.decides:
        return msgspec.structs.replace(found.log_ratio_interval, status="few_tasks")
    return found.log_ratio_interval


def shift_function(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    censored: tuple[TrialScores, TrialScores] | None = None,
    alpha: float | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> tuple[DecileShift, ...]:
    """Return candidate - baseline at the nine deciles of latency.

    Parameters
    ----------
    baseline, candidate, censored, resamples, rng
        See :func:`analysis.quantiles.draw_quantiles`.
    alpha : float, optional
        Two-sided familywise level of a claim about single deciles, declared beforehand; without it the
        shift function is descriptive.
    level : float
        Two-sided level of each interval by itself.

    Returns
    -------
    tuple of DecileShift
        With ``alpha`` every decile that may decide (20 tasks, 5 trials beyond it) has a p-value, its
        adjustment by Holm 1979 (doi:10.2307/4615733) over all of those, and an outcome.

    Raises
    ------
    InputError
        As :func:`analysis.quantiles.draw_quantiles`; and for a level or alpha outside (0, 1).

    Notes
    -----
    Doksum 1974, doi:10.1214/aos/1176342662; the deciles as Harrell and Davis estimate them.
    """
    drawn = draw_quantiles(baseline, candidate, DECILES, censored=censored, resamples=resamples, rng=rng)
    return shifts(drawn, level, alpha=alpha)


def shifts(drawn: QuantileDraws, level: float, *, alpha: float | None = None) -> tuple[DecileShift, ...]:
    """Return the shift function from resamples that hold the deciles; see :func:`shift_function`."""
    check_level(level)
    if alpha is not None:
        check_level(1 - alpha)
    places = [drawn.probabilities.index(q) for q in DECILES]
    rows = [_shift(drawn, k, level) for k in places]
    if alpha is None:
        return tuple(rows)
    deciding = [(n, k) for n, k in enumerate(places) if decides(drawn, k)]
    p_values = [_two_sided(drawn.draws[1, k] - drawn.draws[0, k], drawn.n_tasks) for _, k in deciding]
    for (n, _), p, adjusted in zip(deciding, p_values, holm_adjusted(p_values), strict=True):
        shorter = (rows[n].difference_s or 0.0) < 0
        outcome = "inconclusive" if adjusted > alpha else "shorter" if shorter else "longer"
        rows[n] = msgspec.structs.replace(rows[n], p_value=p, adjusted_p_value=adjusted, outcome=outcome)
    return tuple(rows)


def _two_sided(draws: Floats, n_tasks: int) -> float:
    sides = (expanded_p_value(draws, n_tasks, 0.0), expanded_p_value(-draws, n_tasks, 0.0))
    return min(1.0, 2 * min(sides))


def _shift(drawn: QuantileDraws, k: int, level: float) -> DecileShift:
    left, right = (drawn.arms[arm][k] for arm in ARMS)
    found = quantile_contrast(drawn, k, level)
    return DecileShift(
        probability=drawn.probabilities[k],
        baseline_s=left.value,
        candidate_s=right.value,
        difference_s=found.difference_s,
        interval=found.difference_interval,
        status=found.status,
    )
