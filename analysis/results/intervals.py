"""An interval, and whether a number is there."""

from __future__ import annotations

from typing import Literal

from study.records import Record

Status = Literal["ok", "few_tasks", "refused", "not_recorded", "not_identified", "descriptive"]


class Interval(Record):
    """A two-sided interval.

    Attributes
    ----------
    low, high : float or None
        The limits in the unit of the estimate; both None when ``status`` refuses them.
    level : float
        Two-sided confidence level.
    method : str
        Name of the method.
    status : str
        ``ok``, ``few_tasks`` (printed, never decides), ``refused`` (no limits).
    """

    low: float | None
    high: float | None
    level: float
    method: str
    status: Status = "ok"
