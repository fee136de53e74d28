"""Latency: Harrell-Davis against scipy, the task bootstrap, time-outs, the paired geometric-mean ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats
from scipy.stats.mstats import hdquantiles

from analysis import latency
from study.errors import InputError


def times(n_tasks: int = 20, repetitions: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    task = rng.normal(0, 0.8, (n_tasks, 1))
    return tuple(np.exp(task + rng.normal(shift, 0.5, (n_tasks, repetitions))) for shift in (0.0, 0.1))


def test_the_median_is_that_of_harrell_and_davis():
    baseline, candidate = times()
    found = latency.quantiles(baseline, candidate, resamples=200)
    for arm, data in (("baseline", baseline), ("candidate", candidate)):
        assert found[arm].p50_s == pytest.approx(float(hdquantiles(data.ravel(), [0.5])[0]), rel=1e-10)
        assert (found[arm].status, found[arm].n_tasks, found[arm].n_trials) == ("ok", 20, 60)
        assert found[arm].p50_interval.low < found[arm].p50_s < found[arm].p50_interval.high


def test_the_interval_is_the_expanded_percentile_of_resampled_tasks():
    baseline, candidate = times(15, 2)
    found = latency.quantiles(baseline, candidate, resamples=4000, rng=1)["baseline"].p50_interval
    rng = np.random.default_rng(77)
    drawn = [hdquantiles(baseline[rng.integers(15, size=15)].ravel(), [0.5])[0] for _ in range(1500)]
    tail = special.ndtr(-math.sqrt(15 / 14) * stats.t.ppf(0.975, 14))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    assert found.low == pytest.approx(low, rel=0.05)
    assert found.high == pytest.approx(high, rel=0.05)


@pytest.mark.parametrize("n_tasks", [1, 4, 9])
def test_few_tasks_are_refused(n_tasks):
    found = latency.quantiles(*times(n_tasks), resamples=200)["candidate"]
    assert (found.status, found.p50_s, found.p50_interval) == ("refused", None, None)


def test_equal_times_have_a_median_and_no_flat_interval():
    found = latency.quantiles(np.ones((12, 2)), np.ones((12, 2)), resamples=200)["baseline"]
    assert found.p50_s == 1
    assert (found.p50_interval.low, found.p50_interval.status) == (None, "refused")


def test_a_few_time_outs_are_kept():
    baseline, candidate = times(40, 1)
    ended = np.zeros((40, 1))
    ended[:2] = 1
    found = latency.quantiles(baseline, candidate, censored=(ended, ended), resamples=200)["baseline"]
    assert (found.status, found.censored, found.n_trials) == ("ok", 2, 40)


def test_gmr_is_the_paired_t_interval_of_logs():
    baseline, candidate = times(25, 4)
    found = latency.gmr(baseline, candidate, level=0.9)
    logs = [np.log(arm).mean(1) for arm in (baseline, candidate)]
    expected = stats.ttest_rel(logs[1], logs[0]).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-10)
    assert latency.mean_log_ratio(baseline, candidate) == pytest.approx(float((logs[1] - logs[0]).mean()))


def test_gmr_mirrors_scales_and_is_refused_without_spread():
    baseline, candidate = times(25, 4)
    one, other = latency.gmr(baseline, candidate), latency.gmr(candidate, baseline)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-14)
    scaled = latency.gmr(1000 * baseline, 1000 * candidate)
    assert (scaled.low, scaled.high) == pytest.approx((one.low, one.high), abs=1e-12)
    assert latency.gmr(np.ones((12, 1)), np.full((12, 1), 2.0)).status == "refused"
    for method in ("t", "percentile"):
        assert latency.gmr(baseline, 1.1 * baseline, method=method).status == "refused"
    assert [latency.gmr(*times(n)).status for n in (4, 5, 9, 10)] == [
        "refused",
        "few_tasks",
        "few_tasks",
        "ok",
    ]


def test_bootstrap_rows_of_many_tasks_come_from_a_lattice_of_the_same_spread():
    baseline, candidate = times(5000, 1)
    found = latency.gmr(baseline, candidate, method="percentile", resamples=4000)
    differences = (np.log(candidate) - np.log(baseline)).ravel()
    half = 1.96 * differences.std() / math.sqrt(5000)
    assert (found.low, found.high) == pytest.approx(
        (differences.mean() - half, differences.mean() + half), abs=0.06 * half
    )
    rounded = latency._on_lattice(differences)
    assert len(np.unique(rounded)) < 540
    assert rounded.mean() == pytest.approx(differences.mean(), abs=1e-12)
    assert rounded.std() == pytest.approx(differences.std(), rel=1e-3)


# --- restricted mean ---------------------------------------------------------------------------------------


def test_the_restricted_mean_is_the_paired_t_interval_of_capped_times():
    baseline, candidate = times(25, 4)
    found = latency.restricted_mean_difference(baseline, candidate, cap=1.5, level=0.9)
    means = [np.minimum(arm, 1.5).mean(1) for arm in (baseline, candidate)]
    expected = stats.ttest_rel(means[1], means[0]).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-10)
    middle = latency.mean_restricted_difference(baseline, candidate, 1.5)
    assert middle == pytest.approx(float((means[1] - means[0]).mean()), rel=1e-12)
    ours, interval = latency.restricted_mean(candidate, cap=1.5)
    assert ours == pytest.approx(float(means[1].mean()), rel=1e-12)
    expected = stats.t.interval(0.95, 24, means[1].mean(), stats.sem(means[1]))
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-10)


def test_what_happens_beyond_the_cap_does_not_matter():
    baseline, candidate = times(12, 2)
    late = np.where(candidate > 1.2, candidate * 50, candidate)
    one, other = (latency.restricted_mean_difference(baseline, arm, cap=1.2) for arm in (candidate, late))
    assert one == other
    assert latency.restricted_mean_difference(baseline, late, cap=math.inf) != one


def test_bad_caps_are_refused():
    for cap in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="cap"):
            latency.restricted_mean(np.ones((12, 1)), cap=cap)


def test_the_geometric_mean_is_told_in_seconds():
    baseline, _ = times(20, 3)
    value, found = latency.geometric_mean(baseline)
    assert value == pytest.approx(stats.gmean(baseline.ravel()))
    expected = stats.t.interval(
        0.95, 19, np.log(baseline).mean(1).mean(), stats.sem(np.log(baseline).mean(1))
    )
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)), rel=1e-10)


@pytest.mark.parametrize("bad", [[], [[]], [[-1.0]], [[math.nan]], [[math.inf]], np.ones(3), [["1 s"]]])
def test_bad_times_are_refused(bad):
    for call in (latency.quantiles, latency.gmr, latency.mean_log_ratio):
        with pytest.raises(InputError):
            call(bad, bad)


def test_arms_with_different_tasks_are_refused():
    for call in (latency.quantiles, latency.gmr, latency.mean_log_ratio):
        with pytest.raises(InputError, match="11 tasks in baseline"):
            call(np.ones((11, 1)), np.ones((12, 1)))


def test_a_time_of_zero_has_no_logarithm():
    with pytest.raises(InputError, match="0 s"):
        latency.gmr(np.zeros((12, 1)), np.ones((12, 1)))


@pytest.mark.parametrize("flags", [[[0]] * 11, [[0, 0]] * 12, [[0.5]] * 12])
def test_flags_must_match_the_times(flags):
    with pytest.raises(InputError, match="flags"):
        latency.quantiles(np.ones((12, 1)), np.ones((12, 1)), censored=(flags, flags))


def test_bad_settings_are_refused():
    for options in ({"level": 1.0}, {"resamples": 50}, {"rng": -1}):
        with pytest.raises(InputError):
            latency.quantiles(*times(), **options)
    with pytest.raises(InputError, match="tilted"):
        latency.gmr(*times(), method="tilted")
