"""Cases as a report remembers them: what each asks for, in digests and as a class of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from analysis.benchmark import Answer, CaseEntry, SuiteEntry
from study.cases import Case, Suite
from study.digest import digest
from study.registry import Registry


def case_entries(suite: Suite, cases: Iterable[Case]) -> tuple[CaseEntry, ...]:
    """Return one entry for each of the suite's selected cases, in their order."""
    tasks = suite.task_of
    return tuple(
        CaseEntry(
            id=case.id,
            suite=suite.file.id,
            task=tasks[case.id],
            rung=case.rung,
            request_digest=digest([case.rung, case.request, list(case.tools), list(case.trace or ())]),
            expect_digest=digest([case.expect, case.floor_expect]),
            floor_expect=case.floor_expect is not None,
            answer=answer_of(case),
            topics=topics_of(case, suite.registry),
        )
        for case in cases
    )


def suite_entry(suite: Suite) -> SuiteEntry:
    """Return the digests of what the suite's cases are answered from and graded by."""
    return SuiteEntry(
        registry=suite.registry.digest,
        graph=suite.graph_digest,
        rules=digest(msgspec.to_builtins(suite.rules)),
    )


def answer_of(case: Case) -> Answer:
    """Return what a case asks for."""
    if "inferredGoal" in case.expect:
        return "goal"
    if case.expect.get("refuse") is not True:
        return "calls"
    kinds: Mapping[str, Answer] = {
        "candidateResults": "candidates",
        "ambiguousGoals": "tied-goals",
        "reject": "no-goal",
    }
    for key, answer in kinds.items():
        if case.expect.get(key):
            return answer
    return "refusal"


def topics_of(case: Case, registry: Registry) -> tuple[str, ...]:
    """Return the sorted topics of a case: those of its expected calls, its candidates or its trace.

    A tool that makes no topic known stands for itself.
    """
    calls = case.expect.get("calls") or case.expect.get("candidateResults") or case.trace or ()
    names = [call["name"] for call in calls]
    found = {topic for name in names for topic in _topics(name, registry)}
    return tuple(sorted(found))


def _topics(name: str, registry: Registry) -> tuple[str, ...]:
    capability = registry.get(name)
    return (capability.topics if capability else ()) or (name,)
