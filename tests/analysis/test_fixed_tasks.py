"""These tasks only: golden values, the rule of three on trials, ragged repetitions, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import fixed_tasks, paired
from study.errors import InputError


def counts(passes: str, repetitions: int = 3) -> list[list[int]]:
    return [[1] * int(k) + [0] * (repetitions - int(k)) for k in passes.split()]


def test_golden():
    baseline, candidate = counts("3 3 3 2 3 1 3 3 0 3"), counts("3 2 3 3 3 0 3 3 0 2")
    found = fixed_tasks.interval(baseline, candidate)
    assert (found.low, found.high) == pytest.approx((-0.24961, 0.11628), abs=2e-5)
    # without the pseudo trials the width is the plain one
    d = paired.mean_difference(baseline, candidate)
    plain = math.sqrt((found.high - d) ** 2 - stats.norm.isf(0.025) ** 4 / 30**2)
    assert (d - plain, d + plain) == pytest.approx((-0.19733, 0.06400), abs=2e-5)


@pytest.mark.parametrize(("n_tasks", "repetitions"), [(10, 3), (20, 2), (50, 10)])
def test_without_discordance_it_is_a_rule_of_three_on_trials(n_tasks, repetitions):
    found = fixed_tasks.interval(np.ones((n_tasks, repetitions)), np.ones((n_tasks, repetitions)))
    assert found.high == pytest.approx(stats.norm.isf(0.025) ** 2 / (n_tasks * repetitions), rel=1e-12)
    assert found.low == -found.high


def test_the_variance_is_that_of_the_trials_within_tasks():
    """With repetitions 2 to 5: the sum of sample variances over repetitions, from numpy."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 6, (2, 24))
    arms = [[rng.integers(0, 2, n) for n in row] for row in sizes]
    variance = sum(np.var(task, ddof=1) / len(task) for arm in arms for task in arm) / 24**2
    harmonic = stats.hmean(sizes.ravel())
    z = stats.norm.isf(0.05)
    half = z * math.sqrt(variance + z**2 / (24 * harmonic) ** 2)
    found = fixed_tasks.interval(*arms, level=0.9)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-12)
    assert (found.high + found.low) / 2 == pytest.approx(paired.mean_difference(*arms), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(10, 20), st.integers(3, 5), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_mirror_range_order_and_estimate(n_tasks, repetitions, seed, rate):
    rng = np.random.default_rng(seed)
    left, right = rng.random((2, n_tasks, repetitions)) < rate
    found, mirrored = fixed_tasks.interval(left, right), fixed_tasks.interval(right, left)
    assert (found.low, found.high) == (-mirrored.high, -mirrored.low)
    assert -1 <= found.low <= paired.mean_difference(left, right) <= found.high <= 1
    assert found.low < found.high
    order = rng.permutation(n_tasks)
    again = fixed_tasks.interval(left[order, ::-1], right[order])
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=1e-14)


def test_it_never_passes_for_the_headline():
    found = fixed_tasks.interval(np.ones((20, 3)), np.ones((20, 3)))
    assert (found.status, found.method) == ("descriptive", "pseudo trials, these tasks only")
    assert fixed_tasks.CAVEAT == "says nothing about new tasks"


@pytest.mark.parametrize(
    ("n_tasks", "repetitions", "status"),
    [
        (4, 20, "refused"),
        (14, 2, "refused"),
        (15, 2, "descriptive"),
        (9, 5, "few_tasks"),
        (10, 3, "descriptive"),
    ],
)
def test_status(n_tasks, repetitions, status):
    found = fixed_tasks.interval(np.ones((n_tasks, repetitions)), np.ones((n_tasks, repetitions)))
    assert found.status == status
    assert (found.low is None) == (status == "refused")


@pytest.mark.parametrize(
    ("candidate", "match"),
    [
        ([[1, 1]] * 19 + [[1]], "task 19 has a single repetition"),
        ([[1, 1]] * 19 + [[1, 0.5]], "the value 0.5"),
        ([[1, 1]] * 19, "candidate"),
        ([[1, float("nan")]] * 20, "candidate"),
    ],
)
def test_what_it_cannot_answer_is_refused(candidate, match):
    with pytest.raises(InputError, match=match):
        fixed_tasks.interval([[1, 1]] * 20, candidate)


def test_the_level_is_checked():
    with pytest.raises(InputError, match="level"):
        fixed_tasks.interval([[1, 1]] * 20, [[1, 1]] * 20, level=95)
