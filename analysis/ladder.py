"""Rungs of the ladder, from the frame of a run."""

from __future__ import annotations

import polars as pl

from analysis.results import RungRow
from analysis.table import RunTable, score
from study.grading.rollup import COMPLETION_FLOOR
from study.records import ARMS, RUNGS


def rung_rows(table: RunTable) -> tuple[RungRow, ...]:
    """Return one row per rung with trials and arm: rungs ascending, baseline first.

    Parameters
    ----------
    table : RunTable
        Trials of void pairs are left out.

    Returns
    -------
    tuple of RungRow
        Counts of trials. The gate passes without any hallucination and with at least half of the trials
        completed; it reads one rung by itself.
    """
    kept = table.frame.filter(~pl.col("void_pair"))
    counts = kept.group_by("rung", "arm").agg(
        pl.len().alias("total"),
        score(table.protocol, "pass").sum().alias("passed"),
        score(table.protocol, "completion").sum().alias("completed"),
        score(table.protocol, "result_completion").sum().alias("result_completed"),
        (pl.col("hallucinated").list.len() > 0).sum().alias("hallucinated"),
    )
    found = {(row["rung"], row["arm"]): row for row in counts.iter_rows(named=True)}
    return tuple(
        RungRow(
            **found[rung, arm],
            gate_pass=_gate(
                found[rung, arm]["completed"], found[rung, arm]["hallucinated"], found[rung, arm]["total"]
            ),
        )
        for rung in RUNGS
        for arm in ARMS
        if (rung, arm) in found
    )


def _gate(completed: int, hallucinated: int, total: int) -> bool:
    return hallucinated == 0 and completed >= COMPLETION_FLOOR * total
