"""Estimates, verdicts and reports from the files of a run; nothing here runs a driver."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis import figures
    from analysis.arms import hard_fails, latency_quantiles, rates
    from analysis.estimates import estimate
    from analysis.report import render_report
    from analysis.summary import verify_results
    from analysis.table import read_run
    from analysis.tidy import read_table
    from analysis.verdicts import decide

_HOMES = {
    "decide": "analysis.verdicts",
    "estimate": "analysis.estimates",
    "hard_fails": "analysis.arms",
    "latency_quantiles": "analysis.arms",
    "rates": "analysis.arms",
    "read_run": "analysis.table",
    "read_table": "analysis.tidy",
    "render_report": "analysis.report",
    "verify_results": "analysis.summary",
}

__all__ = [
    "decide",
    "estimate",
    "figures",
    "hard_fails",
    "latency_quantiles",
    "rates",
    "read_run",
    "read_table",
    "render_report",
    "verify_results",
]


def __getattr__(name: str) -> Any:
    if name == "figures":
        return import_module("analysis.figures")
    if name not in _HOMES:
        raise AttributeError(f"module 'analysis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
