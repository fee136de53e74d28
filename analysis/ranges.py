"""Scores in a declared range, mapped to [0, 1] for the methods, and limits mapped back."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from analysis.results import Interval
from analysis.taskvalues import Ragged, TrialScores, trial_groups
from study.errors import InputError

UNIT_RANGE = (0.0, 1.0)
"""The range of passes, shares and most scores."""


def range_width(score_range: tuple[float, float]) -> float:
    """Return the width of a declared range of scores.

    Raises
    ------
    InputError
        Unless the range consists of two finite numbers in ascending order.
    """
    low, high = score_range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(
            f"score_range = {score_range!r}",
            where="score_range",
            allowed="two finite numbers, the smaller one first",
        )
    return high - low


def in_unit_range(scores: TrialScores, what: str, score_range: tuple[float, float]) -> TrialScores:
    """Map scores of trials from their declared range to [0, 1].

    Parameters
    ----------
    scores : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
    what : str
        Name of the argument, for errors.
    score_range : (float, float)
        Smallest and largest score that is possible, declared before the data were seen.

    Returns
    -------
    array_like or sequence
        The argument itself for the range [0, 1].

    Raises
    ------
    InputError
        For a score outside the range (it is never cut to it), and scores that are no numbers.
    """
    width = range_width(score_range)
    if score_range == UNIT_RANGE:
        return scores
    low, high = score_range
    tasks = trial_groups(scores, what)
    bad = ~((tasks.flat >= low) & (tasks.flat <= high))
    if bad.any():
        raise InputError(
            f"the value {tasks.flat[bad][0]}",
            code="array",
            where=what,
            allowed=f"finite numbers in [{low:g}, {high:g}], none missing",
            next_step="declare the range that scores can take",
        )
    return Ragged(np.clip((tasks.flat - low) / width, 0.0, 1.0), tasks.counts)


def scaled(interval: Interval, factor: float, shift: float = 0.0) -> Interval:
    """Return an interval with its limits multiplied by a factor and shifted."""
    if interval.low is None or interval.high is None or (factor == 1 and shift == 0):
        return interval
    return msgspec.structs.replace(
        interval, low=shift + factor * interval.low, high=shift + factor * interval.high
    )
