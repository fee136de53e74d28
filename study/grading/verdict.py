"""The verdict on one trial: gate, outcome, termination, proof and result in one grade."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from study.binding import Binder, shown
from study.cases import Case, Rules
from study.digest import is_list
from study.grading.gate import Audit, Gate, compile_gate
from study.grading.matching import Entry, entries_of, shown_calls
from study.grading.outcome import (
    Reason,
    arm_expectation,
    compile_outcome,
    compile_result,
    contradiction,
    missed_outcome,
    reason,
)
from study.grading.proof import proof_problem
from study.grading.values import Comparison
from study.records import Grade, Produced
from study.registry import Registry

GRADER_VERSION = "1.0.0"
"""Changes whenever any trial could be graded differently; part of the lock."""

Grader = Callable[[Produced], Grade]

_ANSWERS = frozenset({"answered", "refused"})
_RESOLVER = "resolver-"
_NOTHING = Audit()


def compile_case(case: Case, rules: Rules, registry: Registry, goals: frozenset[str] | None = None) -> Grader:
    """Compile the grader of one case.

    Parameters
    ----------
    case : Case
    rules : Rules
        How the suite's calls are compared.
    registry : Registry
        The closed world.
    goals : frozenset of str, optional
        The goal ids that a report may name. None takes what the files declare: the suite's ``goals``,
        ``cap:TOPIC`` for the topics of the case's declared tools, and the ids of the case's expectation.

    Returns
    -------
    callable
        ``Produced -> Grade``: pure, and total on JSON data, however malformed the report is.

    Raises
    ------
    SuiteError
        When the case's expectation, a comparison rule or a declared tool's schema cannot be read.
    """
    where = f"{case.id}:expect"
    comparison = Comparison(rules, case.expect.get("compare"), registry, f"{where}.compare")
    declared = declared_goals(case, rules, registry) if goals is None else goals
    gate = compile_gate(
        Binder(registry, case.tools), comparison, declared, must_execute=rules.execution == "required"
    )
    own = _compile_expectation(case.expect, comparison, gate, where, floor=False)
    if case.floor_expect is None:
        return own
    replaced = arm_expectation(case.expect, case.floor_expect, f"{case.id}:floorExpect")
    floor = _compile_expectation(replaced, comparison, gate, where, floor=True)

    def grade_by_stamp(produced: Produced) -> Grade:
        stamp = produced.report.get("driver")
        return (floor if isinstance(stamp, str) and stamp.startswith(_RESOLVER) else own)(produced)

    return grade_by_stamp


def grade(
    case: Case,
    produced: Produced,
    rules: Rules,
    registry: Registry,
    goals: frozenset[str] | None = None,
) -> Grade:
    """Grade one trial of one case; compile the case once instead when there are many trials of it."""
    return compile_case(case, rules, registry, goals)(produced)


def declared_goals(case: Case, rules: Rules, registry: Registry) -> frozenset[str]:
    """Return the goal ids that the files declare for a case (see :func:`compile_case`)."""
    capabilities = [registry[name] for name in case.tools if name in registry]
    tied = case.expect.get("ambiguousGoals")
    named = [case.expect.get("inferredGoal"), *(tied if is_list(tied) else [])]
    topics = [f"cap:{topic}" for capability in capabilities for topic in capability.topics]
    return frozenset([*rules.goals, *topics, *(goal for goal in named if isinstance(goal, str))])


def _compile_expectation(
    expect: dict[str, Any], comparison: Comparison, gate: Gate, where: str, *, floor: bool
) -> Grader:
    outcome = compile_outcome(expect, comparison, where)
    result = compile_result(expect, where)
    must_terminate = expect.get("terminates") is True
    must_prove = expect.get("proof") is True
    clean_pass = Grade(passed=True, completed=True, result_completed=True, floor_expect_applied=floor)

    def verdict(produced: Produced) -> Grade:
        report = produced.report
        calls = entries_of(report.get("calls"))
        entries: list[Entry] = [] if calls is None else calls
        audit = gate(report, entries, produced.dispatches)
        terminated = report.get("terminated") is True and produced.outcome != "timeout"
        reasons = [] if audit is None else _gate_reasons(audit)
        if must_terminate and not terminated:
            late = produced.outcome == "timeout"
            text = "the trial timed out" if late else "the report does not say that the loop ended"
            reasons.append(reason("NOT_TERMINATED", text))
        answered = calls is not None and produced.outcome in _ANSWERS
        misses = outcome(report, entries) if answered else [missed_outcome(expect, _no_answer(produced))]
        if answered:
            clash = contradiction(report, entries)
            if clash is not None:
                misses.append(clash)
            problem = proof_problem(report.get("proof")) if must_prove else None
            if problem is not None:
                reasons.append(reason("PROOF_INVALID", problem))
        lacks = result(report) if result is not None else []
        if audit is None and not reasons and not misses and not lacks and (terminated or result is None):
            return clean_pass
        completed = not misses
        result_completed = completed
        if result is not None:
            result_completed = answered and terminated and not lacks and not (audit and audit.hallucinated)
        return _grade(
            audit or _NOTHING, [*reasons, *misses], lacks, entries, completed, result_completed, floor
        )

    return verdict


def _no_answer(produced: Produced) -> str:
    if produced.outcome in _ANSWERS:
        return f"calls is {shown(produced.report.get('calls'))}, which is no list"
    return f"the trial gave no answer (outcome {produced.outcome})"


def _gate_reasons(audit: Audit) -> list[Reason]:
    found: list[Reason] = []
    if audit.hallucinated:
        problems = "; ".join(f"{p['code']} at {p['at']}: {p['text']}" for p in audit.hallucinated[:8])
        more = f"; and {len(audit.hallucinated) - 8} more" if len(audit.hallucinated) > 8 else ""
        found.append(reason("HALLUCINATED_CALL", problems + more))
    if audit.fabricated:
        calls = shown_calls(audit.fabricated)
        found.append(reason("FABRICATED_CALL", f"reported, but never dispatched: {calls}"))
    if audit.unreported:
        calls = shown_calls(audit.unreported)
        found.append(reason("UNREPORTED_CALL", f"dispatched with effects, but not reported: {calls}"))
    return found


def _grade(
    audit: Audit,
    reasons: list[Reason],
    result_reasons: list[Reason],
    entries: Sequence[Entry],
    completed: bool,
    result_completed: bool,
    floor: bool,
) -> Grade:
    codes = {problem["code"] for problem in audit.hallucinated}
    codes |= {"fabricated-call"} if audit.fabricated else set()
    codes |= {"unreported-call"} if audit.unreported else set()
    failure: Literal["honest_miss", "wrong_answer", "hallucination"] | None = None
    if reasons:
        failure = "hallucination" if audit.hallucinated else "wrong_answer" if entries else "honest_miss"
    return Grade(
        passed=not reasons,
        completed=completed,
        result_completed=result_completed,
        hallucinated=audit.hallucinated,
        hard_fails=tuple(sorted(codes)),
        reasons=tuple(reasons),
        result_reasons=tuple(result_reasons),
        failure=failure,
        probes=audit.probes,
        floor_expect_applied=floor,
    )
