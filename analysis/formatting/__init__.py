"""Every number, unit or table of a report as text."""

from __future__ import annotations

from analysis.formatting.layout import WIDTH, display_width, paragraph, text_table, visible, wrap
from analysis.formatting.markup import markdown, markdown_table
from analysis.formatting.rounding import half_up, significant
from analysis.formatting.spans import NEVER_DECIDES, absence, interval, limits
from analysis.formatting.values import (
    NOT_RECORDED,
    confidence,
    duration,
    margin,
    p_text,
    percent,
    points,
    quantity,
    ratio,
    relative,
    seconds,
    time_unit,
)
from analysis.formatting.words import claim, counted, counts, outcome, share, standing

__all__ = [
    "NEVER_DECIDES",
    "NOT_RECORDED",
    "WIDTH",
    "absence",
    "claim",
    "confidence",
    "counted",
    "counts",
    "display_width",
    "duration",
    "half_up",
    "interval",
    "limits",
    "margin",
    "markdown",
    "markdown_table",
    "outcome",
    "p_text",
    "paragraph",
    "percent",
    "points",
    "quantity",
    "ratio",
    "relative",
    "seconds",
    "share",
    "significant",
    "standing",
    "text_table",
    "time_unit",
    "visible",
    "wrap",
]
