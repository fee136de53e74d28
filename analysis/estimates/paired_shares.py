"""Endpoints that are a share of trials, on new tasks or on these very tasks."""

from __future__ import annotations

import msgspec
import polars as pl

from analysis import diagnostics, fixed_tasks, paired, shares
from analysis.arms import rate_summary
from analysis.estimates.beside import bootstrap
from analysis.estimates.plans import DESCRIPTIVE_LEVEL, Found, Plan, nothing, reasons_against
from analysis.results import Interval
from analysis.table import RunTable, grouped, score
from study.errors import InputError
from study.records import ARMS


def new_tasks(table: RunTable, plan: Plan) -> Found:
    """Return the difference in shares, tasks as the sample."""
    kept = table.frame.filter(~pl.col("void_pair"))
    if not len(kept):
        return nothing(kept, "not_recorded", "every pair is void")
    try:
        values = shares.shares(table, kept, plan.spec.name, plan.spec.k)
    except InputError as error:
        return nothing(kept, "refused", error.problem)
    baseline, candidate = (values.arms[arm] for arm in ARMS)
    interval = shares.interval(values, plan.level)
    differences = paired.task_differences(baseline, candidate)
    refusals = reasons_against(table, plan, len(values.tasks), weighted=bool(values.strata))
    refusals += shares.undecidable(values, plan.margin, plan.spec.margin, plan.alpha or DESCRIPTIVE_LEVEL)
    scored = kept if plan.entry.takes_k else kept.with_columns(score=score(table.protocol, plan.spec.name))
    return Found(
        estimate=shares.contrast(values),
        interval=interval,
        sensitivity=(
            *(_plain_methods(table, plan, values) if not values.strata else ()),
            *shares.other_weights(values, plan.level),
            *(shares.family_rows(table, values, kept, plan.level) if not values.strata else ()),
        ),
        arms={arm: shares.arm_summary(values, arm, plan.level) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=refusals,
        notes=[
            *diagnostics.spread_notes(differences),
            *([] if plan.entry.takes_k else diagnostics.repetition_notes(scored)),
            *diagnostics.void_notes(table, plan.spec.name, plan.level, _edges(plan), plan.spec.k),
        ],
        p_value=None if refusals or plan.spec.claim is None else share_p(values, plan),
        strata=shares.stratum_estimates(values, kept, plan.level),
    )


def these_tasks(table: RunTable, plan: Plan) -> Found:
    """Return the difference on these very tasks: no claim, and nothing about new ones."""
    kept = table.frame.filter(~pl.col("void_pair")).with_columns(score=score(table.protocol, plan.spec.name))
    if not len(kept):
        return nothing(kept, "not_recorded", "every pair is void")
    groups = grouped(kept, "score")
    baseline, candidate = (groups[arm].values for arm in ARMS)
    if min(len(task) for task in (*baseline, *candidate)) < 2:
        return nothing(kept, "refused", "a task has a single trial left: chance within it is not measured")
    interval = fixed_tasks.interval(baseline, candidate, level=plan.level)
    rates = {arm: rate_summary(groups[arm], plan.level) for arm in ARMS}
    several = kept.group_by("task_id").agg(pl.col("case_id").n_unique())["case_id"].max() != 1
    pooled = "the width also holds what the cases of a task differ by: they count as its repetitions"
    return Found(
        estimate=paired.mean_difference(baseline, candidate),
        interval=interval,
        sensitivity=(),
        arms={arm: msgspec.structs.replace(rates[arm], interval=None) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=[],
        notes=[fixed_tasks.CAVEAT, *([pooled] if several else [])],
    )


def share_p(values: shares.Shares, plan: Plan) -> float:
    """Return the p-value of the plan's claim on these shares."""
    return shares.p_value(
        values, plan.spec.name, plan.spec.claim or "", plan.margin or 0.0, plan.alpha or DESCRIPTIVE_LEVEL
    )


def smallest_level(table: RunTable, plan: Plan, n_tasks: int) -> float:
    """Return the level below which these tasks cannot show a loss within the margin."""
    margin = plan.margin or 0.0
    if table.protocol.workload.weighting == "equal-tasks":
        return (1 - margin) ** n_tasks
    kept = table.frame.filter(~pl.col("void_pair"))
    return shares.smallest_level(shares.shares(table, kept, plan.spec.name, plan.spec.k), margin)


def _plain_methods(table: RunTable, plan: Plan, values: shares.Shares) -> tuple[Interval, ...]:
    """Return the percentile and Student intervals of equal task weights."""
    baseline, candidate = (values.arms[arm] for arm in ARMS)
    student_rows = paired.interval(baseline, candidate, level=plan.level, method="t")
    return (*bootstrap(paired.interval, table, plan, baseline, candidate), student_rows)


def _edges(plan: Plan) -> tuple[float, ...]:
    return (0.0,) if plan.margin is None else (0.0, plan.margin, -plan.margin)
