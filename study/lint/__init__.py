"""The lint of suites and case files."""

from study.lint.case_rules import lint_case, lint_cases
from study.lint.findings import Finding
from study.lint.sealing import seal, sealed_lines
from study.lint.suite_rules import lint_suite

__all__ = ["Finding", "lint_case", "lint_cases", "lint_suite", "seal", "sealed_lines"]
