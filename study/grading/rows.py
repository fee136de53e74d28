"""Ladder rows: one graded trial as camelCase JSON that can be graded again from itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from study.binding import shown
from study.cases import Case, Rules
from study.digest import JSON, canonical, encode_json, is_object, read_json_lines
from study.errors import InputError, did_you_mean, listed
from study.grading.verdict import Grader, compile_case
from study.records import OUTCOMES, Dispatch, Grade, Produced, Record
from study.registry import Registry

OBSERVED_LIMIT = 240
"""Characters of tool text that a row keeps."""

_ANSWERS = ("answered", "refused")
_OPTIONAL = (
    "composed",
    "why",
    "observed",
    "inferredGoal",
    "reject",
    "ambiguousGoals",
    "recovered",
    "candidateResults",
)
_ROW_KEYS = (
    "caseId",
    "rung",
    "request",
    "tools",
    "driver",
    "stamp",
    "version",
    "expect",
    "floorExpectApplied",
    "produced",
    "verdict",
)
_FROM_CASE = ("rung", "request", "tools", "expect")

Row = dict[str, JSON]


class Difference(Record):
    """One thing that regrading finds different from what a row records."""

    where: str
    field: str
    recorded: Any
    regraded: Any

    def __str__(self) -> str:
        recorded, regraded = shown(self.recorded, 200), shown(self.regraded, 200)
        return f"{self.where}: {self.field} is recorded as {recorded}, but is {regraded}"


def build_row(case: Case, produced: Produced, grade: Grade, *, stamp: str, version: str) -> Row:
    """Return the ladder row of one graded trial.

    Parameters
    ----------
    case, produced, grade
    stamp : str
        The label of the run.
    version : str
        The version of what was measured.

    Notes
    -----
    Holds no clock, path, host or random value, and everything that the grader reads: of each dispatch its
    name, input and what became of it, and the outcome where it is no answer.
    """
    stamped = produced.report.get("driver", produced.outcome)
    row: Row = {
        "caseId": case.id,
        "rung": case.rung,
        "request": case.request,
        "tools": list(case.tools),
        "driver": stamped if isinstance(stamped, str) else shown(stamped),
        "stamp": stamp,
        "version": version,
        "expect": case.expect,
    }
    if grade.floor_expect_applied:
        row["floorExpectApplied"] = True
    row["produced"] = _produced(produced)
    row["verdict"] = verdict_json(grade)
    return row


def _produced(produced: Produced) -> Row:
    report = produced.report
    answered = produced.outcome in _ANSWERS
    told: Row = {
        "calls": report.get("calls") if answered else report.get("calls", []),
        "refused": report.get("refused", False),
        "terminated": report.get("terminated", False),
        "proof": report.get("proof", []),
    }
    for key in _OPTIONAL:
        value = report.get(key)
        if value is not None:
            told[key] = value[:OBSERVED_LIMIT] if key == "observed" and isinstance(value, str) else value
    if not answered:
        told["outcome"] = produced.outcome
    if produced.dispatches:
        told["dispatches"] = [_dispatch(seen) for seen in produced.dispatches]
    return told


def _dispatch(seen: Dispatch) -> Row:
    told: Row = {"name": seen.name, "input": seen.input, "executed": seen.executed, "ok": seen.ok}
    return {**told, "effects": True} if seen.effects else told


def verdict_json(grade: Grade) -> Row:
    """Return the verdict of a row."""
    verdict: Row = {
        "pass": grade.passed,
        "hallucinated": list(grade.hallucinated),
        "completed": grade.completed,
        "resultCompleted": grade.result_completed,
        "reasons": list(grade.reasons),
        "resultReasons": list(grade.result_reasons),
    }
    if grade.hard_fails:
        verdict["hardFails"] = list(grade.hard_fails)
    if grade.failure is not None:
        verdict["failure"] = grade.failure
    if grade.probes:
        verdict["probes"] = grade.probes
    return verdict


def rows_bytes(rows: Iterable[Row]) -> bytes:
    """Return the bytes of a row file: compact JSON, one row a line, with a final newline."""
    return b"".join(encode_json(row) + b"\n" for row in rows)


def read_rows(path: Path) -> list[Row]:
    """Read a row file.

    Raises
    ------
    InputError
        When a line is no strict JSON, or no ladder row.
    """
    return [_checked(row, f"{path}:{number}") for number, row in read_json_lines(path, "row file")]


def _checked(row: JSON, where: str) -> Row:
    if not is_object(row):
        raise InputError("a ladder row must be an object", where=where)
    for key in row:
        if key not in _ROW_KEYS:
            raise InputError(
                f"unknown key {key!r}{did_you_mean(key, _ROW_KEYS)}", where=where, allowed=listed(_ROW_KEYS)
            )
    for key in ("caseId", "produced", "verdict"):
        kind = str if key == "caseId" else dict
        if not isinstance(row.get(key), kind):
            raise InputError(
                f"{key} is {shown(row.get(key))}", where=where, allowed="a row of `study ladder`"
            )
    produced_of(row, where)
    return row


def produced_of(row: Mapping[str, JSON], where: str = "row") -> Produced:
    """Return the trial that a row records.

    Raises
    ------
    InputError
        For an unknown outcome or a malformed dispatch.
    """
    told: Row = dict(row["produced"])
    outcome = told.pop("outcome", "answered")
    if outcome not in OUTCOMES:
        raise InputError(f"outcome {shown(outcome)}", where=where, allowed=listed(OUTCOMES))
    dispatches = told.pop("dispatches", [])
    try:
        seen = msgspec.convert(dispatches, tuple[Dispatch, ...])
    except msgspec.ValidationError as error:
        raise InputError(f"malformed dispatches: {error}", where=where) from None
    report: Row = {**told, "driver": row.get("driver")}
    return Produced(outcome=outcome, report=report, dispatches=seen)


def regrade_rows(
    rows: Sequence[Mapping[str, JSON]],
    cases: Iterable[Case],
    registry: Registry,
    rules: Rules,
    goals: frozenset[str] | None = None,
) -> list[Difference]:
    """Grade rows again and return every difference from what they record.

    Parameters
    ----------
    rows : sequence of mapping
        As :func:`read_rows` returns them.
    cases : iterable of Case
        The cases they belong to.
    registry, rules, goals
        See :func:`study.grading.compile_case`.

    Raises
    ------
    SuiteError
        When a case cannot be compiled.
    """
    by_id = {case.id: case for case in cases}
    graders: dict[str, Grader] = {}
    found: list[Difference] = []
    for number, row in enumerate(rows, 1):
        name = str(row.get("caseId"))
        where = f"row {number} ({name})"
        case = by_id.get(name)
        if case is None:
            found.append(Difference(where=where, field="caseId", recorded=name, regraded=None))
            continue
        if name not in graders:
            graders[name] = compile_case(case, rules, registry, goals)
        found += _row_differences(row, case, graders[name], where)
    return found


def _row_differences(row: Mapping[str, JSON], case: Case, grader: Grader, where: str) -> list[Difference]:
    grade = grader(produced_of(row, where))
    expected = {
        **{key: case.to_json()[key] for key in _FROM_CASE},
        "floorExpectApplied": True if grade.floor_expect_applied else None,
    }
    pairs = [(key, row.get(key), value) for key, value in expected.items()]
    recorded, regraded = row["verdict"], verdict_json(grade)
    keys = [*regraded, *(key for key in recorded if key not in regraded)]
    pairs += [(f"verdict.{key}", recorded.get(key), regraded.get(key)) for key in keys]
    return [
        Difference(where=where, field=field, recorded=old, regraded=new)
        for field, old, new in pairs
        if canonical(old) != canonical(new)
    ]
