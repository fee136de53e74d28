"""Invariances of the whole verdict, from a table of trials to `decide`, for any outcomes."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import decide, estimate, paired
from analysis.claims import meets
from analysis.summary import summarise
from analysis.verdicts import claim_met
from tests.support.studies import Studies
from tests.support.tables import PRIMARY, make_table

SUPERIOR = {"name": "completion", "role": "primary", "claim": "superior", "alpha": 0.025}
EQUIVALENT = PRIMARY | {"claim": "equivalent"}
CLAIMS = st.sampled_from([PRIMARY, SUPERIOR, EQUIVALENT])
SEEDS = st.integers(0, 2**32 - 1)
RATES = st.tuples(st.floats(0.5, 1), st.floats(0.5, 1))
MIRRORED = {"superior": "inferior", "inferior": "superior"}
TASKS = 40


@cache
def studies(claim: str, repetitions: int) -> Studies:
    (declared,) = (entry for entry in (PRIMARY, SUPERIOR, EQUIVALENT) if entry["claim"] == claim)
    return Studies(TASKS, repetitions, endpoints=[declared])


def drawn(seed, rates, repetitions):
    """Draw trials with a share of tasks that are hard for both arms."""
    rng = np.random.default_rng(seed)
    easy = np.where(rng.random(TASKS) < 0.8, 1.0, 0.3)
    return [rng.random((TASKS, repetitions)) < (easy * rate)[:, None] for rate in rates]


def told(table):
    """Return all that may not depend on names and order: the verdict, the numbers, what is said of them."""
    (found,) = estimate(table)
    shown = (found.estimate, found.interval, found.outcome, found.p_value, found.diagnostics)
    return decide(table), shown, found.baseline, found.candidate


def changed(table, **columns):
    return msgspec.structs.replace(table, frame=table.frame.with_columns(**columns))


@settings(max_examples=8, deadline=None)
@given(SEEDS, RATES, CLAIMS)
def test_new_names_of_tasks_change_nothing(seed, rates, declared):
    table = studies(declared["claim"], 2).table(*drawn(seed, rates, 2))
    names = table.frame["task_id"].unique(maintain_order=True).to_list()
    given_names = [f"x{n:03d}" for n in np.random.default_rng(seed).permutation(len(names))]
    renamed = pl.col("task_id").replace_strict(names, given_names)
    cases = pl.concat_str(renamed, pl.lit("-c1"))
    after = changed(table, task_id=renamed, template_family=renamed, case_id=cases)
    assert told(after) == told(table)


@settings(max_examples=8, deadline=None)
@given(SEEDS, RATES, CLAIMS)
def test_the_order_of_cases_and_trials_changes_nothing(seed, rates, declared):
    def trial(planned):
        rng = np.random.default_rng([seed, *f"{planned.pair} {planned.arm}".encode()])
        return {"completed": bool(rng.random() < rates[planned.arm == "candidate"])}

    table = make_table(trial, cases=3, tasks=TASKS, endpoints=[declared], gates={})
    # the cases of a task exchange their names, and with them their place
    turned = pl.col("case_id").str.replace("c1$", "c9").str.replace("c3$", "c0")
    after = changed(table, case_id=turned)
    after = msgspec.structs.replace(after, frame=after.frame.sample(fraction=1, shuffle=True, seed=seed))
    assert told(after) == told(table)


@settings(max_examples=8, deadline=None)
@given(SEEDS, RATES, CLAIMS)
def test_exchanging_the_arms_mirrors_the_verdict(seed, rates, declared):
    design = studies(declared["claim"], 2)
    baseline, candidate = drawn(seed, rates, 2)
    one, other = design.table(baseline, candidate), design.table(candidate, baseline)
    (left,), (right,) = estimate(one), estimate(other)
    assert left.estimate == -right.estimate
    assert (left.interval.low, left.interval.high) == (-right.interval.high, -right.interval.low)
    if declared["claim"] != "non-inferior":  # a claim with a direction; the other two have a mirror
        assert decide(other).outcome == MIRRORED.get(decide(one).outcome, decide(one).outcome)
    elif decide(one).outcome == "inferior":
        assert decide(other).outcome == "superior"


@settings(max_examples=12, deadline=None)
@given(SEEDS, RATES, CLAIMS, st.integers(1, 6))
def test_void_pairs_never_help(seed, rates, declared, n_void):
    """A claim that is borne out with pairs void is borne out with the same pairs as they were."""
    table = studies(declared["claim"], 2).table(*drawn(seed, rates, 2))
    lenient = msgspec.structs.replace(table.protocol.missing, max_void_pairs="20 %")
    protocol = msgspec.structs.replace(table.protocol, missing=lenient)
    table = msgspec.structs.replace(table, protocol=protocol)
    # the pairs whose loss would serve the candidate best: those in which it failed
    lost = table.frame.filter(~pl.col("completed") & (pl.col("arm") == "candidate"))["pair"]
    after = changed(table, void_pair=pl.col("pair").is_in(lost[:n_void].to_list()))
    if claim_met(decide(after), declared["claim"]):
        assert claim_met(decide(table), declared["claim"])


@settings(max_examples=10, deadline=None)
@given(SEEDS, RATES, CLAIMS, st.integers(2, 4))
def test_copies_of_repetitions_never_narrow_an_interval(seed, rates, declared, copies):
    """Repetitions that only repeat tell nothing new: neither limit moves inwards, nor does the verdict."""
    arms = drawn(seed, rates, 1)
    once = studies(declared["claim"], 1).table(*arms)
    often = studies(declared["claim"], copies).table(*(np.repeat(arm, copies, axis=1) for arm in arms))
    (one,), (other,) = estimate(once), estimate(often)
    assert other.interval.low <= one.interval.low + 1e-9
    assert other.interval.high >= one.interval.high - 1e-9
    assert decide(often).outcome == decide(once).outcome


@settings(max_examples=15, deadline=None)
@given(SEEDS, RATES, CLAIMS)
def test_interval_p_value_and_outcome_never_contradict(seed, rates, declared):
    table = studies(declared["claim"], 2).table(*drawn(seed, rates, 2))
    (found,) = estimate(table)
    low, high = found.interval.low, found.interval.high
    margin = found.margin or 0.0
    shown = {
        "non-inferior": low >= -margin,
        "superior": low > 0,
        "equivalent": low > -margin and high < margin,
    }[declared["claim"]]
    assert meets(declared["claim"], found.outcome) == shown
    assert claim_met(decide(table), declared["claim"]) == shown
    assert found.p_value is not None
    assert (found.p_value <= 0.025) == shown


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from([10, 17, 40]), st.floats(0.02, 0.5), st.booleans())
def test_p_values_and_limits_of_arrays_never_contradict(seed, n_tasks, margin, uneven):
    rng = np.random.default_rng(seed)
    rates = rng.beta(4, 1, (2, n_tasks))
    sizes = rng.integers(1, 5, (2, n_tasks)) if uneven else np.full((2, n_tasks), 3)
    arms = [
        [rng.random(n) < rate for n, rate in zip(*arm, strict=True)] for arm in zip(sizes, rates, strict=True)
    ]
    limits = paired.interval(*arms)
    for claim, shown in (
        ("non-inferior", limits.low >= -margin),
        ("superior", limits.low >= 0),
        ("equivalent", limits.low >= -margin and limits.high <= margin),
    ):
        p = paired.p_value(*arms, claim=claim, margin=margin)
        assert 0 <= p <= 1
        assert (p <= 0.025) == shown


@settings(max_examples=3, deadline=None)
@given(SEEDS, RATES, CLAIMS)
def test_no_diagnostic_moves_a_verdict(seed, rates, declared):
    """The verdict of results that hold all diagnostics is that of the same trials in another order."""
    table = studies(declared["claim"], 2).table(*drawn(seed, rates, 2))
    enough = msgspec.structs.replace(table.protocol.analysis, resamples=100)
    protocol = msgspec.structs.replace(table.protocol, analysis=enough)
    table = msgspec.structs.replace(table, protocol=protocol)
    results = summarise(table, deviations=[], notes=[])
    assert len(results.diagnostics) >= 10
    backwards = changed(table, trial=pl.col("trial").reverse(), position=1 - pl.col("position"))
    assert decide(backwards) == decide(table) == results.verdict
