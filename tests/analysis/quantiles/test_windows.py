"""The estimator of Harrell and Davis on weighted order statistics, against SciPy and the whole sample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from scipy.stats.mstats import hdquantiles

from analysis.quantiles.windows import harrell_davis, order_statistic, point, window
from analysis.taskvalues import trial_groups
from analysis.timing import FINE_UNIT, sort_times


def sample(n_tasks: int, repetitions: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(0, 0.8, (n_tasks, 1)) + rng.normal(0, 0.5, (n_tasks, repetitions)))


def resampled(arm, q, weights, *, whole=False):
    found = window(arm, q, whole=whole)
    started = np.rint(weights @ found.before).astype(np.int64)
    return harrell_davis(found, np.arange(arm.n_tasks), started, np.ascontiguousarray(weights.T))


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("shape", [(10, 1), (30, 3), (400, 5)])
def test_it_is_that_of_scipy(q, shape):
    data = sample(*shape)
    expected = float(hdquantiles(data.ravel(), [q])[0])
    assert point(window(sort_times(trial_groups(data, "times")), q)) == pytest.approx(expected, rel=1e-8)


def test_a_resample_is_the_estimate_of_the_drawn_tasks():
    data, rng = sample(40, 3), np.random.default_rng(1)
    weights = rng.multinomial(40, [1 / 40] * 40, size=20)
    for q in (0.5, 0.9):
        found = resampled(sort_times(trial_groups(data, "times")), q, weights)
        for n, row in enumerate(weights):
            drawn = np.repeat(data, row, axis=0).ravel()
            assert found[n] == pytest.approx(float(hdquantiles(drawn, [q])[0]), rel=1e-8)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_looking_at_a_window_of_times_changes_nothing(q):
    arm = sort_times(trial_groups(sample(3000, 4), "times"))
    found = window(arm, q)
    assert 0 < found.first < found.last < 11_999
    weights = np.random.default_rng(0).multinomial(3000, [1 / 3000] * 3000, size=50)
    assert resampled(arm, q, weights) == pytest.approx(resampled(arm, q, weights, whole=True), rel=1e-8)


def test_a_resample_beyond_the_window_is_given_its_edge():
    arm = sort_times(trial_groups(sample(3000, 4), "times"))
    weights = np.zeros((2, 3000), dtype=np.int64)
    weights[0, arm.task[0]] = weights[1, arm.task[-1]] = 3000
    found, prepared = resampled(arm, 0.5, weights), window(arm, 0.5)
    assert found[0] <= arm.times[prepared.first] + 1e-9
    assert found[1] == pytest.approx(arm.times[prepared.last])


def test_unequal_repetitions_weigh_tasks_equally():
    many = [np.full(1, 1.0)] * 6 + [np.full(30, 9.0)] * 5
    assert point(window(sort_times(trial_groups(many, "times")), 0.5)) < 2.5


def test_numbers_of_trials_without_a_common_multiple():
    rng = np.random.default_rng(3)
    tasks = [rng.lognormal(0, 1, n) for n in (7, 11, 13, 16, 9, 5, 3, 10, 1, 2)]
    arm = sort_times(trial_groups(tasks, "times"))
    assert arm.unit == FINE_UNIT
    assert np.array_equal(np.bincount(arm.task, arm.steps), np.full(10, FINE_UNIT))
    total = np.cumsum(arm.steps) / (10 * FINE_UNIT)
    n = len(arm.times)
    below = special.betainc(0.5 * (n + 1), 0.5 * (n + 1), total[:-1])
    expected = arm.times[-1] - float((below * np.diff(arm.times)).sum())
    assert point(window(arm, 0.5)) == pytest.approx(expected, rel=1e-5)


def test_order_statistics_are_those_of_the_inverted_distribution_function():
    data = sample(21, 1)
    arm = sort_times(trial_groups(data, "times"))
    for q in (0.1, 0.5, 0.77, 0.95):
        expected = np.quantile(data.ravel(), q, method="inverted_cdf")
        assert order_statistic(arm, q) == expected
