"""The whole of ``benchmark.json``, with the discipline and the times of its run."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from analysis.benchmark.cases import CaseEntry, SuiteEntry
from analysis.benchmark.changes import Changes
from analysis.benchmark.drivers import DriverResult
from study.records import Record


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
