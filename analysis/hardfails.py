"""Hard fails of one arm: counted, with an upper bound on their rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.intervals import check_level, clopper_pearson_upper
from analysis.results import HardFails
from analysis.taskvalues import TrialScores, task_values
from study.errors import InputError

LEVEL = 0.95
METHOD = "Clopper-Pearson on tasks"


def upper_bound(outcomes: TrialScores, *, level: float = LEVEL) -> float:
    """Return the one-sided upper bound on the rate of an event per trial.

    Parameters
    ----------
    outcomes : array_like, shape (n_tasks, n_trials), or sequence of n_tasks 1-d arrays
        1 where a trial had the event, else 0.
    level : float
        One-sided confidence level.

    Returns
    -------
    float
        Without an event ``1 - (1 - level)^(1/T)`` for T tasks, valid whatever the dependence within a
        task. With events the bound of Clopper and Pearson for x of T, x the sum of the tasks' shares
        (simulated to hold, not proven, for x between integers).

    Raises
    ------
    InputError
        For no tasks, a task without trials, values outside [0, 1] or not finite, a level outside (0, 1).

    Examples
    --------
    >>> from analysis.hardfails import upper_bound
    >>> print(f"{upper_bound([[0, 0, 0]] * 50):.4f}")
    0.0582
    """
    check_level(level)
    shares = task_values(outcomes, "outcomes").means
    return clopper_pearson_upper(math.fsum(shares), len(shares), level)


def effective_trials(n_trials: Sequence[int], icc: float) -> float:
    r"""Return how many independent trials those of tasks with a given intraclass correlation are worth.

    Parameters
    ----------
    n_trials : sequence of int, shape (n_tasks,)
        Trials of each task.
    icc : float
        From 0 to 1.

    Returns
    -------
    float
        :math:`N / (1 + (m - 1) \rho)` with N trials in all and m the mean number of trials of the task in
        which a trial lies, :math:`\sum n_i^2 / N`; with R trials of every task m is R.

    Raises
    ------
    InputError
        For no tasks, a task without trials, and an icc outside [0, 1].

    Notes
    -----
    Kish 1965, Survey Sampling.
    """
    if not len(n_trials) or min(n_trials) < 1:
        raise InputError("a task without trials", where="n_trials", allowed="at least one trial of each task")
    if not 0 <= icc <= 1:
        raise InputError(f"icc = {icc!r}", where="icc", allowed="a number from 0 to 1")
    total = sum(n_trials)
    size = sum(n * n for n in n_trials) / total
    return total / (1 + (size - 1) * icc)


def summarise_hard_fails(codes: Sequence[Sequence[Sequence[str]]], *, icc: float | None = None) -> HardFails:
    """Count the hard fails of one arm.

    Parameters
    ----------
    codes : sequence over tasks of sequences over trials of codes
        The hard-fail codes of each trial; every task has at least one trial.
    icc : float, optional
        The intraclass correlation of hard fails as declared before the run.

    Returns
    -------
    HardFails
        ``count`` trials with at least one code, ``by_code`` trials with that code. With a declared icc and
        without an event, ``icc_bound`` is ``1 - (1 - level)^(1 / n_effective)``.
    """
    worth = None if icc is None or not codes else effective_trials([len(task) for task in codes], icc)
    events = [[float(bool(trial)) for trial in task] for task in codes]
    by_code: dict[str, int] = {}
    for task in codes:
        for trial in task:
            for code in set(trial):
                by_code[code] = by_code.get(code, 0) + 1
    return HardFails(
        count=sum(int(sum(task)) for task in events),
        tasks=sum(any(task) for task in events),
        trials=sum(len(task) for task in events),
        n_tasks=len(events),
        by_code=dict(sorted(by_code.items())),
        upper_bound=upper_bound(events) if events else None,
        level=LEVEL,
        method=METHOD,
        icc=icc,
        n_effective=worth,
        icc_bound=None if worth is None or any(map(any, events)) else 1 - (1 - LEVEL) ** (1 / worth),
    )
