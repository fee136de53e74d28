"""Frozen results: what estimators return, what reports and figures draw, what ``results.json`` holds."""

from __future__ import annotations

from analysis.results.arms import HardFailedTask, HardFails, Reliability, RepeatedPass, RungRow, UsageSummary
from analysis.results.diagnostics import Diagnostic, DiagnosticStatus, OrderEffect
from analysis.results.endpoints import DESCRIPTIVE, ArmSummary, Estimate, StratumEstimate
from analysis.results.frozen import Results, Verdict, VerdictOutcome
from analysis.results.intervals import Interval, Status
from analysis.results.latency import (
    DecileShift,
    Distribution,
    LatencySummary,
    QuantileContrast,
    QuantileSummary,
)

__all__ = [
    "DESCRIPTIVE",
    "ArmSummary",
    "DecileShift",
    "Diagnostic",
    "DiagnosticStatus",
    "Distribution",
    "Estimate",
    "HardFailedTask",
    "HardFails",
    "Interval",
    "LatencySummary",
    "OrderEffect",
    "QuantileContrast",
    "QuantileSummary",
    "Reliability",
    "RepeatedPass",
    "Results",
    "RungRow",
    "Status",
    "StratumEstimate",
    "UsageSummary",
    "Verdict",
    "VerdictOutcome",
]
