"""The cases of a report, as another report needs them, and what became of each."""

from __future__ import annotations

from typing import Literal

from study.records import Record

Answer = Literal["calls", "goal", "refusal", "candidates", "tied-goals", "no-goal"]
"""What a case asks for: tool calls, the goal behind a trace, or one of four kinds of refusal."""


class CaseEntry(Record, rename="camel"):
    """One measured case, as far as another report needs it to tell what changed.

    Attributes
    ----------
    id, suite, task, rung : str
    request_digest : str
        SHA-256 of rung, request, declared tools and trace.
    expect_digest : str
        SHA-256 of the expectation and its override.
    floor_expect : bool
        Whether an override replaces the expectation for drivers stamped ``resolver-``.
    answer : str
    topics : tuple of str
        What the expected calls (candidates, trace) make known, sorted; empty for a plain refusal.
    """

    id: str
    suite: str
    task: str
    rung: str
    request_digest: str
    expect_digest: str
    floor_expect: bool
    answer: Answer
    topics: tuple[str, ...]

    @property
    def cluster(self) -> str:
        """The task, distinct over suites."""
        return f"{self.suite}/{self.task}"


class SuiteEntry(Record, rename="camel"):
    """Digests of what the cases of a suite are answered from and graded by; ``graph`` None without one."""

    registry: str
    graph: str | None
    rules: str


class CaseOutcome(Record, rename="camel", omit_defaults=True):
    """What became of one case with one driver; in a file, what is left out is as in a flawless pass."""

    passed: bool = True
    completed: bool = True
    result_completed: bool = True
    failure: str | None = None
    floor_expect_applied: bool = False

    @property
    def label(self) -> str:
        """``pass``, ``pass, result wrong``, or the kind of failure."""
        if self.passed:
            return "pass" if self.result_completed else "pass, result wrong"
        return (self.failure or "fail").replace("_", " ")
