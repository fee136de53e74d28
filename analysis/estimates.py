"""The endpoints that a lock declares, estimated in declared order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from analysis import diagnostics, fixed_tasks, formatting, latency, paired, shares, student
from analysis.arms import rate_summary
from analysis.claims import claim_outcome, meets, p_text, toward_benefit
from analysis.contrasts import claim_p_value, quantile_contrast, quantile_summary
from analysis.intervals import FEW_TASKS, FEWEST_TASKS, fewest_resamples, task_interval
from analysis.multiplicity import Share, fallback, fixed_sequence, gated, holm, sequence
from analysis.results import ArmSummary, Estimate, Interval, Status, StratumEstimate
from analysis.study_latency import QUANTILE_ENDPOINTS, TableTimes, undecided
from analysis.table import (
    MOST_MISSING,
    ROUNDING,
    RunTable,
    by_case,
    complete_pairs,
    grouped,
    score,
)
from analysis.taskvalues import Floats, TrialScores
from analysis.usage import with_counts
from study.endpoints import SUPPORTED_ENDPOINTS, Endpoint, find_endpoint, parse_margin
from study.errors import InputError
from study.protocol import EndpointSpec, minimum_tasks
from study.records import ARMS

__all__ = ["MOST_MISSING", "REFUSED", "ROUNDING", "SUPPORTED_ENDPOINTS", "estimate"]

REFUSED = "verdict refused: "
"""Starts each diagnostic for which an endpoint's claim is not decided."""

DESCRIPTIVE_LEVEL = 0.95


class _Plan(NamedTuple):
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
    p_value: float | None = None
    strata: tuple[StratumEstimate, ...] = ()


def estimate(table: RunTable, times: TableTimes | None = None) -> tuple[Estimate, ...]:
    """Estimate every endpoint that the protocol declares.

    Parameters
    ----------
    table : RunTable
        Its protocol is the only source of settings.
    times : TableTimes, optional
        The latencies of this table, where they are needed elsewhere too: they are resampled once.

    Returns
    -------
    tuple of Estimate
        In declared order, the contrast being candidate - baseline (for a ratio: on the log scale).
        Secondary claims are descriptive unless the primary claim is met; then they share the level by the
        declared procedure (by default in declared order, up to the first that is not met). In Holm's and in
        the fallback procedure, interval and outcome are those at the level that the procedure gives.

    Raises
    ------
    ProtocolError
        For an endpoint that this version does not offer, and a margin without its unit.
    """
    plans: list[_Plan] = []
    pilot = diagnostics.evidence_level(table) == "pilot"
    times = times or TableTimes(table)
    for n, spec in enumerate(table.protocol.endpoints):
        where = f"protocol:endpoints[{n}]"
        entry = find_endpoint(spec.name, f"{where}.name")
        margin = None if spec.margin is None else parse_margin(spec.margin, spec.name, f"{where}.margin")
        level = DESCRIPTIVE_LEVEL if spec.alpha is None else 1 - 2 * spec.alpha
        plans.append(_Plan(spec, entry, margin, level, spec.alpha, pilot, times))
    found = [_estimate(table, plan) for plan in plans]
    _share_level(table, plans, found)
    in_sequence = table.protocol.analysis.multiplicity == "fixed-sequence"
    return tuple(fixed_sequence(found) if in_sequence else gated(found))


def _estimate(table: RunTable, plan: _Plan) -> Estimate:
    if plan.spec.estimand == "fixed-tasks":
        result = _these_tasks(table, plan)
    elif plan.spec.name.startswith("tokens") or plan.entry.unit == "calls":
        result = _counted(table, plan)
    elif plan.spec.name in QUANTILE_ENDPOINTS:
        result = _latency_quantile(table, plan)
    elif plan.spec.name == "latency_restricted_mean":
        result = _restricted_mean(table, plan)
    elif plan.entry.unit == "log_ratio":
        result = _ratio(table, plan)
    else:
        result = _proportion(table, plan)
    return _record(table, plan, result)


