"""What each arm of a run did, taken by itself."""

from __future__ import annotations

import polars as pl

from analysis import hardfails, latency, proportions
from analysis.results import ArmSummary, HardFails, LatencySummary
from analysis.table import Groups, RunTable, grouped, score
from study.errors import InputError, listed
from study.records import ARMS

SHARES = ("completion", "pass", "result_completion", "timeouts")


def rates(table: RunTable, endpoint: str = "completion", *, level: float = 0.95) -> dict[str, ArmSummary]:
    """Return the rate of each arm with its interval, without void pairs.

    Parameters
    ----------
    table : RunTable
    endpoint : {"completion", "pass", "result_completion", "timeouts"}
    level : float
        Two-sided confidence level.

    Returns
    -------
    dict of str to ArmSummary
        Tasks weigh equally; empty when every pair is void.

    Raises
    ------
    InputError
        For another endpoint, and a level outside (0, 1).
    """
    if endpoint not in SHARES:
        raise InputError(f"endpoint {endpoint!r}", where="endpoint", allowed=listed(SHARES))
    kept = table.frame.filter(~pl.col("void_pair")).with_columns(score=score(table.protocol, endpoint))
    if not len(kept):
        return {}
    groups = grouped(kept, "score")
    return {arm: rate_summary(groups[arm], level) for arm in ARMS}


def rate_summary(groups: Groups, level: float) -> ArmSummary:
    """Return the rate of one arm from its scores by task."""
    return ArmSummary(
        estimate=proportions.rate(groups.values),
        interval=proportions.rate_interval(groups.values, level=level),
        n_tasks=len(groups.tasks),
        n_trials=sum(len(task) for task in groups.values),
    )


def hard_fails(table: RunTable) -> dict[str, HardFails]:
    """Count the hard fails of each arm over all planned trials, void pairs included."""
    counted: dict[str, HardFails] = {}
    for arm in ARMS:
        part = table.frame.filter(pl.col("arm") == arm).sort("task_id", "trial")
        codes = part.group_by("task_id", maintain_order=True).agg("hard_fails")["hard_fails"].to_list()
        counted[arm] = hardfails.summarise_hard_fails(codes)
    return counted


def timed(table: RunTable) -> pl.DataFrame:
    """Return the trials that count for latency, with ``time_s``; time-outs stand at the limit.

    Left out are void pairs and pairs that an interruption split; ``time_s`` is null where nothing was
    recorded.
    """
    limit_s = table.protocol.limits.trial_timeout_s
    ended = pl.col("outcome") == "timeout"
    return table.frame.filter(~pl.col("void_pair") & ~pl.col("split_pair")).with_columns(
        ended=ended, time_s=pl.when(ended).then(limit_s).otherwise(pl.col("latency_s"))
    )


def latency_quantiles(table: RunTable) -> dict[str, LatencySummary]:
    """Return the median latency of each arm with its interval; settings come from the protocol.

    ``not_recorded`` when any trial that counts has no latency: nothing is left out in silence.
    See :func:`analysis.latency.quantiles`.
    """
    kept = timed(table)
    if not len(kept) or kept["time_s"].null_count():
        return {arm: _not_recorded(kept.filter(pl.col("arm") == arm)) for arm in ARMS}
    times, flags = grouped(kept, "time_s"), grouped(kept, "ended")
    settings = table.protocol.analysis
    return latency.quantiles(
        times["baseline"].values,
        times["candidate"].values,
        censored=(flags["baseline"].values, flags["candidate"].values),
        resamples=settings.resamples,
        rng=settings.seed,
    )


def _not_recorded(part: pl.DataFrame) -> LatencySummary:
    return LatencySummary(
        n_tasks=part["task_id"].n_unique(),
        n_trials=len(part),
        censored=int(part["ended"].sum()),
        p50_s=None,
        p50_interval=None,
        status="not_recorded",
        method=latency.HARRELL_DAVIS,
    )
