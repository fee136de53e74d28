"""A declared share in both arms: its values by task, its weights, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from analysis import formatting, paired, proportions, reliability, tilting
from analysis.intervals import FEW_TASKS, FEWEST_TASKS, strata_status
from analysis.results import ArmSummary, Interval, StratumEstimate
from analysis.table import RunTable, by_case, grouped, refuse_unknown, repeated_outcome, score
from analysis.taskvalues import Floats, Ragged
from study.endpoints import ENDPOINTS
from study.errors import InputError
from study.records import ARMS

EQUAL_TASKS = "tilted, equal task weights"
EACH = "tilted, strata, pseudo tasks in each"
FAMILIES = {
    "template_family": "tilted, template families as tasks",
    "task_family": "tilted, task families as tasks",
}

SHARES = ("completion", "pass", "result_completion", "timeouts", *reliability.MEASURES)


class Stratum(NamedTuple):
    """A part of the tasks with its declared weight; ``tasks`` are positions in :attr:`Shares.tasks`."""

    name: str
    weight: float
    tasks: tuple[int, ...]


class Shares(NamedTuple):
    """Values in [0, 1] of both arms, grouped by task, and the strata in which tasks have declared weights.

    Attributes
    ----------
    tasks : tuple of str
        The same in both arms, in the order of their ids.
    arms : dict of str to Ragged
        Arm -> one array a task.
    strata : tuple of Stratum
        Empty where tasks weigh equally.
    """

    tasks: tuple[str, ...]
    arms: dict[str, Ragged]
    strata: tuple[Stratum, ...]

    @property
    def n_tasks(self) -> list[int]:
        """Tasks of each stratum."""
        return [len(stratum.tasks) for stratum in self.strata]

    @property
    def weights(self) -> list[float]:
        """Weight of each stratum."""
        return [stratum.weight for stratum in self.strata]


def shares(
    table: RunTable, frame: pl.DataFrame, endpoint: str, k: int | None = None, *, fill: pl.Expr | None = None
) -> Shares:
    """Return the values of a share endpoint.

    Parameters
    ----------
    table : RunTable
        Its protocol holds the declared treatment of outcomes, and the weights.
    frame : polars.DataFrame
        The rows that count: a part of ``table.frame``.
    endpoint : str
        One of :data:`SHARES`. ``pass_hat_k`` and ``pass_at_k`` are those of each case, averaged over the
        cases of a task; the others average trials.
    k : int or None
    fill : polars.Expr, optional
        What the trials of void pairs count as.

    Raises
    ------
    InputError
        When a case has fewer than ``k`` trials, or a stratum with a weight has no task left.
    """
    repeated = endpoint in reliability.MEASURES
    if not repeated and endpoint != "completion":
        refuse_unknown(table, endpoint)
    counted = score(table.protocol, repeated_outcome(table) if repeated else endpoint)
    if fill is not None:
        counted = pl.when("void_pair").then(fill).otherwise(counted)
    scored = frame.with_columns(score=counted)
    if repeated:
        return repeated_shares(table, case_passes(scored), endpoint, k or 1)
    return _shares(table, by_case(scored, "score"))


def _shares(table: RunTable, scored: pl.DataFrame) -> Shares:
    groups = grouped(scored, "score")
    tasks = groups["baseline"].tasks
    return Shares(tasks, {arm: groups[arm].values for arm in ARMS}, _strata(table, tasks))


def contrast(values: Shares) -> float:
    """Return candidate - baseline, tasks weighing as declared."""
    if values.strata:
        return paired.stratified_difference(_by_stratum(values), values.weights)
    return paired.mean_difference(*_both(values))


def interval(values: Shares, level: float) -> Interval:
    """Return the interval that decides, for :func:`contrast`."""
    if values.strata:
        return paired.stratified_interval(_by_stratum(values), values.weights, level=level)
    return paired.interval(*_both(values), level=level)


def p_value(values: Shares, endpoint: str, claim: str, margin: float, alpha: float) -> float:
    """Return the one-sided p-value of a claim about the candidate, in the endpoint's direction of benefit.

    At most (1 - level) / 2 exactly when :func:`interval` at that level bears the claim out.

    Raises
    ------
    InputError
        Where these tasks cannot decide the claim; see :func:`undecidable`.
    """
    better = ENDPOINTS[endpoint].higher_is_better
    named: Any = claim
    if not values.strata:
        return paired.p_value(*_both(values, swap=not better), claim=named, margin=margin)
    return paired.stratified_p_value(
        _by_stratum(values, swap=not better), values.weights, claim=named, margin=margin, alpha=alpha
    )


def undecidable(values: Shares, margin: float | None, margin_text: str | None, alpha: float) -> list[str]:
    """Return why the strata of these tasks cannot decide a claim; empty without strata."""
    if not values.strata:
        return []
    reasons: list[str] = []
    if min(values.n_tasks) < FEWEST_TASKS:
        fewest = formatting.counted(min(values.n_tasks), "task")
        reasons.append(f"a stratum has {fewest}; each needs at least {FEWEST_TASKS}")
    elif strata_status(values.weights, values.n_tasks) != "ok":
        reasons.append(f"a stratum with fewer than {FEW_TASKS} tasks weighs more than its share of the tasks")
    bound = tilting.all_ties_bound(values.weights, values.n_tasks, alpha)
    if margin is not None and bound > margin:
        reasons.append(
            f"a loss of {100 * bound:.2f} pp can go unseen by these tasks with the declared weights; "
            f"the margin is {margin_text}"
        )
    return reasons


def smallest_level(values: Shares, margin: float) -> float:
    """Return the one-sided level below which these tasks cannot show a loss within ``margin``."""
    if not values.strata:
        return (1 - margin) ** len(values.tasks)
    low, high = math.log(1e-300), 0.0
    for _ in range(100):
        middle = (low + high) / 2
        hidden = tilting.all_ties_bound(values.weights, values.n_tasks, math.exp(middle))
        low, high = (middle, high) if hidden > margin else (low, middle)
    return math.exp(high)


def arm_summary(values: Shares, arm: str, level: float) -> ArmSummary:
    """Return the share of one arm with its interval, tasks weighing as declared."""
    groups = values.arms[arm]
    if values.strata:
        parts = [[groups[n] for n in stratum.tasks] for stratum in values.strata]
        estimate = proportions.stratified_rate(parts, values.weights)
        found = proportions.stratified_rate_interval(parts, values.weights, level=level)
    else:
        estimate, found = proportions.rate(groups), proportions.rate_interval(groups, level=level)
    n_trials = len(groups.flat)
    return ArmSummary(estimate=estimate, interval=found, n_tasks=len(groups), n_trials=n_trials)


def stratum_estimates(values: Shares, frame: pl.DataFrame, level: float) -> tuple[StratumEstimate, ...]:
    """Return the contrast within each stratum; descriptive."""
    found: list[StratumEstimate] = []
    for stratum in values.strata:
        left, right = ([values.arms[arm][n] for n in stratum.tasks] for arm in ARMS)
        names = [values.tasks[n] for n in stratum.tasks]
        within = paired.interval(left, right, level=level)
        found.append(
            StratumEstimate(
                name=stratum.name,
                weight=stratum.weight,
                estimate=paired.mean_difference(left, right),
                interval=within,
                n_tasks=len(names),
                n_pairs=frame.filter(pl.col("task_id").is_in(names))["pair"].n_unique(),
                status="descriptive" if within.status == "ok" else within.status,
            )
        )
    return tuple(found)


def other_weights(values: Shares, level: float) -> tuple[Interval, ...]:
    """Return the sensitivity rows of declared weights: stricter pseudo tasks, and equal task weights."""
    if not values.strata:
        return ()
    each = paired.stratified_interval(_by_stratum(values), values.weights, level=level, pseudo_tasks="each")
    return (_named(each, EACH), _named(paired.interval(*_both(values), level=level), EQUAL_TASKS))


def family_rows(table: RunTable, values: Shares, frame: pl.DataFrame, level: float) -> tuple[Interval, ...]:
    """Return the sensitivity rows one level up: families of tasks as the unit that is resampled.

    The value of a family is the mean of its tasks; families weigh equally, whatever the declared weights.
    Only where families hold several tasks.
    """
    alone = frame["task_id"].equals(frame["template_family"])
    template = {} if alone else dict(frame.select("task_id", "template_family").unique().iter_rows())
    entries = table.lock.get("tasks", {})
    declared = {
        task: entries[task]["task_family"] for task in values.tasks if "task_family" in entries.get(task, {})
    }
    rows: list[Interval] = []
    for column, family_of in (("template_family", template), ("task_family", declared)):
        if not family_of:
            continue
        members: dict[str, list[int]] = {}
        for n, task in enumerate(values.tasks):
            # a task without a declared family is one by itself, whatever families are called
            key = f"family {family_of[task]}" if task in family_of else f"task {task}"
            members.setdefault(key, []).append(n)
        if len(members) == len(values.tasks):
            continue
        arms = [
            [[float(values.arms[arm][n].mean()) for n in members[name]] for name in sorted(members)]
            for arm in ARMS
        ]
        found = paired.interval(arms[0], arms[1], level=level)
        rows.append(_named(found, f"{FAMILIES[column]}: {len(members)} families"))
    return tuple(rows)


def _named(found: Interval, method: str) -> Interval:
    return Interval(low=found.low, high=found.high, level=found.level, method=method, status=found.status)


def _both(values: Shares, *, swap: bool = False) -> tuple[Sequence[Floats], Sequence[Floats]]:
    left, right = (values.arms[arm] for arm in ARMS)
    return (right, left) if swap else (left, right)


def _by_stratum(values: Shares, *, swap: bool = False) -> list[paired.Stratum]:
    left, right = _both(values, swap=swap)
    return [([left[n] for n in s.tasks], [right[n] for n in s.tasks]) for s in values.strata]


def case_passes(scored: pl.DataFrame) -> pl.DataFrame:
    """Return one row an arm and case with its ``passes`` among ``n`` trials (column ``score``)."""
    return scored.group_by("arm", "task_id", "case_id").agg(
        passes=pl.col("score").cast(pl.Int64).sum(),
        n=pl.len().cast(pl.Int64),
        repetition=pl.col("repetition").min(),
    )


def repeated_shares(table: RunTable, cases: pl.DataFrame, measure: str, k: int) -> Shares:
    """Return the probability of each case of :func:`case_passes` that k repetitions pass, or one of them.

    Raises
    ------
    InputError
        As :func:`shares`.
    """
    short = cases.filter(pl.col("n") < k)
    if len(short):
        first = short.sort("arm", "case_id").row(0, named=True)
        raise InputError(
            f"{formatting.counted(len(short), 'case')} with fewer than {k} trials that count, "
            f"the first is {first['case_id']!r} ({first['arm']})",
            where="k",
            allowed="k up to the fewest trials of a case",
        )
    # few cases differ in passes and trials: each kind is computed once
    kinds = cases.select("passes", "n").unique(maintain_order=True)
    outcomes = [[1.0] * passes + [0.0] * (n - passes) for passes, n in kinds.iter_rows()]
    known = reliability.task_probabilities(outcomes, k, measure=measure).means
    scored = cases.join(kinds.with_columns(pl.Series("score", known)), on=["passes", "n"], how="left")
    return _shares(table, by_case(scored, "score"))


def _strata(table: RunTable, tasks: Sequence[str]) -> tuple[Stratum, ...]:
    workload = table.protocol.workload
    if workload.weighting == "equal-tasks" or not tasks:
        return ()
    entries = table.lock["tasks"]
    members: dict[str, list[int]] = {name: [] for name in workload.weights or {}}
    for n, task in enumerate(tasks):
        members[entries[task]["stratum"]].append(n)
    for name, positions in members.items():
        if not positions:
            raise InputError(
                f"no task of the stratum {name!r} is left", where="weights", allowed="a task in every stratum"
            )
    weights = workload.weights or {}
    return tuple(Stratum(name, weights[name], tuple(members[name])) for name in sorted(members))
