"""Quantiles of both arms in the same resamples: rules, exact enumeration, blocks, many trials."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.stats.mstats import hdquantiles

from analysis.contrasts import expanded_interval, latency_summaries, quantile_contrast
from analysis.quantiles import draw_quantiles
from analysis.quantiles import drawing as quantiles
from analysis.quantiles.exact import _kinds, window_draws
from analysis.quantiles.windows import window
from analysis.taskvalues import trial_groups
from analysis.timing import sort_times
from study.errors import InputError


def times(n_tasks: int = 20, repetitions: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    task = rng.normal(0, 0.8, (n_tasks, 1))
    return tuple(np.exp(task + rng.normal(shift, 0.5, (n_tasks, repetitions))) for shift in (0.0, 0.1))


def test_draws_have_the_exact_law_of_resampled_tasks():
    data = np.array([[1.0, 2.0], [4.0, 8.0], [3.0, 3.5], [16.0, 5.0]])
    exact = [
        float(hdquantiles(data[list(drawn)].ravel(), [0.5])[0])
        for drawn in itertools.product(range(4), repeat=4)
    ]
    drawn = window_draws(
        [window(sort_times(trial_groups(data, "times")), 0.5)], 40_000, np.random.default_rng(2)
    )[0]
    assert drawn.mean() == pytest.approx(np.mean(exact), abs=5 * np.std(exact) / 200)
    for p in (0.1, 0.5, 0.9):
        share = np.mean(np.array(exact) <= np.quantile(exact, p) + 1e-9)
        assert np.mean(drawn <= np.quantile(exact, p) + 1e-9) == pytest.approx(share, abs=0.0125)


def test_both_arms_share_the_resamples():
    baseline, _ = times(15, 2)
    drawn = draw_quantiles(baseline, 2 * baseline, (0.5, 0.9), resamples=200)
    assert drawn.draws[1] == pytest.approx(2 * drawn.draws[0], rel=1e-12)
    found = quantile_contrast(drawn, 0, 0.95)
    assert found.log_ratio == pytest.approx(np.log(2), rel=1e-12)
    assert found.log_ratio_interval.status == "refused"  # all resamples have the same ratio
    assert found.difference_interval.low > 0


def test_tasks_outside_of_all_windows_are_drawn_by_kind_with_the_same_law():
    arms = [sort_times(trial_groups(arm, "times")) for arm in times(2000, 2)]
    windows = [window(arm, 0.95) for arm in arms]
    _, befores, sizes = _kinds(windows)
    assert sizes.sum() > 900
    assert len(befores) == 2000 - sizes.sum() + len(sizes)
    drawn = window_draws(windows, 800, np.random.default_rng(5))
    whole = window_draws([window(arm, 0.95, whole=True) for arm in arms], 800, np.random.default_rng(6))
    for one, other in zip(drawn, whole, strict=True):
        assert one.mean() == pytest.approx(other.mean(), abs=6 * other.std() / np.sqrt(800))
        assert one.std() == pytest.approx(other.std(), rel=0.13)
    assert np.corrcoef(drawn)[0, 1] == pytest.approx(np.corrcoef(whole)[0, 1], abs=0.15)


def test_the_block_size_does_not_matter():
    for shape in ((12, 4), (400, 2)):
        arms = times(*shape)
        whole = draw_quantiles(*arms, (0.5, 0.9), resamples=300, rng=5)
        for cells in (1, 5000, 100_000):
            found = draw_quantiles(*arms, (0.5, 0.9), resamples=300, rng=5, chunk_cells=cells)
            assert np.array_equal(found.draws, whole.draws)


def test_memory_is_bounded_by_the_blocks():
    arms = times(1000, 5)
    draw_quantiles(*arms, (0.95,), resamples=100)
    tracemalloc.start()
    draw_quantiles(*arms, (0.95,), resamples=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # all weights at once would be 2000 x 1000 x 5 x 8 bytes = 80 MB an arm


@pytest.mark.parametrize(("n_tasks", "repetitions"), [(4000, 1), (300, 8)])
def test_many_trials_have_the_interval_of_the_exact_evaluation(monkeypatch, n_tasks, repetitions):
    arms = times(n_tasks, repetitions)
    exact = draw_quantiles(*arms, (0.5, 0.95), resamples=2500)
    monkeypatch.setattr(quantiles, "MANY_TRIALS", 1)
    binned = draw_quantiles(*arms, (0.5, 0.95), resamples=2500)
    for k in (0, 1):
        ours, theirs = (quantile_contrast(drawn, k, 0.95) for drawn in (binned, exact))
        for name in ("log_ratio_interval", "difference_interval"):
            one, other = getattr(ours, name), getattr(theirs, name)
            # 3 % of the width for the method, as much again for chance in the limits of both
            assert (one.low, one.high) == pytest.approx(
                (other.low, other.high), abs=0.06 * (other.high - other.low)
            )
    assert binned.arms == exact.arms


@pytest.mark.parametrize("q", [0.5, 0.9, 0.95, 0.99])
def test_a_quantile_needs_trials_beyond_it(q):
    few, enough = int(np.ceil(2.5 / (1 - q) - 1e-9)) - 1, int(np.ceil(2.5 / (1 - q) - 1e-9))
    for n_tasks, status in ((few, "refused"), (enough, "ok")):
        if n_tasks >= 10:
            (found,) = draw_quantiles(*times(n_tasks, 1), (q,), resamples=200).arms["baseline"]
            assert found.status == status


@pytest.mark.parametrize(
    ("n_tasks", "repetitions", "expected"), [(9, 60, False), (19, 60, False), (20, 4, False), (20, 5, True)]
)
def test_a_quantile_decides_with_twenty_tasks_and_five_trials_beyond(n_tasks, repetitions, expected):
    drawn = draw_quantiles(*times(n_tasks, repetitions), (0.95,), resamples=200)
    assert quantile_contrast(drawn, 0, 0.95).decides is expected


def test_lower_quantiles_need_trials_below_them():
    found = draw_quantiles(*times(20, 1), (0.1, 0.9), resamples=200).arms["baseline"]
    assert [one.status for one in found] == ["refused", "refused"]


def test_a_quantile_that_may_be_the_limit_is_not_identified():
    baseline, candidate = times(40, 2)
    ended = np.zeros((40, 2))
    ended[:3] = 1
    slow = np.where(ended == 1, 30.0, candidate)
    drawn = draw_quantiles(baseline, slow, (0.5, 0.9, 0.95), censored=(ended * 0, ended), resamples=200)
    assert [found.status for found in drawn.arms["baseline"]] == ["ok", "ok", "ok"]
    p50, p90, p95 = drawn.arms["candidate"]
    # 3 of 40 tasks: the upper bound of Clopper and Pearson is 0.184
    assert (p50.status, p90.status, p95.status) == ("ok", "not_identified", "not_identified")
    assert p90.value == np.quantile(slow, 0.9, method="inverted_cdf")
    assert (p90.at_cap, p95.value, p95.at_cap) == (False, 30.0, True)
    assert quantile_contrast(drawn, 1, 0.95).status == "not_identified"
    assert quantile_contrast(drawn, 1, 0.95).difference_interval is None
    told = latency_summaries(
        draw_quantiles(baseline, slow, censored=(ended * 0, ended), resamples=200), 0.95
    )["candidate"]
    assert (told.censored, told.quantiles[2].method, told.quantiles[2].at_cap) == (6, "order statistic", True)


def test_a_time_limit_that_no_trial_reached_takes_nothing_away():
    drawn = draw_quantiles(*times(20, 5), (0.95,), censored=(np.zeros((20, 5)),) * 2, resamples=200)
    assert drawn.arms["baseline"][0].status == "ok"


def test_the_expanded_levels():
    draws = np.random.default_rng(0).normal(size=100_001)
    found = expanded_interval(draws, 12, 0.95)
    # t quantile with 11 degrees of freedom 2.20099, times sqrt(12/11): R's qt(.975, 11)
    assert found.high == pytest.approx(2.20099 * np.sqrt(12 / 11), abs=0.05)
    assert expanded_interval(np.ones(1000), 12, 0.95).status == "refused"


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, float("nan")])
def test_other_probabilities_are_refused(q):
    with pytest.raises(InputError, match="q ="):
        draw_quantiles(*times(), (q,))
