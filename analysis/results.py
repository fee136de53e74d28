"""Frozen results: what estimators return, what reports and figures draw, what ``results.json`` holds."""

from __future__ import annotations

from typing import Any, Literal

from study.records import Record

Status = Literal["ok", "few_tasks", "refused", "not_recorded", "not_identified", "descriptive"]
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


class ArmSummary(Record):
    """One arm of an endpoint: its estimate with an interval, and what it was computed from."""

    estimate: float | None
    interval: Interval | None
    n_tasks: int
    n_trials: int


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


class HardFails(Record):
    """Hard fails of one arm: counted before anything is averaged.

    ``count`` events in ``trials`` trials of ``n_tasks`` tasks, ``tasks`` of which had at least one;
    ``upper_bound`` is the one-sided bound on the rate per trial at ``level`` by ``method``.
    """

    count: int
    tasks: int
    trials: int
    n_tasks: int
    by_code: dict[str, int]
    upper_bound: float | None
    level: float
    method: str


class LatencySummary(Record):
    """Latency of one arm in seconds; descriptive. ``censored`` trials ended at the time limit."""

    n_tasks: int
    n_trials: int
    censored: int
    p50_s: float | None
    p50_interval: Interval | None
    status: Status
    method: str


class UsageSummary(Record):
    """Token use of one arm, a field: ``{known_subtotal, missing_calls, total}``; None when never recorded."""

    fields: dict[str, dict[str, Any]] | None


class OrderEffect(Record):
    """Completion by position in the pair, both arms pooled: a diagnostic of the design."""

    first_position: float | None
    second_position: float | None
    n_pairs_baseline_first: int
    n_pairs_candidate_first: int


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
    missing: dict[str, Any]
    deviations: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()
