"""Coverage and error rates of intervals and verdicts, simulated, with binomial acceptance bands.

A band asks whether the count of misses is plausible under the largest rate that is promised: its upper end is
the 1 - 1e-4 quantile of the binomial law, so that a right method fails one seed in ten thousand, and the
seeds are fixed. Each promise has a method beside it that breaks it, to show that the test can tell.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis import latency, paired, proportions
from analysis.claims import Limits, claim_outcome
from analysis.hardfails import upper_bound
from analysis.intervals import t_limits
from study.protocol import minimum_tasks

MISS = 0.06
"""Largest two-sided miss rate of the default at 95 %."""

FALSE_CLAIM = 0.035
"""Largest rate of a false claim at a one-sided 2.5 %, Monte Carlo slack apart."""

LATENCY_MISS = 0.07

SHORT = 500
LONG = 1000


def most(rate: float, repetitions: int) -> int:
    """Return the largest count that is still plausible at a rate."""
    return int(stats.binom.ppf(1 - 1e-4, repetitions, rate))


def task_rates(rng: np.random.Generator, n_tasks: int, base: float, icc: float) -> np.ndarray:
    """Draw success rates of tasks: beta with intraclass correlation ``icc``."""
    size = (1 - icc) / icc
    return rng.beta(base * size, (1 - base) * size, n_tasks)


def draw(rng, kind, n_tasks, repetitions, base, icc, effect):
    """Draw the trials of both arms; return them with the true difference.

    ``flip``: a share of tasks breaks outright in the candidate. ``shift``: the candidate's rates are drawn
    anew for half of the tasks, around a mean that gives the effect.
    """
    baseline = task_rates(rng, n_tasks, base, icc)
    if kind == "flip":
        candidate = np.where(rng.random(n_tasks) < -effect / base, 0.0, baseline)
    else:
        fresh = task_rates(rng, n_tasks, base + 2 * effect, icc)
        candidate = np.where(rng.random(n_tasks) < 0.5, fresh, baseline)
    arms = [rng.random((n_tasks, repetitions)) < p[:, None] for p in (baseline, candidate)]
    return arms[0], arms[1], effect


CELLS = [
    ("shift", 10, 1, 0.9, 0.4, 0.0),
    ("flip", 20, 3, 0.97, 0.4, -0.10),
    ("shift", 50, 3, 0.9, 0.1, -0.10),
    ("flip", 50, 1, 0.9, 0.8, -0.10),
]
MORE = [
    (kind, n_tasks, repetitions, base, icc, effect)
    for kind in ("flip", "shift")
    for n_tasks in (10, 20, 50, 100)
    for repetitions in (1, 3)
    for base in (0.5, 0.9, 0.97)
    for icc in (0.1, 0.8)
    for effect in (0.0, -0.05, -0.10)
    if not (kind == "flip" and effect == 0)
]


def misses(cell, repetitions, seed, method):
    """Count, over data sets: true difference outside, false non-inferiority at it, flat intervals."""
    rng = np.random.default_rng([seed, *str(cell).encode()])
    outside = false = flat = 0
    for _ in range(repetitions):
        baseline, candidate, truth = draw(rng, *cell)
        low, high = method(baseline, candidate)
        outside += not low - 1e-9 <= truth <= high + 1e-9
        flat += high - low < 1e-9
        if truth < 0:
            outcome = claim_outcome("non-inferior", Limits(low=low, high=high), -truth)
            false += outcome in ("non_inferior", "superior")
    return outside, false, flat


def default(baseline, candidate):
    found = paired.interval(baseline, candidate)
    return found.low, found.high


def plain_t(baseline, candidate):
    """Return Student's limits, and a flat interval where there is no spread, as plain tools do."""
    differences = paired.task_differences(baseline, candidate)
    mean = float(differences.mean())
    return t_limits(differences, 0.95) or (mean, mean)


def check_default(cell, repetitions):
    outside, false, flat = misses(cell, repetitions, 1, default)
    assert flat == 0
    assert outside <= most(MISS, repetitions)
    effect, n_tasks = cell[-1], cell[1]
    if effect < 0 and n_tasks >= minimum_tasks(-effect):
        assert false <= most(FALSE_CLAIM, repetitions)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_default_covers_and_rarely_claims_falsely(cell):
    check_default(cell, SHORT)


