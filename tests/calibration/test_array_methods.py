"""Coverage of the methods for arrays, simulated: strata, different tasks, one-sided, these tasks, pass^k.

Bands as in `test_intervals.py`. Beside each promise stands a plain method that breaks it on the same data.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis import fixed_tasks, paired, proportions, reliability, unpaired
from analysis.tilting import all_ties_bound
from study.protocol import minimum_tasks
from tests.calibration.test_intervals import FALSE_CLAIM, MISS, draw, most, task_rates

SHORT = 250
LONG = 1500


class Count:
    """Counts, over data sets, limits that miss the truth, lower limits above it, and flat intervals."""

    def __init__(self) -> None:
        self.outside = self.above = self.flat = self.sets = 0

    def add(self, low: float, high: float, truth: float) -> None:
        self.sets += 1
        self.outside += not low - 1e-9 <= truth <= high + 1e-9
        self.above += low > truth + 1e-9
        self.flat += high - low < 1e-9

    def check(self, *, decides: bool = True) -> None:
        assert self.flat == 0
        assert self.outside <= most(MISS, self.sets)
        if decides:
            assert self.above <= most(FALSE_CLAIM, self.sets)


def limits(found):
    return found.low, found.high


# --- strata ----------------------------------------------------------------------------------------------

STRATA = [
    ((10, 20, 50), (0.2, 0.3, 0.5), "flip", 0.1, -0.10),
    ((20, 20, 20, 20), (0.25,) * 4, "shift", 0.8, -0.10),
]
MORE_STRATA = [
    (n_tasks, weights, kind, icc, effect)
    for n_tasks, weights in (
        ((10, 10, 10), (1 / 3, 1 / 3, 1 / 3)),
        ((10, 20, 50), (0.2, 0.3, 0.5)),
        ((10, 20, 50), (0.5, 0.3, 0.2)),
        ((20,) * 4, (0.25,) * 4),
        ((10,) * 8, (0.125,) * 8),
        ((50, 50, 50), (0.5, 0.3, 0.2)),
    )
    for kind in ("flip", "shift")
    for icc in (0.1, 0.8)
    for effect in (0.0, -0.10)
    if not (kind == "flip" and effect == 0)
]
BASES = (0.95, 0.8, 0.5)


def strata_counts(cell, repetitions, methods):
    n_tasks, weights, kind, icc, effect = cell
    rng = np.random.default_rng([5, *str(cell).encode()])
    counts = [Count() for _ in methods]
    for _ in range(repetitions):
        parts = [
            draw(rng, kind, n, 3, BASES[h % 3] if effect == 0 else max(BASES[h % 3], 0.8), icc, effect)[:2]
            for h, n in enumerate(n_tasks)
        ]
        for method, count in zip(methods, counts, strict=True):
            count.add(*method(parts, weights), effect)
    return counts


def stratified(parts, weights):
    return limits(paired.stratified_interval(parts, weights))


def plain_welch(parts, weights):
    """Return the normal interval of the weighted difference; flat where all strata are tied."""
    means = [paired.task_differences(*part) for part in parts]
    mean = sum(w * d.mean() for w, d in zip(weights, means, strict=True))
    error = math.sqrt(sum(w**2 * d.var(ddof=1) / len(d) for w, d in zip(weights, means, strict=True)))
    return mean - 1.96 * error, mean + 1.96 * error


def check_strata(cell, repetitions):
    (count,) = strata_counts(cell, repetitions, [stratified])
    count.check(decides=cell[-1] < 0 and all_ties_bound(cell[1], cell[0]) <= -cell[-1])


@pytest.mark.parametrize("cell", STRATA, ids=str)
def test_strata_are_covered(cell):
    check_strata(cell, SHORT)


@pytest.mark.long
@pytest.mark.parametrize("cell", MORE_STRATA, ids=str)
def test_strata_on_the_grid(cell):
    check_strata(cell, LONG)


def test_the_plain_interval_of_strata_breaks_the_promise():
    cell = ((10, 200), (0.5, 0.5), "flip", 0.1, -0.10)
    (count,) = strata_counts(cell, 2 * SHORT, [plain_welch])
    assert count.outside > 1.5 * most(MISS, 2 * SHORT)


# --- different tasks -------------------------------------------------------------------------------------

ARMS = [(20, 20, 3, 0.97, 0.8, -0.05), (20, 50, 1, 0.97, 0.4, 0.0)]
MORE_ARMS = [
    (first, second, repetitions, base, icc, effect)
    for first, second in ((10, 10), (20, 20), (20, 50), (50, 20), (50, 50))
    for repetitions in (1, 3)
    for base in (0.5, 0.97)
    for icc in (0.1, 0.8)
    for effect in (0.0, -0.05, -0.10)
]


def unpaired_counts(cell, repetitions, methods):
    first, second, trials, base, icc, effect = cell
    rng = np.random.default_rng([6, *str(cell).encode()])
    counts = [Count() for _ in methods]
    for _ in range(repetitions):
        baseline, candidate = (
            rng.random((n, trials)) < task_rates(rng, n, rate, icc)[:, None]
            for n, rate in ((first, base), (second, base + effect))
        )
        for method, count in zip(methods, counts, strict=True):
            count.add(*method(baseline, candidate), effect)
    return counts


def tilted_arms(baseline, candidate):
    return limits(unpaired.interval(baseline, candidate))


def square_and_add(baseline, candidate):
    return limits(unpaired.square_and_add(baseline, candidate))


def welch(baseline, candidate):
    """Return Welch's interval on task means; flat where both arms are tied."""
    means = [arm.mean(axis=1) for arm in (baseline, candidate)]
    parts = [m.var(ddof=1) / len(m) for m in means]
    difference = means[1].mean() - means[0].mean()
    if sum(parts) == 0:
        return difference, difference
    degrees = sum(parts) ** 2 / sum(v**2 / (len(m) - 1) for v, m in zip(parts, means, strict=True))
    half = stats.t.isf(0.025, degrees) * math.sqrt(sum(parts))
    return difference - half, difference + half


