"""One endpoint by itself, at the level of its plan."""

from __future__ import annotations

from analysis.estimates.paired_means import counted, geometric_ratio, restricted_mean
from analysis.estimates.paired_quantiles import quantile_ratio
from analysis.estimates.paired_shares import new_tasks, these_tasks
from analysis.estimates.plans import Plan
from analysis.estimates.records import record
from analysis.results import Estimate
from analysis.study_latency import QUANTILE_ENDPOINTS
from analysis.table import RunTable


def estimated(table: RunTable, plan: Plan) -> Estimate:
    """Return the estimate of one endpoint, by the method that its name and unit ask for."""
    if plan.spec.estimand == "fixed-tasks":
        found = these_tasks(table, plan)
    elif plan.spec.name.startswith("tokens") or plan.entry.unit == "calls":
        found = counted(table, plan)
    elif plan.spec.name in QUANTILE_ENDPOINTS:
        found = quantile_ratio(table, plan)
    elif plan.spec.name == "latency_restricted_mean":
        found = restricted_mean(table, plan)
    elif plan.entry.unit == "log_ratio":
        found = geometric_ratio(table, plan)
    else:
        found = new_tasks(table, plan)
    return record(table, plan, found)
