"""Student's p-value against SciPy, and beside its interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.intervals import t_limits
from analysis.student import p_value
from study.errors import InputError


@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_scipy(seed):
    values = np.random.default_rng(seed).normal(0.1, 1, 15)
    assert p_value(values, claim="superior") == pytest.approx(
        stats.ttest_1samp(values, 0, alternative="greater").pvalue, rel=1e-9
    )
    above = stats.ttest_1samp(values, -0.4, alternative="greater").pvalue
    below = stats.ttest_1samp(values, 0.4, alternative="less").pvalue
    assert p_value(values, claim="non-inferior", margin=0.4) == pytest.approx(above, rel=1e-9)
    assert p_value(values, claim="equivalent", margin=0.4) == pytest.approx(max(above, below), rel=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_it_never_contradicts_the_interval(seed):
    values = np.random.default_rng(seed).normal(0.3, 1, 12)
    low, high = t_limits(values, 0.95)
    assert (p_value(values, claim="superior") <= 0.025) == (low >= 0)
    assert (p_value(values, claim="non-inferior", margin=0.5) <= 0.025) == (low >= -0.5)
    assert (p_value(values, claim="equivalent", margin=0.9) <= 0.025) == (low >= -0.9 and high <= 0.9)


def test_what_has_no_interval_has_no_p_value():
    assert p_value(np.ones(12), claim="superior") is None
    assert p_value(np.array([0.1, 0.2, 0.3, 0.4]), claim="superior") is None
    with pytest.raises(InputError, match="'better'"):
        p_value(np.arange(9.0), claim="better")
