"""Latencies of the trials of an arm: checked, and sorted with the weight of each trial."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.taskvalues import Floats, Ragged, TrialScores, common_denominator, trial_groups
from study.errors import InputError

FINE_UNIT = 2**20
"""Steps of a task's weight where the numbers of trials have no small common multiple."""


class SortedTimes(NamedTuple):
    """The times of one arm in ascending order.

    Attributes
    ----------
    times : ndarray of float, shape (n_trials,)
        Seconds.
    task : ndarray of int, shape (n_trials,)
        The task of each time, from 0.
    steps : ndarray of int, shape (n_trials,)
        The weight of each time; those of a task sum to ``unit``, so that tasks weigh equally.
    total : ndarray of int, shape (n_trials,)
        ``steps`` cumulated.
    unit : int
        Steps of one task.
    n_tasks : int
    """

    times: Floats
    task: NDArray[np.int64]
    steps: NDArray[np.int64]
    total: NDArray[np.int64]
    unit: int
    n_tasks: int


def checked_times(times: TrialScores, what: str) -> Ragged:
    """Return the seconds of each task.

    Parameters
    ----------
    times : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Seconds.
    what : str
        Name of the argument, for errors.

    Raises
    ------
    InputError
        For no tasks, a task without trials, and times that are missing, negative or not finite.
    """
    tasks = trial_groups(times, what)
    bad = ~(np.isfinite(tasks.flat) & (tasks.flat >= 0))
    if bad.any():
        raise InputError(
            f"the latency {tasks.flat[bad][0]}",
            code="array",
            where=what,
            allowed="finite seconds from 0, none missing",
        )
    return tasks


def checked_flags(flags: TrialScores | None, times: Ragged) -> Ragged:
    """Return which trials ended at the time limit, task by task; all zeros without ``flags``.

    Raises
    ------
    InputError
        For flags that are not 0 or 1, or do not match the times one by one.
    """
    if flags is None:
        return Ragged(np.zeros(len(times.flat)), times.counts)
    groups = trial_groups(flags, "censored")
    same = np.array_equal(groups.counts, times.counts)
    if not same or ((groups.flat != 0) & (groups.flat != 1)).any():
        raise InputError(
            "flags that do not match the times", where="censored", allowed="0 or 1 for each time of the arm"
        )
    return groups


def sort_times(tasks: Ragged) -> SortedTimes:
    """Sort the times of an arm; ties follow the order of the tasks.

    With numbers of trials that have no common multiple up to 2520 the weights of a task's trials differ by
    at most one step of 2**20.
    """
    times, counts = tasks.flat, tasks.counts
    task = np.repeat(np.arange(len(tasks)), counts)
    unit = common_denominator([int(n) for n in np.unique(counts)])
    if unit:
        steps = (unit // counts)[task]
    else:
        unit = FINE_UNIT
        place = np.arange(len(times)) - tasks.starts[task]
        steps = (place + 1) * unit // counts[task] - place * unit // counts[task]
    order = np.argsort(times, kind="stable")
    steps = steps[order]
    return SortedTimes(times[order], task[order], steps, np.cumsum(steps), unit, len(tasks))
