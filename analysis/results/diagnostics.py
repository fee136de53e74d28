"""Looks at the data that stand beside the verdict and never decide."""

from __future__ import annotations

from typing import Literal

from analysis.results.intervals import Interval
from study.records import Record

DiagnosticStatus = Literal["ok", "noticed", "not_computed"]


class OrderEffect(Record):
    """Completion by position in the pair, both arms pooled: a diagnostic of the design."""

    first_position: float | None
    second_position: float | None
    n_pairs_baseline_first: int
    n_pairs_candidate_first: int


class Diagnostic(Record):
    """One look at the data that belongs beside the verdict and never decides.

    Attributes
    ----------
    name : str
        ``few_tasks``, ``ties``, ``skew``, ``identical_repetitions``, ``near_duplicate_tasks``, ``position``,
        ``order`` or ``drift``.
    endpoint, arm : str or None
        What it looks at; None for the study as a whole, for both arms pooled.
    value : float or None
        None when nothing could be computed.
    unit : str
        ``tasks``, ``groups``, ``share``, ``skewness``, ``proportion`` (a difference) or ``log_ratio``.
    interval : Interval or None
        Task-clustered, where the value is an estimate.
    threshold : str
        When it is noticed, in words.
    n_tasks : int
    status : str
        ``ok``, ``noticed`` (the threshold is crossed) or ``not_computed``.
    sentence : str
        What was seen and what follows from it.
    """

    name: str
    endpoint: str | None
    arm: str | None
    value: float | None
    unit: str
    interval: Interval | None
    threshold: str
    n_tasks: int
    status: DiagnosticStatus
    sentence: str
