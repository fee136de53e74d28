"""The distribution function of latency and its band, against SciPy and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.distributions.empirical_distribution import _conf_set

from analysis.quantiles.bands import MOST_POINTS, distribution
from study.errors import InputError


def test_it_is_the_empirical_distribution_function_with_the_band_of_dvoretzky_kiefer_wolfowitz():
    data = np.random.default_rng(0).lognormal(size=(30, 1))
    found = distribution(data, level=0.9)
    expected = stats.ecdf(data.ravel()).cdf
    assert found.times_s == pytest.approx(expected.quantiles)
    assert found.shares == pytest.approx(expected.probabilities)
    low, high = _conf_set(expected.probabilities, alpha=0.1)
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(high)
    assert found.band == pytest.approx(math.sqrt(math.log(20) / 60))
    assert (found.n_tasks, found.n_trials, found.level) == (30, 30, 0.9)


def test_tasks_weigh_equally_and_are_the_sample_size():
    found = distribution([np.full(1, 1.0)] * 6 + [np.full(30, 9.0)] * 4)
    assert found.times_s == (1.0, 9.0)
    assert found.shares == pytest.approx((0.6, 1.0))
    assert found.band == distribution(np.ones((10, 7))).band


def test_many_steps_are_thinned_and_the_ends_are_kept():
    data = np.random.default_rng(1).lognormal(size=(500, 5))
    found = distribution(data)
    assert len(found.times_s) <= MOST_POINTS
    assert (found.times_s[0], found.times_s[-1]) == (data.min(), data.max())
    for time, share in zip(found.times_s, found.shares, strict=True):
        assert share == pytest.approx(float(np.mean(data <= time)))
    assert max(np.diff(found.shares)) < 0.006


@pytest.mark.parametrize("repetitions", [1, 6])
def test_the_band_holds_the_whole_function(repetitions):
    rng, misses = np.random.default_rng(3), 0
    for _ in range(120):
        data = np.exp(rng.normal(0, 0.8, (20, 1)) + rng.normal(0, 0.6, (20, repetitions)))
        found = distribution(data)
        gaps = stats.kstest(data.ravel(), stats.lognorm(1.0).cdf).statistic
        misses += gaps > found.band
    assert misses <= 14  # 5 % of 120, and 3.3 standard deviations


def test_few_tasks_have_none():
    assert distribution(np.ones((9, 5))) is None
    with pytest.raises(InputError, match="level"):
        distribution(np.ones((12, 1)), level=1.0)
