"""What is told of each arm beside the endpoints: hard fails, reliability, usage, rungs."""

from __future__ import annotations

from typing import Any

from analysis.results.intervals import Interval, Status
from study.records import Record


class HardFailedTask(Record):
    """One task with hard fails: how many of its trials, their codes, and what the first one did.

    ``case_id`` and ``repetition`` name the first such trial of the schedule, ``text`` tells what the grader
    found in it.
    """

    task_id: str
    count: int
    trials: int
    codes: tuple[str, ...]
    case_id: str
    repetition: int
    text: str


class HardFails(Record):
    """Hard fails of one arm: counted before anything is averaged.

    ``count`` events in ``trials`` trials of ``n_tasks`` tasks, ``tasks`` of which had at least one;
    ``upper_bound`` is the one-sided bound on the rate per trial at ``level`` by ``method``. With a declared
    intraclass correlation ``icc``, the trials are worth ``n_effective`` independent ones, and ``icc_bound``
    is the closer bound of an arm without an event (None with events, where it would not hold). ``where``
    names the tasks with events in the order of the schedule, at most 20 of them.
    """

    count: int
    tasks: int
    trials: int
    n_tasks: int
    by_code: dict[str, int]
    upper_bound: float | None
    level: float
    method: str
    icc: float | None = None
    n_effective: float | None = None
    icc_bound: float | None = None
    where: tuple[HardFailedTask, ...] = ()


class RepeatedPass(Record):
    """pass^k of one arm: the probability that k repetitions of a case all pass, tasks weighing equally."""

    k: int
    estimate: float
    interval: Interval


class Reliability(Record):
    """How much the outcomes of one arm vary from run to run, and from task to task.

    Attributes
    ----------
    outcome : str
        The grade that is looked at.
    within, between, icc, design_effect : float or None
        See :class:`analysis.reliability.VarianceComponents`; None with a single repetition, where chance
        within a task cannot be told from the task.
    pass_hat_k : tuple of RepeatedPass
        For k = 1 up to the fewest repetitions of a case.
    repetitions : int
        The fewest repetitions of a case that count.
    n_tasks, n_trials : int
    status : str
        ``not_identified`` with a single repetition, ``few_tasks`` with fewer than 10 tasks.
    method : str
    """

    outcome: str
    within: float | None
    between: float | None
    icc: float | None
    design_effect: float | None
    pass_hat_k: tuple[RepeatedPass, ...]
    repetitions: int
    n_tasks: int
    n_trials: int
    status: Status
    method: str


class UsageSummary(Record):
    """Token use of one arm, a field: ``{known_subtotal, missing_calls, total}``; None when never recorded."""

    fields: dict[str, dict[str, Any]] | None


class RungRow(Record):
    """One arm on one rung: counts, the metric pair and the gate of the ladder.

    ``hard_failed`` counts trials with a hard fail of any code, hallucinated ones included.
    """

    arm: str
    rung: str
    total: int
    passed: int
    completed: int
    result_completed: int
    hallucinated: int
    gate_pass: bool
    hard_failed: int = 0
