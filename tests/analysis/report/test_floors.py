"""The telling layer reaches no estimator, and only figures reach matplotlib."""

import subprocess
import sys
from functools import cache

import pytest

ESTIMATORS = {
    f"analysis.{name}"
    for name in (
        "diagnostics",
        "estimates",
        "hardfails",
        "intervals",
        "ladder",
        "latency",
        "multiplicity",
        "paired",
        "power",
        "proportions",
        "reliability",
        "resampling",
        "rungs",
        "sequential",
        "table",
        "usage",
        "verdicts",
    )
}


@cache
def imported(module: str) -> set[str]:
    code = f"import sys, {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["analysis.report", "analysis.figures"])
def test_nothing_that_estimates_is_imported(module: str) -> None:
    assert not ESTIMATORS & imported(module)


def test_a_report_needs_neither_figures_nor_the_statistics_stack() -> None:
    heavy = {"numpy", "scipy", "statsmodels", "polars", "matplotlib", "analysis.figures"}
    assert not heavy & imported("analysis.report")


def test_figures_leave_pyplot_and_reports_alone() -> None:
    assert not {"matplotlib.pyplot", "analysis.report", "scipy", "polars"} & imported("analysis.figures")
