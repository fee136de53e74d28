"""What stands beside an estimate and decides nothing: the percentile interval, the note on weights."""

from __future__ import annotations

from collections.abc import Callable

from analysis.estimates.plans import Plan
from analysis.intervals import fewest_resamples
from analysis.results import Interval
from analysis.table import RunTable
from analysis.taskvalues import TrialScores


def bootstrap(
    method: Callable[..., Interval], table: RunTable, plan: Plan, *data: TrialScores
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


def unweighted(table: RunTable) -> list[str]:
    """Return the note that declared weights do not count here, where there are any."""
    if table.protocol.workload.weighting == "equal-tasks":
        return []
    return ["tasks weigh equally here: the declared weights are those of shares"]
