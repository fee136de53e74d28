"""The whole of ``results.json``, with the verdict."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from analysis.results.arms import HardFails, Reliability, RungRow, UsageSummary
from analysis.results.diagnostics import Diagnostic, OrderEffect
from analysis.results.endpoints import Estimate
from analysis.results.latency import DecileShift, LatencySummary, QuantileContrast
from study.records import Record

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
