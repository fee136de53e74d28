"""The paired interval: its interface, its sensitivity methods, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis import paired
from analysis.intervals import METHODS, fewest_resamples, percentile_limits, t_limits
from analysis.resampling import resampled_means
from analysis.results import Interval
from study.errors import InputError, StudyError


def arms(n_tasks: int = 30, repetitions: int = 3, seed: int = 0, rates: tuple[float, float] = (0.8, 0.7)):
    rng = np.random.default_rng(seed)
    return [rng.random((n_tasks, repetitions)) < rate for rate in rates]


def test_an_interval_is_a_record_with_status():
    found = paired.interval(*arms())
    assert isinstance(found, Interval)
    assert (found.level, found.method, found.status) == (0.95, "tilted", "ok")
    assert found.low < paired.mean_difference(*arms()) < found.high


@pytest.mark.parametrize("method", METHODS)
def test_status_follows_the_number_of_tasks(method):
    for n_tasks, status in ((2, "refused"), (4, "refused"), (5, "few_tasks"), (9, "few_tasks"), (10, "ok")):
        left, right = arms(n_tasks, seed=5)
        right[0], left[0] = True, False
        found = paired.interval(left, right, method=method)
        assert (found.status, found.low is None, found.high is None) == (
            status,
            status == "refused",
            status == "refused",
        )


@pytest.mark.parametrize("method", ["percentile", "t"])
def test_methods_without_width_on_ties_refuse_instead(method):
    found = paired.interval([[1]] * 20, [[1]] * 20, method=method)
    assert (found.status, found.low, found.high) == ("refused", None, None)
    found = paired.interval([[0]] * 20, [[1]] * 20, method=method)
    assert found.status == "refused"


@pytest.mark.parametrize("method", ["percentile", "t"])
def test_equal_differences_are_ties_however_they_arise(method):
    """1/3 - 0, 2/3 - 1/3 and 1 - 2/3 are three different floats."""
    baseline = [[0, 0, 0], [1, 0, 0], [1, 1, 0]] * 5
    candidate = [[1, 0, 0], [1, 1, 0], [1, 1, 1]] * 5
    assert len(set(paired.task_differences(baseline, candidate))) == 1
    assert paired.interval(baseline, candidate, method=method).status == "refused"


def test_every_form_of_the_same_data_agrees():
    left, right = arms()
    forms = [
        (left.astype(int), right.astype(float)),
        (left.tolist(), right.tolist()),
        ([np.array(task) for task in left], tuple(right)),
        (np.asfortranarray(left), right[:, ::-1]),
    ]
    assert {paired.interval(*form) for form in forms} == {paired.interval(left, right)}


def test_tasks_weigh_equally_whatever_their_repetitions():
    baseline = [[1], [1] * 9, [1], [0, 1], [1]]
    candidate = [[0, 0, 0], [1], [1], [1], [1]]
    assert paired.mean_difference(baseline, candidate) == pytest.approx((-1 + 0.5) / 5)


def test_t_is_the_paired_t_interval():
    left, right = arms(25, 4)
    expected = stats.ttest_rel(right.mean(1), left.mean(1)).confidence_interval(0.9)
    found = paired.interval(left, right, method="t", level=0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_percentile_is_the_cluster_bootstrap():
    left, right = arms(40, 3)
    differences = right.mean(1) - left.mean(1)
    rng = np.random.default_rng(99)
    drawn = differences[rng.integers(40, size=(100_000, 40))].mean(1)
    found = paired.interval(left, right, method="percentile", resamples=100_000)
    step = 1 / (40 * 3)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975])), abs=step + 1e-9
    )


def test_percentile_uses_its_seed_and_nothing_global():
    left, right = arms(30, 1)
    first = paired.interval(left, right, method="percentile", resamples=99, rng=1)
    np.random.default_rng().random(3)
    assert paired.interval(left, right, method="percentile", resamples=99, rng=1) == first
    same = paired.interval(left, right, method="percentile", resamples=99, rng=np.random.default_rng(1))
    assert same == first
    others = {paired.interval(left, right, method="percentile", resamples=99, rng=seed) for seed in range(12)}
    assert len(others) > 1


@pytest.mark.parametrize("continuous", [False, True])
def test_the_block_size_does_not_matter(continuous):
    rng = np.random.default_rng(5)
    values = rng.random(31) if continuous else rng.integers(0, 3, 31) / 2
    whole = resampled_means(values, 501, np.random.default_rng(8))
    for cells in (1, 31, 100, 5000):
        assert np.array_equal(resampled_means(values, 501, np.random.default_rng(8), cells), whole)


def test_array_functions_agree_with_the_interval():
    left, right = arms()
    values = paired.task_differences(left, right)
    found = paired.interval(left, right, method="t")
    assert t_limits(values, 0.95) == (found.low, found.high)
    bootstrap = paired.interval(left, right, method="percentile", resamples=500, rng=3)
    assert percentile_limits(values, 0.95, 500, 3) == (bootstrap.low, bootstrap.high)


BAD = {
    "no tasks": ([], []),
    "empty array": (np.empty((0, 3)), np.empty((0, 3))),
    "task without trials": ([[1]] * 9 + [[]], [[1]] * 10),
    "no repetitions": (np.empty((5, 0)), np.empty((5, 0))),
    "different tasks": ([[1]] * 10, [[1]] * 9),
    "one dimension": (np.ones(10), np.ones(10)),
    "three dimensions": (np.ones((5, 2, 2)), np.ones((5, 2, 2))),
    "nested": ([[[1]]] * 10, [[1]] * 10),
    "ragged inside": ([[1, [0]]] * 10, [[1]] * 10),
    "scalar": (1.0, 1.0),
    "numbers": ([1, 0, 1], [1, 0, 1]),
    "text": ("101", "111"),
    "words": ([["yes"]] * 10, [["no"]] * 10),
    "none": ([[None]] * 10, [[1]] * 10),
    "NaN": ([[np.nan]] * 10, [[1]] * 10),
    "infinity": ([[np.inf]] * 10, [[1]] * 10),
    "above the range": ([[1]] * 10, [[1.0001]] * 10),
    "below the range": ([[1]] * 10, [[-1e-9]] * 10),
    "dates": (np.zeros((10, 1), "datetime64[s]"), np.zeros((10, 1))),
    "complex": (np.zeros((10, 1), complex), np.zeros((10, 1))),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("method", METHODS)
def test_bad_arrays_are_refused_with_a_place(name, method):
    with pytest.raises(InputError) as error:
        paired.interval(*BAD[name], method=method)
    assert error.value.where
    assert error.value.allowed


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"level": 0}, "level"),
        ({"level": 1}, "level"),
        ({"level": 95}, "level"),
        ({"level": float("nan")}, "level"),
        ({"level": True}, "level"),
        ({"level": "0.95"}, "level"),
        ({"method": "bca"}, "'bca'"),
        ({"method": "percentil"}, "did you mean 'percentile'"),
        ({"method": "percentile", "resamples": 38}, "resamples"),
        ({"method": "percentile", "resamples": 1e4}, "resamples"),
        ({"method": "percentile", "resamples": True}, "resamples"),
        ({"method": "percentile", "rng": -1}, "rng"),
        ({"method": "percentile", "rng": None}, "rng"),
        ({"method": "percentile", "rng": np.random.RandomState(0)}, "rng"),
    ],
)
def test_bad_settings_are_refused(options, match):
    with pytest.raises(StudyError, match=match):
        paired.interval(*arms(), **options)


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(StudyError) as error:
        paired.interval(*arms(), method="studentized")
    assert error.value.allowed == "tilted, percentile, t"


def test_fewest_resamples_is_what_the_quantile_needs():
    assert fewest_resamples(0.025) == 39
    left, right = arms()
    assert paired.interval(left, right, method="percentile", resamples=39).status == "ok"
