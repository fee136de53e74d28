"""Scores of trials grouped by task: validated, and reduced to one mean a task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis import formatting
from study.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
TrialScores: TypeAlias = ArrayLike | Sequence[ArrayLike]

FINEST_LATTICE = 2520
"""Largest common denominator of task means that is worked with exactly."""

_FINEST_SCORE = 100
_ALLOWED = "an array (n_tasks, n_repetitions), or a sequence of one 1-d array a task"


class Ragged(Sequence[Floats]):
    """One array of numbers a task, all of them parts of one array, so that many tasks cost little.

    Attributes
    ----------
    flat : ndarray of float, shape (n_trials,)
        The numbers of all trials, task after task.
    counts : ndarray of int, shape (n_tasks,)
        Trials of each task.
    """

    __slots__ = ("_ends", "counts", "flat")

    def __init__(self, flat: Floats, counts: NDArray[np.int64]) -> None:
        self.flat, self.counts = flat, counts
        self._ends: list[int] = [0, *np.cumsum(counts).tolist()]

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, index: int) -> Floats: ...

    @overload
    def __getitem__(self, index: slice) -> list[Floats]: ...

    def __getitem__(self, index: int | slice) -> Floats | list[Floats]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self.flat[self._ends[place] : self._ends[place + 1]]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Place of the first trial of each task in :attr:`flat`, shape (n_tasks,)."""
        return np.array(self._ends[:-1], dtype=np.int64)

    def means(self) -> Floats:
        """Return the mean of each task, shape (n_tasks,); it does not depend on the order of its trials."""
        flat, ends = self.flat.tolist(), self._ends
        # fsum rounds once
        return np.array([math.fsum(flat[a:b]) / (b - a) for a, b in pairwise(ends)])


class TaskValues(NamedTuple):
    """One value a task.

    Attributes
    ----------
    means : ndarray of float, shape (n_tasks,)
        Mean over the task's trials; tasks weigh equally whatever their number of trials.
    counts : ndarray of int, shape (n_tasks,)
        Trials of each task, at least 1.
    denominator : int or None
        All means are multiples of 1/denominator; None when no denominator up to 2520 does.
    """

    means: Floats
    counts: NDArray[np.int64]
    denominator: int | None


def task_values(scores: TrialScores, what: str) -> TaskValues:
    """Validate the scores of one arm and average them within tasks.

    Parameters
    ----------
    scores : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Numbers or booleans in [0, 1]; nothing may be missing.
    what : str
        Name of the argument, for errors.

    Raises
    ------
    InputError
        For another shape, no task, a task without a trial, values that are no numbers, NaN, infinities
        and values outside [0, 1].
    """
    trials = trial_groups(scores, what)
    flat, counts = trials.flat, trials.counts
    _check_range(flat, what)
    score = _score_denominator(flat)
    denominator = common_denominator([score * int(n) for n in np.unique(counts)] if score else [])
    if score:
        means = np.add.reduceat(np.rint(flat * score), trials.starts) / (score * counts)
    else:
        means = trials.means()
    return TaskValues(means, counts, denominator)


def trial_groups(scores: TrialScores, what: str) -> Ragged:
    """Return the numbers of each task; raise :class:`InputError` for another shape or an empty task."""
    if isinstance(scores, Ragged):
        return scores
    tasks = _as_tasks(scores, what)
    if not len(tasks):
        raise InputError("no tasks", code="array", where=what, allowed=_ALLOWED)
    counts = np.fromiter((len(task) for task in tasks), dtype=np.int64, count=len(tasks))
    if not counts.all():
        raise InputError(
            f"task {int(counts.argmin())} has no trial",
            code="array",
            where=what,
            allowed="at least one trial a task",
            next_step="leave the task out of both arms and say how many were left out",
        )
    return Ragged(tasks.ravel() if isinstance(tasks, np.ndarray) else np.concatenate(tasks), counts)


def check_same_tasks(baseline: int, candidate: int) -> None:
    """Raise :class:`InputError` unless both arms have the same number of tasks."""
    if baseline != candidate:
        raise InputError(
            f"{formatting.counted(baseline, 'task')} in baseline, {candidate} in candidate",
            code="array",
            where="candidate",
            allowed="the same tasks in the same order in both arms",
        )


def paired_values(baseline: TrialScores, candidate: TrialScores) -> tuple[TaskValues, TaskValues]:
    """Validate both arms (see :func:`task_values`); their tasks must match by position."""
    left, right = task_values(baseline, "baseline"), task_values(candidate, "candidate")
    check_same_tasks(len(left.means), len(right.means))
    return left, right


def differences(baseline: TaskValues, candidate: TaskValues) -> tuple[Floats, int | None]:
    """Return candidate - baseline for each task, and the common denominator (None without one).

    On a lattice, equal differences are the same float, whatever the means that they come from.
    """
    parts = (baseline.denominator, candidate.denominator)
    common = common_denominator([part for part in parts if part]) if all(parts) else None
    values = candidate.means - baseline.means
    return (np.rint(values * common) / common if common else values), common


def common_denominator(denominators: Sequence[int]) -> int | None:
    """Return the least common multiple, or None when it is above 2520 or there is nothing to combine."""
    result = 1
    for denominator in denominators:
        result = math.lcm(result, denominator)
        if result > FINEST_LATTICE:
            return None
    return result if denominators else None


def _as_tasks(scores: TrialScores, what: str) -> Floats | list[Floats]:
    if isinstance(scores, np.ndarray) and scores.dtype != object:
        if scores.ndim != 2:
            raise InputError(f"an array of shape {scores.shape}", code="array", where=what, allowed=_ALLOWED)
        return _as_floats(scores, what)
    if isinstance(scores, (str, bytes)) or not isinstance(scores, (Sequence, np.ndarray)):
        raise InputError(f"a {type(scores).__name__}", code="array", where=what, allowed=_ALLOWED)
    tasks = [_as_task(task, n, what) for n, task in enumerate(scores)]
    for n, task in enumerate(tasks):
        if task.ndim != 1:
            raise InputError(
                f"an array of shape {task.shape}", code="array", where=f"{what}[{n}]", allowed=_ALLOWED
            )
    return tasks


def _as_task(values: Any, number: int, what: str) -> Floats:
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    return _as_floats(values, f"{what}[{number}]")


def _as_floats(values: Any, where: str) -> Floats:
    if np.ma.isMaskedArray(values):  # what is masked is missing, and is refused as such
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" and array.size:
        raise InputError("values that are no numbers", code="array", where=where, allowed="numbers")
    return array.astype(np.float64)


def _check_range(flat: Floats, what: str) -> None:
    bad = ~((flat >= 0) & (flat <= 1))
    if bad.any():
        raise InputError(
            f"the value {flat[bad][0]}",
            code="array",
            where=what,
            allowed="finite numbers in [0, 1], none missing",
            next_step="declare how a trial without an outcome counts; nothing is left out in silence",
        )


def _score_denominator(flat: Floats) -> int | None:
    """Return the least q up to 100 such that every score is a multiple of 1/q."""
    first = flat[:64]
    for q in range(1, _FINEST_SCORE + 1):
        if _is_lattice(first, q) and _is_lattice(flat, q):
            return q
    return None


def _is_lattice(values: Floats, q: int) -> bool:
    scaled = values * q
    return bool(np.all(np.abs(scaled - np.rint(scaled)) < 1e-12))
