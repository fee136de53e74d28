"""Frozen results of AGENTBENCH: what ``benchmark.json`` and ``envelope.json`` hold."""

from __future__ import annotations

from analysis.benchmark.cases import Answer, CaseEntry, CaseOutcome, SuiteEntry
from analysis.benchmark.changes import Changes, DriverChange, Flip, Meaning, Tally
from analysis.benchmark.drivers import RUNG_NAMES, DriverResult, FailingRow, RungResult, TaskRate, told_codes
from analysis.benchmark.envelope import (
    Envelope,
    EnvelopeCapability,
    EnvelopeLadder,
    EnvelopeMetrics,
    GeneratedFrom,
    Metrics,
    RequestClass,
    Routing,
    RungEvidence,
)
from analysis.benchmark.frozen import Benchmark, Check, Times

__all__ = [
    "RUNG_NAMES",
    "Answer",
    "Benchmark",
    "CaseEntry",
    "CaseOutcome",
    "Changes",
    "Check",
    "DriverChange",
    "DriverResult",
    "Envelope",
    "EnvelopeCapability",
    "EnvelopeLadder",
    "EnvelopeMetrics",
    "FailingRow",
    "Flip",
    "GeneratedFrom",
    "Meaning",
    "Metrics",
    "RequestClass",
    "Routing",
    "RungEvidence",
    "RungResult",
    "SuiteEntry",
    "Tally",
    "TaskRate",
    "Times",
    "told_codes",
]
