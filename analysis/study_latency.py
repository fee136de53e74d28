"""The latency of a study from its table: quantiles, their contrasts, shift function, distributions."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec
import polars as pl

from analysis import formatting, latency
from analysis.contrasts import (
    FEWEST_BEYOND_TO_DECIDE,
    FEWEST_TASKS_TO_DECIDE,
    HARRELL_DAVIS,
    latency_summaries,
    quantile_contrast,
    shifts,
)
from analysis.intervals import FEW_TASKS, fewest_resamples
from analysis.quantiles import (
    CENSORED_LEVEL,
    DECILES,
    FEWEST_BEYOND,
    REPORTED,
    ArmQuantile,
    QuantileDraws,
    banded,
    draw_quantiles,
)
from analysis.results import DecileShift, LatencySummary, QuantileContrast
from analysis.table import Groups, RunTable, grouped
from analysis.taskvalues import TrialScores
from analysis.timing import SortedTimes
from study.records import ARMS

LEVEL = 0.95
PROBABILITIES = tuple(sorted({*REPORTED, *DECILES}))
"""All quantiles of a study come from the same resamples, whatever is declared."""

QUANTILE_ENDPOINTS = {f"latency_p{round(100 * q)}": q for q in REPORTED}


class StudyLatency(NamedTuple):
    """The latency of both arms, and of the candidate against the baseline."""

    arms: dict[str, LatencySummary]
    contrasts: tuple[QuantileContrast, ...]
    shift: tuple[DecileShift, ...]


def timed(table: RunTable) -> pl.DataFrame:
    """Return the trials that count for latency, with ``time_s``; time-outs stand at the limit.

    Failed trials count with the time that they took. Left out are void pairs (an outcome that the protocol
    voids, such as ``cancelled``) and pairs that an interruption split; ``time_s`` is null where nothing was
    recorded.
    """
    limit_s = table.protocol.limits.trial_timeout_s
    ended = pl.col("outcome") == "timeout"
    return table.frame.filter(~pl.col("void_pair") & ~pl.col("split_pair")).with_columns(
        ended=ended, time_s=pl.when(ended).then(limit_s).otherwise(pl.col("latency_s"))
    )


class TableTimes:
    """The latencies of a table, each part computed once and only where it is needed.

    Parameters
    ----------
    table : RunTable
    """

    def __init__(self, table: RunTable) -> None:
        self._table = table

    @cached_property
    def kept(self) -> pl.DataFrame:
        """The trials of :func:`timed`."""
        return timed(self._table)

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """Their times by arm and task."""
        return grouped(self.kept, "time_s")

    @cached_property
    def drawn(self) -> QuantileDraws:
        """All quantiles of both arms in the resamples that the protocol declares."""
        flags = None
        if self.kept["ended"].any():
            ended = grouped(self.kept, "ended")
            flags = (ended["baseline"].values, ended["candidate"].values)
        settings = self._table.protocol.analysis
        return draw_quantiles(
            self.groups["baseline"].values,
            self.groups["candidate"].values,
            PROBABILITIES,
            censored=flags,
            resamples=settings.resamples,
            rng=settings.seed,
        )


def study_latency(table: RunTable, times: TableTimes | None = None) -> StudyLatency:
    """Return everything that is told of latency; resamples and seed come from the protocol.

    ``not_recorded`` when any trial that counts has no latency: nothing is left out in silence. The cache
    condition is declared for a whole study (``design.conditions``), so that no table mixes warm and cold
    trials; a comparison of the two is two studies. ``times`` are those of this table, where it has been
    looked at already.
    """
    times = times or TableTimes(table)
    kept = times.kept
    if not len(kept) or kept["time_s"].null_count():
        return StudyLatency({arm: _not_recorded(kept.filter(pl.col("arm") == arm)) for arm in ARMS}, (), ())
    groups, drawn = times.groups, times.drawn
    cap_s = table.protocol.limits.trial_timeout_s
    told = latency_summaries(drawn, LEVEL)
    arms = {
        arm: _with_means(told[arm], groups[arm].values, ordered, cap_s)
        for arm, ordered in zip(ARMS, drawn.times, strict=True)
    }
    return StudyLatency(
        arms=arms,
        contrasts=tuple(quantile_contrast(drawn, PROBABILITIES.index(q), LEVEL) for q in REPORTED),
        shift=shifts(drawn, LEVEL),
    )


def undecided(drawn: QuantileDraws, q: float, level: float) -> list[str]:
    """Return why no claim may rest on a quantile; empty where one may."""
    k = drawn.probabilities.index(q)
    sides = {arm: drawn.arms[arm][k] for arm in ARMS}
    reasons: list[str] = []
    for arm, side, n_trials, ended in zip(ARMS, sides.values(), drawn.n_trials, drawn.censored, strict=True):
        if side.status == "not_identified":
            counted = (
                f"{ended} of {formatting.counted(n_trials, 'trial')} of the {arm} ended at the time limit"
            )
            reasons.append(f"not identified: {counted}, {_where(side, q)}")
    tasks = formatting.counted(drawn.n_tasks, "task")
    if drawn.n_tasks < FEW_TASKS:
        reasons.append(f"{tasks}; a quantile needs at least {FEW_TASKS}")
    elif drawn.n_tasks < FEWEST_TASKS_TO_DECIDE:
        reasons.append(f"{tasks}; a claim about a quantile needs at least {FEWEST_TASKS_TO_DECIDE}")
    beyond = min(side.beyond for side in sides.values())
    if beyond < FEWEST_BEYOND:
        reasons.append(f"{beyond:.3g} trials beyond it; a quantile needs at least {FEWEST_BEYOND}")
    elif beyond < FEWEST_BEYOND_TO_DECIDE:
        reasons.append(
            f"{beyond:.3g} trials beyond it; a claim about a quantile needs at least "
            f"{FEWEST_BEYOND_TO_DECIDE:.0f}"
        )
    needed = fewest_resamples((1 - level) / 2)
    if drawn.draws.shape[2] and drawn.draws.shape[2] < 2 * needed:
        reasons.append(f"{drawn.draws.shape[2]} resamples are too few for the declared level")
    return reasons


def _where(side: ArmQuantile, q: float) -> str:
    """Return what is known of a quantile that time-outs may reach."""
    if side.at_cap:
        return f"and the quantile of these trials is the limit: it is >= {formatting.seconds(side.value)}"
    most = formatting.percent(CENSORED_LEVEL, 0)
    return f"and their share may, by its upper {most} bound, be the {formatting.percent(1 - q, 0)} beyond it"


def _with_means(
    summary: LatencySummary, values: TrialScores, times: SortedTimes, cap_s: float
) -> LatencySummary:
    mean, interval = latency.restricted_mean(values, cap=cap_s, level=LEVEL)
    return msgspec.structs.replace(
        summary,
        restricted_mean_s=mean,
        restricted_mean_interval=interval,
        cap_s=cap_s if cap_s < float("inf") else None,
        distribution=banded(times, LEVEL),
    )


def _not_recorded(part: pl.DataFrame) -> LatencySummary:
    return LatencySummary(
        n_tasks=part["task_id"].n_unique(),
        n_trials=len(part),
        censored=int(part["ended"].sum()),
        p50_s=None,
        p50_interval=None,
        status="not_recorded",
        method=HARRELL_DAVIS,
    )
