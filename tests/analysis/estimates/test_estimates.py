"""Endpoints from a run's table: settings from the lock, refusals, missing pairs, secondary claims."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import paired
from analysis.estimates import REFUSED, estimate
from study.errors import ProtocolError
from tests.support.tables import PRIMARY, failing, first, make_table

LATENCY = {
    "name": "latency_gmr",
    "role": "secondary",
    "claim": "non-inferior",
    "margin": "10 %",
    "alpha": 0.025,
}
TIMEOUTS = {
    "name": "timeouts",
    "role": "secondary",
    "claim": "non-inferior",
    "margin": "10 pp",
    "alpha": 0.05,
}


def one(**options):
    (found,) = estimate(make_table(**options))
    return found


def test_a_share_is_the_paired_interval_of_task_means():
    found = one(trial=failing("candidate", first(3)), tasks=40, repetitions=2, cases=2)
    baseline, candidate = np.ones((40, 4)), np.ones((40, 4))
    candidate[:3] = 0
    assert found.estimate == -3 / 40
    assert found.interval == paired.interval(baseline, candidate)
    assert [i.method for i in found.sensitivity] == ["percentile", "t"]
    assert found.sensitivity[0] == paired.interval(
        baseline, candidate, method="percentile", resamples=1000, rng=1
    )
    assert (found.n_tasks, found.n_families, found.n_pairs) == (40, 40, 160)
    assert (found.baseline.estimate, found.candidate.estimate) == (1.0, 37 / 40)
    assert found.candidate.n_trials == 160
    assert (found.margin, found.margin_text, found.alpha) == (pytest.approx(0.1), "10 pp", 0.025)
    assert found.outcome == "inconclusive"
    assert "tied tasks: 37 of 40 (92.5 %)" in found.diagnostics


def test_outcomes_follow_the_interval():
    assert one(tasks=40).outcome == "non_inferior"
    assert one(trial=failing("baseline", first(12)), tasks=40).outcome == "superior"
    assert one(trial=failing("candidate", first(20)), tasks=40).outcome == "inferior"
    assert one(trial=failing("candidate", first(3)), tasks=40).outcome == "inconclusive"


@pytest.mark.parametrize("alpha", [0.005, 0.025, 0.1])
def test_the_level_comes_from_the_declared_alpha(alpha):
    found = one(tasks=60, endpoints=[PRIMARY | {"alpha": alpha}])
    assert found.interval.level == 1 - 2 * alpha
    assert found.baseline.interval.level == 1 - 2 * alpha


def test_resamples_and_seed_come_from_the_lock():
    script = failing("candidate", first(7))
    one_seed = one(trial=script, tasks=40, analysis={"resamples": 1000, "seed": 1}).sensitivity[0]
    seeds = {
        one(trial=script, tasks=40, analysis={"resamples": 1000, "seed": s}).sensitivity[0] for s in range(9)
    }
    assert one_seed in seeds
    assert len(seeds) > 1


def test_a_level_beyond_the_declared_resamples_has_no_bootstrap_row():
    found = one(trial=failing("candidate", first(3)), tasks=120, endpoints=[PRIMARY | {"alpha": 0.0005}])
    assert [i.method for i in found.sensitivity] == ["t"]


@pytest.mark.parametrize(
    ("name", "field"),
    [("completion", "completed"), ("pass", "passed"), ("result_completion", "result_completed")],
)
def test_each_share_reads_its_own_grade(name, field):
    table = make_table(
        lambda planned: {field: planned.arm == "baseline" or planned.task_id > "t004"},
        tasks=40,
        endpoints=[PRIMARY | {"name": name}],
    )
    assert estimate(table)[0].estimate == -5 / 40


@pytest.mark.parametrize("outcome", ["timeout", "driver_error", "transport_error", "unparseable", "empty"])
def test_an_outcome_declared_a_failure_scores_zero_even_if_graded_complete(outcome):
    def script(planned):
        if planned.arm == "candidate" and planned.task_id < "t004":
            return {"outcome": outcome}
        return None

    assert one(trial=script, tasks=40).estimate == -4 / 40


# --- refusals ---------------------------------------------------------------------------------------


def test_fewer_than_five_tasks_give_a_point_only():
    found = one(tasks=4, repetitions=5)
    assert (found.status, found.outcome, found.estimate) == ("refused", "inconclusive", 0.0)
    assert found.interval.low is None
    assert found.diagnostics[0].startswith(REFUSED + "4 tasks")


def test_fewer_than_ten_tasks_decide_nothing():
    found = one(trial=failing("baseline", first(9)), tasks=9, endpoints=[PRIMARY | {"margin": "50 pp"}])
    assert found.interval.low > 0
    assert (found.status, found.outcome) == ("few_tasks", "inconclusive")
    assert found.diagnostics[0].startswith(REFUSED + "9 tasks")


@pytest.mark.parametrize(
    ("margin", "fewest"), [("5 pp", 72), ("8 pp", 45), ("10 pp", 36), ("15 pp", 23), ("20 pp", 17)]
)
@pytest.mark.parametrize("claim", ["non-inferior", "equivalent"])
def test_a_margin_needs_its_number_of_tasks(margin, fewest, claim):
    declared = [PRIMARY | {"margin": margin, "claim": claim}]
    refused = one(tasks=fewest - 1, endpoints=declared)
    assert refused.outcome == "inconclusive"
    assert (
        refused.diagnostics[0] == f"{REFUSED}{fewest - 1} tasks; the margin {margin} needs at least {fewest}"
    )
    met = {"non-inferior": "non_inferior", "equivalent": "equivalent"}
    assert one(tasks=fewest, endpoints=declared).outcome == met[claim]


def test_superiority_needs_no_minimum_for_a_margin():
    declared = [{"name": "completion", "role": "primary", "claim": "superior", "alpha": 0.025}]
    assert one(trial=failing("baseline", first(9)), tasks=12, endpoints=declared).outcome == "superior"


@pytest.mark.parametrize("name", ["latency_p42", "tokens_cached", "completions"])
def test_endpoints_that_are_not_offered_are_refused_by_name(name):
    table = make_table(tasks=12)
    spec = table.protocol.endpoints[0]
    changed = type(spec)(name=name, role="primary")
    protocol = type(table.protocol)(
        **{f: getattr(table.protocol, f) for f in table.protocol.__struct_fields__}
        | {"endpoints": (changed,)}
    )
    table = type(table)(frame=table.frame, protocol=protocol, lock=table.lock, lock_digest=table.lock_digest)
    with pytest.raises(ProtocolError, match=name) as error:
        estimate(table)
    assert "completion" in error.value.allowed


def test_an_endpoint_without_a_claim_is_descriptive():
    found = one(tasks=40, endpoints=[{"name": "completion", "role": "primary"}])
    assert (found.status, found.outcome, found.claim, found.interval.level) == (
        "descriptive",
        None,
        None,
        0.95,
    )


def test_a_descriptive_endpoint_tells_why_it_has_no_interval():
    found = one(tasks=4, endpoints=[{"name": "completion", "role": "primary"}])
    assert found.status == "refused"
    assert found.diagnostics[0].startswith("4 tasks")


# --- missing pairs ----------------------------------------------------------------------------------


def void(tasks, outcome="infrastructure", arm="candidate"):
    def script(planned):
        if planned.arm == arm and planned.task_id in tasks:
            return {"outcome": outcome, "completed": False}
        return None

    return script


@pytest.mark.parametrize("outcome", ["infrastructure", "cancelled"])
def test_a_void_pair_leaves_both_arms(outcome):
    found = one(trial=void(first(2), outcome), tasks=40)
    assert (found.n_tasks, found.n_pairs, found.baseline.n_trials, found.candidate.n_trials) == (
        38,
        38,
        38,
        38,
    )
    assert found.estimate == 0
    told = next(note for note in found.diagnostics if note.startswith("void pairs"))
    assert "2 of 40 (5.0 %)" in told
    assert "all lost by the candidate: -5.0 pp" in told
    assert "all won: +5.0 pp" in told
    assert "tasks without any pair left: 2" in found.diagnostics


def test_void_pairs_of_a_task_leave_its_other_trials():
    def script(planned):
        return (
            {"outcome": "infrastructure"} if planned.task_id == "t000" and planned.repetition == 1 else None
        )

    found = one(trial=script, tasks=40, repetitions=2)
    assert (found.n_tasks, found.n_pairs) == (40, 79)


def test_worst_and_best_case_turn_with_the_direction():
    found = estimate(make_table(void(first(2)), tasks=40, endpoints=[PRIMARY, TIMEOUTS]))[1]
    told = next(note for note in found.diagnostics if note.startswith("void pairs"))
    assert "all lost by the candidate: +5.0 pp" in told


def halved(planned):
    """Return seconds of which the candidate takes about half."""
    task = int(planned.task_id[1:])
    return (1 + 0.01 * task) * (0.5 + 0.01 * (task % 7) if planned.arm == "candidate" else 1.0)


@pytest.mark.parametrize("name", ["latency_gmr", "latency_p50", "latency_restricted_mean"])
def test_a_void_pair_could_have_been_the_slowest(name):
    endpoint = {"name": name, "role": "secondary", "claim": "superior", "alpha": 0.025}
    options = {
        "tasks": 40,
        "endpoints": [PRIMARY, endpoint],
        "latency": halved,
        "missing": {"max_void_pairs": "10 %"},
    }
    assert estimate(make_table(**options))[1].outcome == "superior"
    found = estimate(make_table(void(first(1)), **options))[1]
    assert found.outcome == "inconclusive"
    assert any("what they would have taken is not known" in note for note in found.diagnostics)


def test_a_quantile_with_too_few_resamples_for_its_level_is_refused_and_the_rest_stands():
    endpoint = {"name": "latency_p50", "role": "secondary", "claim": "superior", "alpha": 0.0001}
    latency = lambda planned: 1 + 0.01 * int(planned.task_id[1:]) + 0.1 * (planned.arm == "candidate")  # noqa: E731
    primary, found = estimate(make_table(tasks=40, endpoints=[PRIMARY, endpoint], latency=latency))
    assert primary.outcome == "non_inferior"
    assert (found.status, found.interval, found.outcome) == ("refused", None, "inconclusive")
    assert "1000 resamples are too few" in found.diagnostics[0]


def test_more_than_a_tenth_void_decides_nothing():
    options = {
        "tasks": 60,
        "missing": {"max_void_pairs": "50 %"},
        "endpoints": [PRIMARY | {"margin": "30 pp"}],
    }
    assert one(trial=void(first(6)), **options).outcome == "non_inferior"
    found = one(trial=void(first(7)), **options)
    assert found.outcome == "inconclusive"
    assert "7 of 60" in found.diagnostics[0]


def test_every_pair_void_is_not_recorded():
    found = one(trial=void(first(40)), tasks=40)
    assert (found.status, found.estimate, found.interval, found.n_tasks) == ("not_recorded", None, None, 0)
    assert found.outcome == "inconclusive"


# --- other endpoints --------------------------------------------------------------------------------


def test_time_outs_are_better_when_fewer():
    def script(planned):
        if planned.arm == "candidate" and planned.task_id < "t010":
            return {"outcome": "timeout", "completed": False}
        return None

    endpoints = [TIMEOUTS | {"role": "primary"}]
    found = one(trial=script, tasks=60, endpoints=endpoints)
    assert (found.estimate, found.higher_is_better) == (10 / 60, False)
    assert found.outcome == "inconclusive"
    found = one(trial=script, tasks=60, endpoints=[endpoints[0] | {"margin": "8 pp"}])
    assert found.outcome == "inferior"


def test_latency_is_the_paired_log_ratio_in_declared_direction():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.05, 400)

    def seconds(planned):
        return math.exp(noise[planned.trial] + (0.02 if planned.arm == "candidate" else 0.0))

    found = estimate(make_table(tasks=40, endpoints=[PRIMARY, LATENCY], latency=seconds))[1]
    assert (found.unit, found.margin, found.outcome) == (
        "log_ratio",
        pytest.approx(math.log(1.1)),
        "non_inferior",
    )
    frame = make_table(tasks=40, latency=seconds).frame.sort("task_id")
    logs = [
        np.log(frame.filter(pl.col("arm") == arm)["latency_s"].to_numpy())
        for arm in ("baseline", "candidate")
    ]
    expected = stats.ttest_rel(logs[1], logs[0]).confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )
    assert found.baseline.estimate == pytest.approx(float(np.exp(logs[0].mean())))
    slow = estimate(
        make_table(
            tasks=40,
            endpoints=[PRIMARY, LATENCY],
            latency=lambda p: seconds(p) * (1.5 if p.arm == "candidate" else 1),
        )
    )[1]
    assert slow.outcome == "inferior"


def latency_endpoint(**options):
    return estimate(make_table(tasks=20, endpoints=[PRIMARY | {"margin": "20 pp"}, LATENCY], **options))[1]


def varied(planned):
    return 1.0 + (planned.trial % 7) / 10


def test_latency_without_a_record_is_not_recorded():
    found = latency_endpoint(latency=lambda p: None if p.trial == 3 else varied(p))
    assert (found.status, found.estimate, found.outcome) == ("not_recorded", None, "inconclusive")
    assert found.diagnostics[0] == f"{REFUSED}trials without a recorded latency: 1"


def test_latency_without_any_pair_left():
    found = latency_endpoint(trial=lambda p: {"outcome": "infrastructure"})
    assert found.status == "not_recorded"
    assert f"{REFUSED}no pair counts for latency" in found.diagnostics


def test_a_latency_of_zero_is_refused():
    found = latency_endpoint(latency=lambda p: 0.0 if p.trial == 3 else varied(p))
    assert (found.status, found.estimate) == ("refused", None)


def test_equal_ratios_have_no_interval():
    found = latency_endpoint()
    assert (found.status, found.interval.low, found.estimate) == ("refused", None, 0.0)
    assert "no spread" in found.diagnostics[0]


def test_time_outs_stand_at_the_limit():
    def script(planned):
        return {"outcome": "timeout", "completed": False} if planned.trial == 3 else None

    found = latency_endpoint(trial=script, latency=varied)
    same = latency_endpoint(trial=script, latency=lambda p: 99.0 if p.trial == 3 else varied(p))
    assert found.estimate == same.estimate
    told = "time-outs, entered at the limit of 5.00 s: 1 trial"
    assert any(note.startswith(told) for note in found.diagnostics)


def test_split_pairs_leave_latency_alone():
    table = make_table(
        tasks=20,
        endpoints=[PRIMARY | {"margin": "20 pp"}, LATENCY],
        latency=varied,
        split_pairs=["t000-c1#1"],
    )
    share, times = estimate(table)
    assert (share.n_pairs, times.n_pairs, times.n_tasks) == (20, 19, 19)
    assert "pairs left out because an interruption split them: 1" in times.diagnostics


# --- remarks ----------------------------------------------------------------------------------------


def test_ties_and_repetitions_are_told():
    found = one(tasks=40, repetitions=3)
    assert "all tasks are tied: the width comes from the two half pseudo tasks alone" in found.diagnostics
    assert any(note.startswith("all repetitions of every case agree") for note in found.diagnostics)
    mixed = one(trial=lambda p: {"completed": p.repetition > 1}, tasks=40, repetitions=3)
    assert not any(note.startswith("all repetitions") for note in mixed.diagnostics)
    assert not any(note.startswith("all repetitions") for note in one(tasks=40).diagnostics)


def test_families_are_counted():
    found = one(trial=lambda p: {"template_family": f"f{int(p.task_id[1:]) % 8}"}, tasks=40)
    assert found.n_families == 8
    assert any("8 template families" in note for note in found.diagnostics)


def test_secondary_claims_follow_in_declared_order():
    endpoints = [PRIMARY, LATENCY, TIMEOUTS]
    first_open = estimate(make_table(tasks=40, endpoints=endpoints))
    assert [e.outcome for e in first_open] == ["non_inferior", "inconclusive", "inconclusive"]
    assert first_open[2].status == "descriptive"
    assert "stopped at latency_gmr" in first_open[2].diagnostics[0]
    reordered = estimate(make_table(tasks=40, endpoints=[PRIMARY, TIMEOUTS, LATENCY]))
    assert [e.outcome for e in reordered] == ["non_inferior", "non_inferior", "inconclusive"]


@pytest.mark.parametrize("claim", ["non-inferior", "equivalent"])
@pytest.mark.parametrize("name", ["completion", "latency_gmr", "latency_p50"])
def test_a_margin_on_the_limit_itself_never_parts_the_p_value_from_the_decision(name, claim):
    def script(planned):
        lost = planned.arm == "candidate" and planned.task_id in first(4) and planned.repetition == 1
        return {"completed": not lost}

    def found_at(margin):
        plain = {"name": name, "role": "secondary", "claim": claim, "margin": margin, "alpha": 0.025}
        endpoints = [PRIMARY | {"margin": "40 pp"}, plain]
        if name == "completion":
            endpoints = [plain | {"role": "primary"}]
        table = make_table(script, tasks=60, repetitions=3, latency=varied, endpoints=endpoints)
        return estimate(table)[-1]

    # the limit that meets the margin first, in the direction of benefit
    limits = found_at("90 pp" if name == "completion" else "500 %").interval
    edge = -limits.low if name == "completion" else limits.high
    if claim == "equivalent":
        edge = max(abs(limits.low), abs(limits.high))
    for ulps in range(-4, 5):
        near = edge * (1 + ulps * 2.3e-16)
        at = f"{100 * near!r} pp" if name == "completion" else f"{100 * math.expm1(near)!r} %"
        found = found_at(at)
        met = found.outcome in ("non_inferior", "superior", "equivalent")
        assert (found.p_value <= 0.025) == met
        assert found.p_value == pytest.approx(0.025, rel=1e-9)
