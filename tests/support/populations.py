"""Populations of tasks for simulations: the success rates of both arms, and what they imply.

Written from the definitions in the literature of clustered binary data. A rate has the intraclass correlation
``icc`` when its variance is ``icc * mean * (1 - mean)``; both arms of a task share a Gaussian copula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

CORRELATION = 0.9
"""Of the normal scores of the two arms of a task."""

_NODES = np.linspace(-8, 8, 4001)
_MASS = stats.norm.pdf(_NODES) / stats.norm.pdf(_NODES).sum()

Rates = tuple[np.ndarray, np.ndarray]


class Population(NamedTuple):
    """A law of tasks: ``rates(rng, n_tasks)`` draws the success rates of both arms, shape (n_tasks,) each.

    ``difference`` is the true mean of candidate - baseline.
    """

    rates: Callable[[np.random.Generator, int], Rates]
    difference: float

    def trials(self, rng: np.random.Generator, n_tasks: int, repetitions: int) -> Rates:
        """Draw 0 or 1 for each trial of both arms, shape (n_tasks, repetitions) each."""
        rates = self.rates(rng, n_tasks)
        first, second = (rng.random((n_tasks, repetitions)) < rate[:, None] for rate in rates)
        return first, second


@cache
def beta_quantiles(mean: float, icc: float) -> np.ndarray:
    """Return the rate at each normal score for a beta law."""
    size = (1 - icc) / icc
    with np.errstate(all="ignore"):
        found = stats.beta.ppf(special.ndtr(_NODES), mean * size, (1 - mean) * size)
    return np.where(np.isnan(found), (_NODES > 0).astype(float), found)


def logit_quantiles(mean: float, spread: float, scores: np.ndarray = _NODES) -> np.ndarray:
    """Return the rate at each normal score when its logit is a multiple of ``scores`` around a centre."""

    def excess(centre: float) -> float:
        return float(_MASS @ special.expit(centre + spread * scores)) - mean

    return special.expit(optimize.brentq(excess, -300, 300) + spread * scores)


@cache
def logit_spread(mean: float, icc: float) -> float:
    """Return the spread of the logit that gives rates of this mean this intraclass correlation."""

    def excess(spread: float) -> float:
        rates = logit_quantiles(mean, spread)
        return float(_MASS @ (rates - mean) ** 2) / (mean * (1 - mean)) - icc

    return optimize.brentq(excess, 0.01, 60, xtol=1e-4)


def _copula(tables: Rates, correlation: float = CORRELATION) -> Callable[..., Rates]:
    def rates(rng: np.random.Generator, n_tasks: int) -> Rates:
        first = rng.standard_normal(n_tasks)
        second = correlation * first + math.sqrt(1 - correlation**2) * rng.standard_normal(n_tasks)
        return np.interp(first, _NODES, tables[0]), np.interp(second, _NODES, tables[1])

    return rates


def _mean(table: np.ndarray) -> float:
    return float(_MASS @ table)


def same(base: float, effect: float, icc: float) -> Population:
    """Both arms are one driver: each task has the same rate in both (A/A)."""
    assert effect == 0
    table = beta_quantiles(base, icc)

    def rates(rng: np.random.Generator, n_tasks: int) -> Rates:
        rate = np.interp(rng.standard_normal(n_tasks), _NODES, table)
        return rate, rate

    return Population(rates, 0.0)


def beta(base: float, effect: float, icc: float) -> Population:
    """Beta rates in both arms."""
    tables = beta_quantiles(base, icc), beta_quantiles(base + effect, icc)
    return Population(_copula(tables), _mean(tables[1]) - _mean(tables[0]))


def logit(base: float, effect: float, icc: float) -> Population:
    """Logistic-normal rates in both arms, of one spread."""
    spread = logit_spread(base, icc)
    tables = logit_quantiles(base, spread), logit_quantiles(base + effect, spread)
    return Population(_copula(tables), effect)


def flip(base: float, effect: float, icc: float) -> Population:
    """The same rate in both arms, but a share of the tasks breaks outright in the candidate."""
    table = beta_quantiles(base, icc)
    broken = -effect / _mean(table)

    def rates(rng: np.random.Generator, n_tasks: int) -> Rates:
        rate = np.interp(rng.standard_normal(n_tasks), _NODES, table)
        return rate, np.where(rng.random(n_tasks) < broken, 0.0, rate)

    return Population(rates, effect)


def inflated(base: float, effect: float, icc: float) -> Population:
    """A share ``icc`` of the tasks always or never succeeds in both arms; the others are beta, icc 0.1."""
    live = base + effect / (1 - icc)
    tables = beta_quantiles(base, 0.1), beta_quantiles(live, 0.1)
    inner = _copula(tables)

    def rates(rng: np.random.Generator, n_tasks: int) -> Rates:
        first, second = inner(rng, n_tasks)
        fixed = rng.random(n_tasks) < icc
        constant = (rng.random(n_tasks) < base).astype(float)
        return np.where(fixed, constant, first), np.where(fixed, constant, second)

    return Population(rates, (1 - icc) * (_mean(tables[1]) - _mean(tables[0])))


def opposed(base: float, effect: float, icc: float, share: float = 0.4) -> Population:
    """Beta rates that pull apart in a share of the tasks: what one arm finds easy, the other finds hard."""
    tables = beta_quantiles(base, icc), beta_quantiles(base + effect, icc)

    def rates(rng: np.random.Generator, n_tasks: int) -> Rates:
        first, other = rng.standard_normal((2, n_tasks))
        sign = np.where(rng.random(n_tasks) < share, -1, 1)
        second = sign * CORRELATION * first + math.sqrt(1 - CORRELATION**2) * other
        return np.interp(first, _NODES, tables[0]), np.interp(second, _NODES, tables[1])

    return Population(rates, _mean(tables[1]) - _mean(tables[0]))


def heavy(base: float, effect: float, icc: float) -> Population:
    """Difficulty on the logit scale has Cauchy tails: most tasks alike, some far out in either direction.

    ``icc`` scales the spread; it is not the intraclass correlation.
    """
    scores = stats.cauchy.ppf(special.ndtr(_NODES))
    tables = logit_quantiles(base, 3 * icc, scores), logit_quantiles(base + effect, 3 * icc, scores)
    return Population(_copula(tables), effect)


KINDS = {made.__name__: made for made in (same, beta, logit, flip, inflated, opposed, heavy)}


class Moments(NamedTuple):
    """Variance over tasks of the rates' difference, and the mean variance of one trial in each arm."""

    between: float
    within: tuple[float, float]


def moments(population: Population, n_tasks: int = 400_000) -> Moments:
    """Return the moments of a population from a large seeded draw."""
    first, second = population.rates(np.random.default_rng(20), n_tasks)
    within = float((first * (1 - first)).mean()), float((second * (1 - second)).mean())
    return Moments(float((second - first).var()), within)


def power(population: Population, n_tasks: int, repetitions: int, gap: float, alpha: float = 0.025) -> float:
    """Return the planned chance that a claim holds: noncentral t, two half pseudo tasks in the variance.

    ``gap`` is the true difference in the direction of benefit, plus the margin.
    """
    found = moments(population)
    variance = found.between + sum(found.within) / repetitions + 1 / n_tasks
    degrees = n_tasks - 1
    shift = gap / math.sqrt(variance / n_tasks)
    return float(stats.nct.sf(stats.t.isf(alpha, degrees), degrees, shift))
