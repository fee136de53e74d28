"""Rungs of the ladder in the trials of a study."""

from __future__ import annotations

from collections.abc import Mapping

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
        Counts of trials. The gate passes without any hallucination or other hard fail and with at least half
        of the trials completed; it reads one rung by itself.
    """
    kept = table.frame.filter(~pl.col("void_pair"))
    counts = kept.group_by("rung", "arm").agg(
        pl.len().alias("total"),
        score(table.protocol, "pass").sum().alias("passed"),
        score(table.protocol, "completion").sum().alias("completed"),
        score(table.protocol, "result_completion").sum().alias("result_completed"),
        (pl.col("hallucinated").list.len() > 0).sum().alias("hallucinated"),
        (pl.col("hard_fails").list.len() > 0).sum().alias("hard_failed"),
    )
    found = {(row["rung"], row["arm"]): row for row in counts.iter_rows(named=True)}
    return tuple(
        RungRow(**found[rung, arm], gate_pass=_gate(found[rung, arm]))
        for rung in RUNGS
        for arm in ARMS
        if (rung, arm) in found
    )


def _gate(counts: Mapping[str, int]) -> bool:
    clean = not counts["hallucinated"] and not counts["hard_failed"]
    return clean and counts["completed"] >= COMPLETION_FLOOR * counts["total"]
