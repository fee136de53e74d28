"""Inputs that tools get wrong, through every function for arrays: a width or a refusal, never a traceback."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis import fixed_tasks, paired, proportions, reliability, unpaired
from analysis.results import Interval
from study.errors import InputError


def in_two_strata(baseline, candidate, **options):
    half = len(baseline) // 2
    parts = [(baseline[:half], candidate[:half]), (baseline[half:], candidate[half:])]
    return paired.stratified_interval(parts, (0.4, 0.6), **options)


def rates_in_strata(baseline, candidate, **options):
    half = len(candidate) // 2
    return proportions.stratified_rate_interval([candidate[:half], candidate[half:]], (0.4, 0.6), **options)


def strict(baseline, candidate):
    found = proportions.strict(candidate)
    low = found.bound
    return Interval(
        low=low, high=None if low is None else 1.0, level=0.95, method="strict", status=found.status
    )


METHODS = {
    "paired": paired.interval,
    "percentile": lambda b, c: paired.interval(b, c, method="percentile", resamples=99),
    "t": lambda b, c: paired.interval(b, c, method="t"),
    "bca": lambda b, c: paired.interval(b, c, method="bca", resamples=999),
    "studentized": lambda b, c: paired.interval(b, c, method="studentized", resamples=999),
    "strata": in_two_strata,
    "unpaired": unpaired.interval,
    "square and add": unpaired.square_and_add,
    "rate": lambda b, c: proportions.rate_interval(c),
    "rate in strata": rates_in_strata,
    "strict": strict,
    "fixed tasks": fixed_tasks.interval,
    "pass^1": lambda b, c: reliability.interval(c, 1),
    "difference in pass^1": lambda b, c: reliability.difference_interval(b, c, 1),
}
RNG = np.random.default_rng(0)
DATA = {
    "8 tasks x 5, all pass in both": (np.ones((8, 5)), np.ones((8, 5))),
    "all tied, none equal": (np.tile([1, 0, 0, 0], (20, 1)), np.tile([1, 1, 0, 0], (20, 1))),
    "one task": (np.array([[1, 1, 0]]), np.array([[1, 0, 0]])),
    "unequal repetitions": ([[1, 1], [1, 0, 1]] * 10, [[1, 0, 0, 1], [1, 1]] * 10),
    "one arm all pass": (RNG.integers(0, 2, (20, 3)), np.ones((20, 3))),
    "opposite arms": (np.zeros((20, 2)), np.ones((20, 2))),
    "three tasks": (RNG.integers(0, 2, (3, 4)), RNG.integers(0, 2, (3, 4))),
    "a single repetition": (RNG.integers(0, 2, (24, 1)), RNG.integers(0, 2, (24, 1))),
    "many tasks": (
        (RNG.random((20_000, 5)) < 0.9).astype(float),
        (RNG.random((20_000, 5)) < 0.9).astype(float),
    ),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("method", METHODS)
def test_a_width_or_a_refusal(name, method):
    try:
        found = METHODS[method](*DATA[name])
    except InputError as error:
        assert error.where  # noqa: PT017
        assert method in ("fixed tasks", "strata", "rate in strata")
        assert name in ("a single repetition", "one task")
        return
    if found.status == "refused":
        assert (found.low, found.high) == (None, None)
    else:
        assert -1 <= found.low < found.high <= 1
        assert math.isfinite(found.low + found.high)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "bad",
    [[], [[]] * 12, [[float("nan"), 1]] * 12, [[-1, 1]] * 12, [[math.inf, 1]] * 12, None, "11", [["1"]] * 12],
)
def test_what_is_no_outcome_is_explained(method, bad):
    good = [[1, 0]] * 12
    with pytest.raises((InputError, TypeError)) as error:
        METHODS[method](good, bad)
    if isinstance(error.value, TypeError):  # raised by this test's own slicing of what has no length
        assert "strata" in method
        assert bad is None
    else:
        assert error.value.where
        assert error.value.allowed


@pytest.mark.parametrize(
    "method", ["paired", "percentile", "t", "bca", "studentized", "fixed tasks", "difference in pass^1"]
)
def test_a_task_missing_in_one_arm_is_named(method):
    with pytest.raises(InputError, match="12 tasks in baseline, 11 in candidate"):
        METHODS[method]([[1, 0]] * 12, [[1, 0]] * 11)
