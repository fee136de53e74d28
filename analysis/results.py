"""Frozen results: what estimators return, what reports and figures draw, what ``results.json`` holds."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from study.protocol import endpoint_label
from study.records import Record

Status = Literal["ok", "few_tasks", "refused", "not_recorded", "not_identified", "descriptive"]
DiagnosticStatus = Literal["ok", "noticed", "not_computed"]
VerdictOutcome = Literal[
    "void",
    "hard_fail",
    "below_floor",
    "guardrail_failed",
    "inferior",
    "inconclusive",
    "non_inferior",
    "equivalent",
    "superior",
]


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


class StratumEstimate(Record):
    """The contrast within one stratum that has a declared weight; it describes and decides nothing.

    ``status`` is that of the interval: ``refused`` with fewer than 5 tasks, ``few_tasks`` with fewer than 10.
    """

    name: str
    weight: float
    estimate: float
    interval: Interval
    n_tasks: int
    n_pairs: int
    status: Status


class ArmSummary(Record):
    """One arm of an endpoint: its estimate with an interval, and what it was computed from."""

    estimate: float | None
    interval: Interval | None
    n_tasks: int
    n_trials: int


DESCRIPTIVE = "descriptive: "
"""Starts the diagnostic of a claim that was not tested."""


class Estimate(Record):
    """One declared endpoint: the contrast candidate - baseline (or its ratio), and both arms.

    Attributes
    ----------
    name, role : str
        As declared; role is ``primary``, ``secondary``, ``guardrail`` or ``exploratory``.
    claim : str or None
        ``non-inferior``, ``superior``, ``equivalent``; None for a descriptive endpoint.
    margin : float or None
        In the unit of the estimate: 0.05 for ``"5 pp"``, the log of the factor for a ratio.
    margin_text : str or None
        As declared, e.g. ``"5 pp"``.
    unit : str
        ``proportion``, ``log_ratio``, ``s`` ...
    higher_is_better : bool
        Direction of benefit.
    alpha : float or None
        One-sided level of the claim.
    estimate : float or None
        The point estimate; None when nothing could be computed.
    interval : Interval or None
        The interval that decides.
    sensitivity : tuple of Interval
        Other methods, labelled; never for the decision.
    baseline, candidate : ArmSummary
    n_tasks, n_families, n_pairs : int
    status : str
    outcome : str or None
        What the endpoint's own claim came to (``superior``, ``non_inferior``, ``inferior``,
        ``equivalent``, ``inconclusive``); None when nothing was claimed.
    diagnostics : tuple of str
        Remarks that belong beside the number (ties, few tasks, skew, missing pairs).
    k : int or None
        Of ``pass_hat_k`` and ``pass_at_k``.
    estimand : str
        ``new-tasks`` (the population that the tasks stand for) or ``fixed-tasks`` (these tasks only).
    p_value : float or None
        One-sided p-value of the claim, by the method of the interval: at most (1 - level) / 2 exactly when
        the interval bears the claim out. None without a claim, where the claim was refused, and where the
        method gives none.
    adjusted_p_value : float or None
        The smallest level of the whole family at which its procedure shows this claim; None outside a
        family, and for a claim that was not tested.
    strata : tuple of StratumEstimate
        One a stratum, where the protocol declares weights.
    """

    name: str
    role: str
    claim: str | None
    margin: float | None
    margin_text: str | None
    unit: str
    higher_is_better: bool
    alpha: float | None
    estimate: float | None
    interval: Interval | None
    sensitivity: tuple[Interval, ...]
    baseline: ArmSummary
    candidate: ArmSummary
    n_tasks: int
    n_families: int
    n_pairs: int
    status: Status
    outcome: str | None
    diagnostics: tuple[str, ...] = ()
    k: int | None = None
    estimand: Literal["new-tasks", "fixed-tasks"] = "new-tasks"
    p_value: float | None = None
    adjusted_p_value: float | None = None
    strata: tuple[StratumEstimate, ...] = ()

    @property
    def label(self) -> str:
        """The name with whatever tells it from other endpoints of the same name."""
        return endpoint_label(self.name, self.k, self.estimand)


class HardFails(Record):
    """Hard fails of one arm: counted before anything is averaged.

    ``count`` events in ``trials`` trials of ``n_tasks`` tasks, ``tasks`` of which had at least one;
    ``upper_bound`` is the one-sided bound on the rate per trial at ``level`` by ``method``. With a declared
    intraclass correlation ``icc``, the trials are worth ``n_effective`` independent ones, and ``icc_bound``
    is the closer bound of an arm without an event (None with events, where it would not hold).
    """

    count: int
    tasks: int
    trials: int
    n_tasks: int
    by_code: dict[str, int]
    upper_bound: float | None
    level: float
    method: str
    icc: float | None = None
    n_effective: float | None = None
    icc_bound: float | None = None


class RepeatedPass(Record):
    """pass^k of one arm: the probability that k repetitions of a case all pass, tasks weighing equally."""

    k: int
    estimate: float
    interval: Interval


class Reliability(Record):
    """How much the outcomes of one arm vary from run to run, and from task to task.

    Attributes
    ----------
    outcome : str
        The grade that is looked at.
    within, between, icc, design_effect : float or None
        See :class:`analysis.reliability.VarianceComponents`; None with a single repetition, where chance
        within a task cannot be told from the task.
    pass_hat_k : tuple of RepeatedPass
        For k = 1 up to the fewest repetitions of a case.
    repetitions : int
        The fewest repetitions of a case that count.
    n_tasks, n_trials : int
    status : str
        ``not_identified`` with a single repetition, ``few_tasks`` with fewer than 10 tasks.
    method : str
    """

    outcome: str
    within: float | None
    between: float | None
    icc: float | None
    design_effect: float | None
    pass_hat_k: tuple[RepeatedPass, ...]
    repetitions: int
    n_tasks: int
    n_trials: int
    status: Status
    method: str


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


class UsageSummary(Record):
    """Token use of one arm, a field: ``{known_subtotal, missing_calls, total}``; None when never recorded."""

    fields: dict[str, dict[str, Any]] | None


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


class RungRow(Record):
    """One arm on one rung: counts, the metric pair and the gate of the ladder.

    ``hard_failed`` counts trials with a hard fail of any code, hallucinated ones included.
    """

    arm: str
    rung: str
    total: int
    passed: int
    completed: int
    result_completed: int
    hallucinated: int
    gate_pass: bool
    hard_failed: int = 0


class Verdict(Record):
    """One outcome with its reason chain; ``sentence`` is generated from the chain."""

    outcome: VerdictOutcome
    reasons: tuple[str, ...]
    sentence: str


class Results(Record):
    """``results.json``: everything that a report draws.

    ``declared`` is True for a locked study and ``"exploratory"`` for anything else. ``notes`` holds what a
    report must print beside the verdict (floors compared, lock provenance, known runs of this lock).
    ``toolkit`` is the version that ran and sealed the study, None for anything else.
    """

    schema: Literal[1]
    study: str
    question: str
    lock_digest: str | None
    declared: bool | Literal["exploratory"]
    evidence_level: Literal["pilot", "comparative"]
    verdict: Verdict
    arms: dict[str, dict[str, Any]]
    design: dict[str, Any]
    outcomes: dict[str, dict[str, int]]
    hard_fails: dict[str, HardFails]
    endpoints: tuple[Estimate, ...]
    latency: dict[str, LatencySummary]
    ladder: tuple[RungRow, ...]
    usage: dict[str, UsageSummary]
    order_effect: OrderEffect
    diagnostics: tuple[Diagnostic, ...] = ()
    missing: dict[str, Any]
    deviations: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()
    latency_contrasts: tuple[QuantileContrast, ...] = ()
    shift: tuple[DecileShift, ...] = ()
    reliability: dict[str, Reliability] = msgspec.field(default_factory=dict[str, Reliability])
    toolkit: str | None = None
