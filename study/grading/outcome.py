"""Whether a report has the expected outcome: the calls, the refusal or the recognised goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from study.binding import as_text, shown
from study.digest import is_list, is_object
from study.errors import SuiteError
from study.grading.matching import (
    CallPattern,
    CallSet,
    Entry,
    entries_of,
    match_in_order,
    match_unordered,
    shown_calls,
)
from study.grading.values import Comparison

Report = dict[str, Any]
Reason = dict[str, str]
OutcomeCheck = Callable[[Report, Sequence[Entry]], list[Reason]]
"""Report and calls -> why the outcome is not the expected one; empty when it is."""


def reason(code: str, text: str) -> Reason:
    """Return one reason of a verdict."""
    return {"code": code, "text": text}


def compile_outcome(expect: dict[str, Any], comparison: Comparison, where: str) -> OutcomeCheck:
    """Return the check of one expectation.

    Raises
    ------
    SuiteError
        When the expectation names no outcome, or in an unknown form.
    """
    if expect.get("refuse") is True:
        return _refusal(expect, comparison, where)
    if expect.get("inferredGoal") is not None:
        return _recognition(expect["inferredGoal"], where)
    if is_list(expect.get("calls")) and expect["calls"]:
        return _calls(expect, comparison, where)
    raise SuiteError(
        "the expectation names no outcome", where=where, allowed="calls, refuse = true, or inferredGoal"
    )


def missed_outcome(expect: dict[str, Any], text: str) -> Reason:
    """Return the reason for a trial that gave no readable answer at all."""
    if expect.get("refuse") is True:
        return reason("REFUSAL_EXPECTED", text)
    return reason("GOAL_MISSING" if expect.get("inferredGoal") is not None else "CALLS_MISMATCH", text)


def _calls(expect: dict[str, Any], comparison: Comparison, where: str) -> OutcomeCheck:
    patterns = [
        CallPattern(call, comparison, f"{where}.calls[{n}]") for n, call in enumerate(expect["calls"])
    ]
    unordered = expect.get("unordered") is True
    match = match_unordered if unordered else match_in_order
    recover = expect.get("recover") is not None
    wanted = shown_calls([(p.name, p.input) for p in patterns])

    def check(report: Report, entries: Sequence[Entry]) -> list[Reason]:
        found: list[Reason] = []
        if not match(patterns, entries):
            order = " in any order" if unordered else ""
            text = f"expected {wanted}{order}, produced {shown_calls(entries)}"
            found.append(reason("CALLS_MISMATCH", text))
        if recover and report.get("recovered") is not True:
            found.append(reason("NO_RECOVERY_SIGNAL", "a recovery is expected, but recovered is not true"))
        return found

    return check


def _refusal(expect: dict[str, Any], comparison: Comparison, where: str) -> OutcomeCheck:
    wanted = expect.get("candidateResults")
    if wanted is not None and not is_list(wanted):
        raise SuiteError("candidateResults must be a list", where=where)
    candidates = None if wanted is None else CallSet(wanted, comparison, f"{where}.candidateResults")
    reject = expect.get("reject") is True
    tied = _goal_set(expect.get("ambiguousGoals"), where)

    def check(report: Report, entries: Sequence[Entry]) -> list[Reason]:
        found: list[Reason] = []
        if report.get("refused") is not True or entries:
            made = f"calls {shown_calls(entries)}" if entries else "no refusal"
            found.append(reason("REFUSAL_EXPECTED", f"a refusal without calls is expected, produced {made}"))
        if candidates is not None:
            found += _candidate_reasons(candidates, report.get("candidateResults"), wanted or [])
        if reject and report.get("reject") is not True:
            found.append(reason("REJECT_MISSING", "the reject class is expected, but reject is not true"))
        if tied is not None:
            found += _tie_reasons(tied, report.get("ambiguousGoals"))
        return found

    return check


def _candidate_reasons(candidates: CallSet, produced: Any, wanted: list[Any]) -> list[Reason]:
    if produced is None:
        return [reason("CANDIDATES_MISSING", "the tied readings are expected as candidateResults")]
    entries = entries_of(produced)
    if entries is not None and candidates.equals(entries):
        return []
    expected = shown_calls(entries_of(wanted) or [])
    made = shown(produced) if entries is None else shown_calls(entries)
    return [reason("CANDIDATES_MISMATCH", f"expected candidates {expected}, produced {made}")]


def _tie_reasons(tied: frozenset[str], produced: Any) -> list[Reason]:
    if produced is None:
        return [reason("TIED_GOALS_MISSING", "the tied goals are expected as ambiguousGoals")]
    if is_list(produced) and frozenset(map(as_text, produced)) == tied:
        return []
    text = f"expected tied goals {shown(sorted(tied))}, produced {shown(produced)}"
    return [reason("TIED_GOALS_MISMATCH", text)]


def _goal_set(goals: Any, where: str) -> frozenset[str] | None:
    if goals is None:
        return None
    if not is_list(goals):
        raise SuiteError("ambiguousGoals must be a list", where=where)
    return frozenset(map(as_text, goals))


def _recognition(goal: Any, where: str) -> OutcomeCheck:
    if not isinstance(goal, str):
        raise SuiteError("inferredGoal must be text", where=where)
    wanted = goal.strip()

    def check(report: Report, entries: Sequence[Entry]) -> list[Reason]:
        named = report.get("inferredGoal")
        if named is None:
            return [reason("GOAL_MISSING", f"expected the goal {shown(wanted)}, none is named")]
        if report.get("reject") is True or report.get("refused") is True:
            return [reason("GOAL_REJECTED", f"expected the goal {shown(wanted)}, the report declines it")]
        if entries:
            made = shown_calls(entries)
            return [reason("GOAL_WITH_CALLS", f"recognition makes no calls, produced {made}")]
        if as_text(named) != wanted:
            return [reason("GOAL_MISMATCH", f"expected {shown(wanted)}, produced {shown(named)}")]
        return []

    return check


def contradiction(report: Report, entries: Sequence[Entry]) -> Reason | None:
    """Return the reason why a report contradicts itself, if it does."""
    if entries and report.get("refused") is True:
        return reason("CONTRADICTION", "calls together with a refusal")
    if report.get("ambiguousGoals") is None:
        return None
    if report.get("inferredGoal") is not None:
        return reason("CONTRADICTION", "an inferred goal beside a list of tied goals")
    if report.get("reject") is True:
        return reason("CONTRADICTION", "a list of tied goals beside a rejection")
    return None


ResultCheck = Callable[[Report], list[Reason]]


def compile_result(expect: dict[str, Any], where: str) -> ResultCheck | None:
    """Return the check of the composed result against the stored literal, or None without one.

    Raises
    ------
    SuiteError
        When ``expect.result`` is no list.
    """
    literal = expect.get("result")
    if literal is None or expect.get("refuse") is True:
        return None
    if not is_list(literal):
        raise SuiteError("result must be a list of labels", where=where)
    wanted = frozenset(map(as_text, literal))

    def check(report: Report) -> list[Reason]:
        composed = report.get("composed")
        if not is_list(composed):
            return [reason("RESULT_MISSING", "a composed result is expected, none is reported")]
        if frozenset(map(as_text, composed)) == wanted:
            return []
        text = f"expected {shown(sorted(wanted), 300)}, composed {shown(composed, 300)}"
        return [reason("RESULT_MISMATCH", text)]

    return check


def arm_expectation(case_expect: dict[str, Any], floor_expect: Any, where: str) -> dict[str, Any]:
    """Return the expectation that ``floorExpect`` puts in place of a case's own.

    Raises
    ------
    SuiteError
        Unless it is exactly ``{"refuse": true}``.
    """
    if not is_object(floor_expect) or floor_expect != {"refuse": True} or floor_expect["refuse"] is not True:
        raise SuiteError(
            f"floorExpect is {shown(floor_expect)}", where=where, allowed='exactly {"refuse": true}'
        )
    return {"refuse": True, "terminates": case_expect.get("terminates")}
