"""Properties of verdicts that hold for any outcome of a study."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.estimates import estimate
from analysis.verdicts import decide
from study.protocol import minimum_tasks
from tests.support.tables import PRIMARY, make_table

ORDER = (
    "void",
    "hard_fail",
    "below_floor",
    "guardrail_failed",
    "inferior",
    "inconclusive",
    "non_inferior",
    "equivalent",
    "superior",
)
GUARDRAIL = {
    "name": "timeouts",
    "role": "guardrail",
    "claim": "non-inferior",
    "margin": "20 pp",
    "alpha": 0.025,
}
STUDIES = st.tuples(
    st.integers(0, 2**32 - 1), st.sampled_from([8, 20, 40]), st.floats(0.3, 1), st.floats(0.3, 1)
)


def outcomes(study):
    """Draw an outcome and a grade for each trial, by arm, task and repetition."""
    seed, _, *rates = study
    drawn = {}

    def script(planned):
        key = (planned.arm, planned.task_id, planned.repetition)
        if key not in drawn:
            rng = np.random.default_rng(
                [seed, *key[1].encode(), planned.arm == "candidate", planned.repetition]
            )
            completed = bool(rng.random() < rates[planned.arm == "candidate"])
            lost = rng.random()
            drawn[key] = {"completed": completed}
            if lost < 0.03:
                drawn[key] = {"completed": False, "outcome": "timeout"}
            elif lost < 0.035:
                drawn[key] = {"completed": False, "outcome": "infrastructure"}
        return drawn[key]

    return script


def table(study, *, change=None, **options):
    base = outcomes(study)

    def script(planned):
        return {**base(planned), **((change or (lambda _: {}))(planned) or {})}

    defaults = {"tasks": study[1], "repetitions": 2, "endpoints": [PRIMARY, GUARDRAIL]}
    return make_table(script, **(defaults | options))


def rank(verdict):
    return ORDER.index(verdict.outcome)


@settings(max_examples=12, deadline=None)
@given(STUDIES, st.integers(0, 10**6))
def test_a_hard_fail_never_improves_a_verdict(study, which):
    before = table(study)
    trial = which % len(before.frame)
    after = table(study, change=lambda p: {"hard_fails": ["unknown-tool"]} if p.trial == trial else None)
    assert rank(decide(after)) <= rank(decide(before))


@settings(max_examples=12, deadline=None)
@given(STUDIES, st.integers(0, 40), st.integers(0, 40))
def test_a_wider_margin_never_worsens_a_verdict(study, one, other):
    # a margin that the tasks cannot show is refused before the run, and gives no verdict to compare with
    least = next(m for m in range(1, 100) if minimum_tasks(m / 100) <= study[1])
    narrow, wide = least + min(one, other), least + max(one, other)
    found = [
        decide(table(study, endpoints=[PRIMARY | {"margin": f"{margin} pp"}, GUARDRAIL]))
        for margin in (narrow, wide)
    ]
    assert rank(found[0]) <= rank(found[1])


@settings(max_examples=10, deadline=None)
@given(STUDIES)
def test_exchanging_the_arms_negates_the_contrast(study):
    base = outcomes(study)

    def exchanged(planned):
        other = "candidate" if planned.arm == "baseline" else "baseline"
        return base(planned._replace(arm=other))

    options = {"tasks": study[1], "repetitions": 2}
    (one,), (other,) = (estimate(make_table(script, **options)) for script in (base, exchanged))
    assert one.estimate == -other.estimate
    assert (one.interval.low, one.interval.high) == (_minus(other.interval.high), _minus(other.interval.low))
    assert one.baseline == other.candidate


def _minus(limit):
    return None if limit is None else -limit


@settings(max_examples=10, deadline=None)
@given(STUDIES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(study, random):
    def shuffled(rows):
        random.shuffle(rows)
        return rows

    before, after = table(study), table(study, arrange=shuffled)
    assert estimate(after) == estimate(before)
    assert decide(after) == decide(before)


@settings(max_examples=10, deadline=None)
@given(STUDIES)
def test_a_better_candidate_never_gets_a_worse_verdict(study):
    before = decide(table(study, endpoints=[PRIMARY]))

    def change(planned):
        return (
            {"completed": True, "passed": True}
            if planned.arm == "candidate" and planned.task_id < "t003"
            else None
        )

    after = decide(table(study, endpoints=[PRIMARY], change=change))
    assert rank(before) <= rank(after)


@settings(max_examples=10, deadline=None)
@given(STUDIES)
def test_estimates_lie_within_their_intervals(study):
    for found in estimate(table(study)):
        assert -1 <= found.estimate <= 1
        if found.interval.low is not None:
            assert -1 <= found.interval.low <= found.estimate <= found.interval.high <= 1
            assert found.interval.low < found.interval.high
