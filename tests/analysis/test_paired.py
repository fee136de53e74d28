"""The paired interval: its interface, its sensitivity methods, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis import paired
from analysis.estimates import estimate
from analysis.intervals import (
    METHODS,
    STUDY_METHODS,
    bca_limits,
    fewest_resamples,
    percentile_limits,
    studentized_limits,
    t_limits,
)
from analysis.resampling import resampled_means, resampled_moments
from analysis.results import Interval
from study.errors import InputError, StudyError
from study.protocol import AnalysisSpec, EndpointSpec, Protocol
from tests.support.tables import make_table

SPREAD_NEEDED = [method for method in METHODS if method != "tilted"]


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
        rng = np.random.default_rng(5)
        left, right = rng.random((2, n_tasks, 3))
        found = paired.interval(left, right, method=method)
        assert (found.status, found.low is None, found.high is None) == (
            status,
            status == "refused",
            status == "refused",
        )


@pytest.mark.parametrize("method", SPREAD_NEEDED)
def test_methods_without_width_on_ties_refuse_instead(method):
    found = paired.interval([[1]] * 20, [[1]] * 20, method=method)
    assert (found.status, found.low, found.high) == ("refused", None, None)
    found = paired.interval([[0]] * 20, [[1]] * 20, method=method)
    assert found.status == "refused"


@pytest.mark.parametrize("method", SPREAD_NEEDED)
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
        ({"method": "basic"}, "'basic'"),
        ({"method": "percentil"}, "did you mean 'percentile'"),
        ({"method": "percentile", "resamples": 38}, "resamples"),
        ({"method": "percentile", "resamples": 1e4}, "resamples"),
        ({"method": "percentile", "resamples": True}, "resamples"),
        ({"method": "bca", "resamples": 38}, "resamples"),
        ({"method": "studentized", "resamples": 38}, "resamples"),
        ({"method": "percentile", "rng": -1}, "rng"),
        ({"score_range": (1.0, 0.0)}, "score_range"),
        ({"score_range": (0.0, float("inf"))}, "score_range"),
        ({"method": "percentile", "rng": None}, "rng"),
        ({"method": "percentile", "rng": np.random.RandomState(0)}, "rng"),
    ],
)
def test_bad_settings_are_refused(options, match):
    with pytest.raises(StudyError, match=match):
        paired.interval(*arms(), **options)


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(StudyError) as error:
        paired.interval(*arms(), method="basic")
    assert error.value.allowed == "tilted, percentile, t, bca, studentized"


def test_fewest_resamples_is_what_the_quantile_needs():
    assert fewest_resamples(0.025) == 39
    left, right = arms()
    assert paired.interval(left, right, method="percentile", resamples=39).status == "ok"


# --- bca and studentized: for arrays only --------------------------------------------------------------


def skewed(n_tasks: int = 40, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).gamma(0.7, 0.1, n_tasks) - 0.05


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_bca_is_that_of_scipy(level):
    values = skewed()
    found = bca_limits(values, level, 40_000, 1)
    drawn = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=40_000,
        method="BCa",
        rng=np.random.default_rng(2),
    )
    expected = drawn.confidence_interval
    assert found == pytest.approx((expected.low, expected.high), abs=0.02 * np.ptp(found))
    plain = percentile_limits(values, level, 40_000, 1)
    assert min(np.subtract(found, plain)) > 0.02 * np.ptp(found)  # skewed to the right: both limits move up


def test_bca_is_the_percentile_interval_where_nothing_is_to_correct():
    half = np.linspace(0.01, 0.4, 20)
    values = np.concatenate([half, -half])
    found = bca_limits(values, 0.95, 40_000, 3)
    assert found == pytest.approx(percentile_limits(values, 0.95, 40_000, 3), abs=0.02 * np.ptp(found))


def test_studentized_is_the_bootstrap_t():
    values = skewed()
    rng = np.random.default_rng(7)
    drawn = values[rng.integers(40, size=(40_000, 40))]
    t = (drawn.mean(1) - values.mean()) / drawn.std(1, ddof=1)
    low, high = values.mean() - values.std(ddof=1) * np.quantile(t, [0.975, 0.025])
    found = studentized_limits(values, 0.95, 40_000, 8)
    assert found == pytest.approx((low, high), abs=0.03 * (high - low))
    assert high - values.mean() > 1.2 * (values.mean() - low)


def test_resamples_without_spread_refuse_a_studentized_limit():
    """One task of 20 differs: more than a third of the resamples miss it, and a tail of them has no t."""
    values = np.zeros(20)
    values[0] = -0.5
    assert studentized_limits(values, 0.95, 2000, 1) is None
    found = paired.interval([[1, 1]] * 20, [[1, 0]] + [[1, 1]] * 19, method="studentized")
    assert (found.status, found.low) == ("refused", None)


def test_bca_refuses_quantiles_beyond_the_extreme_resamples():
    values = np.zeros(12)
    values[0] = 1.0
    assert percentile_limits(values, 0.99, 199, 1) is not None
    assert bca_limits(values, 0.99, 199, 1) is None


@pytest.mark.parametrize("method", ["bca", "studentized"])
def test_bca_and_studentized_mirror_up_to_their_draws(method):
    left, right = np.random.default_rng(3).random((2, 50, 2))
    one = paired.interval(left, right, method=method, resamples=20_000)
    other = paired.interval(right, left, method=method, resamples=20_000)
    width = one.high - one.low
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=0.05 * width)
    assert one.low < paired.mean_difference(left, right) < one.high


def test_resampled_moments_belong_to_the_resampled_means():
    values = np.random.default_rng(5).integers(0, 4, 31) / 3
    means, deviations = resampled_moments(values, 300, np.random.default_rng(8), 100)
    assert means == pytest.approx(resampled_means(values, 300, np.random.default_rng(8)), abs=1e-15)
    rng = np.random.default_rng(9)
    few = np.array([0.0, 1.0, 4.0])
    means, deviations = resampled_moments(few, 400, rng)
    possible = {(a, b, c) for a in few for b in few for c in few}
    known = {(round(np.mean(x), 9), round(np.std(x, ddof=1), 9)) for x in possible}
    assert set(zip(means.round(9), deviations.round(9), strict=True)) == known


def test_a_protocol_cannot_name_them():
    names = {name for record in (Protocol, AnalysisSpec, EndpointSpec) for name in record.__struct_fields__}
    assert "method" not in names
    assert set(AnalysisSpec.__struct_fields__) == {"resamples", "seed", "multiplicity"}
    (found,) = estimate(make_table())
    shown = {found.interval.method, *(other.method for other in found.sensitivity)}
    assert shown == set(STUDY_METHODS)
    assert not {"bca", "studentized"} & shown


# --- scores in a declared range --------------------------------------------------------------------------


def test_a_declared_range_scales_the_limits():
    left, right = np.random.default_rng(1).random((2, 14, 2))
    plain = paired.interval(left, right)
    wide = paired.interval(10 * left - 5, 10 * right - 5, score_range=(-5.0, 5.0))
    assert (wide.low, wide.high) == pytest.approx((10 * plain.low, 10 * plain.high), abs=1e-9)
    for claim in ("non-inferior", "superior", "equivalent"):
        told = paired.p_value(10 * left - 5, 10 * right - 5, claim=claim, margin=2.0, score_range=(-5.0, 5.0))
        assert told == pytest.approx(paired.p_value(left, right, claim=claim, margin=0.2), rel=1e-6)
    estimate = paired.mean_difference(10 * left - 5, 10 * right - 5, score_range=(-5.0, 5.0))
    assert estimate == pytest.approx(10 * paired.mean_difference(left, right), abs=1e-12)


def test_a_narrower_range_is_worth_a_narrower_interval():
    """Pseudo tasks sit at the ends of the declared differences: all ties scale with them."""
    left = np.full((20, 1), 0.5)
    for width in (1.0, 0.5, 0.1):
        found = paired.interval(left, left, score_range=(0.5 - width / 2, 0.5 + width / 2))
        assert found.high == pytest.approx(0.1614 * width, abs=5e-5 * width)
        assert found.low == -found.high


@pytest.mark.parametrize("score", [0.39, 0.61, float("nan")])
def test_a_score_outside_the_declared_range_is_an_error(score):
    with pytest.raises(InputError, match="candidate"):
        paired.interval([[0.5]] * 10, [[0.5]] * 9 + [[score]], score_range=(0.4, 0.6))


def test_the_margin_is_in_the_unit_of_the_scores():
    scores = np.random.default_rng(0).random((20, 1)) * 4
    with pytest.raises(InputError, match="margin"):
        paired.p_value(scores, scores, claim="non-inferior", margin=4.0, score_range=(0.0, 4.0))
    assert 0 < paired.p_value(scores, scores, claim="non-inferior", margin=3.9, score_range=(0.0, 4.0)) < 1e-9


# --- strata ----------------------------------------------------------------------------------------------


def stratum(differences: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    return [[int(d < 0)] for d in differences], [[int(d > 0)] for d in differences]


THREE = [
    stratum([-1] + [0] * 9),
    stratum([-1, 1] + [0] * 18),
    stratum([-1] * 3 + [1] * 5 + [0] * 42),
]


@pytest.mark.parametrize(
    ("weights", "pseudo_tasks", "expected"),
    [
        ((0.2, 0.3, 0.5), "shared", (-0.09481, 0.09049)),
        ((0.2, 0.3, 0.5), "each", (-0.09833, 0.09522)),
        ((1 / 3, 1 / 3, 1 / 3), "shared", (-0.14375, 0.08593)),
        ((1 / 3, 1 / 3, 1 / 3), "each", (-0.14821, 0.09533)),
    ],
)
def test_strata(weights, pseudo_tasks, expected):
    found = paired.stratified_interval(THREE, weights, pseudo_tasks=pseudo_tasks)
    assert (found.low, found.high) == pytest.approx(expected, abs=2e-5)
    assert (found.method, found.level, found.status) == ("tilted, strata", 0.95, "ok")
    assert found.low <= paired.stratified_difference(THREE, weights) <= found.high


def test_one_stratum_is_the_plain_interval():
    left, right = arms()
    plain, one = paired.interval(left, right), paired.stratified_interval([(left, right)], [1.0])
    assert (one.low, one.high) == (plain.low, plain.high)
    for claim in ("non-inferior", "superior", "equivalent"):
        told = paired.stratified_p_value([(left, right)], [1.0], claim=claim, margin=0.2)
        assert told == paired.p_value(left, right, claim=claim, margin=0.2)


def test_weights_of_strata_are_used():
    good, bad = stratum([0] * 20), stratum([-1] * 8 + [0] * 12)
    heavy = paired.stratified_interval([good, bad], [0.2, 0.8])
    light = paired.stratified_interval([good, bad], [0.8, 0.2])
    assert heavy.high < light.high
    assert paired.stratified_difference([good, bad], [0.25, 0.75]) == pytest.approx(-0.3)


def test_the_status_of_strata():
    def status(weights, *n_tasks):
        return paired.stratified_interval([stratum([0] * n) for n in n_tasks], weights).status

    assert status((0.5, 0.5), 40, 4) == "refused"
    assert status((0.5, 0.5), 40, 9) == "few_tasks"  # weighs more than its share of the tasks
    assert status((0.9, 0.1), 40, 9) == "ok"
    assert status((0.5, 0.5), 40, 10) == "ok"
    assert status((1.0,), 9) == "few_tasks"
    found = paired.stratified_interval([stratum([0] * 40), stratum([0] * 4)], (0.5, 0.5))
    assert (found.low, found.high) == (None, None)


def test_p_of_strata_agrees_with_the_interval():
    weights = (0.2, 0.3, 0.5)
    found = paired.stratified_interval(THREE, weights)
    for margin in (0.07, 0.09, 0.094, 0.096, 0.2):
        for claim, shown in (
            ("non-inferior", found.low >= -margin),
            ("superior", found.low >= 0),
            ("equivalent", found.low >= -margin and found.high <= margin),
        ):
            p = paired.stratified_p_value(THREE, weights, claim=claim, margin=margin)
            assert (p <= 0.025) == shown, (claim, margin)


def test_a_margin_below_the_unseen_loss_is_refused():
    with pytest.raises(InputError, match="unseen") as error:
        paired.stratified_p_value(THREE, (0.2, 0.3, 0.5), claim="non-inferior", margin=0.06)
    assert "0.0620" in error.value.allowed
    assert paired.stratified_p_value(THREE, (0.2, 0.3, 0.5), claim="superior") > 0.025
    with pytest.raises(InputError, match="unseen"):
        paired.stratified_p_value(THREE, (0.2, 0.3, 0.5), claim="equivalent", margin=0.065, alpha=0.02)


@pytest.mark.parametrize(
    ("strata", "weights", "options", "match"),
    [
        (THREE, (0.2, 0.3), {}, "weights"),
        (THREE, (0.2, 0.3, 0.4), {}, "weights"),
        (THREE, (0.5, 0.6, -0.1), {}, "weights"),
        ([], (), {}, "no strata"),
        (THREE, (0.2, 0.3, 0.5), {"level": 1.0}, "level"),
        (THREE, (0.2, 0.3, 0.5), {"pseudo_tasks": "none"}, "pseudo_tasks"),
        ([([[1]] * 10, [[1]] * 9)], (1.0,), {}, "candidate"),
        ([([[1]] * 10, [[2]] * 10)], (1.0,), {}, "candidate"),
    ],
)
def test_bad_strata_are_refused(strata, weights, options, match):
    with pytest.raises(InputError, match=match):
        paired.stratified_interval(strata, weights, **options)


def test_p_of_strata_refuses_what_does_not_decide():
    few = [stratum([0] * 40), stratum([0] * 9)]
    with pytest.raises(InputError, match="40, 9 tasks"):
        paired.stratified_p_value(few, (0.5, 0.5), claim="superior")
    with pytest.raises(InputError, match="claim"):
        paired.stratified_p_value(THREE, (0.2, 0.3, 0.5), claim="better")
    with pytest.raises(InputError, match="margin"):
        paired.stratified_p_value(THREE, (0.2, 0.3, 0.5), claim="equivalent")


@pytest.mark.parametrize("level", [1e-300, 1e-17, np.float64(1e-13)])
def test_a_level_that_no_number_can_hold_is_refused(level):
    with pytest.raises(InputError, match="level") as caught:
        paired.interval([[1]] * 20, [[1]] * 19 + [[0]], level=level)
    assert "1e-12" in str(caught.value)


def test_the_smallest_level_is_a_narrow_interval_around_the_estimate():
    found = paired.interval([[1]] * 20, [[1]] * 19 + [[0]], level=1e-12)
    assert -0.06 < found.low <= -0.05 <= found.high < -0.04
