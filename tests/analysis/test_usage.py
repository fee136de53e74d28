"""Tokens and calls as endpoints: a difference only where both totals are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.estimates import REFUSED, estimate
from tests.support.tables import PRIMARY, make_table

TOKENS = {"role": "secondary", "claim": "non-inferior", "margin": "10 %", "alpha": 0.025}


def ledger(calls, known_input, known_output, missing=0):
    return {
        "calls": calls,
        "input": {"known_subtotal": known_input, "missing_calls": 0},
        "output": {"known_subtotal": known_output, "missing_calls": missing},
    }


def spends(factor=1.0, missing=()):
    """Return a usage script: about 100 tokens in, 40 out, the candidate ``factor`` times as many."""

    def script(planned):
        scale = factor if planned.arm == "candidate" else 1.0
        noise = 1 + ((planned.trial * 7919) % 13) / 100
        lost = 1 if planned.trial in missing else 0
        return ledger(2, round(1000 * scale * noise), round(400 * scale * noise), lost)

    return script


def one(name="tokens_total", trial=lambda planned: None, **options):
    declared = TOKENS | {"name": name} | options.pop("declared", {})
    options.setdefault("usage", spends())
    return estimate(make_table(trial, tasks=40, endpoints=[PRIMARY, declared], **options))[1]


def task_means(table_usage, cases=1, repetitions=1):
    table = make_table(tasks=40, usage=table_usage, cases=cases, repetitions=repetitions)
    rows = table.frame.to_dicts()
    found = {}
    for arm in ("baseline", "candidate"):
        by_task = {}
        for row in rows:
            if row["arm"] == arm:
                total = row["input_known_subtotal"] + row["output_known_subtotal"]
                by_task.setdefault(row["task_id"], []).append(total)
        found[arm] = np.array([np.mean(by_task[task]) for task in sorted(by_task)])
    return found


def test_tokens_are_the_paired_log_ratio_of_task_means():
    found = one(usage=spends(0.8), repetitions=2)
    means = task_means(spends(0.8), repetitions=2)
    logs = np.log(means["candidate"]) - np.log(means["baseline"])
    assert found.estimate == pytest.approx(logs.mean(), abs=1e-12)
    expected = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert found.p_value == pytest.approx(
        stats.ttest_1samp(logs, math.log(1.1), alternative="less").pvalue, rel=1e-6
    )
    assert found.candidate.estimate == pytest.approx(float(stats.gmean(means["candidate"])))
    assert (found.outcome, found.candidate.n_trials) == ("superior", 80)
    assert one(usage=spends(1.5)).outcome == "inferior"


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_a_count_that_is_missing_in_either_arm_leaves_no_difference(arm):
    table = make_table(tasks=40)
    (trial, *_) = table.frame.filter(table.frame["arm"] == arm)["trial"].to_list()
    for name in ("tokens_total", "tokens_output"):
        found = one(name, usage=spends(missing=[trial]))
        assert (found.status, found.estimate, found.outcome) == ("not_recorded", None, "inconclusive")
        told = {"baseline": 0, "candidate": 0} | {arm: 1}
        assert found.diagnostics[0] == (
            f"{REFUSED}both totals must be known; trials without a count: "
            f"baseline {told['baseline']}, candidate {told['candidate']}"
        )
    assert one("tokens_input", usage=spends(missing=[trial])).status == "ok"


def test_an_arm_that_recorded_nothing_is_unknown_not_free():
    found = one(usage=lambda planned: spends()(planned) if planned.arm == "baseline" else None)
    assert "baseline 0, candidate 40" in found.diagnostics[0]


def test_an_answer_without_a_model_call_is_free_where_others_were_recorded():
    def script(planned):
        return None if planned.task_id == "t000" and planned.repetition == 1 else spends()(planned)

    found = one(usage=script, repetitions=2)
    assert (found.status, found.n_pairs) == ("ok", 80)
    whole = one(usage=lambda p: None if p.task_id == "t000" else spends()(p))
    assert (whole.status, whole.estimate) == ("refused", None)
    assert "without any token" in whole.diagnostics[0]


def test_a_trial_that_broke_off_without_a_record_is_unknown():
    def broke(planned):
        lost = planned.task_id == "t003" and planned.arm == "candidate"
        return {"outcome": "driver_error", "completed": False} if lost else None

    def usage(planned):
        return None if broke(planned) else spends()(planned)

    assert any("candidate 1" in note for note in one(trial=broke, usage=usage).diagnostics)
    void = {"infrastructure": "void-pair", "max_void_pairs": "5 %"}

    def voided(planned):
        lost = broke(planned)
        return lost and lost | {"outcome": "infrastructure"}

    assert one(trial=voided, usage=usage, missing=void).n_pairs == 39


CALLS = {"claim": "non-inferior", "margin": "0.5 calls"}


def counted(planned):
    more = planned.arm == "candidate" and int(planned.task_id[1:]) % 4 == 0
    return {"n_calls": 2 if more else 1}


def test_calls_are_a_difference_of_task_means():
    found = one("calls", trial=counted, declared=CALLS)
    values = np.array([1.0 if n % 4 == 0 else 0.0 for n in range(40)])
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.estimate, found.unit, found.baseline.estimate) == (0.25, "calls", 1.0)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert found.outcome == "non_inferior"
    assert found.p_value == pytest.approx(stats.ttest_1samp(values, 0.5, alternative="less").pvalue, rel=1e-6)


def test_calls_of_a_trial_that_broke_off_are_not_known():
    def script(planned):
        cut = planned.trial == 5
        return counted(planned) | ({"outcome": "timeout", "completed": False} if cut else {})

    found = one("calls", trial=script, declared=CALLS)
    assert (found.status, found.estimate) == ("not_recorded", None)


def test_calls_without_any_spread_have_no_interval():
    found = one("calls", declared=CALLS)
    assert (found.status, found.estimate, found.interval.low, found.p_value) == ("refused", 0.0, None, None)
    assert "no spread" in found.diagnostics[0]
