"""Cases as a report remembers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.ladder.requests import answer_of, case_entries, topics_of
from study.cases import Case, Suite, SuiteFile, TaskEntry
from study.registry import Capability, Registry

REGISTRY = Registry(
    [
        Capability(name="holds", effects={"add": [{"kind": "knows", "topic": "queue"}], "del": []}),
        Capability(name="loans", effects={"add": [{"kind": "knows", "topic": "borrowers"}], "del": []}),
        Capability(name="plain"),
    ]
)


def case(expect, **changes):
    fields = {"id": "c", "rung": "TOOL-1", "request": "r", "tools": ("holds",), "expect": expect}
    return Case(**fields | changes)


def calls(*names):
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    "expect, trace, answer, topics",
    [
        ({"calls": calls("loans", "holds", "loans")}, None, "calls", ("borrowers", "queue")),
        ({"calls": calls("plain")}, None, "calls", ("plain",)),
        ({"refuse": True}, None, "refusal", ()),
        ({"refuse": True, "candidateResults": calls("holds")}, None, "candidates", ("queue",)),
        ({"inferredGoal": "cap:queue"}, ({"name": "holds"},), "goal", ("queue",)),
        ({"refuse": True, "reject": True}, ({"name": "loans"},), "no-goal", ("borrowers",)),
        ({"refuse": True, "ambiguousGoals": ["a", "b"]}, ({"name": "holds"},), "tied-goals", ("queue",)),
    ],
)
def test_what_a_case_asks_for_and_about(expect, trace, answer, topics):
    found = case(expect, trace=trace)
    assert answer_of(found) == answer
    assert topics_of(found, REGISTRY) == topics


def entry_of(found):
    file = SuiteFile(
        schema=1,
        id="s",
        registry="r",
        cases="c",
        tasks={"t": TaskEntry(split="development", cases=("c",))},
    )
    suite = Suite(folder=Path(), file=file, registry=REGISTRY, cases=(found,))
    return case_entries(suite, [found])[0]


def test_digests_tell_a_changed_request_from_a_changed_expectation():
    base = case({"calls": calls("holds")})
    first = entry_of(base)
    assert (first.task, first.cluster, first.floor_expect) == ("t", "s/t", False)
    for changes in ({"request": "q"}, {"tools": ("holds", "loans")}, {"rung": "TOOL-3"}):
        other = entry_of(case({"calls": calls("holds")}, **changes))
        assert other.request_digest != first.request_digest
        assert other.expect_digest == first.expect_digest
    for other in (
        entry_of(case({"calls": calls("loans")})),
        entry_of(case({"calls": calls("holds")}, floor_expect={"refuse": True})),
    ):
        assert other.request_digest == first.request_digest
        assert other.expect_digest != first.expect_digest
    noted = entry_of(case({"calls": calls("holds")}, note="for people"))
    assert noted == first
