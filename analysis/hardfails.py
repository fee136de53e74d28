"""Hard fails of one arm: counted, with an upper bound on their rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.intervals import check_level, clopper_pearson_upper
from analysis.results import HardFails
from analysis.taskvalues import TrialScores, task_values

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


def summarise_hard_fails(codes: Sequence[Sequence[Sequence[str]]]) -> HardFails:
    """Count the hard fails of one arm.

    Parameters
    ----------
    codes : sequence over tasks of sequences over trials of codes
        The hard-fail codes of each trial; every task has at least one trial.

    Returns
    -------
    HardFails
        ``count`` trials with at least one code, ``by_code`` trials with that code.
    """
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
    )
