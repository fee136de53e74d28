"""What every endpoint on latency says of its recorded times: which are missing, cut or left out."""

from __future__ import annotations

import polars as pl

from analysis import formatting
from analysis.estimates.plans import Found, nothing
from analysis.table import RunTable


def unrecorded(kept: pl.DataFrame) -> Found | None:
    """Return that nothing was found where a latency is missing or no pair counts, else None."""
    unknown = kept["time_s"].null_count()
    if len(kept) and not unknown:
        return None
    reason = f"trials without a recorded latency: {unknown}" if unknown else "no pair counts for latency"
    return nothing(kept, "not_recorded", reason)


def latency_notes(table: RunTable, kept: pl.DataFrame) -> list[str]:
    """Return how many trials entered with the time limit, and how many pairs were left out."""
    notes: list[str] = []
    n_ended = int(kept["ended"].sum())
    if n_ended:
        limit = formatting.seconds(table.protocol.limits.trial_timeout_s)
        trials = formatting.counted(n_ended, "trial")
        notes.append(f"time-outs, entered at the limit of {limit}: {trials}")
    split = table.frame.filter("split_pair")["pair"].n_unique()
    if split:
        notes.append(f"pairs left out because an interruption split them: {split}")
    return notes
