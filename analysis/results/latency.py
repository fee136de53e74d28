"""Latency of the arms: quantiles, contrasts, shifts, distributions."""

from __future__ import annotations

from analysis.results.intervals import Interval, Status
from study.records import Record


class QuantileSummary(Record):
    """One quantile of the latency of one arm, in seconds.

    ``at_cap`` says that ``value_s`` is the time limit: the quantile is at least that. ``status`` is ``ok``,
    ``refused`` (too few tasks, or too few trials beyond it), ``not_identified`` (too many trials may end at
    the time limit: the plain order statistic, without an interval).
    """

    probability: float
    value_s: float | None
    interval: Interval | None
    status: Status
    method: str
    at_cap: bool = False


class QuantileContrast(Record):
    """One quantile of the candidate against that of the baseline.

    ``decides`` says whether a claim may rest on it. ``log_ratio`` is the log of candidate / baseline,
    ``difference_s`` candidate - baseline in seconds; both with limits from the same resamples of tasks.
    """

    probability: float
    log_ratio: float | None
    log_ratio_interval: Interval | None
    difference_s: float | None
    difference_interval: Interval | None
    status: Status
    decides: bool


class DecileShift(Record):
    """Candidate - baseline at one decile, in seconds.

    ``p_value`` and ``adjusted_p_value`` (Holm over the family) are two-sided, and None, as ``outcome``
    (``shorter``, ``longer``, ``inconclusive``), where nothing was claimed or nothing may be decided.
    """

    probability: float
    baseline_s: float | None
    candidate_s: float | None
    difference_s: float | None
    interval: Interval | None
    status: Status
    p_value: float | None = None
    adjusted_p_value: float | None = None
    outcome: str | None = None


class Distribution(Record):
    """The distribution function of the latency of one arm, with a simultaneous band.

    At each of ``times_s`` the share of trials (tasks weighing equally) that took at most that long, between
    ``low`` and ``high``; ``band`` is its half width before it is cut to [0, 1].
    """

    times_s: tuple[float, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    band: float
    level: float
    method: str
    n_tasks: int
    n_trials: int


class LatencySummary(Record):
    """Latency of one arm in seconds; descriptive. ``censored`` trials ended at the time limit.

    ``p50_s`` is the median again, which ``quantiles`` hold too. ``restricted_mean_s`` is the mean of
    min(latency, ``cap_s``); without a known limit nothing is cut.
    """

    n_tasks: int
    n_trials: int
    censored: int
    p50_s: float | None
    p50_interval: Interval | None
    status: Status
    method: str
    quantiles: tuple[QuantileSummary, ...] = ()
    restricted_mean_s: float | None = None
    restricted_mean_interval: Interval | None = None
    cap_s: float | None = None
    distribution: Distribution | None = None