def _share_level(table: RunTable, plans: list[_Plan], found: list[Estimate]) -> None:
    """Put what the declared procedures make of the claims in the place of each claim by itself."""
    rule = table.protocol.analysis.multiplicity
    claims = {
        role: [n for n, plan in enumerate(plans) if plan.spec.role == role and plan.alpha is not None]
        for role in ("primary", "secondary", "exploratory")
    }
    ordered = [*claims["primary"], *claims["secondary"]]
    if rule == "fixed-sequence":
        if len(ordered) > 1 and len({plans[n].alpha for n in ordered}) == 1:
            adjusted = sequence(
                [
                    _agreeing(_family_p(table, plans[n], found[n]), plans[n].alpha, met=_is_met(found[n]))
                    for n in ordered
                ]
            )
            for n, value in zip(ordered, adjusted, strict=True):
                found[n] = msgspec.structs.replace(found[n], adjusted_p_value=value)
    else:
        gate = max((_family_p(table, plans[n], found[n]) for n in claims["primary"]), default=1.0)
        _share_in_family(table, plans, found, claims["secondary"], rule, gate)
    _share_in_family(table, plans, found, claims["exploratory"], "holm", 0.0)
    for n, plan in enumerate(plans):
        if plan.spec.role == "exploratory":
            status: Status = "descriptive" if found[n].status == "ok" else found[n].status
            found[n] = msgspec.structs.replace(found[n], status=status)


def _share_in_family(
    table: RunTable, plans: list[_Plan], found: list[Estimate], family: list[int], rule: str, gate: float
) -> None:
    """Estimate the claims of a family again, each at the level that the procedure gives to it."""
    if not family:
        return
    alpha = plans[family[0]].spec.alpha or 0.0
    p_values = [_family_p(table, plans[n], found[n]) for n in family]
    weights = [plans[n].spec.weight or 0.0 for n in family]
    given = holm(p_values, alpha) if rule == "holm" else fallback(p_values, weights, alpha)
    for n, share in zip(family, given, strict=True):
        again = _estimate(table, plans[n]._replace(level=1 - 2 * share.level, alpha=share.level))
        adjusted = max(gate, _agreeing(share.adjusted, alpha, met=_is_met(again)))
        told = _family_note(plans[n], share._replace(adjusted=adjusted), rule, len(family))
        found[n] = msgspec.structs.replace(
            again, adjusted_p_value=adjusted, diagnostics=(told, *again.diagnostics)
        )


def _agreeing(p: float, alpha: float | None, *, met: bool) -> float:
    """Return a p-value on the side of the level on which the interval has decided.

    Both are solved for by themselves, and may differ in the last digits where a limit lies on the margin.
    """
    if alpha is None:
        return p
    return min(p, alpha) if met else max(p, math.nextafter(alpha, 1.0))


def _family_note(plan: _Plan, share: Share, rule: str, size: int) -> str:
    how = "Holm" if rule == "holm" else f"fallback with weight {plan.spec.weight:g}"
    role = plan.spec.role
    told = f"{how} over {size} {role} {'claim' if size == 1 else 'claims'}"
    level = formatting.significant(share.level, 3)
    p = p_text(share.adjusted, plan.spec.alpha or 0.0)
    return f"{told}: tested at the one-sided level {level}, adjusted p-value {p}"


def _family_p(table: RunTable, plan: _Plan, record: Estimate) -> float:
    """Return the smallest level at which a claim is borne out, whatever may refuse it; 1 where none is."""
    if record.p_value is None:
        return 1.0
    p = record.p_value
    if plan.entry.unit == "proportion":
        if plan.spec.margin is not None and plan.margin is not None:
            p = max(p, _smallest_level(table, plan, record.n_tasks))
        worst = diagnostics.worst_shares(table, plan.spec.name, plan.spec.k)
        if worst is not None:
            p = max(p, _share_p(worst, plan))
    return p


def _is_met(record: Estimate) -> bool:
    return meets(record.claim, record.outcome)


def _smallest_level(table: RunTable, plan: _Plan, n_tasks: int) -> float:
    """Return the level below which these tasks cannot show a loss within the margin."""
    margin = plan.margin or 0.0
    if table.protocol.workload.weighting == "equal-tasks":
        return (1 - margin) ** n_tasks
    kept = table.frame.filter(~pl.col("void_pair"))
    return shares.smallest_level(shares.shares(table, kept, plan.spec.name, plan.spec.k), margin)