def check_arms(cell, repetitions, methods):
    first, second, *_, effect = cell
    decides = effect < 0 and min(first, second) >= minimum_tasks(-effect)
    for count in unpaired_counts(cell, repetitions, methods):
        count.check(decides=decides)


@pytest.mark.parametrize("cell", ARMS, ids=str)
def test_arms_on_different_tasks_are_covered(cell):
    check_arms(cell, SHORT, [tilted_arms, square_and_add])


@pytest.mark.long
@pytest.mark.parametrize("cell", MORE_ARMS, ids=str)
def test_arms_on_the_grid(cell):
    check_arms(cell, LONG, [tilted_arms])


def test_welch_breaks_the_promise():
    (count,) = unpaired_counts((10, 10, 3, 0.97, 0.8, 0.0), 2 * SHORT, [welch])
    # a flat interval at 0 counts as a hit here, which flatters it
    assert count.flat > 0
    (count,) = unpaired_counts((10, 10, 3, 0.97, 0.8, -0.05), 2 * SHORT, [welch])
    assert count.outside > 2 * most(MISS, 2 * SHORT)


# --- one-sided claims about a rate -----------------------------------------------------------------------


def wrong_bounds(n_tasks, trials, base, icc, repetitions):
    """Count strict bounds, and lower limits of the two-sided interval, above the rate."""
    rng = np.random.default_rng([7, n_tasks, int(1000 * base), int(100 * icc)])
    strict = two_sided = 0
    for _ in range(repetitions):
        outcomes = rng.random((n_tasks, trials)) < task_rates(rng, n_tasks, base, icc)[:, None]
        strict += proportions.strict(outcomes).bound > base
        two_sided += proportions.rate_interval(outcomes).low > base
    return strict, two_sided


def test_strict_holds_its_one_sided_level():
    strict, two_sided = wrong_bounds(20, 3, 0.9, 0.8, SHORT)
    assert strict <= most(0.025, SHORT)
    assert strict <= two_sided


def test_the_two_sided_interval_spends_both_sides_at_a_rate_of_one():
    """At a rate just below its limit for no failure, the error of the lower limit is twice that of strict."""
    for n_tasks in (10, 50):
        two_sided = proportions.rate_interval([[1]] * n_tasks).low ** n_tasks
        strict = proportions.strict([[1]] * n_tasks).bound ** n_tasks
        assert two_sided == pytest.approx(2 * strict, rel=1e-9)
        assert strict <= 0.025


