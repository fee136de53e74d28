"""What each arm of a run did, taken by itself."""

from __future__ import annotations

import contextlib

import msgspec
import polars as pl

from analysis import hardfails, proportions, reliability, shares
from analysis.results import (
    ArmSummary,
    HardFailedTask,
    HardFails,
    LatencySummary,
    Reliability,
    RepeatedPass,
    Status,
)
from analysis.study_latency import study_latency
from analysis.study_latency import timed as timed
from analysis.table import Groups, RunTable, grouped, refuse_unknown, repeated_outcome, score
from study.errors import InputError, listed
from study.records import ARMS

SHARES = ("completion", "pass", "result_completion", "timeouts")

MOST_K = 10
"""Largest k up to which pass^k is told for every k; beyond, that of all repetitions is told beside these."""

MOST_NAMED = 20
"""Tasks with hard fails that are named beside their count; ``product.jsonl`` has each trial."""

MANY_TASKS = 5_000
"""From that many tasks on pass^k is told for one and for all repetitions only: an interval takes a while."""


def rates(
    table: RunTable, endpoint: str = "completion", *, k: int | None = None, level: float = 0.95
) -> dict[str, ArmSummary]:
    """Return the rate of each arm with its interval, without void pairs.

    Parameters
    ----------
    table : RunTable
    endpoint : {"completion", "pass", "result_completion", "timeouts", "pass_hat_k", "pass_at_k"}
    k : int, optional
        Of the last two.
    level : float
        Two-sided confidence level.

    Returns
    -------
    dict of str to ArmSummary
        Tasks weigh equally, or as the protocol declares, and cases equally within their task; these are the
        arms of :func:`analysis.estimates.estimate`. Empty when every pair is void.

    Raises
    ------
    InputError
        For another endpoint, a k that it does not take or above the fewest repetitions of a case, a
        level outside (0, 1), and what a table from elsewhere does not tell.
    """
    if endpoint not in shares.SHARES:
        raise InputError(f"endpoint {endpoint!r}", where="endpoint", allowed=listed(shares.SHARES))
    if (k is not None) != (endpoint in reliability.MEASURES):
        raise InputError(
            f"{endpoint} with k = {k!r}", where="k", allowed="k for pass_hat_k and pass_at_k alone"
        )
    kept = table.frame.filter(~pl.col("void_pair"))
    if not len(kept):
        return {}
    values = shares.shares(table, kept, endpoint, k)
    return {arm: shares.arm_summary(values, arm, level) for arm in ARMS}


def rate_summary(groups: Groups, level: float) -> ArmSummary:
    """Return the rate of one arm from its scores by task."""
    return ArmSummary(
        estimate=proportions.rate(groups.values),
        interval=proportions.rate_interval(groups.values, level=level),
        n_tasks=len(groups.tasks),
        n_trials=len(groups.values.flat),
    )


def hard_fails(table: RunTable) -> dict[str, HardFails]:
    """Count the hard fails of each arm over all planned trials, void pairs included.

    With a declared intraclass correlation (``gates.hard_fail_icc``) there is a second, closer bound. The
    first :data:`MOST_NAMED` tasks with a hard fail are named, with what their first one was.

    Raises
    ------
    InputError
        For a table from elsewhere: it carries no hard fails.
    """
    refuse_unknown(table, "hard fails")
    counted: dict[str, HardFails] = {}
    for arm in ARMS:
        # a trial that was never run has shown nothing
        run = table.frame.filter((pl.col("arm") == arm) & (pl.col("outcome") != "cancelled"))
        part = run.sort("task_id", "trial")
        codes = part.group_by("task_id", maintain_order=True).agg("hard_fails")["hard_fails"].to_list()
        found = hardfails.summarise_hard_fails(codes, icc=table.protocol.gates.hard_fail_icc)
        counted[arm] = msgspec.structs.replace(found, where=_hard_failed_tasks(run))
    return counted


def _hard_failed_tasks(run: pl.DataFrame) -> tuple[HardFailedTask, ...]:
    """Return the first tasks of an arm with a hard fail, in the order of the schedule."""
    failed = pl.col("hard_fails").list.len() > 0
    first = {name: pl.col(name).filter(failed).first() for name in ("trial", "case_id", "repetition")}
    tasks = (
        run.sort("trial")
        .group_by("task_id")
        .agg(
            **first,
            count=failed.sum(),
            trials=pl.len(),
            codes=pl.col("hard_fails").explode().drop_nulls().unique().sort(),
            text=pl.col("hard_fail_text").drop_nulls().first(),
        )
        .filter(pl.col("count") > 0)
        .sort("trial")
        .head(MOST_NAMED)
    )
    named = tasks.drop("trial").iter_rows(named=True)
    return tuple(msgspec.convert(row, HardFailedTask) for row in named)


def repeatability(table: RunTable, *, level: float = 0.95) -> dict[str, Reliability]:
    """Return how much the outcomes of each arm vary within and between tasks, and pass^k.

    Parameters
    ----------
    table : RunTable
    level : float
        Two-sided confidence level of pass^k.

    Returns
    -------
    dict of str to Reliability
        Without void pairs; empty when every pair is void. The trials of a task are those of all its cases.
        With a single repetition the components are None and the status ``not_identified``: chance within
        a task cannot be told from what its cases differ by.
    """
    outcome = repeated_outcome(table)
    kept = table.frame.filter(~pl.col("void_pair")).with_columns(score=score(table.protocol, outcome))
    if not len(kept):
        return {}
    groups, cases = grouped(kept, "score"), shares.case_passes(kept)
    repetitions = int(cases["n"].min() or 0)  # pyright: ignore[reportArgumentType]
    most = 1 if len(groups["baseline"].tasks) >= MANY_TASKS else MOST_K
    wanted = range(1, min(repetitions, most) + 1)
    powers: dict[int, dict[str, ArmSummary]] = {}
    for k in sorted({*wanted, repetitions}):
        # a stratum that lost all its tasks leaves no weighted rate, and the variances all the same
        with contextlib.suppress(InputError):
            values = shares.repeated_shares(table, cases, "pass_hat_k", k)
            powers[k] = {arm: shares.arm_summary(values, arm, level) for arm in ARMS}
    return {arm: _repeatability(groups[arm], arm, outcome, powers, repetitions) for arm in ARMS}


def _repeatability(
    groups: Groups, arm: str, outcome: str, powers: dict[int, dict[str, ArmSummary]], repetitions: int
) -> Reliability:
    found = reliability.variance_components(groups.values)
    told = repetitions > 1
    status: Status = found.status if told else "not_identified"
    passes: list[RepeatedPass] = []
    for k, summaries in powers.items():
        estimate, interval = summaries[arm].estimate, summaries[arm].interval
        if estimate is not None and interval is not None:
            passes.append(RepeatedPass(k=k, estimate=estimate, interval=interval))
    return Reliability(
        outcome=outcome,
        within=found.within if told else None,
        between=found.between if told else None,
        icc=found.icc if told else None,
        design_effect=found.design_effect if told else None,
        pass_hat_k=tuple(passes),
        repetitions=repetitions,
        n_tasks=found.n_tasks,
        n_trials=found.n_trials,
        status=status,
        method=found.method,
    )


def latency_quantiles(table: RunTable) -> dict[str, LatencySummary]:
    """Return what is told of the latency of each arm; settings come from the protocol.

    ``not_recorded`` when any trial that counts has no latency: nothing is left out in silence.
    See :func:`analysis.study_latency.study_latency`.
    """
    return study_latency(table).arms