def _share_p(values: shares.Shares, plan: _Plan) -> float:
    return shares.p_value(
        values, plan.spec.name, plan.spec.claim or "", plan.margin or 0.0, plan.alpha or DESCRIPTIVE_LEVEL
    )


def _proportion(table: RunTable, plan: _Plan) -> _Found:
    kept = table.frame.filter(~pl.col("void_pair"))
    if not len(kept):
        return _nothing(kept, "not_recorded", "every pair is void")
    try:
        values = shares.shares(table, kept, plan.spec.name, plan.spec.k)
    except InputError as error:
        return _nothing(kept, "refused", error.problem)
    baseline, candidate = (values.arms[arm] for arm in ARMS)
    interval = shares.interval(values, plan.level)
    differences = paired.task_differences(baseline, candidate)
    refusals = _refusals(table, plan, len(values.tasks), weighted=bool(values.strata))
    refusals += shares.undecidable(values, plan.margin, plan.spec.margin, plan.alpha or DESCRIPTIVE_LEVEL)
    scored = kept if plan.entry.takes_k else kept.with_columns(score=score(table.protocol, plan.spec.name))
    return _Found(
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
        p_value=None if refusals or plan.spec.claim is None else _share_p(values, plan),
        strata=shares.stratum_estimates(values, kept, plan.level),
    )


def _plain_methods(table: RunTable, plan: _Plan, values: shares.Shares) -> tuple[Interval, ...]:
    """Return the percentile and Student intervals of equal task weights."""
    baseline, candidate = (values.arms[arm] for arm in ARMS)
    student_rows = paired.interval(baseline, candidate, level=plan.level, method="t")
    return (*_bootstrap(paired.interval, table, plan, baseline, candidate), student_rows)


