"""Hard fails: the task bound at zero, Clopper-Pearson otherwise, counts by code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.hardfails import summarise_hard_fails, upper_bound
from study.errors import InputError


@pytest.mark.parametrize(("n_tasks", "bound"), [(10, 0.259), (20, 0.139), (50, 0.058), (200, 0.015)])
def test_zero_events_give_the_task_bound(n_tasks, bound):
    for repetitions in (1, 10):
        found = upper_bound(np.zeros((n_tasks, repetitions)))
        assert found == pytest.approx(1 - 0.05 ** (1 / n_tasks), rel=1e-12)
        assert round(found, 3) == bound


@pytest.mark.parametrize(("n_tasks", "rate"), [(59, 0.05), (149, 0.02), (299, 0.01)])
def test_tasks_needed_for_a_bound(n_tasks, rate):
    assert upper_bound(np.zeros((n_tasks, 1))) < rate < upper_bound(np.zeros((n_tasks - 1, 1)))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("events", "n_tasks"), [(1, 20), (3, 10), (19, 20), (7, 150)])
def test_whole_events_are_clopper_pearson(events, n_tasks, level):
    outcomes = np.zeros((n_tasks, 1))
    outcomes[:events] = 1
    found = upper_bound(outcomes, level=level)
    assert found == pytest.approx(stats.beta.ppf(level, events + 1, n_tasks - events), rel=1e-10)
    exact = stats.binomtest(events, n_tasks, alternative="less").proportion_ci(level, method="exact").high
    assert found == pytest.approx(exact, rel=1e-8)
    two_sided = proportion_confint(events, n_tasks, alpha=2 * (1 - level), method="beta")[1]
    assert found == pytest.approx(two_sided, rel=1e-8)


def test_shares_enter_as_a_real_number_of_events():
    outcomes = [[1, 0, 0], *[[0, 0, 0]] * 18, [0, 1]]
    assert upper_bound(outcomes) == pytest.approx(stats.beta.ppf(0.95, 1 / 3 + 1 / 2 + 1, 20 - 1 / 3 - 1 / 2))


def test_bounds_grow_with_events_and_end_at_one():
    found = [upper_bound(np.arange(12)[:, None] < k) for k in range(13)]
    assert found == sorted(found)
    assert found[-1] == 1.0
    assert upper_bound([[0]]) == pytest.approx(0.95)


def test_counts_are_by_trial_task_and_code():
    codes = [
        [[], ["undeclared"], ["undeclared", "unknown-arg"]],
        [[], [], []],
        [["unknown-tool"]],
    ]
    found = summarise_hard_fails(codes)
    assert (found.count, found.tasks, found.trials, found.n_tasks) == (3, 2, 7, 3)
    assert found.by_code == {"undeclared": 2, "unknown-arg": 1, "unknown-tool": 1}
    assert found.upper_bound == pytest.approx(stats.beta.ppf(0.95, 1 + 5 / 3, 3 - 5 / 3))


@pytest.mark.parametrize("bad", [[], [[]], [[2]], [[float("nan")]], np.zeros(5)])
def test_bad_outcomes_are_refused(bad):
    with pytest.raises(InputError):
        upper_bound(bad)


@pytest.mark.parametrize("level", [0, 1, None])
def test_bad_levels_are_refused(level):
    with pytest.raises(InputError, match="level"):
        upper_bound([[0]] * 10, level=level)
