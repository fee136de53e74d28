"""Coverage of the ratio of quantiles, simulated; beside it the plain percentile of the same few tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.contrasts import quantile_contrast
from analysis.quantiles import draw_quantiles
from tests.calibration.test_intervals import LATENCY_MISS, most, times

SHORT = 200
LONG = 1500
CELLS = [(20, 3, 0.5), (20, 5, 0.9)]
MORE_CELLS = [(20, 5, 0.95), (50, 3, 0.9), (50, 5, 0.95), (200, 3, 0.9)]


def misses(n_tasks: int, repetitions: int, q: float, count: int) -> tuple[int, int]:
    """Count intervals of the ratio that leave out 1.1: ours, and plain percentiles of the same draws."""
    rng = np.random.default_rng([8, n_tasks, repetitions, round(100 * q)])
    ours = plain = 0
    for n in range(count):
        drawn = draw_quantiles(*times(rng, n_tasks, repetitions), (q,), resamples=399, rng=n)
        found = quantile_contrast(drawn, 0, 0.95)
        assert found.decides
        ours += not found.log_ratio_interval.low <= math.log(1.1) <= found.log_ratio_interval.high
        ratios = np.log(drawn.draws[1, 0] / drawn.draws[0, 0])
        low, high = np.quantile(ratios, [0.025, 0.975])
        plain += not low <= math.log(1.1) <= high
    return ours, plain


@pytest.mark.parametrize(("n_tasks", "repetitions", "q"), CELLS)
def test_the_ratio_of_a_quantile_is_covered(n_tasks, repetitions, q):
    ours, plain = misses(n_tasks, repetitions, q, SHORT)
    assert ours <= most(LATENCY_MISS, SHORT)
    assert ours <= plain


@pytest.mark.long
@pytest.mark.parametrize(("n_tasks", "repetitions", "q"), MORE_CELLS)
def test_the_ratio_of_a_quantile_on_the_grid(n_tasks, repetitions, q):
    assert misses(n_tasks, repetitions, q, LONG)[0] <= most(LATENCY_MISS, LONG)
