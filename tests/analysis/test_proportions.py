"""One arm's rate: golden values, closed forms at both ends, range, mirror."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.intervals import clopper_pearson_upper
from analysis.proportions import rate, rate_interval, stratified_rate, stratified_rate_interval, strict
from study.errors import InputError


def outcomes(n_tasks: int, failures: int) -> np.ndarray:
    scores = np.ones((n_tasks, 1))
    scores[:failures] = 0
    return scores


@pytest.mark.parametrize(("n_tasks", "low"), [(10, 0.68778), (20, 0.84727), (50, 0.93964), (200, 0.98499)])
def test_all_pass(n_tasks, low):
    found = rate_interval(outcomes(n_tasks, 0))
    assert found.low == pytest.approx(low, abs=2e-5)
    assert found.high == 1


@pytest.mark.parametrize(
    ("n_tasks", "limits"),
    [(10, (0.54434, 0.99763)), (20, (0.76253, 0.99818)), (50, (0.90281, 0.99911)), (200, (0.97543, 0.99976))],
)
def test_one_task_fails(n_tasks, limits):
    found = rate_interval(outcomes(n_tasks, 1))
    assert (found.low, found.high) == pytest.approx(limits, abs=2e-5)


@pytest.mark.parametrize(
    ("n_tasks", "limits"),
    [(10, (0.17778, 0.82222)), (20, (0.27580, 0.72420)), (50, (0.36006, 0.63994)), (200, (0.43053, 0.56947))],
)
def test_half_the_tasks_fail(n_tasks, limits):
    found = rate_interval(outcomes(n_tasks, n_tasks // 2))
    assert (found.low, found.high) == pytest.approx(limits, abs=2e-5)


def test_unequal_repetitions():
    words = ["111", "10", "11", "1100", "11", "111", "11", "101", "1", "11"]
    tasks = [[int(digit) for digit in word] for word in words]
    found = rate_interval(tasks)
    assert (found.low, found.high) == pytest.approx((0.61667, 0.97276), abs=2e-5)


@settings(deadline=None)
@given(st.integers(5, 20), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_range_estimate_and_mirror(n_tasks, repetitions, seed, share):
    scores = np.random.default_rng(seed).random((n_tasks, repetitions)) < share
    found, mirrored = rate_interval(scores), rate_interval(~scores)
    assert 0 <= found.low <= rate(scores) <= found.high <= 1
    assert found.low < found.high
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-15)


def test_status_follows_the_number_of_tasks():
    assert [rate_interval([[1]] * n).status for n in (1, 4, 5, 9, 10)] == [
        "refused",
        "refused",
        "few_tasks",
        "few_tasks",
        "ok",
    ]


# --- one-sided claims --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_tasks", "bound"), [(10, 0.642), (20, 0.818), (50, 0.927), (200, 0.982)])
def test_strict_bound_when_all_pass(n_tasks, bound):
    found = strict(outcomes(n_tasks, 0))
    assert round(found.bound, 3) == bound
    assert found.bound < 1 - clopper_pearson_upper(0, n_tasks, 0.975)
    assert (found.side, found.level, found.method, found.n_tasks, found.status) == (
        "lower",
        0.975,
        "tilted, strict",
        n_tasks,
        "ok",
    )
    assert strict(1 - outcomes(n_tasks, 0), side="upper").bound == pytest.approx(1 - found.bound, abs=1e-15)


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 20), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_strict_is_outside_the_interval_and_never_bolder(n_tasks, repetitions, seed, share):
    scores = np.random.default_rng(seed).random((n_tasks, repetitions)) < share
    two_sided = rate_interval(scores)
    lower, upper = strict(scores), strict(scores, side="upper")
    assert 0 <= lower.bound <= two_sided.low + 1e-12
    assert two_sided.high - 1e-12 <= upper.bound <= 1
    assert strict(scores, level=0.9).bound >= lower.bound


def test_strict_bounds_of_single_repetitions_hold_with_exact_binomials():
    """The worst error over the rate, from the binomial law itself: at a bound just passed."""
    n_tasks = 20
    for passes in range(1, n_tasks + 1):
        bound = strict(outcomes(n_tasks, n_tasks - passes)).bound
        # at a rate equal to the bound, this many passes or more must be as rare as the level says
        assert stats.binom.sf(passes - 1, n_tasks, bound) <= 0.025, passes


def test_strict_refuses():
    assert strict([[1]] * 4).status == "refused"
    assert strict([[1]] * 4).bound is None
    assert strict([[1]] * 9).status == "few_tasks"
    for options in ({"side": "both"}, {"level": 0.5}, {"level": 0.3}, {"level": 1.0}):
        with pytest.raises(InputError):
            strict([[1]] * 20, **options)


# --- declared ranges and strata ----------------------------------------------------------------------------


def test_a_declared_range_shifts_and_scales():
    scores = np.random.default_rng(2).random((15, 2))
    plain = rate_interval(scores)
    told = rate_interval(8 * scores - 3, score_range=(-3.0, 5.0))
    assert (told.low, told.high) == pytest.approx((8 * plain.low - 3, 8 * plain.high - 3), abs=1e-9)
    assert rate(8 * scores - 3, score_range=(-3.0, 5.0)) == pytest.approx(8 * rate(scores) - 3, abs=1e-12)
    bound = strict(8 * scores - 3, score_range=(-3.0, 5.0)).bound
    assert bound == pytest.approx(8 * strict(scores).bound - 3, abs=1e-9)


def test_strata_of_one_arm():
    rng = np.random.default_rng(3)
    parts = [rng.random((n, 2)) < p for n, p in ((12, 0.9), (25, 0.6))]
    found = stratified_rate_interval(parts, (0.3, 0.7))
    estimate = stratified_rate(parts, (0.3, 0.7))
    assert estimate == pytest.approx(0.3 * parts[0].mean() + 0.7 * parts[1].mean(), abs=1e-12)
    assert 0 <= found.low < estimate < found.high <= 1
    mirrored = stratified_rate_interval([~part for part in parts], (0.3, 0.7))
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-12)
    one = stratified_rate_interval([parts[1]], (1.0,))
    plain = rate_interval(parts[1])
    assert (one.low, one.high) == (plain.low, plain.high)
    assert (found.method, found.status) == ("tilted, strata", "ok")
    assert stratified_rate_interval([parts[0], parts[1][:4]], (0.5, 0.5)).status == "refused"
    with pytest.raises(InputError, match="weights"):
        stratified_rate_interval(parts, (0.3, 0.6))


@pytest.mark.parametrize("bad", [[], [[]], [[2]], [[float("nan")]], np.ones(4)])
def test_bad_outcomes_are_refused(bad):
    with pytest.raises(InputError):
        rate_interval(bad)
    with pytest.raises(InputError):
        rate(bad)
