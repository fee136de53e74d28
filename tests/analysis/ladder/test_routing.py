"""The envelope: what is proven, and which requests may be routed."""

from __future__ import annotations

import json

import msgspec
import pytest

from analysis.ladder import build_envelope
from tests.support.benchmarks import BAD, FABRICATED, MISS, RESULT, WAIVED, driver, entries


def envelope(cases, found=None, **changes):
    settings = {"stamp": "0.1.0", "split": "held-out", "grader": "1.0.0"}
    return build_envelope(found or driver(cases), cases, **settings | changes)


def ladder(*tasks, per_task=1):
    """Build cases for TOOL-0, TOOL-1, ... with so many tasks."""
    return [case for n, count in enumerate(tasks) for case in entries(f"TOOL-{n}", count, per_task)]


def verdicts(found):
    return {rung.rung: rung.in_envelope for rung in found.routing.rungs}


def test_flawless_rungs_with_enough_tasks_are_in():
    found = envelope(ladder(10, 12))
    assert verdicts(found) == {"TOOL-0": True, "TOOL-1": True}
    assert found.routing.may_route
    assert [(c.rung, c.level, c.in_envelope, c.tasks) for c in found.routing.classes] == [
        ("TOOL-0", "shape", True, 10),
        ("TOOL-1", "shape", True, 12),
    ]


def test_cases_of_one_task_are_not_evidence_of_many():
    found = envelope(ladder(9, per_task=20))
    assert verdicts(found) == {"TOOL-0": False}
    assert found.routing.rungs[0].why == "too few tasks: 9 of at least 10"
    assert found.routing.rungs[0].cases == 180
    assert not found.routing.classes[0].in_envelope
    assert (found.routing.may_route, found.routing.why) == (False, "no class of requests is in the envelope")


@pytest.mark.parametrize("grade", [MISS, BAD, RESULT, WAIVED])
def test_one_failure_of_any_kind_keeps_a_class_out(grade):
    cases = ladder(40)
    found = envelope(cases, driver(cases, {cases[3].id: grade}))
    (known,) = found.routing.classes
    assert (known.failures, known.in_envelope) == (1, False)


@pytest.mark.parametrize(("grade", "code"), [(FABRICATED, "fabricated-call 1"), (BAD, "undeclared 1")])
def test_a_hard_fail_anywhere_keeps_every_class_out(grade, code):
    cases = ladder(12, 12)
    found = envelope(cases, driver(cases, {cases[-1].id: grade}))
    assert verdicts(found) == {"TOOL-0": True, "TOOL-1": False}
    assert [c.in_envelope for c in found.routing.classes] == [False, False]
    assert (found.capability.tools_ok, found.capability.structured_ok) == (False, True)
    assert not found.routing.may_route
    assert found.routing.why == f"the driver has hard fails: {code}"


def test_a_failing_topic_leaves_another_one_in():
    good = entries("TOOL-0", 12, tag="good", topics=("callers",))
    bad = entries("TOOL-0", 3, tag="bad", topics=("history",))
    cases = [*good, *bad]
    found = envelope(cases, driver(cases, {bad[0].id: MISS}))
    assert [(c.level, c.topics, c.in_envelope) for c in found.routing.classes] == [
        ("shape", ("callers", "history"), False),
        ("topics", ("callers",), True),
        ("topics", ("history",), False),
    ]
    assert found.routing.classes[2].why == "1 of 3 cases failed"


def test_what_a_rung_asks_for_makes_classes_of_their_own():
    cases = [
        *entries("TOOL-0", 10),
        *entries("TOOL-0", 10, tag="r", answer="refusal", topics=()),
    ]
    found = envelope(cases)
    assert [(c.answer, c.topics, c.in_envelope) for c in found.routing.classes] == [
        ("calls", ("callers",), True),
        ("refusal", (), True),
    ]


def test_a_rung_above_a_failed_gate_or_a_gap_is_not_proven():
    cases = ladder(10, 10, 10)
    found = envelope(cases, driver(cases, {case.id: MISS for case in cases if case.rung == "TOOL-1"}))
    assert verdicts(found) == {"TOOL-0": True, "TOOL-1": False, "TOOL-2": False}
    assert [rung.why for rung in found.routing.rungs][1:] == [
        "its gate failed",
        "gated by TOOL-1 completion 0% < 50%",
    ]
    assert found.ladder.gated_at == "TOOL-1"
    assert found.routing.classes[2].why == "the rung TOOL-2 is not proven"
    gap = envelope([*entries("TOOL-0", 10), *entries("TOOL-2", 10)])
    assert verdicts(gap) == {"TOOL-0": True, "TOOL-2": False}
    assert gap.routing.rungs[1].why == "a rung below it has no cases"


def test_a_gate_that_passed_by_a_hair_is_not_proven():
    cases = ladder(20)
    found = envelope(cases, driver(cases, {case.id: MISS for case in cases[:8]}))
    assert found.metrics.by_rung["TOOL-0"].gate_pass
    (rung,) = found.routing.rungs
    assert rung.interval.low < 0.5
    assert rung.why == "its gate passed, but the lower limit over tasks is below 50%"


def test_meeting_an_override_proves_no_rung():
    cases = ladder(20)
    found = envelope(cases, driver(cases, {case.id: WAIVED for case in cases[:12]}))
    assert found.metrics.by_rung["TOOL-0"].plan_completion == 1
    assert verdicts(found) == {"TOOL-0": False}
    assert found.routing.rungs[0].why.endswith("; 12 cases were judged by an override")


def test_nothing_is_routed_on_open_cases_or_to_a_floor():
    cases = ladder(10)
    opened = envelope(cases, split="development")
    assert opened.routing.classes[0].in_envelope
    assert not opened.routing.may_route
    floor = envelope(cases, driver(cases, floor=True))
    assert not floor.routing.may_route
    assert "anchor" in floor.routing.why


def test_the_reference_keys_and_what_was_not_measured():
    cases = ladder(10)
    data = json.loads(msgspec.json.encode(envelope(cases)))
    assert list(data) == ["schema", "generatedFrom", "ladder", "capability", "metrics", "routing", "notes"]
    assert {"drivers", "stamp", "caseCount", "split"} <= set(data["generatedFrom"])
    assert data["ladder"]["rungReached"] == "TOOL-0"
    assert data["ladder"]["unmeasured"] == [f"TOOL-{n}" for n in range(1, 10)]
    assert data["capability"] == {
        "maxContextTokens": None,
        "maxContextTokensMeasured": False,
        "structuredOk": True,
        "structuredOkMeasured": True,
        "toolsOk": True,
        "toolsOkMeasured": True,
    }
    wanted = {"n", "planCompletion", "resultCompletion", "hallucinationRate", "gatePass"}
    assert wanted <= set(data["metrics"]["byRung"]["TOOL-0"])
    assert data["metrics"]["overall"]["gatePass"] is None


def test_each_axis_of_the_tool_boundary_is_its_own_and_silence_is_not_ok():
    cases = ladder(10)
    bad = envelope(cases, driver(cases, {cases[0].id: BAD})).capability
    assert (bad.tools_ok, bad.structured_ok) == (False, True)
    silent = envelope(cases, driver(cases, calls=0)).capability
    assert (silent.tools_ok, silent.tools_ok_measured) == (None, False)
    assert (silent.structured_ok, silent.structured_ok_measured) == (None, False)
