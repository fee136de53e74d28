"""Rungs from ladder rows: rates over cases, intervals over tasks."""

from __future__ import annotations

import pytest
from scipy import stats

from analysis.ladder import task_rate
from tests.support.benchmarks import BAD, MISS, PASS, RESULT, WAIVED, driver, entries, entry


def test_tasks_weigh_equally_whatever_their_number_of_cases():
    found = task_rate([("a", True), ("b", False), ("b", False), ("b", True), ("c", True)])
    assert found.n_tasks == 3
    assert found.estimate == pytest.approx((1 + 1 / 3 + 1) / 3, rel=1e-12)
    assert found.interval.status == "refused"
    assert found.interval.low is None


@pytest.mark.parametrize("tasks, status", [(4, "refused"), (5, "few_tasks"), (9, "few_tasks"), (10, "ok")])
def test_a_flawless_driver_has_the_closed_form_limit_and_few_tasks_say_so(tasks, status):
    interval = task_rate([(f"t{n}", True) for n in range(tasks) for _ in range(3)]).interval
    assert (interval.status, interval.method) == (status, "tilted")
    if status != "refused":
        alpha = stats.norm.cdf(-stats.t.ppf(0.975, tasks - 1))
        assert interval.low == pytest.approx((2 * alpha) ** (1 / tasks), rel=1e-9)
        assert interval.high == 1


def test_the_gate_reads_cases_and_the_interval_reads_tasks():
    # three cases of one task fail, one case of each other task passes: 11 of 14 cases, 11 of 12 tasks
    cases = [entry("bad-1"), entry("bad-2"), entry("bad-3"), *entries("TOOL-0", 11)]
    found = driver(cases, {f"bad-{n}": MISS for n in (1, 2, 3)}).rungs[0]
    assert (found.score.completed, found.score.total) == (11, 14)
    assert found.completion.estimate == pytest.approx(11 / 12, rel=1e-12)
    assert found.completion.interval.low < 11 / 12 < found.completion.interval.high


def test_the_same_task_id_in_two_suites_is_two_tasks():
    cases = [entry("t-1"), entry("t-2", suite="other")]
    assert driver(cases).overall.completion.n_tasks == 2


def test_a_driver_is_told_by_rung_with_receipts_and_trivial_drivers():
    cases = [*entries("TOOL-0", 4), *entries("TOOL-1", 2), *entries("TOOL-2", 1)]
    failing = {"tool-1.0-0": MISS, "tool-1.1-0": BAD, "tool-0.1-0": RESULT}
    found = driver(cases, failing, trivial={"refuse-all": MISS, "first-declared": PASS})
    assert [r.score.rung for r in found.rungs] == ["TOOL-0", "TOOL-1", "TOOL-2"]
    assert [r.receipt for r in found.rungs] == [None, None, "gated by TOOL-1 hallucination 50%"]
    assert [r.trivial for r in (*found.rungs, found.overall)] == [
        {"refuse-all": 0, "first-declared": n} for n in (4, 2, 1, 7)
    ]
    assert found.standing == "reached TOOL-0, gated at TOOL-1"
    assert [(r.case_id, r.failure) for r in found.failing] == [
        ("tool-1.0-0", "honest_miss"),
        ("tool-1.1-0", "hallucination"),
    ]
    assert [r.case_id for r in found.result_only] == ["tool-0.1-0"]
    assert found.result_only[0].reasons == ("another result",)
    assert found.problems == {"undeclared": 1}
    assert found.calls == 7
    labels = {case: outcome.label for case, outcome in found.outcomes.items()}
    assert labels["tool-0.1-0"] == "pass, result wrong"
    assert labels["tool-1.0-0"] == "honest miss"


def test_an_override_that_was_applied_is_remembered():
    cases = entries("TOOL-6", 1)
    assert driver(cases, {cases[0].id: WAIVED}).outcomes[cases[0].id].floor_expect_applied


def test_without_the_lowest_rung_nothing_is_reached():
    assert driver(entries("TOOL-1", 3)).standing == "no rung reached, TOOL-0 has no cases here"
