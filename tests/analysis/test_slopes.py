"""The clustered slope: against explicit loops, a general regression package, and simulated nulls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.slopes import slope
from tests.calibration.test_intervals import most


def data(seed, n_tasks=14, within=True):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n_tasks) if within else np.ones(n_tasks, dtype=int)
    task = np.repeat(np.arange(n_tasks), sizes)
    x = rng.random(len(task))
    y = 0.3 * x + rng.normal(size=n_tasks)[task] + 0.2 * rng.normal(size=len(task))
    return x, y, task


def by_regression(x, y, task, *, within):
    """Return the weighted slope with task dummies or one intercept, from `numpy.linalg.lstsq`."""
    weight = np.sqrt(1 / np.bincount(task)[task])
    levels = np.unique(task)
    dummies = (task[:, None] == levels).astype(float) if within else np.ones((len(x), 1))
    design = np.column_stack([x, dummies]) * weight[:, None]
    return float(np.linalg.lstsq(design, y * weight, rcond=None)[0][0])


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_estimate_and_limits_are_those_of_leaving_out_tasks_one_by_one(seed, within):
    x, y, task = data(seed, within=within)
    found = slope(x, y, task, level=0.9)
    whole = by_regression(x, y, task, within=within)
    parts = [by_regression(x[task != g], y[task != g], task[task != g], within=within) for g in range(14)]
    error = np.sqrt(13 / 14 * ((np.array(parts) - whole) ** 2).sum())
    assert found.status == "ok"
    assert found.estimate == pytest.approx(whole, abs=1e-10)
    half = stats.t.ppf(0.95, 13) * error
    assert found.interval.low == pytest.approx(whole - half, abs=1e-10)
    assert found.interval.high == pytest.approx(whole + half, abs=1e-10)


def test_the_jackknife_is_close_to_the_sandwich_of_statsmodels():
    """CR1 of an outside package, with 60 clusters: the jackknife is a little wider."""
    import statsmodels.api as sm

    x, y, task = data(3, n_tasks=60, within=False)
    model = sm.OLS(y, sm.add_constant(x)).fit(cov_type="cluster", cov_kwds={"groups": task})
    found = slope(x, y, task, level=0.95)
    error = (found.interval.high - found.interval.low) / 2 / stats.t.ppf(0.975, 59)
    assert found.estimate == pytest.approx(model.params[1], abs=1e-10)
    assert 0.97 < error / model.bse[1] < 1.15


def test_the_difficulty_of_tasks_adds_no_noise_where_every_task_tells():
    x, y, task = data(4)
    hard = y + 100.0 * task
    assert slope(x, hard, task, level=0.95).estimate == pytest.approx(
        slope(x, y, task, level=0.95).estimate, abs=1e-9
    )


@pytest.mark.parametrize(
    "y, status",
    [(np.zeros(20), "refused"), (np.full(20, 0.1), "refused"), (np.arange(20.0) % 3, "ok")],
)
def test_what_does_not_vary_has_no_interval(y, status):
    found = slope(np.linspace(0, 1, 20), y, np.arange(20), level=0.95)
    assert found.status == status
    assert (found.interval is None) == (found.estimate is None) == (status == "refused")


def test_a_place_that_only_one_task_has_gives_no_slope():
    x = np.zeros(12)
    x[0] = 1.0
    assert slope(x, np.arange(12.0), np.arange(12), level=0.95).status == "refused"


@pytest.mark.parametrize("n_tasks", [0, 1, 9])
def test_few_tasks_have_no_slope(n_tasks):
    found = slope(np.linspace(0, 1, n_tasks), np.arange(float(n_tasks)), np.arange(n_tasks), level=0.95)
    assert (found.status, found.n_tasks, found.estimate) == ("few_tasks", n_tasks, None)


@pytest.mark.parametrize(
    "n_tasks, repetitions, rate", [(10, 1, 0.5), (20, 1, 0.9), (20, 3, 0.9), (50, 2, 0.97)]
)
def test_it_rarely_sees_what_is_not_there(n_tasks, repetitions, rate):
    """At 99 %: a false notice of 1 %, up to 2 % where trials are 0 or 1 and few."""
    rng = np.random.default_rng([15, n_tasks, repetitions])
    task = np.repeat(np.arange(n_tasks), repetitions)
    count, seen = 1000, 0
    for _ in range(count):
        rates = np.clip(rng.beta(4 * rate, 4 * (1 - rate), n_tasks), 0, 1)
        y = (rng.random(len(task)) < rates[task]).astype(float)
        found = slope(rng.permutation(len(task)) / len(task), y, task, level=0.99)
        seen += found.interval is not None and not found.interval.low <= 0 <= found.interval.high
    assert seen <= most(0.02, count)
