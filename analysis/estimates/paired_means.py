"""Endpoints that are a mean over tasks: counted tokens and calls, the latency ratio, the restricted mean."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import polars as pl

from analysis import latency, student
from analysis.estimates.beside import bootstrap, unweighted
from analysis.estimates.plans import Found, Plan, nothing, reasons_against
from analysis.estimates.recorded_times import latency_notes, unrecorded
from analysis.intervals import FEWEST_TASKS, task_interval
from analysis.results import ArmSummary, Interval
from analysis.table import RunTable, by_case, grouped
from analysis.taskvalues import Floats
from analysis.usage import with_counts
from study.records import ARMS


def counted(table: RunTable, plan: Plan) -> Found:
    """Return the ratio of tokens, or the difference in calls; only where both totals are known."""
    kept = with_counts(table.frame, plan.spec.name).filter(~pl.col("void_pair"))
    if not len(kept):
        return nothing(kept, "not_recorded", "every pair is void")
    unknown = {arm: kept.filter(pl.col("arm") == arm)["count"].null_count() for arm in ARMS}
    if any(unknown.values()):
        told = ", ".join(f"{arm} {n}" for arm, n in unknown.items())
        return nothing(kept, "not_recorded", f"both totals must be known; trials without a count: {told}")
    cases = kept.group_by("arm", "task_id", "case_id").agg(pl.col("count").mean())
    tasks = cases.group_by("arm", "task_id").agg(pl.col("count").mean()).sort("task_id")
    means = {arm: tasks.filter(pl.col("arm") == arm)["count"].to_numpy() for arm in ARMS}
    ratio = plan.entry.unit == "log_ratio"
    if ratio and min(float(values.min()) for values in means.values()) <= 0:
        return nothing(kept, "refused", "a task without any token has no ratio")
    values = {arm: np.log(means[arm]) if ratio else means[arm] for arm in ARMS}
    differences = values["candidate"] - values["baseline"]
    return _mean_found(table, plan, kept, values, differences, tied="all tasks differ by the same")


def geometric_ratio(table: RunTable, plan: Plan) -> Found:
    """Return the log of the ratio of the geometric mean latencies."""
    kept = plan.times.kept
    missing = unrecorded(kept)
    if missing is not None:
        return missing
    if (kept["time_s"] <= 0).any():
        return nothing(kept, "refused", "a latency of 0 s has no logarithm")
    cases = by_case(kept, "time_s", geometric=True)
    groups = plan.times.groups if cases is kept else grouped(cases, "time_s")
    logs = {arm: latency.log_means(groups[arm].values, arm) for arm in ARMS}
    return _latency_found(table, plan, logs, tied="all tasks have the same ratio")


def restricted_mean(table: RunTable, plan: Plan) -> Found:
    """Return the difference of the means of min(latency, limit) in seconds."""
    kept = plan.times.kept
    missing = unrecorded(kept)
    if missing is not None:
        return missing
    cap = table.protocol.limits.trial_timeout_s
    groups = grouped(by_case(kept.with_columns(pl.col("time_s").clip(upper_bound=cap)), "time_s"), "time_s")
    means = {arm: latency.restricted_means(groups[arm].values, cap, arm) for arm in ARMS}
    return _latency_found(table, plan, means, tied="all tasks differ by the same time")


def _latency_found(table: RunTable, plan: Plan, values: dict[str, Floats], *, tied: str) -> Found:
    """Return the contrast of task means of latency, with the percentile interval and notes beside it."""
    kept = plan.times.kept
    differences = latency.differences(values["baseline"], values["candidate"])
    found = _mean_found(table, plan, kept, values, differences, tied=tied)
    return found._replace(
        sensitivity=bootstrap(latency.difference_interval, table, plan, differences),
        notes=[*latency_notes(table, kept), *found.notes],
    )


def _mean_found(
    table: RunTable,
    plan: Plan,
    kept: pl.DataFrame,
    values: dict[str, Floats],
    differences: Floats,
    *,
    tied: str,
) -> Found:
    """Return the contrast of task means by Student's interval; ``tied`` says that there is no spread."""
    interval = _student(differences, plan)
    refusals = reasons_against(table, plan, len(differences))
    if interval.status == "refused" and len(differences) >= FEWEST_TASKS:
        refusals.append(f"{tied}, so that there is no spread to measure")
    return Found(
        estimate=math.fsum(differences) / len(differences),
        interval=interval,
        sensitivity=(),
        arms={arm: _mean_summary(values[arm], kept, arm, plan) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=refusals,
        notes=unweighted(table),
        p_value=_mean_p(plan, differences, refusals),
    )


def _student(values: Floats, plan: Plan) -> Interval:
    return task_interval(values, bounds=(-math.inf, math.inf), denominator=None, level=plan.level, method="t")


def _mean_summary(values: Floats, kept: pl.DataFrame, arm: str, plan: Plan) -> ArmSummary:
    """Return one arm's mean over tasks; of a ratio's logs the geometric mean."""
    estimate, found = math.fsum(values) / len(values), _student(values, plan)
    if plan.entry.unit == "log_ratio":
        estimate = math.exp(estimate)
        if found.low is not None and found.high is not None:
            found = msgspec.structs.replace(found, low=math.exp(found.low), high=math.exp(found.high))
    n_trials = len(kept.filter(pl.col("arm") == arm))
    return ArmSummary(estimate=estimate, interval=found, n_tasks=len(values), n_trials=n_trials)


def _mean_p(plan: Plan, differences: Floats, refusals: list[str]) -> float | None:
    """Return Student's p-value of a claim on a mean difference; None where the claim is refused."""
    if plan.spec.claim is None or refusals:
        return None
    turned = differences if plan.entry.higher_is_better else -differences
    return student.p_value(turned, claim=plan.spec.claim, margin=plan.margin or 0.0)