@pytest.mark.long
@pytest.mark.parametrize("n_tasks", [10, 20, 50])
@pytest.mark.parametrize("base", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("icc", [0.1, 0.8])
def test_strict_on_the_grid(n_tasks, base, icc):
    assert wrong_bounds(n_tasks, 3, base, icc, LONG)[0] <= most(0.025, LONG)


# --- these tasks only ------------------------------------------------------------------------------------


def fixed_counts(n_tasks, trials, base, icc, repetitions, methods, sets=5):
    rng = np.random.default_rng([8, n_tasks, trials, int(100 * base), int(100 * icc)])
    counts = [Count() for _ in methods]
    for _ in range(sets):
        rates = [task_rates(rng, n_tasks, base, icc) for _ in range(2)]
        truth = float((rates[1] - rates[0]).mean())
        for _ in range(repetitions // sets):
            arms = [rng.random((n_tasks, trials)) < p[:, None] for p in rates]
            for method, count in zip(methods, counts, strict=True):
                count.add(*method(*arms), truth)
    return counts


def pseudo_trials(baseline, candidate):
    return limits(fixed_tasks.interval(baseline, candidate))


def plain_z(baseline, candidate):
    difference = paired.mean_difference(baseline, candidate)
    trials = baseline.shape[1]
    variance = sum((arm.mean(1) * (1 - arm.mean(1)) / (trials - 1)).sum() for arm in (baseline, candidate))
    half = 1.96 * math.sqrt(variance) / len(baseline)
    return difference - half, difference + half


@pytest.mark.parametrize(("n_tasks", "trials", "base", "icc"), [(15, 2, 0.97, 0.4), (20, 3, 0.9, 0.8)])
def test_these_tasks_are_covered(n_tasks, trials, base, icc):
    pseudo, plain = fixed_counts(n_tasks, trials, base, icc, 3 * SHORT, [pseudo_trials, plain_z])
    pseudo.check(decides=False)
    assert plain.outside > 1.5 * most(MISS, 3 * SHORT)
    assert plain.flat > 0


@pytest.mark.long
@pytest.mark.parametrize("n_tasks", [15, 20, 50])
@pytest.mark.parametrize("trials", [2, 3, 5, 10])
@pytest.mark.parametrize("base", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("icc", [0.1, 0.8])
def test_these_tasks_on_the_grid(n_tasks, trials, base, icc):
    (count,) = fixed_counts(n_tasks, trials, base, icc, 2 * LONG, [pseudo_trials])
    count.check(decides=False)


# --- pass^k, and scores between 0 and 1 --------------------------------------------------------------------


def hat_counts(n_tasks, k, base, icc, repetitions, methods):
    """Both arms draw tasks from the same law, so that the true difference is 0 for every k."""
    rng = np.random.default_rng([9, n_tasks, k, int(100 * base), int(100 * icc)])
    counts = [Count() for _ in methods]
    for _ in range(repetitions):
        arms = draw(rng, "shift", n_tasks, 5, base, icc, 0.0)[:2]
        for method, count in zip(methods, counts, strict=True):
            count.add(*method(*arms, k), 0.0)
    return counts


def tilted_hat(baseline, candidate, k):
    return limits(reliability.difference_interval(baseline, candidate, k))


@pytest.mark.parametrize("k", [2, 5])
def test_differences_in_pass_hat_k_are_covered(k):
    (count,) = hat_counts(20, k, 0.9, 0.4, SHORT, [tilted_hat])
    count.check()


@pytest.mark.long
@pytest.mark.parametrize("n_tasks", [10, 20, 50])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("base", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("icc", [0.1, 0.8])
def test_pass_hat_k_on_the_grid(n_tasks, k, base, icc):
    (count,) = hat_counts(n_tasks, k, base, icc, LONG, [tilted_hat])
    count.check()


def hat_level_misses(repetitions):
    """Return how often the interval of pass^3 misses the truth, and the bias of the rate to the power 3."""
    rng = np.random.default_rng(10)
    icc, base, k = 0.4, 0.8, 3
    size = (1 - icc) / icc
    truth = math.prod((base * size + j) / (size + j) for j in range(k))  # moment of the beta law
    outside, plug_in = 0, []
    for _ in range(repetitions):
        outcomes = rng.random((50, 5)) < task_rates(rng, 50, base, icc)[:, None]
        found = reliability.interval(outcomes, k)
        outside += not found.low <= truth <= found.high
        plug_in.append((outcomes.mean(axis=1) ** k).mean())
    return outside, float(np.mean(plug_in)) - truth


def test_the_level_of_pass_hat_k_is_covered_where_the_plug_in_is_biased():
    outside, bias = hat_level_misses(SHORT)
    assert outside <= most(MISS, SHORT)
    assert bias > 0.02


def test_scores_between_0_and_1_are_covered():
    """Trial scores Beta(2p, 2(1 - p)) around the rates, most of them near 1, where Student's law fails."""
    rng = np.random.default_rng(11)
    tilted, student = Count(), Count()
    for _ in range(SHORT):
        p = np.clip(task_rates(rng, 10, 0.97, 0.8), 1e-6, 1 - 1e-6)
        q = np.where(rng.random(10) < 0.5, np.clip(task_rates(rng, 10, 0.97, 0.8), 1e-6, 1 - 1e-6), p)
        arms = [rng.beta(2 * rate, 2 * (1 - rate), (2, 10)).T for rate in (p, q)]
        tilted.add(*limits(paired.interval(*arms)), 0.0)
        found = paired.interval(*arms, method="t")
        student.add(*limits(found), 0.0) if found.low is not None else student.add(0.0, 0.0, 1.0)
    tilted.check()
    assert student.outside > most(MISS, SHORT)


# --- why bca and studentized never decide ------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bca", "studentized"])
def test_bca_and_studentized_are_close_with_many_tasks_and_break_with_few(method):
    rng = np.random.default_rng(12)
    easy, hard = Count(), Count()
    for n in range(SHORT):
        arms = draw(rng, "shift", 60, 3, 0.6, 0.4, 0.0)[:2]
        easy.add(*limits(paired.interval(*arms, method=method, resamples=999, rng=n)), 0.0)
        arms = draw(rng, "flip", 20, 3, 0.97, 0.4, -0.05)[:2]
        found = paired.interval(*arms, method=method, resamples=999, rng=n)
        if found.low is not None:
            hard.add(*limits(found), -0.05)
        else:
            hard.add(1.0, 1.0, -0.05)  # no answer is a miss
    assert easy.outside <= most(0.08, SHORT)
    assert hard.outside > 2 * most(MISS, SHORT)
