"""Token use of one arm, in which an unknown count is never a zero."""

from __future__ import annotations

import msgspec
import polars as pl

from analysis.results import UsageSummary
from study.usage import FIELDS, total

_SPOKE = ("answered", "refused")


def summarise_usage(frame: pl.DataFrame) -> UsageSummary:
    """Add up the usage of one arm's trials.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows of one arm (columns of :mod:`analysis.table`); void pairs included, for they cost as well.

    Returns
    -------
    UsageSummary
        ``fields`` is None when no trial recorded a model call. Otherwise a trial without a record counts
        as one call of unknown size unless it came to an answer or a refusal without any model call.
    """
    recorded = frame.filter(pl.col("model_calls").is_not_null())
    if not len(recorded):
        return UsageSummary(fields=None)
    silent = frame.filter(pl.col("model_calls").is_null() & ~pl.col("outcome").is_in(_SPOKE))
    return UsageSummary(
        fields={
            field: msgspec.to_builtins(
                total(
                    int(recorded[f"{field}_known_subtotal"].sum()),
                    int(recorded[f"{field}_missing_calls"].sum()) + len(silent),
                )
            )
            for field in FIELDS
        }
    )
