"""The plan of an endpoint, what was found for it, and why its claim may not be decided."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from analysis import formatting
from analysis.intervals import FEW_TASKS, FEWEST_TASKS
from analysis.results import ArmSummary, Interval, Status, StratumEstimate
from analysis.study_latency import TableTimes
from analysis.table import MOST_MISSING, ROUNDING, RunTable
from study.endpoints import Endpoint
from study.protocol import EndpointSpec, minimum_tasks
from study.records import ARMS

REFUSED = "verdict refused: "
"""Starts each diagnostic for which an endpoint's claim is not decided."""

DESCRIPTIVE_LEVEL = 0.95


class Plan(NamedTuple):
    """One endpoint as declared, with its margin in the unit of the contrast.

    ``level`` is two-sided, ``alpha`` the one-sided level of its claim: in a family that shares its level,
    what the procedure gives to this claim. ``pilot`` says that the study compares nothing;
    ``times`` are the latencies of the table.
    """

    spec: EndpointSpec
    entry: Endpoint
    margin: float | None
    level: float
    alpha: float | None
    pilot: bool
    times: TableTimes


class Found(NamedTuple):
    """What was computed for one endpoint."""

    estimate: float | None
    interval: Interval | None
    sensitivity: tuple[Interval, ...]
    arms: dict[str, ArmSummary]
    kept: pl.DataFrame
    status: Status
    refusals: list[str]
    notes: list[str]
    p_value: float | None = None
    strata: tuple[StratumEstimate, ...] = ()


def nothing(kept: pl.DataFrame, status: Status, reason: str) -> Found:
    """Return that nothing could be computed from the trials that were kept, and why."""
    arms: dict[str, ArmSummary] = {
        arm: ArmSummary(
            estimate=None,
            interval=None,
            n_tasks=kept.filter(pl.col("arm") == arm)["task_id"].n_unique(),
            n_trials=len(kept.filter(pl.col("arm") == arm)),
        )
        for arm in ARMS
    }
    return Found(None, None, (), arms, kept, status, [reason], [])


def reasons_against(table: RunTable, plan: Plan, n_tasks: int, *, weighted: bool = False) -> list[str]:
    """Return why the claim of an endpoint may not be decided on these data, but for declared weights."""
    reasons: list[str] = []
    tasks = formatting.counted(n_tasks, "task")
    if n_tasks < FEWEST_TASKS:
        reasons.append(f"{tasks}; with fewer than {FEWEST_TASKS} there is a point estimate only")
    elif n_tasks < FEW_TASKS:
        reasons.append(f"{tasks}; with fewer than {FEW_TASKS} an interval is printed, but decides nothing")
    if plan.pilot:
        reasons.append("this is a pilot, in which nothing is compared")
    spec = plan.spec
    share = plan.entry.unit == "proportion" and not weighted
    if plan.margin is not None and plan.alpha is not None and share:
        fewest = minimum_tasks(plan.margin, plan.alpha)
        if n_tasks < fewest:
            reasons.append(f"{tasks}; the margin {spec.margin} needs at least {fewest}")
    n_void = table.frame.filter("void_pair")["pair"].n_unique()
    n_pairs = table.frame["pair"].n_unique() if n_void else 0
    if n_void > MOST_MISSING * n_pairs + ROUNDING:
        most = formatting.percent(MOST_MISSING, 0)
        reasons.append(f"{formatting.share(n_void, n_pairs)} of the pairs are void, more than {most}")
    reasons.extend(table.refusals)
    return reasons
