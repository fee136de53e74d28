"""One arm's rate: golden values, closed forms at both ends, range, mirror."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.proportions import rate, rate_interval
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


@pytest.mark.parametrize("bad", [[], [[]], [[2]], [[float("nan")]], np.ones(4)])
def test_bad_outcomes_are_refused(bad):
    with pytest.raises(InputError):
        rate_interval(bad)
    with pytest.raises(InputError):
        rate(bad)
