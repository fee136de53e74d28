"""All results of a tidy table as one record, marked exploratory."""

from __future__ import annotations

from typing import Any

import polars as pl

from analysis import diagnostics
from analysis.arms import repeatability
from analysis.checkup import diagnose
from analysis.estimates import estimate
from analysis.results import Estimate, OrderEffect, Results
from analysis.study_latency import StudyLatency, TableTimes, study_latency
from analysis.table import RunTable, complete_pairs
from analysis.verdicts import decide
from study.records import ARMS

EXPLORATORY = "exploratory"


def compare(table: RunTable) -> Results:
    """Compute everything that can be told of a table from elsewhere.

    Parameters
    ----------
    table : RunTable
        As :func:`analysis.tidy.read_table` returns it.

    Returns
    -------
    Results
        By the same estimators and rules as a run's (:func:`analysis.summary.summarise`). ``declared`` is
        ``"exploratory"``; hard fails, outcomes, usage, ladder and order are absent: a table tells nothing
        of them.
    """
    found_times = TableTimes(table)
    estimates = estimate(table, found_times)
    timed = any(found.name == "latency_gmr" for found in estimates)
    times = study_latency(table, found_times) if timed else StudyLatency({}, (), ())
    return Results(
        schema=1,
        study=table.protocol.id,
        question=table.protocol.question,
        lock_digest=None,
        declared=EXPLORATORY,
        evidence_level=diagnostics.evidence_level(table),
        verdict=decide(table, estimates),
        arms={arm: {"driver": getattr(table.protocol.arms, arm).driver} for arm in ARMS},
        design=_design(table),
        outcomes={},
        hard_fails={},
        endpoints=estimates,
        latency=times.arms,
        latency_contrasts=times.contrasts,
        shift=times.shift,
        ladder=(),
        usage={},
        order_effect=OrderEffect(
            first_position=None,
            second_position=None,
            n_pairs_baseline_first=0,
            n_pairs_candidate_first=0,
        ),
        diagnostics=diagnose(table),
        missing=_missing(table, estimates[0]),
        deviations=(),
        notes=table.notes,
        reliability=repeatability(table) if table.frame["completed"].dtype == pl.Boolean else {},
    )


def _design(table: RunTable) -> dict[str, Any]:
    present = table.frame.filter(pl.col("completed").is_not_null())
    settings = table.protocol.analysis
    cells = present.group_by("arm", "task_id", "case_id").len()
    counts = {arm: _repetitions(cells.filter(pl.col("arm") == arm)["len"]) for arm in ARMS}
    same = {n for fewest, most in counts.values() for n in (fewest, most)}
    return {
        "tasks": cells["task_id"].n_unique(),
        "cases": cells["case_id"].n_unique(),
        "repetitions": same.pop() if len(same) == 1 else {arm: list(counts[arm]) for arm in ARMS},
        "pairs": complete_pairs(present),
        "trials": len(present),
        "resamples": settings.resamples,
        "analysis_seed": settings.seed,
    }


def _repetitions(sizes: pl.Series) -> tuple[int, int]:
    """Return the fewest and the most trials of a case."""
    return int(sizes.min() or 0), int(sizes.max() or 0)  # pyright: ignore[reportArgumentType]


def _missing(table: RunTable, primary: Estimate) -> dict[str, Any]:
    tasks = table.frame.group_by("arm", "task_id").agg(
        pl.col("completed").count().alias("trials"), pl.col("completed").null_count().alias("missing_trials")
    )
    counted = {
        arm: {
            "trials": int(part["trials"].sum()),
            "missing_trials": int(part["missing_trials"].sum()),
            "lost_tasks": len(part.filter(pl.col("trials") == 0)),
        }
        for arm in ARMS
        for part in [tasks.filter(pl.col("arm") == arm)]
    }
    level = 1 - 2 * (primary.alpha or 0.025)
    cases = diagnostics.void_cases(table, primary.name, level)
    ends = {} if cases is None else {"worst": cases.worst, "best": cases.best}
    return {
        **counted,
        "worst_case": ends["worst"].estimate if ends else primary.estimate,
        "best_case": ends["best"].estimate if ends else primary.estimate,
        "worst_case_interval": ends["worst"].interval if ends else primary.interval,
        "best_case_interval": ends["best"].interval if ends else primary.interval,
    }
