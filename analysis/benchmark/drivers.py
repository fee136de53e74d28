"""Measured drivers, rung by rung."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from analysis.benchmark.cases import CaseOutcome
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
