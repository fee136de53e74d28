"""Declared ranges of scores: mapped to [0, 1] and back, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.ranges import in_unit_range, range_width, scaled
from analysis.results import Interval
from analysis.taskvalues import task_values
from study.errors import InputError


def test_the_unit_range_leaves_scores_alone():
    scores = [[0.5], [7.0]]  # judged by whoever reads them
    assert in_unit_range(scores, "scores", (0.0, 1.0)) is scores


def test_scores_are_mapped_with_both_ends_exact():
    mapped = in_unit_range([[-3.0, 5.0], [1.0]], "scores", (-3.0, 5.0))
    assert [list(task) for task in mapped] == [[0.0, 1.0], [0.5]]
    low, high = 0.1, 0.7
    mapped = in_unit_range([[low, high]], "scores", (low, high))
    assert list(mapped[0]) == [0.0, 1.0]


def test_whole_marks_keep_their_lattice():
    marks = np.array([[0, 3], [10, 7]])
    found = task_values(in_unit_range(marks, "marks", (0.0, 10.0)), "marks")
    assert found.denominator == 20
    assert found.means == pytest.approx([0.15, 0.85])


@pytest.mark.parametrize("score", [-3.1, 5.1, float("nan"), float("inf")])
def test_a_score_outside_is_an_error_never_cut(score):
    with pytest.raises(InputError) as error:
        in_unit_range([[0.0], [score]], "scores", (-3.0, 5.0))
    assert error.value.where == "scores"
    assert error.value.allowed == "finite numbers in [-3, 5], none missing"


@pytest.mark.parametrize("bad", [(1.0, 0.0), (1.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_a_range_has_two_ends(bad):
    with pytest.raises(InputError, match="score_range"):
        range_width(bad)


def test_limits_are_mapped_back_and_refusals_kept():
    found = Interval(low=0.25, high=0.5, level=0.9, method="t")
    assert scaled(found, 4.0, -1.0) == Interval(low=0.0, high=1.0, level=0.9, method="t")
    refused = Interval(low=None, high=None, level=0.9, method="t", status="refused")
    assert scaled(refused, 4.0, -1.0) == refused
