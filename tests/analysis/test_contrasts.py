"""Ratios, differences and deciles: p-values that agree with intervals, Holm, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats.mstats import hdquantiles
from statsmodels.stats.multitest import multipletests

from analysis.claims import holm_adjusted
from analysis.contrasts import (
    claim_p_value,
    expanded_interval,
    expanded_p_value,
    quantile_ratio_interval,
    shift_function,
)
from study.errors import InputError
from tests.analysis.quantiles.test_drawing import times


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n_tasks", [10, 25, 300])
def test_a_p_value_turns_where_the_interval_ends(level, n_tasks):
    draws = np.random.default_rng(1).gamma(2, size=4999)
    found = expanded_interval(draws, n_tasks, level)
    for at, p in ((found.high, (1 - level) / 2), (found.low, (1 + level) / 2)):
        assert expanded_p_value(draws, n_tasks, at) == pytest.approx(p, rel=1e-6)
    assert expanded_p_value(draws, n_tasks, found.high * 1.01) < (1 - level) / 2
    assert expanded_p_value(draws, n_tasks, found.high * 0.99) > (1 - level) / 2


def test_claims_have_the_p_values_of_their_limits():
    draws = np.random.default_rng(2).normal(-0.1, 0.1, 4999)
    assert claim_p_value(draws, 30, claim="superior") == expanded_p_value(draws, 30, 0.0)
    assert claim_p_value(draws, 30, claim="non-inferior", margin=0.1) < 0.05
    equivalent = claim_p_value(draws, 30, claim="equivalent", margin=0.2)
    assert equivalent == max(expanded_p_value(draws, 30, 0.2), expanded_p_value(-draws, 30, 0.2))


def test_a_p_value_is_not_below_what_resamples_can_show():
    assert expanded_p_value(np.full(999, -1.0), 40, 0.0) > 1e-4
    assert expanded_p_value(np.full(999, 1.0), 40, 0.0) > 0.99


def test_holm_is_that_of_statsmodels():
    rng = np.random.default_rng(0)
    for n in (1, 2, 9):
        p = rng.random(n) ** 3
        assert holm_adjusted(list(p)) == pytest.approx(list(multipletests(p, method="holm")[1]))
    assert holm_adjusted([]) == []


def test_the_ratio_of_a_quantile_mirrors_and_scales():
    baseline, candidate = times(25, 4)
    one, other = (
        quantile_ratio_interval(*arms, 0.9, resamples=400)
        for arms in ((baseline, candidate), (candidate, baseline))
    )
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)
    scaled = quantile_ratio_interval(baseline, 3 * candidate, 0.9, resamples=400)
    assert (scaled.low, scaled.high) == pytest.approx((one.low + math.log(3), one.high + math.log(3)))


def test_what_may_not_decide_says_so():
    assert quantile_ratio_interval(*times(25, 4), 0.95, resamples=400).status == "ok"
    assert quantile_ratio_interval(*times(25, 3), 0.95, resamples=400).status == "few_tasks"
    assert quantile_ratio_interval(*times(19, 9), 0.5, resamples=400).status == "few_tasks"
    refused = quantile_ratio_interval(*times(9, 9), 0.5, resamples=400)
    assert (refused.status, refused.low) == ("refused", None)
    with pytest.raises(InputError, match="0 s"):
        quantile_ratio_interval(np.zeros((12, 1)), np.ones((12, 1)), 0.5, resamples=400)


def test_the_shift_function_is_descriptive_unless_claimed():
    baseline, candidate = times(40, 3)
    found = shift_function(baseline, candidate, resamples=400)
    assert [round(row.probability, 1) for row in found] == [n / 10 for n in range(1, 10)]
    for row in found:
        expected = [float(hdquantiles(arm.ravel(), [row.probability])[0]) for arm in (baseline, candidate)]
        assert (row.baseline_s, row.candidate_s) == pytest.approx(expected, rel=1e-8)
        assert row.difference_s == pytest.approx(expected[1] - expected[0], abs=1e-8)
        assert row.interval.low < row.difference_s < row.interval.high
        assert (row.p_value, row.adjusted_p_value, row.outcome) == (None, None, None)


def test_claimed_deciles_share_their_level_by_holm():
    baseline, candidate = times(40, 3)
    found = shift_function(baseline, 1.6 * candidate, alpha=0.05, resamples=2000)
    p = [row.p_value for row in found]
    assert [row.adjusted_p_value for row in found] == pytest.approx(multipletests(p, method="holm")[1])
    for row in found:
        assert (row.p_value <= 0.05) == (row.interval.low > 0)
        assert row.outcome == ("longer" if row.adjusted_p_value <= 0.05 else "inconclusive")
    assert "longer" in {row.outcome for row in found}
    faster = shift_function(1.6 * candidate, baseline, alpha=0.05, resamples=2000)
    assert "shorter" in {row.outcome for row in faster}


def test_deciles_of_few_trials_are_not_tested():
    found = shift_function(*times(12, 5), alpha=0.05, resamples=400)
    assert {row.p_value for row in found} == {None}
    assert {row.status for row in found} == {"ok"}
    with pytest.raises(InputError, match="level"):
        shift_function(*times(), alpha=1.5)
