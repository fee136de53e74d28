"""What an interval says of a claim, and the fixed sequence of claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import Limits, claim_outcome, meets, toward_benefit
from analysis.multiplicity import fixed_sequence


@pytest.mark.parametrize(
    ("claim", "low", "high", "outcome"),
    [
        ("non-inferior", 0.001, 0.2, "superior"),
        ("non-inferior", 0.0, 0.2, "non_inferior"),
        ("non-inferior", -0.05, 0.2, "non_inferior"),
        ("non-inferior", -0.0501, 0.2, "inconclusive"),
        ("non-inferior", -0.2, -0.05, "inconclusive"),
        ("non-inferior", -0.2, -0.0501, "inferior"),
        ("superior", 0.001, 0.2, "superior"),
        ("superior", 0.0, 0.2, "inconclusive"),
        ("superior", -0.2, -0.001, "inferior"),
        ("superior", -0.2, 0.0, "inconclusive"),
        ("equivalent", -0.049, 0.049, "equivalent"),
        ("equivalent", -0.05, 0.049, "inconclusive"),
        ("equivalent", -0.049, 0.05, "inconclusive"),
        ("equivalent", 0.051, 0.2, "superior"),
        ("equivalent", 0.049, 0.2, "inconclusive"),
        ("equivalent", -0.2, -0.051, "inferior"),
    ],
)
def test_the_rule(claim, low, high, outcome):
    assert claim_outcome(claim, Limits(low=low, high=high), 0.05) == outcome


def test_less_is_better_turns_the_limits():
    assert toward_benefit(-0.1, 0.3, higher_is_better=False) == Limits(low=-0.3, high=0.1)
    assert toward_benefit(-0.1, 0.3, higher_is_better=True) == Limits(low=-0.1, high=0.3)


RANK = {"inferior": 0, "inconclusive": 1, "non_inferior": 2, "equivalent": 2, "superior": 3}
PAIR = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted)


@given(PAIR, st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_a_wider_margin_never_worsens_non_inferiority(pair, one, other):
    limits = Limits(low=pair[0], high=pair[1])
    narrow, wide = sorted((one, other))
    assert (
        RANK[claim_outcome("non-inferior", limits, narrow)]
        <= RANK[claim_outcome("non-inferior", limits, wide)]
    )


@given(PAIR, st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_a_wider_margin_never_takes_equivalence_away(pair, one, other):
    limits = Limits(low=pair[0], high=pair[1])
    narrow, wide = sorted((one, other))
    if claim_outcome("equivalent", limits, narrow) == "equivalent":
        assert claim_outcome("equivalent", limits, wide) == "equivalent"


@pytest.mark.parametrize("claim", ["non-inferior", "superior", "equivalent", None])
def test_what_meets_a_claim(claim):
    outcomes = (
        "superior",
        "non_inferior",
        "equivalent",
        "inferior",
        "inconclusive",
        "hard_fail",
        "void",
        None,
    )
    met = {
        "non-inferior": {"superior", "non_inferior"},
        "superior": {"superior"},
        "equivalent": {"equivalent"},
    }
    assert {o for o in outcomes if meets(claim, o)} == met.get(claim, set())


def test_the_sequence_stops_at_the_first_claim_not_met(make_proportion):
    declared = [
        make_proportion(name="a", role="secondary", outcome="superior"),
        make_proportion(name="b", role="guardrail", outcome="inconclusive"),
        make_proportion(name="c", role="primary", outcome="non_inferior"),
        make_proportion(name="d", role="secondary", outcome="inconclusive"),
        make_proportion(name="e", role="secondary", outcome="superior"),
        make_proportion(name="f", role="secondary", claim=None, outcome=None),
    ]
    found = list(fixed_sequence(declared))
    assert found[:4] == declared[:4]
    assert (found[4].status, found[4].outcome) == ("descriptive", "inconclusive")
    assert found[4].diagnostics[0] == "descriptive: the declared sequence of claims stopped at d"
    assert found[5] == declared[5]
    assert list(fixed_sequence(found)) == found


def test_no_secondary_claim_is_tested_behind_a_primary_not_met(make_proportion):
    declared = [
        make_proportion(name="a", role="secondary", outcome="superior"),
        make_proportion(name="c", role="primary", outcome="inconclusive"),
    ]
    first, primary = fixed_sequence(declared)
    assert (first.outcome, first.status) == ("inconclusive", "descriptive")
    assert primary == declared[1]


def test_a_gate_stops_the_sequence(make_proportion):
    declared = [
        make_proportion(name="c", role="primary", outcome="superior"),
        make_proportion(name="d", role="secondary", outcome="superior"),
    ]
    found = list(fixed_sequence(declared, stopped_at="the verdict (hard_fail)"))
    assert found[0] == declared[0]
    assert "hard_fail" in found[1].diagnostics[0]
