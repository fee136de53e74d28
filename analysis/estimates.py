"""The endpoints that a lock declares, estimated in declared order."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from analysis import diagnostics, formatting, latency, paired
from analysis.arms import rate_summary, timed
from analysis.claims import claim_outcome, meets, toward_benefit
from analysis.intervals import FEW_TASKS, FEWEST_TASKS, fewest_resamples
from analysis.multiplicity import fixed_sequence
from analysis.results import ArmSummary, Estimate, Interval, Status
from analysis.table import Groups, RunTable, grouped, score
from study.endpoints import SUPPORTED_ENDPOINTS, Endpoint, find_endpoint, parse_margin
from study.protocol import EndpointSpec, minimum_tasks
from study.records import ARMS

__all__ = ["REFUSED", "SUPPORTED_ENDPOINTS", "estimate"]

REFUSED = "verdict refused: "
"""Starts each diagnostic for which an endpoint's claim is not decided."""

DESCRIPTIVE_LEVEL = 0.95
MOST_MISSING = 0.10
"""Share of void pairs above which no claim is decided, whatever ceiling was declared."""

ROUNDING = 1e-9
"""What a product of a share and a count may be off by."""


class _Plan(NamedTuple):
    """One endpoint as declared, with its margin in the unit of the contrast."""

    spec: EndpointSpec
    entry: Endpoint
    margin: float | None
    level: float


class _Found(NamedTuple):
    """What was computed for one endpoint."""

    estimate: float | None
    interval: Interval | None
    sensitivity: tuple[Interval, ...]
    arms: dict[str, ArmSummary]
    kept: pl.DataFrame
    status: Status
    refusals: list[str]
    notes: list[str]


def estimate(table: RunTable) -> tuple[Estimate, ...]:
    """Estimate every endpoint that the protocol declares.

    Parameters
    ----------
    table : RunTable
        Its protocol is the only source of settings.

    Returns
    -------
    tuple of Estimate
        In declared order, the contrast being candidate - baseline (for a ratio: on the log scale).
        Secondary claims behind the first one not met are marked descriptive.

    Raises
    ------
    ProtocolError
        For an endpoint that this version does not offer, and a margin without its unit.
    """
    found: list[Estimate] = []
    for n, spec in enumerate(table.protocol.endpoints):
        where = f"protocol:endpoints[{n}]"
        entry = find_endpoint(spec.name, f"{where}.name")
        margin = None if spec.margin is None else parse_margin(spec.margin, spec.name, f"{where}.margin")
        level = DESCRIPTIVE_LEVEL if spec.alpha is None else 1 - 2 * spec.alpha
        plan = _Plan(spec, entry, margin, level)
        result = _ratio(table, plan) if entry.unit == "log_ratio" else _proportion(table, plan)
        found.append(_record(table, plan, result))
    return tuple(fixed_sequence(found))


