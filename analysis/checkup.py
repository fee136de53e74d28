"""All diagnostics of a table in one fixed order; none of them decides anything."""

from __future__ import annotations

from analysis.execution import drift_diagnostics, order_diagnostics
from analysis.nearness import nearness_diagnostic
from analysis.results import Diagnostic
from analysis.spread import repetition_diagnostics, spread_diagnostics
from analysis.table import RunTable


def diagnose(table: RunTable) -> tuple[Diagnostic, ...]:
    """Return every diagnostic of a run, or of a table from elsewhere.

    Each has its value, its threshold, a status and a sentence; what a table cannot tell is
    ``not_computed``. No estimate and no verdict depends on them.
    """
    return (
        *spread_diagnostics(table),
        *repetition_diagnostics(table),
        nearness_diagnostic(table),
        *order_diagnostics(table),
        *drift_diagnostics(table),
    )
