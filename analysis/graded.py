"""The graded rows of a run, held against its plan, as cells of the frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from study.convert import convert
from study.digest import JSON
from study.errors import IntegrityError
from study.records import HARD_FAIL_CODES, Arm, Outcome, Record
from study.schedule import Assignment

ROW_SCHEMA: dict[str, Any] = {
    "trial": pl.Int64,
    "pair": pl.String,
    "position": pl.Int64,
    "task_id": pl.String,
    "case_id": pl.String,
    "rung": pl.String,
    "template_family": pl.String,
    "repetition": pl.Int64,
    "arm": pl.String,
    "driver": pl.String,
    "outcome": pl.String,
    "passed": pl.Boolean,
    "completed": pl.Boolean,
    "result_completed": pl.Boolean,
    "failure": pl.String,
    "hallucinated": pl.List(pl.String),
    "hard_fails": pl.List(pl.String),
    "reasons": pl.List(pl.String),
    "result_reasons": pl.List(pl.String),
    "probes": pl.Int64,
    "n_calls": pl.Int64,
    "hard_fail_text": pl.String,
}
"""Columns from the product; lists hold codes. ``hard_fail_text`` tells a hard fail, null without one."""

_PLANNED = ("pair", "position", "task_id", "case_id", "repetition", "arm")
_CODED = ("hallucinated", "reasons", "result_reasons")
_COPIED = tuple(name for name in ROW_SCHEMA if name != "hard_fail_text")
_BY_REASON = {"FABRICATED_CALL": "fabricated-call", "UNREPORTED_CALL": "unreported-call"}

LONGEST_TEXT = 300
"""Characters that are kept of what a hard fail was; ``product.jsonl`` has the whole of it."""


class Coded(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a row with a code; its other keys are for people."""

    code: str
    text: str = ""
    at: str = ""


class GradedRow(Record):
    """One graded trial, as ``product.jsonl`` holds it."""

    trial: int
    pair: str
    position: int
    task_id: str
    case_id: str
    rung: str
    template_family: str
    repetition: int
    arm: Arm
    driver: str
    outcome: Outcome
    passed: bool
    completed: bool
    result_completed: bool
    failure: str | None
    hallucinated: list[Coded]
    hard_fails: list[str]
    reasons: list[Coded]
    result_reasons: list[Coded]
    probes: int
    n_calls: int


def read_rows(rows: Sequence[JSON], planned: Mapping[int, Assignment], where: str) -> dict[int, GradedRow]:
    """Return the graded rows by trial, each held against its assignment.

    Raises
    ------
    IntegrityError
        For a row that was not planned, a second row of a trial, one that contradicts its assignment, and an
        unknown key, outcome or code.
    """
    found: dict[int, GradedRow] = {}
    for number, data in enumerate(rows, 1):
        row = convert(data, GradedRow, f"{where}:{number}", IntegrityError)
        place = f"{where}:{number} (trial {row.trial})"
        assignment = planned.get(row.trial)
        if assignment is None:
            raise IntegrityError("a trial that was not planned", where=place)
        if row.trial in found:
            raise IntegrityError("a second row of the trial", where=place)
        for name in _PLANNED:
            told, plan = getattr(row, name), getattr(assignment, name)
            if told != plan:
                raise IntegrityError(f"{name} = {told!r}, planned was {plan!r}", where=place)
        unknown = [code for code in row.hard_fails if code not in HARD_FAIL_CODES]
        if unknown:
            raise IntegrityError(f"unknown hard-fail code {unknown[0]!r}", where=place)
        found[row.trial] = row
    return found


def product_cells(row: GradedRow) -> dict[str, Any]:
    """Return the cells of a graded row in the frame, by column of :data:`ROW_SCHEMA`."""
    cells: dict[str, Any] = {name: getattr(row, name) for name in _COPIED}
    codes = {name: [entry.code for entry in cells[name]] for name in _CODED}
    return cells | codes | {"hard_fail_text": _told(row) if row.hard_fails else None}


def _told(row: GradedRow) -> str:
    """Return what a trial did that is a hard fail, in the order in which the grader found it."""
    told = [f"{entry.code} at {entry.at}: {entry.text}" for entry in row.hallucinated]
    told += [f"{_BY_REASON[e.code]}: {e.text}" for e in row.reasons if e.code in _BY_REASON]
    told += [code for code in row.hard_fails if not any(text.startswith(code) for text in told)]
    return "; ".join(told)[:LONGEST_TEXT]
