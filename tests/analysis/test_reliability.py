"""pass^k, pass@k and variance components: unbiasedness, closed forms, lattices, intervals, refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols

from analysis import paired, proportions, reliability
from analysis.reliability import pass_at_k, pass_hat_k, task_probabilities, variance_components
from study.errors import InputError


def task(passes: int, repetitions: int) -> list[int]:
    return [1] * passes + [0] * (repetitions - passes)


def drawn(n_tasks: int = 30, repetitions: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rates = rng.beta(4, 1, (2, n_tasks, 1))
    left, right = rng.random((2, n_tasks, repetitions)) < rates
    return left, right


@pytest.mark.parametrize(("repetitions", "k"), [(1, 1), (4, 1), (4, 2), (5, 3), (5, 5)])
def test_it_is_the_share_of_subsets_of_k_trials(repetitions, k):
    for passes in range(repetitions + 1):
        trials = task(passes, repetitions)
        subsets = list(itertools.combinations(trials, k))
        assert pass_hat_k([trials], k) == pytest.approx(sum(map(all, subsets)) / len(subsets), abs=1e-15)
        assert pass_at_k([trials], k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-15)


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(2, 3), Fraction(9, 10)])
def test_neither_has_a_bias(rate):
    """The exact expectation over the binomial law of passes is p^k, and 1 - (1 - p)^k."""
    n = 6
    law = [math.comb(n, c) * rate**c * (1 - rate) ** (n - c) for c in range(n + 1)]
    for k in range(1, n + 1):
        hat = sum(p * Fraction(pass_hat_k([task(c, n)], k)) for c, p in enumerate(law))
        at = sum(p * Fraction(pass_at_k([task(c, n)], k)) for c, p in enumerate(law))
        assert float(hat) == pytest.approx(float(rate**k), rel=1e-14)
        assert float(at) == pytest.approx(float(1 - (1 - rate) ** k), rel=1e-14)


def test_tasks_weigh_equally_whatever_their_repetitions():
    outcomes = [task(2, 2), task(1, 8), task(3, 4)]
    assert pass_hat_k(outcomes, 2) == pytest.approx((1 + 0 + 3 / 6) / 3)
    assert pass_at_k(outcomes, 2) == pytest.approx((1 + 7 / 28 + 1) / 3)


@pytest.mark.parametrize(("k", "denominator"), [(1, 5), (2, 10), (3, 10), (4, 5), (5, 1)])
def test_the_lattice_of_five_repetitions(k, denominator):
    left, right = drawn()
    for measure in reliability.MEASURES:
        assert task_probabilities(left, k, measure=measure).denominator == denominator
        values = task_probabilities(right, k, measure=measure).means * denominator
        assert values == pytest.approx(np.rint(values), abs=1e-12)


def test_a_lattice_that_is_too_fine_is_binned():
    rng = np.random.default_rng(2)
    outcomes = rng.random((12, 20)) < 0.9
    values = task_probabilities(outcomes, 10)
    assert values.denominator is None
    found = reliability.interval(outcomes, 10)
    assert found.low < pass_hat_k(outcomes, 10) < found.high
    ragged = [task(3, 3), task(4, 4), task(2, 5)]
    assert task_probabilities(ragged, 2).denominator == math.lcm(3, 6, 10)


def test_k_of_one_is_the_rate():
    left, right = drawn(repetitions=3)
    for measure in reliability.MEASURES:
        assert reliability.interval(left, 1, measure=measure) == proportions.rate_interval(left)
        found = reliability.difference_interval(left, right, 1, measure=measure)
        assert found == paired.interval(left, right)
        expected = paired.mean_difference(left, right)
        assert reliability.difference(left, right, 1, measure=measure) == pytest.approx(expected, abs=1e-12)


def test_all_of_k_is_the_rate_of_tasks_without_a_failure():
    left, right = drawn()
    told = reliability.difference_interval(left, right, 5)
    tasks = [arm.all(axis=1, keepdims=True) for arm in (left, right)]
    assert told == paired.interval(*tasks)
    assert reliability.interval(left, 5) == proportions.rate_interval(tasks[0])


def test_the_measures_mirror_each_other():
    left, right = drawn()
    for k in (1, 2, 4):
        assert pass_at_k(left, k) == pytest.approx(1 - pass_hat_k(~left, k), abs=1e-14)
        at = reliability.difference_interval(left, right, k, measure="pass_at_k")
        hat = reliability.difference_interval(~right, ~left, k)
        assert (at.low, at.high) == pytest.approx((hat.low, hat.high), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 15), st.integers(1, 5), st.integers(0, 2**32 - 1), st.data())
def test_mirror_order_range_and_estimate(n_tasks, repetitions, seed, data):
    k = data.draw(st.integers(1, repetitions))
    measure = data.draw(st.sampled_from(reliability.MEASURES))
    left, right = drawn(n_tasks, repetitions, seed)
    one = reliability.difference_interval(left, right, k, measure=measure)
    other = reliability.difference_interval(right, left, k, measure=measure)
    assert (one.low, one.high) == (-other.high, -other.low)
    estimate = reliability.difference(left, right, k, measure=measure)
    assert -1 <= one.low <= estimate + 1e-15
    assert estimate - 1e-15 <= one.high <= 1
    order = np.random.default_rng(seed).permutation(n_tasks)
    again = reliability.difference_interval(left[order], right[order, ::-1], k, measure=measure)
    assert again == one


def test_pass_hat_falls_and_pass_at_rises_with_k():
    left, _ = drawn()
    hats, ats = ([f(left, k) for k in range(1, 6)] for f in (pass_hat_k, pass_at_k))
    assert hats == sorted(hats, reverse=True)
    assert ats == sorted(ats)
    assert hats[0] == ats[0]


@pytest.mark.parametrize(
    ("outcomes", "k", "match"),
    [
        ([task(3, 3)] * 10, 4, "k = 4"),
        ([task(3, 3)] * 9 + [task(2, 2)], 3, "task 9 has 2 repetitions"),
        ([task(3, 3)] * 10, 0, "k = 0"),
        ([task(3, 3)] * 10, 1.5, "k = 1.5"),
        ([task(3, 3)] * 10, True, "k = True"),
        ([[0.5, 1]] * 10, 1, "the value 0.5"),
        ([[float("nan"), 1]] * 10, 1, "the value nan"),
        ([], 1, "no tasks"),
        ([[]], 1, "no trial"),
    ],
)
def test_what_cannot_be_known_is_refused(outcomes, k, match):
    with pytest.raises(InputError, match=match):
        pass_hat_k(outcomes, k)
    with pytest.raises(InputError, match=match):
        reliability.interval(outcomes, k)


def test_bad_settings_are_refused():
    left, right = drawn()
    with pytest.raises(InputError, match="did you mean 'pass_hat_k'"):
        reliability.interval(left, 2, measure="pass_hatk")
    with pytest.raises(InputError, match="candidate"):
        reliability.difference_interval(left, right[:-1], 2)
    with pytest.raises(InputError, match="level"):
        reliability.difference_interval(left, right, 2, level=0)
    assert reliability.interval(left[:4], 2).status == "refused"
    assert reliability.interval(left[:9], 2).status == "few_tasks"


# --- variance components ---------------------------------------------------------------------------------


def long_form(outcomes) -> pd.DataFrame:
    rows = [(n, float(y)) for n, trials in enumerate(outcomes) for y in trials]
    return pd.DataFrame(rows, columns=["task", "y"])


@pytest.mark.parametrize("ragged", [False, True])
def test_components_are_those_of_the_analysis_of_variance(ragged):
    rng = np.random.default_rng(6)
    rates = rng.beta(2, 1, 25)
    sizes = rng.integers(1, 7, 25) if ragged else np.full(25, 4)
    outcomes = [(rng.random(n) < p).astype(int) for n, p in zip(sizes, rates, strict=True)]
    frame = long_form(outcomes)
    table = sm.stats.anova_lm(ols("y ~ C(task)", frame).fit())
    across, inside = table["mean_sq"]
    n = sizes.sum()
    size = (n - (sizes**2).sum() / n) / 24
    found = variance_components(outcomes)
    assert found.within == pytest.approx(inside, rel=1e-9)
    assert found.between == pytest.approx((across - inside) / size, rel=1e-9)
    assert found.icc == pytest.approx((across - inside) / (across + (size - 1) * inside), rel=1e-9)
    f = stats.f_oneway(*outcomes).statistic
    assert across / inside == pytest.approx(f, rel=1e-9)
    assert (found.n_tasks, found.n_trials, found.status) == (25, n, "ok")
    assert found.method == "ANOVA, one way, tasks random"


def test_the_design_effect_is_the_ratio_of_variances():
    left, _ = drawn(40, 4)
    frame = long_form(left)
    clustered = sm.OLS(frame["y"], np.ones(len(frame))).fit(
        cov_type="cluster", cov_kwds={"groups": frame["task"], "use_correction": False}
    )
    plain = sm.OLS(frame["y"], np.ones(len(frame))).fit()
    ratio = float(clustered.cov_params().iloc[0, 0] * 40 / 39 / plain.cov_params().iloc[0, 0])
    found = variance_components(left)
    assert found.design_effect == pytest.approx(ratio, rel=1e-9)
    assert found.design_effect == pytest.approx(1 + 3 * found.icc, rel=0.03)


def test_the_icc_is_found_again():
    rng = np.random.default_rng(12)
    for icc in (0.1, 0.4, 0.8):
        size = (1 - icc) / icc
        rates = rng.beta(0.8 * size, 0.2 * size, 4000)
        outcomes = rng.random((4000, 5)) < rates[:, None]
        assert variance_components(outcomes).icc == pytest.approx(icc, abs=0.03)


def test_what_repetitions_do_not_show_is_none():
    single = variance_components([[1], [0]] * 10)
    assert (single.within, single.between, single.icc, single.status) == (None, None, None, "not_identified")
    assert single.design_effect == pytest.approx(1)
    equal = variance_components([[1, 1]] * 20)
    assert (equal.within, equal.between, equal.icc) == (0, 0, None)
    assert (equal.design_effect, equal.status) == (None, "not_identified")
    alone = variance_components([[1, 0, 1]])
    assert (alone.within, alone.icc, alone.design_effect, alone.status) == (
        None,
        None,
        None,
        "not_identified",
    )
    assert variance_components([[1, 0], [1, 1]] * 4).status == "few_tasks"


def test_deterministic_tasks_and_even_ones():
    found = variance_components([[1, 1, 1], [0, 0, 0]] * 10)
    assert (found.within, found.icc) == (0, 1)
    assert found.design_effect == pytest.approx(3, rel=0.04)
    even = variance_components([[1, 0]] * 20)
    assert even.between < 0
    assert (even.icc, even.design_effect) == (-1, 0)
