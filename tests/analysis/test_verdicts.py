"""The cascade of the verdict, its reason chain and its sentence."""

from __future__ import annotations

import re

import pytest

from analysis.verdicts import claim_met, decide
from tests.support.tables import PRIMARY, failing, first, make_table

GUARDRAIL = {
    "name": "timeouts",
    "role": "guardrail",
    "claim": "non-inferior",
    "margin": "10 pp",
    "alpha": 0.025,
}
COMPARES = re.compile(
    r"better|worse|superior|inferior|equivalent|cheaper|faster|slower|percentile", re.IGNORECASE
)


def timing_out(tasks):
    def script(planned):
        if planned.arm == "candidate" and planned.task_id in tasks:
            return {"outcome": "timeout", "completed": False}
        return None

    return script


def hard_failing(arm, tasks):
    return failing(arm, tasks, completed=True, hard_fails=["undeclared"])


def void(tasks):
    return lambda planned: {"outcome": "infrastructure"} if planned.task_id in tasks else None


def verdict(*scripts, void_reasons=(), **options):
    def script(planned):
        changes = {}
        for one in scripts:
            changes |= one(planned) or {}
        return changes

    return decide(make_table(script, **({"tasks": 40} | options)), void_reasons=void_reasons)


@pytest.mark.parametrize(
    ("script", "outcome", "claim_holds"),
    [
        (failing("candidate", []), "non_inferior", True),
        (failing("baseline", first(12)), "superior", True),
        (failing("candidate", first(3)), "inconclusive", False),
        (failing("candidate", first(19)), "inferior", False),
    ],
)
def test_the_primary_endpoint_decides(script, outcome, claim_holds):
    found = verdict(script)
    assert found.outcome == outcome
    assert claim_met(found, "non-inferior") is claim_holds
    assert found.reasons[-1].startswith("primary completion (claim: non-inferior, margin 10 pp)")
    assert "40" in found.reasons[-1]


@pytest.mark.parametrize(
    ("claim", "script", "outcome"),
    [
        ("superior", failing("baseline", first(12)), "superior"),
        ("superior", failing("candidate", []), "inconclusive"),
        ("superior", failing("candidate", first(12)), "inferior"),
        ("equivalent", failing("candidate", []), "equivalent"),
        ("equivalent", failing("candidate", first(3)), "inconclusive"),
        ("equivalent", failing("candidate", first(18)), "inferior"),
        ("equivalent", failing("baseline", first(18)), "superior"),
    ],
)
def test_other_claims(claim, script, outcome):
    declared = {"name": "completion", "role": "primary", "claim": claim, "alpha": 0.025}
    if claim == "equivalent":
        declared["margin"] = "10 pp"
    found = verdict(script, endpoints=[declared])
    assert found.outcome == outcome
    assert claim_met(found, claim) is (outcome == claim)


def test_the_order_of_the_cascade():
    everything = [
        void(first(10)),
        hard_failing("candidate", ["t039"]),
        failing("candidate", first(30)),
        timing_out(first(30)),
    ]
    endpoints = {"endpoints": [PRIMARY, GUARDRAIL]}
    assert verdict(*everything, **endpoints).outcome == "void"
    assert verdict(*everything[1:], **endpoints).outcome == "hard_fail"
    assert verdict(*everything[2:], **endpoints).outcome == "below_floor"
    assert verdict(everything[3], gates={}, **endpoints).outcome == "guardrail_failed"
    assert verdict(everything[2], gates={}, **endpoints).outcome == "inferior"


def test_a_hard_fail_of_the_baseline_is_told_and_decides_nothing():
    found = verdict(hard_failing("baseline", ["t001"]))
    assert found.outcome == "non_inferior"
    assert "hard fails of the baseline: 1 of 40 trials, n tasks = 40 (undeclared in 1)" in found.reasons


def test_a_hard_fail_in_a_void_pair_still_counts():
    def script(planned):
        if planned.task_id == "t000" and planned.arm == "candidate":
            return {"outcome": "infrastructure", "hard_fails": ["unknown-tool"]}
        return None

    assert verdict(script, missing={"max_void_pairs": "5 %"}).outcome == "hard_fail"


def test_integrity_makes_a_run_void():
    found = verdict(failing("baseline", first(12)), void_reasons=["the lock was changed"])
    assert found.outcome == "void"
    assert found.reasons[0] == "integrity: the lock was changed"
    assert "the lock was changed" in found.sentence


