"""What each arm did by itself: repetitions, hard fails under a declared correlation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis import reliability
from analysis.arms import hard_fails, rates, repeatability
from analysis.estimates import estimate
from analysis.hardfails import effective_trials, summarise_hard_fails
from study.errors import InputError
from tests.support.tables import make_table


def flaky(planned):
    n = int(planned.task_id[1:])
    return {"completed": planned.repetition <= n % 4 or planned.arm == "baseline"}


def outcomes(table, arm):
    part = table.frame.filter(table.frame["arm"] == arm).sort("task_id", "case_id", "repetition")
    return [np.array(x, float) for x in part.group_by("task_id", maintain_order=True).agg("passed")["passed"]]


def test_repeatability_is_that_of_the_arrays():
    table = make_table(flaky, tasks=20, repetitions=3)
    found = repeatability(table)
    values = outcomes(table, "candidate")
    expected = reliability.variance_components(values)
    record = found["candidate"]
    for name in ("within", "between", "icc", "design_effect", "method", "n_tasks", "n_trials"):
        assert getattr(record, name) == getattr(expected, name)
    assert (record.status, record.outcome, record.repetitions) == ("ok", "pass", 3)
    assert [entry.k for entry in record.pass_hat_k] == [1, 2, 3]
    for entry in record.pass_hat_k:
        assert entry.estimate == pytest.approx(reliability.pass_hat_k(values, entry.k), abs=1e-12)
        level = reliability.interval(values, entry.k)
        assert (entry.interval.low, entry.interval.high) == (level.low, level.high)
    assert found["baseline"].icc is None
    assert found["baseline"].status == "not_identified"


@pytest.mark.parametrize("cases", [1, 2])
def test_a_single_repetition_tells_nothing_of_chance(cases):
    record = repeatability(make_table(flaky, tasks=20, cases=cases))["candidate"]
    assert (record.within, record.between, record.icc, record.design_effect) == (None,) * 4
    assert (record.status, record.repetitions) == ("not_identified", 1)
    assert [entry.k for entry in record.pass_hat_k] == [1]


def test_many_repetitions_are_told_up_to_ten_and_for_all():
    record = repeatability(make_table(flaky, tasks=12, repetitions=13))["candidate"]
    assert [entry.k for entry in record.pass_hat_k] == [*range(1, 11), 13]


def test_no_pair_left_has_no_repeatability():
    table = make_table(lambda planned: {"outcome": "infrastructure"}, tasks=12)
    assert repeatability(table) == {}


# --- hard fails with a declared correlation --------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "icc", "bound"),
    [(50, 0.01, 0.0065), (50, 0.10, 0.0113), (50, 0.40, 0.0272), (50, 0.80, 0.0479)],
)
def test_the_bound_of_independent_trials_in_published_settings(tasks, icc, bound):
    found = summarise_hard_fails([[[]] * 10] * tasks, icc=icc)
    assert found.icc_bound == pytest.approx(bound, abs=5e-5)
    assert found.n_effective == pytest.approx(500 / (1 + 9 * icc))
    assert found.upper_bound == pytest.approx(0.0582, abs=5e-5)


@pytest.mark.parametrize("icc", [0.01, 0.1, 0.4, 0.8])
def test_the_bound_holds_where_trials_correlate_as_declared(icc):
    """Exact for beta-binomial tasks: at a rate as high as the bound, no event is seen in at most 5 %."""
    bound = summarise_hard_fails([[[]] * 10] * 50, icc=icc).icc_bound
    a, b = bound * (1 - icc) / icc, (1 - bound) * (1 - icc) / icc
    assert stats.betabinom(10, a, b).pmf(0) ** 50 <= 0.05


def test_with_events_there_is_no_such_bound():
    codes = [[[]] * 3] * 49 + [[[], ["unknown-tool"], []]]
    found = summarise_hard_fails(codes, icc=0.2)
    assert (found.icc_bound, found.count) == (None, 1)
    assert found.n_effective == pytest.approx(150 / 1.4)
    assert summarise_hard_fails(codes).n_effective is None


def test_unequal_tasks_are_worth_less_and_bad_settings_are_refused():
    assert effective_trials([1, 9], 0.5) < effective_trials([5, 5], 0.5)
    assert effective_trials([4] * 10, 0) == 40
    assert effective_trials([4] * 10, 1) == 10
    for sizes, icc in (([], 0.1), ([3, 0], 0.1), ([3], 1.1), ([3], -0.1)):
        with pytest.raises(InputError):
            effective_trials(sizes, icc)


def test_the_declared_correlation_comes_from_the_gates():
    found = hard_fails(make_table(tasks=40, repetitions=3, gates={"hard_fail_icc": 0.1}))
    assert {record.icc for record in found.values()} == {0.1}
    assert found["baseline"].icc_bound == pytest.approx(1 - 0.05 ** (1.2 / 120))
    assert hard_fails(make_table(tasks=40))["candidate"].icc is None


# --- hard fails are named ----------------------------------------------------------------------------------


def invented(tool):
    problem = {"code": "unknown-tool", "at": "calls[0]", "name": tool, "text": f"no tool {tool!r}"}
    return {"completed": False, "hallucinated": [problem], "hard_fails": ["unknown-tool"]}


def test_each_task_with_a_hard_fail_says_what_the_first_one_was():
    def trial(planned):
        if planned.arm == "candidate" and planned.task_id == "t003" and planned.repetition >= 2:
            return invented("teleport")
        if planned.arm == "candidate" and planned.task_id == "t007" and planned.case_id.endswith("c2"):
            text = "reported, but never dispatched: ship"
            told = {"reasons": [{"code": "FABRICATED_CALL", "text": text}]}
            return {"completed": False, "hard_fails": ["compatibility-regression", "fabricated-call"]} | told
        return None

    found = hard_fails(make_table(trial, tasks=12, repetitions=3, cases=2))
    assert found["baseline"].where == ()
    by_task = {task.task_id: task for task in found["candidate"].where}
    assert set(by_task) == {"t003", "t007"}
    assert (by_task["t003"].count, by_task["t003"].trials, by_task["t003"].codes) == (4, 6, ("unknown-tool",))
    assert by_task["t003"].repetition in {2, 3}
    assert by_task["t003"].text == "unknown-tool at calls[0]: no tool 'teleport'"
    assert (by_task["t007"].count, by_task["t007"].case_id) == (3, "t007-c2")
    assert by_task["t007"].text == (
        "fabricated-call: reported, but never dispatched: ship; compatibility-regression"
    )


def test_the_named_tasks_are_the_first_of_the_schedule_and_their_number_is_bounded():
    table = make_table(lambda planned: invented("x" * 400) if planned.arm == "candidate" else None, tasks=30)
    found = hard_fails(table)["candidate"]
    order = table.frame.sort("trial")["task_id"].unique(maintain_order=True).to_list()
    assert [task.task_id for task in found.where] == order[:20]
    assert (found.tasks, {len(task.text) for task in found.where}) == (30, {300})


def test_rates_weigh_cases_equally_as_the_estimates_do():
    """One case of each task loses half of its trials, and fails more often than the other."""

    def script(planned):
        if planned.case_id.endswith("c1") and planned.repetition > 2:
            return {"outcome": "infrastructure", "completed": False}
        fails = planned.case_id.endswith("c1") and planned.arm == "candidate"
        return {"completed": not fails}

    table = make_table(script, tasks=20, cases=2, repetitions=4)
    (found,) = estimate(table)
    told = rates(table)
    # the mean of a case that always fails and one that always passes, not 4 of 6 trials
    assert (told["candidate"].estimate, told["baseline"].estimate) == (0.5, 1.0)
    for arm in ("baseline", "candidate"):
        assert told[arm].estimate == getattr(found, arm).estimate
        assert told[arm].interval == getattr(found, arm).interval