def _proportion(table: RunTable, plan: _Plan) -> _Found:
    kept = table.frame.filter(~pl.col("void_pair")).with_columns(score=score(table.protocol, plan.spec.name))
    groups = grouped(kept, "score")
    if not len(kept):
        return _nothing(kept, "not_recorded", "every pair is void")
    baseline, candidate = (groups[arm].values for arm in ARMS)
    interval = paired.interval(baseline, candidate, level=plan.level)
    student = paired.interval(baseline, candidate, level=plan.level, method="t")
    differences = paired.task_differences(baseline, candidate)
    return _Found(
        estimate=paired.mean_difference(baseline, candidate),
        interval=interval,
        sensitivity=(*_bootstrap(paired.interval, table, plan, groups), student),
        arms={arm: rate_summary(groups[arm], plan.level) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=_refusals(table, plan, len(baseline)),
        notes=[
            *diagnostics.spread_notes(differences),
            *diagnostics.repetition_notes(kept),
            *diagnostics.void_notes(table, plan.spec.name, plan.level, _edges(plan)),
        ],
    )


def _ratio(table: RunTable, plan: _Plan) -> _Found:
    kept = timed(table)
    unknown = kept["time_s"].null_count()
    if not len(kept) or unknown:
        reason = f"{unknown} trials have no recorded latency" if unknown else "no pair counts for latency"
        return _nothing(kept, "not_recorded", reason)
    if (kept["time_s"] <= 0).any():
        return _nothing(kept, "refused", "a latency of 0 s has no logarithm")
    groups = grouped(kept, "time_s")
    baseline, candidate = (groups[arm].values for arm in ARMS)
    interval = latency.gmr(baseline, candidate, level=plan.level)
    refusals = _refusals(table, plan, len(baseline))
    if interval.status == "refused" and len(baseline) >= FEWEST_TASKS:
        refusals.append("all tasks have the same ratio, so that there is no spread to measure")
    return _Found(
        estimate=latency.mean_log_ratio(baseline, candidate),
        interval=interval,
        sensitivity=_bootstrap(latency.gmr, table, plan, groups),
        arms={arm: _geometric_mean(groups[arm], plan.level) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=refusals,
        notes=_latency_notes(table, int(kept["ended"].sum())),
    )


def _bootstrap(
    method: Callable[..., Interval], table: RunTable, plan: _Plan, groups: dict[str, Groups]
) -> tuple[Interval, ...]:
    """Return the percentile interval of the declared resamples; none when they are too few for the level."""
    settings = table.protocol.analysis
    if settings.resamples < fewest_resamples((1 - plan.level) / 2):
        return ()
    baseline, candidate = (groups[arm].values for arm in ARMS)
    found = method(
        baseline,
        candidate,
        level=plan.level,
        method="percentile",
        resamples=settings.resamples,
        rng=settings.seed,
    )
    return (found,)


def _geometric_mean(groups: Groups, level: float) -> ArmSummary:
    estimate, interval = latency.geometric_mean(groups.values, level=level)
    return ArmSummary(
        estimate=estimate,
        interval=interval,
        n_tasks=len(groups.tasks),
        n_trials=sum(len(task) for task in groups.values),
    )


def _nothing(kept: pl.DataFrame, status: Status, reason: str) -> _Found:
    arms: dict[str, ArmSummary] = {
        arm: ArmSummary(
            estimate=None,
            interval=None,
            n_tasks=kept.filter(pl.col("arm") == arm)["task_id"].n_unique(),
            n_trials=len(kept.filter(pl.col("arm") == arm)),
        )
        for arm in ARMS
    }
    return _Found(None, None, (), arms, kept, status, [reason], [])


def _refusals(table: RunTable, plan: _Plan, n_tasks: int) -> list[str]:
    """Return why the claim of an endpoint may not be decided on these data."""
    reasons: list[str] = []
    if n_tasks < FEWEST_TASKS:
        reasons.append(f"{n_tasks} tasks; with fewer than {FEWEST_TASKS} there is a point estimate only")
    elif n_tasks < FEW_TASKS:
        reasons.append(
            f"{n_tasks} tasks; with fewer than {FEW_TASKS} an interval is printed, but decides nothing"
        )
    if diagnostics.evidence_level(table) == "pilot":
        reasons.append("this is a pilot, in which nothing is compared")
    spec = plan.spec
    if plan.margin is not None and spec.alpha is not None and plan.entry.unit == "proportion":
        fewest = minimum_tasks(plan.margin, spec.alpha)
        if n_tasks < fewest:
            reasons.append(f"{n_tasks} tasks; the margin {spec.margin} needs at least {fewest}")
    n_pairs = table.frame["pair"].n_unique()
    n_void = table.frame.filter("void_pair")["pair"].n_unique()
    if n_void > MOST_MISSING * n_pairs + ROUNDING:
        most = formatting.percent(MOST_MISSING, 0)
        reasons.append(f"{formatting.share(n_void, n_pairs)} of the pairs are void, more than {most}")
    return reasons


def _edges(plan: _Plan) -> tuple[float, ...]:
    return (0.0,) if plan.margin is None else (0.0, plan.margin, -plan.margin)


def _latency_notes(table: RunTable, n_ended: int) -> list[str]:
    notes: list[str] = []
    if n_ended:
        limit = formatting.seconds(table.protocol.limits.trial_timeout_s)
        notes.append(f"time-outs, entered at the limit of {limit}: {n_ended} trials")
    split = table.frame.filter("split_pair")["pair"].n_unique()
    if split:
        notes.append(f"pairs left out because an interruption split them: {split}")
    return notes


def _holds_at_worst(table: RunTable, plan: _Plan) -> bool:
    """Whether a claim on a share also holds with every void pair lost by the candidate."""
    if plan.entry.unit != "proportion":
        return True
    cases = diagnostics.void_cases(table, plan.spec.name, plan.level)
    if cases is None:
        return True
    low, high = cases.worst.interval.low, cases.worst.interval.high
    if low is None or high is None:
        return False
    turned = toward_benefit(low, high, higher_is_better=plan.entry.higher_is_better)
    return meets(plan.spec.claim, claim_outcome(plan.spec.claim or "", turned, plan.margin or 0.0))


def _record(table: RunTable, plan: _Plan, found: _Found) -> Estimate:
    spec, entry = plan.spec, plan.entry
    n_tasks, n_families = found.kept["task_id"].n_unique(), found.kept["template_family"].n_unique()
    notes = list(found.notes)
    if n_families < n_tasks:
        notes.append(f"tasks that share a template are taken as independent ({n_families} template families)")
    outcome = None
    if spec.claim is not None:
        outcome = "inconclusive"
        limits = found.interval
        if not found.refusals and limits is not None and limits.low is not None and limits.high is not None:
            turned = toward_benefit(limits.low, limits.high, higher_is_better=entry.higher_is_better)
            outcome = claim_outcome(spec.claim, turned, plan.margin or 0.0)
            if meets(spec.claim, outcome) and not _holds_at_worst(table, plan):
                outcome = "inconclusive"
                notes.append(f"{REFUSED}the claim does not hold if the candidate lost every void pair")
    prefix = REFUSED if spec.claim is not None else ""
    status = found.status
    if spec.claim is None and status == "ok":
        status = "descriptive"
    return Estimate(
        name=spec.name,
        role=spec.role,
        claim=spec.claim,
        margin=plan.margin,
        margin_text=spec.margin,
        unit=entry.unit,
        higher_is_better=entry.higher_is_better,
        alpha=spec.alpha,
        estimate=found.estimate,
        interval=found.interval,
        sensitivity=found.sensitivity,
        baseline=found.arms["baseline"],
        candidate=found.arms["candidate"],
        n_tasks=n_tasks,
        n_families=n_families,
        n_pairs=found.kept["pair"].n_unique(),
        status=status,
        outcome=outcome,
        diagnostics=(*(f"{prefix}{reason}" for reason in found.refusals), *notes),
    )
