"""What was found for an endpoint as the record of a study, with what its claim comes to."""

from __future__ import annotations

import math

import msgspec
import polars as pl

from analysis import diagnostics, formatting
from analysis.claims import claim_outcome, meets, p_text, toward_benefit
from analysis.estimates.plans import REFUSED, Found, Plan
from analysis.results import ArmSummary, Estimate
from analysis.table import RunTable, complete_pairs


def agreeing(p: float, alpha: float | None, *, met: bool) -> float:
    """Return a p-value on the side of the level on which the interval has decided.

    Both are solved for by themselves, and may differ in the last digits where a limit lies on the margin.
    """
    if alpha is None:
        return p
    return min(p, alpha) if met else max(p, math.nextafter(alpha, 1.0))


def record(table: RunTable, plan: Plan, found: Found) -> Estimate:
    """Return the record of one endpoint, and decide its claim as far as nothing speaks against it."""
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
                p_value = agreeing(p_value, plan.alpha, met=meets(spec.claim, outcome))
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


def _holds_at_worst(table: RunTable, plan: Plan) -> bool:
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


def _with_trials(found: Found, arm: str) -> ArmSummary:
    """Return an arm with its number of trials, of which groups may hold the means of cases only."""
    n_trials = len(found.kept.filter(pl.col("arm") == arm))
    return msgspec.structs.replace(found.arms[arm], n_trials=n_trials)


def _p_note(plan: Plan, found: Found, p_value: float, counts: str) -> str:
    """Return the p-value of a claim in words; it agrees with the interval beside it."""
    told = formatting.claim(plan.spec.claim, plan.margin, plan.entry.unit, plan.spec.margin)
    method = "" if found.interval is None else f"{found.interval.method}, "
    return f"one-sided p-value {p_text(p_value, plan.alpha or 0.0)} (claim {told}; {method}{counts})"
