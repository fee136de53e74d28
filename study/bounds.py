"""How many tasks it takes: the fewest for a claim, and the loss that a number of tasks cannot rule out."""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST_TASKS = 10
"""Below this many tasks an interval is printed at most, and decides nothing."""

FEWEST_OF_STRATUM = 5
"""Below this many tasks in a stratum there is no interval over the strata."""

FEWEST_FIXED_TRIALS = 30
"""Trials of an arm below which there is no interval for these tasks only."""


def minimum_tasks(margin: float, alpha: float = 0.025) -> int:
    """Return the fewest tasks that can show a loss smaller than ``margin``.

    Parameters
    ----------
    margin : float
        A proportion in (0, 1).
    alpha : float
        One-sided level.

    Returns
    -------
    int
        ``ceil(ln(alpha) / ln(1 - margin))``: below it, a share ``margin`` of tasks that break outright
        would be missed by all tasks with a probability above ``alpha``, whatever the repetitions.

    Raises
    ------
    ValueError
        For a margin or a level outside (0, 1).
    """
    if not 0 < margin < 1 or not 0 < alpha < 1:
        raise ValueError("margin and alpha must lie strictly between 0 and 1")
    return math.ceil(math.log(alpha) / math.log1p(-margin))


def all_ties_bound(weights: Sequence[float], n_tasks: Sequence[int], alpha: float = 0.025) -> float:
    r"""Return the smallest loss that tasks in weighted strata can rule out at all.

    Parameters
    ----------
    weights : sequence of float, shape (n_strata,)
        Positive.
    n_tasks : sequence of int, shape (n_strata,)
        Tasks of each stratum, at least 1.
    alpha : float
        One-sided level.

    Returns
    -------
    float
        :math:`\max \sum_h w_h q_h` over shares :math:`q_h` of tasks that break outright, all unseen with
        probability :math:`\prod_h (1 - q_h)^{T_h} \ge \alpha`; for one stratum ``1 - alpha**(1 / T)``. A
        margin below it cannot be shown, as one needs :func:`minimum_tasks` without strata.
    """
    # 1 - q_h = min(1, rate T_h / w_h): strata fill up in the order of w_h / T_h, the heaviest tasks first
    order = sorted(zip(weights, n_tasks, strict=True), key=lambda part: part[1] / part[0])
    filled, logs = 0, 0.0
    log_rate = 0.0
    for n, (weight, tasks) in enumerate(order):
        filled += tasks
        logs += tasks * math.log(tasks / weight)
        log_rate = (math.log(alpha) - logs) / filled
        if n + 1 == len(order) or log_rate + math.log(order[n + 1][1] / order[n + 1][0]) >= 0:
            break
    return math.fsum(-w * math.expm1(min(0.0, log_rate + math.log(t / w))) for w, t in order)
