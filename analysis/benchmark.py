"""Frozen results of AGENTBENCH: what ``benchmark.json`` holds, and what its report and figures draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from analysis.results import Interval
from study.grading.rollup import Ladder, RungScore
from study.records import RUNGS, Record

RUNG_NAMES = {
    "TOOL-0": "direct dispatch",
    "TOOL-1": "tool selection",
    "TOOL-2": "scope refusal",
    "TOOL-3": "sequence",
    "TOOL-4": "conditional",
    "TOOL-5": "filter",
    "TOOL-6": "goal deduction",
    "TOOL-7": "recovery",
    "TOOL-8": "ambiguity",
    "TOOL-9": "recognition",
}

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


class FailingRow(Record, rename="camel"):
    """A row that did not pass, or whose result alone is wrong (``failure`` None)."""

    case_id: str
    rung: str
    request: str
    failure: str | None
    reasons: tuple[str, ...]


class TaskRate(Record, rename="camel"):
    """A rate with tasks as the sample.

    Attributes
    ----------
    n_tasks : int
    estimate : float
        Mean over tasks of the share of their cases.
    interval : Interval
        Around ``estimate``; ``refused`` when there are too few tasks.
    """

    n_tasks: int
    estimate: float
    interval: Interval


class RungResult(Record, rename="camel"):
    """One driver on one rung, or on all of them together.

    Attributes
    ----------
    score : RungScore
        Counts, the metric pair and the gate, over cases.
    completion : TaskRate
        Plan completion over tasks.
    receipt : str or None
        Why the rung is skipped, None when it is not.
    trivial : dict
        Trivial driver -> number of cases that it completes.
    """

    score: RungScore
    completion: TaskRate
    receipt: str | None
    trivial: dict[str, int]


class DriverResult(Record, rename="camel"):
    """One measured driver.

    Attributes
    ----------
    name : str
        As it was asked for.
    slug : str
        Its name in file names.
    version : str
        The stamp of the driver.
    stamps : tuple of str
        The stamps that occur in its rows.
    floor : bool
        Whether it is an anchor that is no candidate for use.
    rungs : tuple of RungResult
        Rungs with rows, ascending.
    overall : RungResult
    ladder : Ladder
    rung_reached : str or None
    calls : int
        Calls that were reported or attempted, all of which the hallucination gate checked.
    problems : dict
        Code of a hallucinated call -> how often.
    hard_fails : dict
        Code of a hard fail -> in how many rows; those of hallucinated calls included.
    failing : tuple of FailingRow
        Rows that did not pass, in case order.
    result_only : tuple of FailingRow
        Rows whose plan is right and whose result is wrong.
    outcomes : dict
        Case id -> outcome.
    rows_digest : str
        SHA-256 of its ``product.jsonl``.
    code_digest : str or None
        SHA-256 over its source files (see :func:`study.drivers.sources.code_digest`); None when unknown.
    """

    name: str
    slug: str
    version: str
    stamps: tuple[str, ...]
    floor: bool
    rungs: tuple[RungResult, ...]
    overall: RungResult
    ladder: Ladder
    rung_reached: str | None
    calls: int
    problems: dict[str, int]
    failing: tuple[FailingRow, ...]
    result_only: tuple[FailingRow, ...]
    outcomes: dict[str, CaseOutcome]
    rows_digest: str
    hard_fails: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    code_digest: str | None = None

    @property
    def standing(self) -> str:
        """How far the ladder goes, in words; a gated ladder says so."""
        reached = f"reached {self.rung_reached}" if self.rung_reached else "no rung reached"
        if self.ladder.gated_at:
            return f"{reached}, gated at {self.ladder.gated_at}"
        if self.rung_reached is None:
            return f"{reached}, {RUNGS[0]} has no cases here"
        return f"{reached}, no gate failed"


def told_codes(counts: Mapping[str, int]) -> str:
    """Return ``"fabricated-call 3, undeclared 1"``: codes of hard fails, each with its number of cases."""
    return ", ".join(f"{code} {count}" for code, count in counts.items())


class Check(Record, rename="camel"):
    """One item of discipline: ``held`` is None when this run did not look."""

    name: str
    held: bool | None
    text: str


class Times(Record, rename="camel"):
    """Start and end of the run and of the analysis, UTC; nothing else in a report comes from a clock."""

    run_started: str
    run_ended: str
    analysis_started: str
    analysis_ended: str


class Tally(Record, rename="camel"):
    """Counts of cases."""

    total: int
    passed: int
    completed: int
    result_completed: int


class Flip(Record, rename="camel"):
    """One unchanged case whose outcome changed."""

    case_id: str
    before: str
    after: str


class DriverChange(Record, rename="camel"):
    """One driver that both reports measured.

    Attributes
    ----------
    name, version_before, version_after : str
    code_before, code_after : str or None
        Digests of the driver's source files; None where none was recorded.
    before, after : Tally
        All cases of either report.
    unchanged_before, unchanged_after : Tally
        The cases that are the same in both.
    other_after : Tally
        The cases of this report that are new or changed.
    flips : tuple of Flip
    """

    name: str
    version_before: str
    version_after: str
    before: Tally
    after: Tally
    unchanged_before: Tally
    unchanged_after: Tally
    other_after: Tally
    flips: tuple[Flip, ...]
    code_before: str | None = None
    code_after: str | None = None

    @property
    def code_changed(self) -> bool:
        """Whether both reports recorded the driver's code, and not the same."""
        return None not in (self.code_before, self.code_after) and self.code_before != self.code_after

    @property
    def gained(self) -> int:
        """Unchanged cases that pass now and did not before."""
        return sum(_passes(flip.after) and not _passes(flip.before) for flip in self.flips)

    @property
    def lost(self) -> int:
        """Unchanged cases that passed before and do not now."""
        return sum(_passes(flip.before) and not _passes(flip.after) for flip in self.flips)