def _these_tasks(table: RunTable, plan: _Plan) -> _Found:
    """Return the difference on these very tasks: no claim, and nothing about new ones."""
    kept = table.frame.filter(~pl.col("void_pair")).with_columns(score=score(table.protocol, plan.spec.name))
    if not len(kept):
        return _nothing(kept, "not_recorded", "every pair is void")
    groups = grouped(kept, "score")
    baseline, candidate = (groups[arm].values for arm in ARMS)
    if min(len(task) for task in (*baseline, *candidate)) < 2:
        return _nothing(kept, "refused", "a task has a single trial left: chance within it is not measured")
    interval = fixed_tasks.interval(baseline, candidate, level=plan.level)
    rates = {arm: rate_summary(groups[arm], plan.level) for arm in ARMS}
    several = kept.group_by("task_id").agg(pl.col("case_id").n_unique())["case_id"].max() != 1
    pooled = "the width also holds what the cases of a task differ by: they count as its repetitions"
    return _Found(
        estimate=paired.mean_difference(baseline, candidate),
        interval=interval,
        sensitivity=(),
        arms={arm: msgspec.structs.replace(rates[arm], interval=None) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=[],
        notes=[fixed_tasks.CAVEAT, *([pooled] if several else [])],
    )


def _counted(table: RunTable, plan: _Plan) -> _Found:
    """Return the ratio of tokens, or the difference in calls; only where both totals are known."""
    kept = with_counts(table.frame, plan.spec.name).filter(~pl.col("void_pair"))
    if not len(kept):
        return _nothing(kept, "not_recorded", "every pair is void")
    unknown = {arm: kept.filter(pl.col("arm") == arm)["count"].null_count() for arm in ARMS}
    if any(unknown.values()):
        told = ", ".join(f"{arm} {n}" for arm, n in unknown.items())
        return _nothing(kept, "not_recorded", f"both totals must be known; trials without a count: {told}")
    cases = kept.group_by("arm", "task_id", "case_id").agg(pl.col("count").mean())
    tasks = cases.group_by("arm", "task_id").agg(pl.col("count").mean()).sort("task_id")
    means = {arm: tasks.filter(pl.col("arm") == arm)["count"].to_numpy() for arm in ARMS}
    ratio = plan.entry.unit == "log_ratio"
    if ratio and min(float(values.min()) for values in means.values()) <= 0:
        return _nothing(kept, "refused", "a task without any token has no ratio")
    values = {arm: np.log(means[arm]) if ratio else means[arm] for arm in ARMS}
    differences = values["candidate"] - values["baseline"]
    interval = _student(differences, plan)
    refusals = _refusals(table, plan, len(differences))
    if interval.status == "refused" and len(differences) >= FEWEST_TASKS:
        refusals.append("all tasks differ by the same, so that there is no spread to measure")
    return _Found(
        estimate=math.fsum(differences) / len(differences),
        interval=interval,
        sensitivity=(),
        arms={arm: _mean_count(values[arm], kept, arm, plan) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=refusals,
        notes=_unweighted(table),
        p_value=_mean_p(plan, differences, refusals),
    )


def _student(values: Floats, plan: _Plan) -> Interval:
    return task_interval(values, bounds=(-math.inf, math.inf), denominator=None, level=plan.level, method="t")


def _mean_count(values: Floats, kept: pl.DataFrame, arm: str, plan: _Plan) -> ArmSummary:
    """Return one arm's mean over tasks; of tokens the geometric mean."""
    estimate, found = math.fsum(values) / len(values), _student(values, plan)
    if plan.entry.unit == "log_ratio":
        estimate = math.exp(estimate)
        if found.low is not None and found.high is not None:
            found = msgspec.structs.replace(found, low=math.exp(found.low), high=math.exp(found.high))
    n_trials = len(kept.filter(pl.col("arm") == arm))
    return ArmSummary(estimate=estimate, interval=found, n_tasks=len(values), n_trials=n_trials)


def _mean_p(plan: _Plan, differences: Floats, refusals: list[str]) -> float | None:
    """Return Student's p-value of a claim on a mean difference; None where the claim is refused."""
    if plan.spec.claim is None or refusals:
        return None
    turned = differences if plan.entry.higher_is_better else -differences
    return student.p_value(turned, claim=plan.spec.claim, margin=plan.margin or 0.0)


def _unweighted(table: RunTable) -> list[str]:
    if table.protocol.workload.weighting == "equal-tasks":
        return []
    return ["tasks weigh equally here: the declared weights are those of shares"]


def _ratio(table: RunTable, plan: _Plan) -> _Found:
    kept = plan.times.kept
    unknown = kept["time_s"].null_count()
    if not len(kept) or unknown:
        reason = f"trials without a recorded latency: {unknown}" if unknown else "no pair counts for latency"
        return _nothing(kept, "not_recorded", reason)
    if (kept["time_s"] <= 0).any():
        return _nothing(kept, "refused", "a latency of 0 s has no logarithm")
    cases = by_case(kept, "time_s", geometric=True)
    groups = plan.times.groups if cases is kept else grouped(cases, "time_s")
    logs = {arm: latency.log_means(groups[arm].values, arm) for arm in ARMS}
    differences = latency.differences(logs["baseline"], logs["candidate"])
    interval = latency.difference_interval(differences, level=plan.level)
    refusals = _refusals(table, plan, len(differences))
    if interval.status == "refused" and len(differences) >= FEWEST_TASKS:
        refusals.append("all tasks have the same ratio, so that there is no spread to measure")
    return _Found(
        estimate=math.fsum(differences) / len(differences),
        interval=interval,
        sensitivity=_bootstrap(latency.difference_interval, table, plan, differences),
        arms={arm: _geometric_mean(logs[arm], kept, arm, plan) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=refusals,
        notes=[*_latency_notes(table, int(kept["ended"].sum())), *_unweighted(table)],
        p_value=_mean_p(plan, differences, refusals),
    )


def _latency_quantile(table: RunTable, plan: _Plan) -> _Found:
    """Return the ratio of a quantile; the arms in seconds."""
    kept = plan.times.kept
    unknown = kept["time_s"].null_count()
    if not len(kept) or unknown:
        reason = f"trials without a recorded latency: {unknown}" if unknown else "no pair counts for latency"
        return _nothing(kept, "not_recorded", reason)
    q = QUANTILE_ENDPOINTS[plan.spec.name]
    drawn = plan.times.drawn
    k = drawn.probabilities.index(q)
    few = undecided(drawn, q, plan.level)
    refusals = [*_refusals(table, plan, drawn.n_tasks), *few]
    try:
        contrast = quantile_contrast(drawn, k, plan.level)
    except InputError as error:
        if error.where != "resamples":
            raise
        declared = table.protocol.analysis.resamples
        return _nothing(kept, "refused", f"{declared} resamples are too few for this level: {error.allowed}")
    interval = contrast.log_ratio_interval
    if contrast.status == "ok" and interval is None:
        refusals.append("a latency of 0 s has no ratio")
    elif interval is not None and interval.low is None:
        refusals.append("all resamples have the same ratio, so that there is no spread to measure")
    elif interval is not None and few:
        interval = msgspec.structs.replace(interval, status="few_tasks")
    claim, p_value = plan.spec.claim, None
    if claim is not None and not refusals:
        draws = np.log(drawn.draws[1, k]) - np.log(drawn.draws[0, k])
        p_value = claim_p_value(draws, drawn.n_tasks, claim=claim, margin=plan.margin or 0.0)
    told = {arm: quantile_summary(drawn, arm, k, plan.level) for arm in ARMS}
    return _Found(
        estimate=contrast.log_ratio,
        interval=interval,
        sensitivity=(),
        arms={
            arm: ArmSummary(
                estimate=told[arm].value_s, interval=told[arm].interval, n_tasks=drawn.n_tasks, n_trials=n
            )
            for arm, n in zip(ARMS, drawn.n_trials, strict=True)
        },
        kept=kept,
        status=contrast.status if interval is None else interval.status,
        refusals=refusals,
        notes=[*_latency_notes(table, int(kept["ended"].sum())), *_unweighted(table)],
        p_value=p_value,
    )


def _restricted_mean(table: RunTable, plan: _Plan) -> _Found:
    """Return the difference of the means of min(latency, limit) in seconds."""
    kept = plan.times.kept
    unknown = kept["time_s"].null_count()
    if not len(kept) or unknown:
        reason = f"trials without a recorded latency: {unknown}" if unknown else "no pair counts for latency"
        return _nothing(kept, "not_recorded", reason)
    cap = table.protocol.limits.trial_timeout_s
    groups = grouped(by_case(kept.with_columns(pl.col("time_s").clip(upper_bound=cap)), "time_s"), "time_s")
    means = {arm: latency.restricted_means(groups[arm].values, cap, arm) for arm in ARMS}
    differences = latency.differences(means["baseline"], means["candidate"])
    interval = _student(differences, plan)
    refusals = _refusals(table, plan, len(differences))
    if interval.status == "refused" and len(differences) >= FEWEST_TASKS:
        refusals.append("all tasks differ by the same time, so that there is no spread to measure")
    return _Found(
        estimate=math.fsum(differences) / len(differences),
        interval=interval,
        sensitivity=_bootstrap(latency.difference_interval, table, plan, differences),
        arms={arm: _mean_count(means[arm], kept, arm, plan) for arm in ARMS},
        kept=kept,
        status=interval.status,
        refusals=refusals,
        notes=[*_latency_notes(table, int(kept["ended"].sum())), *_unweighted(table)],
        p_value=_mean_p(plan, differences, refusals),
    )


def _bootstrap(
    method: Callable[..., Interval], table: RunTable, plan: _Plan, *data: TrialScores
) -> tuple[Interval, ...]:
    """Return the percentile interval of the declared resamples; none when they are too few for the level."""
    settings = table.protocol.analysis
    if settings.resamples < fewest_resamples((1 - plan.level) / 2):
        return ()
    found = method(
        *data,
        level=plan.level,
        method="percentile",
        resamples=settings.resamples,
        rng=settings.seed,
    )
    return (found,)


def _geometric_mean(logs: Floats, kept: pl.DataFrame, arm: str, plan: _Plan) -> ArmSummary:
    estimate, interval = latency.mean_in_seconds(logs, level=plan.level)
    n_trials = len(kept.filter(pl.col("arm") == arm))
    return ArmSummary(estimate=estimate, interval=interval, n_tasks=len(logs), n_trials=n_trials)


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


def _refusals(table: RunTable, plan: _Plan, n_tasks: int, *, weighted: bool = False) -> list[str]:
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


def _edges(plan: _Plan) -> tuple[float, ...]:
    return (0.0,) if plan.margin is None else (0.0, plan.margin, -plan.margin)


def _latency_notes(table: RunTable, n_ended: int) -> list[str]:
    notes: list[str] = []
    if n_ended:
        limit = formatting.seconds(table.protocol.limits.trial_timeout_s)
        trials = formatting.counted(n_ended, "trial")
        notes.append(f"time-outs, entered at the limit of {limit}: {trials}")
    split = table.frame.filter("split_pair")["pair"].n_unique()
    if split:
        notes.append(f"pairs left out because an interruption split them: {split}")
    return notes


def _holds_at_worst(table: RunTable, plan: _Plan) -> bool:
    """Whether a claim also holds with every void pair lost by the candidate.

    For a share, that is computed. A void pair has no time, token or call that counts, and could have had any.
    """
    if plan.entry.unit != "proportion":
        return not table.frame["void_pair"].any()
    cases = diagnostics.void_cases(table, plan.spec.name, plan.level, plan.spec.k)
    if cases is None:
        return True
    low, high = cases.worst.interval.low, cases.worst.interval.high
    if low is None or high is None:
        return False
    turned = toward_benefit(low, high, higher_is_better=plan.entry.higher_is_better)
    return meets(plan.spec.claim, claim_outcome(plan.spec.claim or "", turned, plan.margin or 0.0))


def _with_trials(found: _Found, arm: str) -> ArmSummary:
    """Return an arm with its number of trials, of which groups may hold the means of cases only."""
    n_trials = len(found.kept.filter(pl.col("arm") == arm))
    return msgspec.structs.replace(found.arms[arm], n_trials=n_trials)


def _p_note(plan: _Plan, found: _Found, p_value: float, counts: str) -> str:
    """Return the p-value of a claim in words; it agrees with the interval beside it."""
    told = formatting.claim(plan.spec.claim, plan.margin, plan.entry.unit, plan.spec.margin)
    method = "" if found.interval is None else f"{found.interval.method}, "
    return f"one-sided p-value {p_text(p_value, plan.alpha or 0.0)} (claim {told}; {method}{counts})"


def _record(table: RunTable, plan: _Plan, found: _Found) -> Estimate:
    spec, entry = plan.spec, plan.entry
    n_tasks, n_pairs = found.kept["task_id"].n_unique(), complete_pairs(found.kept)
    alone = found.kept["task_id"].equals(found.kept["template_family"])
    counts = formatting.counts(n_tasks, n_pairs)
    n_families = n_tasks if alone else found.kept["template_family"].n_unique()
    notes = list(found.notes)
    if n_families < n_tasks:
        notes.append(
            f"n tasks = {n_tasks} from {n_families} template families: tasks that share a template are taken "
            "as independent"
        )
    outcome = None
    p_value = found.p_value
    if spec.claim is not None:
        outcome = "inconclusive"
        limits = found.interval
        if not found.refusals and limits is not None and limits.low is not None and limits.high is not None:
            turned = toward_benefit(limits.low, limits.high, higher_is_better=entry.higher_is_better)
            outcome = claim_outcome(spec.claim, turned, plan.margin or 0.0)
            if p_value is not None:
                p_value = _agreeing(p_value, plan.alpha, met=meets(spec.claim, outcome))
            if meets(spec.claim, outcome) and not _holds_at_worst(table, plan):
                outcome, p_value = "inconclusive", None
                why = "the claim does not hold if the candidate lost every void pair"
                unknown = "pairs are void, and what they would have taken is not known"
                notes.append(f"{REFUSED}{why if entry.unit == 'proportion' else unknown}")
    prefix = REFUSED if spec.claim is not None else ""
    if spec.role == "exploratory":
        notes.append("exploratory: it never changes what the other endpoints come to")
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
        baseline=_with_trials(found, "baseline"),
        candidate=_with_trials(found, "candidate"),
        n_tasks=n_tasks,
        n_families=n_families,
        n_pairs=n_pairs,
        status=status,
        outcome=outcome,
        diagnostics=(
            *(f"{prefix}{reason}" for reason in found.refusals),
            *([] if p_value is None else [_p_note(plan, found, p_value, counts)]),
            *notes,
        ),
        k=spec.k,
        estimand=spec.estimand or "new-tasks",
        p_value=p_value,
        strata=found.strata,
    )
