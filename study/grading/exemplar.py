"""The answers that a case accepts, as trials: what its own grader must pass."""

from __future__ import annotations

from typing import Any

from study.binding import shown
from study.cases import Case, Rules
from study.digest import is_list
from study.grading.matching import CallPattern
from study.grading.outcome import arm_expectation
from study.grading.values import MISSING, Comparison
from study.records import Dispatch, Produced
from study.registry import Registry

FLOOR_STAMP = "resolver-0"
_PROOF = (
    {"kind": "causal-link", "producer": "graph", "consumer": "step-1"},
    {"kind": "precondition", "step": 1, "ok": True},
    {"kind": "effect", "step": 1},
)


def accepted_answers(case: Case, rules: Rules, registry: Registry) -> list[tuple[str, Produced]]:
    """Return ``(what it is, trial)`` for every answer that a case says it accepts.

    The pinned calls; each further accepted value and each omission, one at a time; the reverse order of
    unordered calls; and the refusal that ``floorExpect`` asks of a resolver.

    Raises
    ------
    SuiteError
        When the expectation cannot be read.
    """
    calls = case.expect.get("calls")
    if case.expect.get("refuse") is True or not is_list(calls):
        answers = [("the expected outcome", _trial(case.expect, [], rules, registry))]
    else:
        answers = [
            (what, _trial(case.expect, made, rules, registry))
            for what, made in _call_lists(case, calls, rules, registry)
        ]
    if case.floor_expect is not None:
        expect = arm_expectation(case.expect, case.floor_expect, f"{case.id}:floorExpect")
        answers.append(("the floor's refusal", _trial(expect, [], rules, registry, FLOOR_STAMP)))
    return answers


def _call_lists(
    case: Case, calls: list[Any], rules: Rules, registry: Registry
) -> list[tuple[str, list[dict[str, Any]]]]:
    where = f"{case.id}:expect"
    comparison = Comparison(rules, case.expect.get("compare"), registry, f"{where}.compare")
    patterns = [CallPattern(call, comparison, f"{where}.calls[{n}]") for n, call in enumerate(calls)]
    base = [_call(p.name, {arg: values[0] for arg, values in p.variants.items()}) for p in patterns]
    found = [("the expected calls", base)]
    for n, pattern in enumerate(patterns):
        for arg, values in pattern.variants.items():
            for value in values[1:]:
                changed = _call(pattern.name, {**base[n]["input"], arg: value})
                what = (
                    f"call {n} without {arg!r}"
                    if value is MISSING
                    else f"call {n} with {arg!r} = {shown(value)}"
                )
                found.append((what, [*base[:n], changed, *base[n + 1 :]]))
    if case.expect.get("unordered") is True and len(base) > 1:
        found.append(("the expected calls in reverse", base[::-1]))
    return found


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "input": {k: v for k, v in arguments.items() if v is not MISSING}}


def _trial(
    expect: dict[str, Any],
    calls: list[dict[str, Any]],
    rules: Rules,
    registry: Registry,
    stamp: str = "expected",
) -> Produced:
    refused = expect.get("refuse") is True
    report: dict[str, Any] = {
        "calls": calls,
        "refused": refused,
        "terminated": True,
        "proof": list(_PROOF),
        "driver": stamp,
    }
    graded = {"result": "composed", "candidateResults": "candidateResults", "inferredGoal": "inferredGoal"}
    graded |= {"reject": "reject", "ambiguousGoals": "ambiguousGoals"}
    report |= {key: expect[name] for name, key in graded.items() if expect.get(name) is not None}
    if expect.get("recover") is not None:
        report["recovered"] = True
    made = tuple(_dispatch(call, registry) for call in calls) if rules.execution == "required" else ()
    return Produced(outcome="refused" if refused else "answered", report=report, dispatches=made)


def _dispatch(call: dict[str, Any], registry: Registry) -> Dispatch:
    """Return what the harness would record: a tool with effects is never run."""
    capability = registry.get(call["name"])
    runs = capability is not None and capability.read_only
    effects = capability is not None and not capability.read_only
    return Dispatch(name=call["name"], input=call["input"], executed=runs, ok=runs, effects=effects)
