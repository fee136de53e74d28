"""Deterministic grading: pure, versioned, blind to drivers and toolsets."""

from study.grading.verdict import GRADER_VERSION, Grader, compile_case, grade

__all__ = ["GRADER_VERSION", "Grader", "compile_case", "grade"]
