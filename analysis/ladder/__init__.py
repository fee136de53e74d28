"""What a measured ladder proves: each driver's result, what changed, what may be routed to it."""

from __future__ import annotations

from analysis.ladder.changes import compare, read_benchmark
from analysis.ladder.measured import driver_result, task_rate
from analysis.ladder.requests import case_entries, suite_entry
from analysis.ladder.routing import build_envelope

__all__ = [
    "build_envelope",
    "case_entries",
    "compare",
    "driver_result",
    "read_benchmark",
    "suite_entry",
    "task_rate",
]
