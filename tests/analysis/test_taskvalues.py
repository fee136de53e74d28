"""Scores by task: means, their common denominator, and the exact order-free mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.taskvalues import common_denominator, differences, paired_values, task_values
from study.errors import InputError


def test_means_and_counts():
    found = task_values([[1, 0, 1], [1], [0, 0]], "scores")
    assert found.means.tolist() == [2 / 3, 1.0, 0.0]
    assert found.counts.tolist() == [3, 1, 2]
    assert found.denominator == 6


@pytest.mark.parametrize(
    ("scores", "denominator"),
    [
        (np.ones((4, 5)), 5),
        ([[0.5, 1], [0, 1]], 4),
        ([[0.25], [1], [0.5]], 4),
        ([[0.01], [0.99]], 100),
        ([[0.1234], [0.5]], None),
        ([[1 / 3, 2 / 3]], 6),
        ([[1] * 11, [1] * 13, [1] * 16], 2288),
        ([[1] * 11, [1] * 13, [1] * 19], None),
        ([[1] * 9, [1] * 8, [1] * 7, [1] * 5], 2520),
    ],
)
def test_common_denominator_of_scores(scores, denominator):
    assert task_values(scores, "scores").denominator == denominator


def test_a_difference_needs_both_denominators():
    left, right = paired_values([[1, 0]] * 3, [[1, 0, 1]] * 3)
    assert differences(left, right)[1] == 6
    left, right = paired_values([[1, 0]] * 3, [[0.12345]] * 3)
    assert differences(left, right)[1] is None


def test_common_denominator_limits():
    assert common_denominator([]) is None
    assert common_denominator([8, 9, 5, 7]) == 2520
    assert common_denominator([8, 9, 5, 7, 11]) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms())
def test_the_mean_does_not_depend_on_the_order(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert task_values([values], "x").means.tolist() == task_values([shuffled], "x").means.tolist()


def test_values_near_the_lattice_are_not_pulled_onto_it():
    found = task_values([[1e-6], [1.0]], "x")
    assert found.denominator is None
    assert found.means.tolist() == [1e-6, 1.0]


def test_what_is_masked_is_missing():
    scores = np.ma.masked_array([[1, 1], [0, 1]], mask=[[False, False], [True, False]])
    with pytest.raises(InputError, match="nan"):
        task_values(scores, "scores")
    assert list(task_values(np.ma.masked_array([[1, 1], [0, 1]]), "scores").means) == [1.0, 0.5]
