"""Endpoints that are a quantile of latency."""

from __future__ import annotations

import msgspec
import numpy as np

from analysis.contrasts import claim_p_value, quantile_contrast, quantile_summary
from analysis.estimates.beside import unweighted
from analysis.estimates.plans import Found, Plan, nothing, reasons_against
from analysis.estimates.recorded_times import latency_notes, unrecorded
from analysis.results import ArmSummary
from analysis.study_latency import QUANTILE_ENDPOINTS, undecided
from analysis.table import RunTable
from study.errors import InputError
from study.records import ARMS


def quantile_ratio(table: RunTable, plan: Plan) -> Found:
    """Return the ratio of a quantile; the arms in seconds."""
    kept = plan.times.kept
    missing = unrecorded(kept)
    if missing is not None:
        return missing
    q = QUANTILE_ENDPOINTS[plan.spec.name]
    drawn = plan.times.drawn
    k = drawn.probabilities.index(q)
    few = undecided(drawn, q, plan.level)
    refusals = [*reasons_against(table, plan, drawn.n_tasks), *few]
    try:
        contrast = quantile_contrast(drawn, k, plan.level)
    except InputError as error:
        if error.where != "resamples":
            raise
        declared = table.protocol.analysis.resamples
        return nothing(kept, "refused", f"{declared} resamples are too few for this level: {error.allowed}")
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
    return Found(
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
        notes=[*latency_notes(table, kept), *unweighted(table)],
        p_value=p_value,
    )