def test_plain_t_breaks_the_promise():
    outside, false, flat = misses(("flip", 20, 3, 0.97, 0.4, -0.05), SHORT, 1, plain_t)
    assert outside > 1.5 * most(MISS, SHORT)
    assert false > most(FALSE_CLAIM, SHORT)
    assert flat > 0


@pytest.mark.long
@pytest.mark.parametrize("cell", MORE, ids=str)
def test_the_default_on_the_grid(cell):
    check_default(cell, LONG)


def rate_misses(n_tasks, repetitions, base, icc, count, interval):
    rng = np.random.default_rng([2, n_tasks, repetitions, int(100 * base), int(100 * icc)])
    outside = 0
    for _ in range(count):
        outcomes = rng.random((n_tasks, repetitions)) < task_rates(rng, n_tasks, base, icc)[:, None]
        low, high = interval(outcomes)
        outside += not low <= base <= high
    return outside


def one_arm(outcomes):
    found = proportions.rate_interval(outcomes)
    return found.low, found.high


def trials_as_independent(outcomes):
    found = stats.binomtest(int(outcomes.sum()), outcomes.size).proportion_ci(method="wilson")
    return found.low, found.high


@pytest.mark.parametrize(("n_tasks", "repetitions", "base", "icc"), [(20, 3, 0.97, 0.4), (50, 10, 0.9, 0.8)])
def test_the_rate_of_an_arm_is_covered(n_tasks, repetitions, base, icc):
    assert rate_misses(n_tasks, repetitions, base, icc, SHORT, one_arm) <= most(MISS, SHORT)


def test_trials_as_independent_break_the_promise():
    assert rate_misses(50, 10, 0.9, 0.8, SHORT, trials_as_independent) > most(MISS, SHORT)


def bound_misses(bound, rate=0.01, icc=0.4, n_tasks=50, repetitions=10, count=600):
    rng = np.random.default_rng(3)
    return sum(
        bound(rng.random((n_tasks, repetitions)) < task_rates(rng, n_tasks, rate, icc)[:, None]) < rate
        for _ in range(count)
    )


def test_the_bound_on_hard_fails_holds_within_clusters():
    assert bound_misses(upper_bound) <= most(0.05, 600)


def test_a_bound_on_independent_trials_breaks_the_promise():
    def pooled(events):
        return stats.beta.ppf(0.95, events.sum() + 1, events.size - events.sum())

    assert bound_misses(pooled) > most(0.05, 600)


def times(rng, n_tasks, repetitions):
    task = 0.8 * rng.standard_normal((n_tasks, 1))
    arms = [
        np.exp(
            task
            + shift
            + 0.15 * rng.standard_normal((n_tasks, 1))
            + 0.5 * rng.standard_normal((n_tasks, repetitions))
        )
        for shift in (0.0, math.log(1.1))
    ]
    return arms[0], arms[1]


def latency_misses(n_tasks, repetitions, count):
    rng = np.random.default_rng([4, n_tasks])
    ratio = median = 0
    for n in range(count):
        baseline, candidate = times(rng, n_tasks, repetitions)
        found = latency.gmr(baseline, candidate)
        ratio += not found.low <= math.log(1.1) <= found.high
        half = latency.quantiles(baseline, candidate, resamples=399, rng=n)["candidate"].p50_interval
        median += not half.low <= 1.1 <= half.high
    return ratio, median


@pytest.mark.parametrize(("n_tasks", "repetitions"), [(20, 3)])
def test_latency_is_covered(n_tasks, repetitions):
    for count in latency_misses(n_tasks, repetitions, 300):
        assert count <= most(LATENCY_MISS, 300)


@pytest.mark.long
@pytest.mark.parametrize(("n_tasks", "repetitions"), [(10, 1), (20, 3), (50, 3), (100, 3)])
def test_latency_on_the_grid(n_tasks, repetitions):
    for count in latency_misses(n_tasks, repetitions, LONG):
        assert count <= most(LATENCY_MISS, LONG)


def test_the_bands_accept_the_promise_and_reject_far_more():
    for rate in (MISS, FALSE_CLAIM, LATENCY_MISS):
        for repetitions in (SHORT, LONG):
            assert stats.binom.sf(most(rate, repetitions), repetitions, rate) <= 1e-4
            assert stats.binom.sf(most(rate, repetitions), repetitions, 2.5 * rate) > 0.9
