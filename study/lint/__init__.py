"""The lint of suites and case files."""

from study.lint.case_rules import lint_case, lint_cases
from study.lint.findings import Finding
from study.lint.oracle import Oracle
from study.lint.recheck import recheck_cases
from study.lint.sealing import seal, sealed_lines
from study.lint.suite_rules import lint_suite

__all__ = [
    "Finding",
    "Oracle",
    "lint_case",
    "lint_cases",
    "lint_suite",
    "recheck_cases",
    "seal",
    "sealed_lines",
]