@pytest.mark.parametrize(("ceiling", "outcome"), [("2 %", "void"), ("2.5 %", "non_inferior")])
def test_the_ceiling_of_void_pairs(ceiling, outcome):
    wide = [{**PRIMARY, "margin": "15 pp"}]
    found = verdict(void(first(1)), missing={"max_void_pairs": ceiling}, endpoints=wide)
    assert found.outcome == outcome


def test_a_claim_must_also_hold_if_the_candidate_lost_every_void_pair():
    """With 40 tasks, one loss lets the limit fall to -12.6 pp: beyond the margin of 10 pp."""
    found = verdict(void(first(1)), missing={"max_void_pairs": "2.5 %"})
    assert found.outcome == "inconclusive"
    assert "lost every void pair" in found.sentence
    assert verdict(void(first(0)), missing={"max_void_pairs": "2.5 %"}).outcome == "non_inferior"


@pytest.mark.parametrize(("ceiling", "outcome"), [("29 %", "inconclusive"), ("28 %", "void")])
def test_the_ceiling_does_not_suffer_from_rounding(ceiling, outcome):
    """29 % of 100 pairs are 28.999999999999996 in floating point."""
    assert verdict(void(first(29)), tasks=100, missing={"max_void_pairs": ceiling}).outcome == outcome


def test_every_pair_void_is_void_whatever_the_ceiling():
    assert verdict(void(first(40)), missing={"max_void_pairs": "99.9 %"}).outcome == "void"


@pytest.mark.parametrize(("failures", "outcome"), [(20, "inferior"), (21, "below_floor")])
def test_the_floor_is_inclusive(failures, outcome):
    assert verdict(failing("candidate", first(failures))).outcome == outcome


def test_no_floor_without_a_gate():
    assert verdict(failing("candidate", first(39)), gates={}).outcome == "inferior"


def test_a_guardrail_that_is_not_shown_leaves_the_verdict_open():
    found = verdict(timing_out(first(3)), endpoints=[PRIMARY | {"margin": "20 pp"}, GUARDRAIL])
    assert found.outcome == "inconclusive"
    assert "guardrail timeouts" in found.sentence
    shown = verdict(endpoints=[PRIMARY | {"margin": "20 pp"}, GUARDRAIL])
    assert shown.outcome == "non_inferior"


def test_a_guardrail_shown_inferior_fails():
    found = verdict(timing_out(first(16)), endpoints=[PRIMARY, GUARDRAIL])
    assert found.outcome == "guardrail_failed"
    assert "timeouts" in found.sentence


@pytest.mark.parametrize("tasks", [1, 4, 9, 35])
def test_refusals_end_inconclusive_with_their_reason(tasks):
    found = verdict(tasks=tasks)
    assert found.outcome == "inconclusive"
    assert any(reason.startswith("verdict refused: ") for reason in found.reasons)
    assert f"{tasks} {'task' if tasks == 1 else 'tasks'};" in found.sentence


def test_a_pilot_compares_nothing():
    found = verdict(failing("baseline", first(4)), tasks=4, repetitions=9)
    assert not COMPARES.search(found.sentence)
    assert any("pilot" in reason for reason in found.reasons)


def test_a_primary_without_a_claim_decides_nothing():
    found = verdict(endpoints=[{"name": "completion", "role": "primary"}])
    assert found.outcome == "inconclusive"
    assert "no claim was declared" in found.sentence


@pytest.mark.parametrize(
    ("script", "unshown"),
    [
        (failing("candidate", []), "that it is superior was not shown"),
        (failing("candidate", first(3)), "no difference shown is not the same as no difference"),
        (failing("candidate", first(19)), "that the candidate loses less than the margin was not shown"),
        (failing("candidate", first(30)), "no claim about an endpoint was decided"),
        (hard_failing("candidate", first(1)), "no claim about an endpoint was decided"),
        (void(first(9)), "nothing was shown about either arm"),
    ],
)
def test_the_sentence_says_what_was_not_shown(script, unshown):
    assert unshown in verdict(script).sentence


def test_secondary_endpoints_never_change_the_verdict():
    secondary = GUARDRAIL | {"role": "secondary"}
    assert (
        verdict(timing_out(first(2)), endpoints=[PRIMARY | {"margin": "20 pp"}, secondary]).outcome
        == "non_inferior"
    )
