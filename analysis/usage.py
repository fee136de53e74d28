"""Token use of one arm, in which an unknown count is never a zero."""

from __future__ import annotations

import msgspec
import polars as pl

from analysis.results import UsageSummary
from study.usage import FIELDS, total

_SPOKE = ("answered", "refused")


def with_counts(frame: pl.DataFrame, endpoint: str) -> pl.DataFrame:
    """Add what each trial used; null where it is not known.

    Parameters
    ----------
    frame : polars.DataFrame
        All rows of a run, both arms (columns of :mod:`analysis.table`).
    endpoint : {"tokens_input", "tokens_output", "tokens_total", "calls"}
        ``calls`` are the tool calls that the driver reported, known for an answer or a refusal.

    Returns
    -------
    polars.DataFrame
        With a column ``count``. Tokens of a trial are known when each of its model calls was counted, and
        are 0 for an answer or a refusal without a model call in an arm that recorded others; see
        :func:`summarise_usage`.
    """
    spoke = pl.col("outcome").is_in(_SPOKE)
    if endpoint == "calls":
        return frame.with_columns(count=pl.when(spoke).then(pl.col("n_calls").cast(pl.Float64)))
    fields = FIELDS if endpoint == "tokens_total" else (endpoint.removeprefix("tokens_"),)
    known = pl.all_horizontal(pl.col(f"{field}_missing_calls") == 0 for field in fields)
    counted = pl.sum_horizontal(f"{field}_known_subtotal" for field in fields).cast(pl.Float64)
    silent = pl.col("model_calls").is_null() & spoke
    recording = pl.col("model_calls").is_not_null().any().over("arm")
    return frame.with_columns(
        count=pl.when(pl.col("model_calls").is_not_null() & known)
        .then(counted)
        .when(silent & recording)
        .then(pl.lit(0.0))
    )


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