def _passes(label: str) -> bool:
    return label.startswith("pass")


class Meaning(Record, rename="camel"):
    """A named change of what a number means; ``code`` is stable, ``world`` says that it touches all cases."""

    code: str
    text: str
    world: bool = False


class Changes(Record, rename="camel"):
    """One report against the previous one.

    Attributes
    ----------
    previous_version, previous_digest : str
        Name and SHA-256 of the previous ``benchmark.json``.
    meanings : tuple of Meaning
    new_rungs, gone_rungs : tuple of str
    new_cases, gone_cases, changed_requests, changed_expectations : tuple of str
        Case ids.
    new_drivers, gone_drivers : tuple of str
    drivers : tuple of DriverChange
    """

    previous_version: str
    previous_digest: str
    meanings: tuple[Meaning, ...]
    new_rungs: tuple[str, ...]
    gone_rungs: tuple[str, ...]
    new_cases: tuple[str, ...]
    gone_cases: tuple[str, ...]
    changed_requests: tuple[str, ...]
    changed_expectations: tuple[str, ...]
    new_drivers: tuple[str, ...]
    gone_drivers: tuple[str, ...]
    drivers: tuple[DriverChange, ...]


class Benchmark(Record, rename="camel"):
    """``benchmark.json``.

    Attributes
    ----------
    version : str
        Stamp, with ``_00N`` for a re-run.
    stamp : str
        Label of the rows.
    grader, toolkit : str
    split : str
    selection : dict
        ``cases``, ``rung`` and ``only`` as they were asked for; None where nothing was.
    command : str
    times : Times
    suites : dict
        Suite id -> its digests.
    cases : tuple of CaseEntry
    drivers : tuple of DriverResult
    subject : str
        The driver that headline, decision and envelope are about.
    checks : tuple of Check
    reds : dict
        Driver -> case id -> why it stays red.
    changes : Changes or None
        None without a previous report.
    """

    schema: Literal[1]
    version: str
    stamp: str
    grader: str
    toolkit: str
    split: str
    selection: dict[str, Any]
    command: str
    times: Times
    suites: dict[str, SuiteEntry]
    cases: tuple[CaseEntry, ...]
    drivers: tuple[DriverResult, ...]
    subject: str
    checks: tuple[Check, ...] = ()
    reds: dict[str, dict[str, str]] = msgspec.field(default_factory=dict[str, dict[str, str]])
    changes: Changes | None = None

    def driver(self, name: str) -> DriverResult:
        """Return the result of a measured driver."""
        return next(result for result in self.drivers if result.name == name)
