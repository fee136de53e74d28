"""Two arms on different tasks: golden values, closed forms, what decides, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from analysis import unpaired
from analysis.proportions import rate_interval
from study.errors import InputError


def outcomes(n_tasks: int, failures: int) -> list[list[int]]:
    return [[int(n >= failures)] for n in range(n_tasks)]


def drawn(first: int, second: int, repetitions: int = 3, seed: int = 0, rates=(0.8, 0.7)):
    rng = np.random.default_rng(seed)
    return [rng.random((n, repetitions)) < rate for n, rate in zip((first, second), rates, strict=True)]


@pytest.mark.parametrize(("n_tasks", "half"), [(10, 0.29614), (20, 0.15397), (50, 0.06313)])
def test_all_pass(n_tasks, half):
    found = unpaired.interval(outcomes(n_tasks, 0), outcomes(n_tasks, 0))
    assert (found.low, found.high) == (pytest.approx(-half, abs=2e-5), -found.low)


def test_twenty_against_thirty():
    found = unpaired.interval(outcomes(20, 2), outcomes(30, 6))
    assert (found.low, found.high) == pytest.approx((-0.30007, 0.12468), abs=2e-5)
    assert unpaired.difference(outcomes(20, 2), outcomes(30, 6)) == pytest.approx(-0.1)


def test_single_repetitions_come_close_to_the_classical_interval():
    """With many tasks and one repetition this is the classical problem of two proportions."""
    found = unpaired.interval(outcomes(150, 45), outcomes(200, 80))
    classical = confint_proportions_2indep(120, 200, 105, 150, compare="diff", method="newcomb")
    assert (found.low, found.high) == pytest.approx(classical, abs=0.003)


def test_square_and_add_is_newcombes_with_tilted_limits():
    baseline, candidate = drawn(15, 22)
    left, right = rate_interval(baseline), rate_interval(candidate)
    p, q = float(np.mean(baseline)), float(np.mean(candidate))
    found = unpaired.square_and_add(baseline, candidate)
    expected = (
        q - p - math.sqrt((q - right.low) ** 2 + (left.high - p) ** 2),
        q - p + math.sqrt((right.high - q) ** 2 + (p - left.low) ** 2),
    )
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)
    assert found.method == "square-and-add of tilted"
    tilted = unpaired.interval(baseline, candidate)
    assert (tilted.low, tilted.high) == pytest.approx(expected, abs=0.03)


def test_only_randomised_tasks_with_ten_in_each_arm_decide():
    for sizes, randomised, status in (
        ((9, 40), True, "refused"),
        ((40, 9), False, "refused"),
        ((10, 10), False, "descriptive"),
        ((10, 10), True, "ok"),
    ):
        for method in (unpaired.interval, unpaired.square_and_add):
            found = method(*drawn(*sizes), randomised=randomised)
            assert found.status == status
            assert (found.low is None) == (status == "refused")


SHAPE = st.tuples(st.integers(10, 16), st.integers(10, 16), st.integers(1, 3), st.integers(0, 2**32 - 1))


@settings(max_examples=25, deadline=None)
@given(SHAPE, st.floats(0, 1))
def test_mirror_range_and_estimate(shape, rate):
    baseline, candidate = drawn(*shape, rates=(rate, rate))
    for method in (unpaired.interval, unpaired.square_and_add):
        one, other = method(baseline, candidate), method(candidate, baseline)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-14)
        assert -1 <= one.low <= unpaired.difference(baseline, candidate) <= one.high <= 1
        assert one.low < one.high


@settings(max_examples=25, deadline=None)
@given(SHAPE)
def test_p_agrees_with_the_interval(shape):
    baseline, candidate = drawn(*shape, rates=(0.6, 0.6))
    found = unpaired.interval(baseline, candidate)
    margin = 0.32
    for claim, shown in (
        ("non-inferior", found.low >= -margin),
        ("superior", found.low >= 0),
        ("equivalent", found.low >= -margin and found.high <= margin),
    ):
        p = unpaired.p_value(baseline, candidate, claim=claim, margin=margin, randomised=True)
        assert (p <= 0.025) == shown


def test_tasks_are_not_matched_by_position():
    baseline, candidate = drawn(20, 20)
    order = np.random.default_rng(1).permutation(20)
    assert unpaired.interval(baseline, candidate[order]) == unpaired.interval(baseline, candidate)


def test_a_declared_range_scales_the_limits():
    rng = np.random.default_rng(5)
    baseline, candidate = rng.random((11, 2)), rng.random((14, 2))
    plain = unpaired.interval(baseline, candidate)
    wide = unpaired.interval(4 * baseline + 1, 4 * candidate + 1, score_range=(1.0, 5.0))
    assert (wide.low, wide.high) == pytest.approx((4 * plain.low, 4 * plain.high), abs=1e-6)


def test_a_claim_needs_randomised_tasks_and_enough_of_them():
    arms = drawn(30, 40)
    with pytest.raises(InputError, match="different tasks"):
        unpaired.p_value(*arms, claim="superior")
    with pytest.raises(InputError, match="30 tasks in an arm") as error:
        unpaired.p_value(*arms, claim="non-inferior", margin=0.10, randomised=True)
    assert "at least 36 tasks" in error.value.allowed
    assert 0 < unpaired.p_value(*arms, claim="non-inferior", margin=0.12, randomised=True) < 1
    with pytest.raises(InputError, match="9 tasks in an arm"):
        unpaired.p_value(*drawn(9, 40), claim="superior", randomised=True)
    with pytest.raises(InputError, match="margin"):
        unpaired.p_value(*arms, claim="equivalent", randomised=True)


@pytest.mark.parametrize("bad", [[], [[]], [[2]] * 10, [[float("nan")]] * 10, np.ones(10)])
def test_bad_arms_are_refused(bad):
    with pytest.raises(InputError, match="candidate"):
        unpaired.interval([[1]] * 10, bad)
    with pytest.raises(InputError, match="baseline"):
        unpaired.difference(bad, [[1]] * 10)
    with pytest.raises(InputError, match="level"):
        unpaired.interval([[1]] * 10, [[1]] * 10, level=2)


def test_the_caveat_names_the_reason():
    assert "different tasks" in unpaired.CAVEAT
