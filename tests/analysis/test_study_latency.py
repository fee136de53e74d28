"""Latency endpoints and records of a study, from its table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.contrasts import quantile_ratio_interval
from analysis.estimates import REFUSED, estimate
from analysis.quantiles import draw_quantiles
from analysis.study_latency import PROBABILITIES, study_latency
from analysis.summary import summarise
from tests.support.tables import PRIMARY, make_table

FEW = {"resamples": 1000, "seed": 1}


def endpoint(name, margin="30 %", **fields):
    return {
        "name": name,
        "role": "secondary",
        "claim": "non-inferior",
        "margin": margin,
        "alpha": 0.025,
    } | fields


def varied(tasks=30, shift=0.0):
    rng = np.random.default_rng(7)
    task, noise = rng.normal(0, 0.5, tasks), rng.normal(0, 0.3, 20_000)

    def seconds(planned):
        late = shift if planned.arm == "candidate" else 0.0
        return 0.3 * math.exp(task[int(planned.task_id[1:])] + noise[planned.trial] + late)

    return seconds


def one(name, *, tasks=30, repetitions=5, trial=lambda planned: None, latency=None, **fields):
    table = make_table(
        trial,
        tasks=tasks,
        repetitions=repetitions,
        latency=latency or varied(tasks),
        endpoints=[PRIMARY | {"margin": "20 pp"}, endpoint(name, **fields)],
    )
    return table, estimate(table)[1]


def arrays(table, cap=math.inf):
    frame = table.frame.sort("task_id", "case_id", "repetition")
    tasks = frame["task_id"].n_unique()
    return [
        np.minimum(frame.filter(arm=arm)["latency_s"].to_numpy().reshape(tasks, -1), cap)
        for arm in ("baseline", "candidate")
    ]


@pytest.mark.parametrize(("name", "q"), [("latency_p50", 0.5), ("latency_p90", 0.9), ("latency_p95", 0.95)])
def test_a_quantile_endpoint_is_the_ratio_of_the_arms(name, q):
    table, found = one(name)
    assert (found.unit, found.status, found.margin) == ("log_ratio", "ok", pytest.approx(math.log(1.3)))
    assert found.estimate == pytest.approx(math.log(found.candidate.estimate / found.baseline.estimate))
    alone = quantile_ratio_interval(*arrays(table), q, resamples=4000, rng=3)
    width = alone.high - alone.low
    assert found.interval.low == pytest.approx(alone.low, abs=0.12 * width)
    assert found.interval.high == pytest.approx(alone.high, abs=0.12 * width)
    assert found.interval.method == "Harrell-Davis, expanded percentile"
    assert (found.p_value <= 0.025) == (found.interval.high <= found.margin)


def test_a_quantile_endpoint_and_the_report_share_their_resamples():
    table, found = one("latency_p90")
    told = study_latency(table)
    contrast = told.contrasts[1]
    assert contrast.log_ratio_interval == found.interval
    assert told.arms["candidate"].quantiles[1].interval == found.candidate.interval
    assert told.shift[8].difference_s == contrast.difference_s
    assert [row.probability for row in told.shift] == [q for q in PROBABILITIES if q * 10 % 1 < 1e-9]


def test_outcomes_follow_the_declared_direction():
    assert one("latency_p50", latency=varied(shift=-0.8))[1].outcome == "superior"
    assert one("latency_p50", latency=varied(shift=1.2))[1].outcome == "inferior"


@pytest.mark.parametrize(
    ("tasks", "repetitions", "name", "words"),
    [
        (19, 9, "latency_p50", "needs at least 20"),
        (30, 3, "latency_p95", "4.5 trials beyond it; a claim about a quantile needs at least 5"),
        (30, 5, "latency_p99", "1.5 trials beyond it; a quantile needs at least 2.5"),
    ],
)
def test_a_quantile_of_too_few_decides_nothing(tasks, repetitions, name, words):
    _, found = one(name, tasks=tasks, repetitions=repetitions, latency=varied(tasks, -2.0))
    assert found.outcome == "inconclusive"
    assert any(note.startswith(REFUSED) and words in note for note in found.diagnostics)
    assert found.p_value is None


def test_a_quantile_at_the_limit_is_told_and_not_decided():
    def script(planned):
        late = planned.arm == "candidate" and planned.repetition <= 2
        return {"outcome": "timeout", "completed": False} if late else None

    table, found = one("latency_p90", trial=script)
    assert (found.status, found.outcome, found.estimate, found.interval) == (
        "not_identified",
        "inconclusive",
        None,
        None,
    )
    told = "ended at the time limit, and the quantile of these trials is the limit: it is >= 5.00 s"
    assert any("not identified: " in note and told in note for note in found.diagnostics)
    quantile = study_latency(table).arms["candidate"].quantiles[1]
    assert (quantile.value_s, quantile.at_cap, quantile.interval) == (5.0, True, None)


def test_the_restricted_mean_endpoint_is_the_paired_t_interval():
    table, found = one("latency_restricted_mean", margin="0.2 s")
    means = [arm.mean(axis=1) for arm in arrays(table, 5.0)]
    expected = stats.ttest_rel(means[1], means[0]).confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert (found.unit, found.margin) == ("s", 0.2)
    assert found.candidate.estimate == pytest.approx(float(means[1].mean()))
    assert found.p_value == pytest.approx(
        float(stats.ttest_rel(means[1] - 0.2, means[0], alternative="less").pvalue)
    )
    told = study_latency(table).arms["candidate"]
    assert (told.restricted_mean_s, told.cap_s) == (pytest.approx(found.candidate.estimate), 5.0)


def test_time_outs_stand_at_the_limit_in_the_restricted_mean():
    def script(planned):
        return {"outcome": "timeout", "completed": False} if planned.trial == 3 else None

    def endless(planned):
        return 1e6 if planned.trial == 3 else varied()(planned)

    (_, one_way), (_, other) = (
        one("latency_restricted_mean", margin="0.2 s", trial=script, latency=times)
        for times in (varied(), endless)
    )
    assert one_way.estimate == other.estimate


def test_failed_trials_count_and_void_pairs_do_not():
    def script(planned):
        if planned.arm == "candidate" and planned.task_id == "t001":
            return {"outcome": "driver_error", "completed": False}
        if planned.arm == "candidate" and planned.task_id == "t002":
            return {"outcome": "cancelled", "completed": False}
        return None

    table = make_table(script, tasks=20, latency=varied(20))
    told = study_latency(table).arms
    assert (told["baseline"].n_trials, told["candidate"].n_tasks) == (19, 19)


@pytest.mark.parametrize("name", ["latency_p50", "latency_restricted_mean"])
def test_latency_that_is_not_recorded(name):
    margin = "0.2 s" if name.endswith("mean") else "30 %"
    _, found = one(name, margin=margin, latency=lambda p: None if p.trial == 3 else 1.0)
    assert (found.status, found.estimate) == ("not_recorded", None)
    assert f"{REFUSED}trials without a recorded latency: 1" in found.diagnostics


def test_equal_latencies_and_zero_have_no_ratio():
    _, equal = one("latency_p50", latency=lambda p: 1.0)
    assert (equal.interval.low, equal.outcome) == (None, "inconclusive")
    _, zero = one("latency_p50", latency=lambda p: 0.0)
    assert (zero.estimate, zero.outcome) == (None, "inconclusive")
    assert any("0 s has no ratio" in note for note in zero.diagnostics)


def test_all_quantiles_of_a_study_come_from_one_set_of_resamples(monkeypatch):
    names = ("latency_p50", "latency_p90", "latency_p95")
    table = make_table(
        tasks=30,
        repetitions=5,
        latency=varied(),
        endpoints=[PRIMARY | {"margin": "20 pp"}, *map(endpoint, names)],
    )
    separate = [estimate(table)[1 + n] for n in range(3)]
    calls = []

    def counted(*arguments, **options):
        calls.append(arguments)
        return draw_quantiles(*arguments, **options)

    monkeypatch.setattr("analysis.study_latency.draw_quantiles", counted)
    results = summarise(table, deviations=(), notes=())
    assert len(calls) == 1
    for found, alone in zip(results.endpoints[1:], separate, strict=True):
        assert (found.estimate, found.interval) == (alone.estimate, alone.interval)
    (again,) = [found for found in results.latency_contrasts if found.probability == 0.9]
    assert again.log_ratio_interval.low == results.endpoints[2].interval.low


def test_time_outs_that_may_reach_a_quantile_are_counted_in_its_refusal():
    def script(planned):
        late = planned.task_id == "t001" and planned.arm == "candidate" and planned.repetition == 1
        return {"outcome": "timeout", "completed": False} if late else None

    _, found = one("latency_p95", trial=script)
    told = (
        "1 of 150 trials of the candidate ended at the time limit, and their share may, "
        "by its upper 95 % bound, be the 5 % beyond it"
    )
    assert any(told in note for note in found.diagnostics)
