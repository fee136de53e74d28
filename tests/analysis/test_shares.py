"""Shares as declared: pass^k of cases, weighted strata, these tasks only, families one level up."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from analysis import fixed_tasks, paired, proportions, reliability, tilting
from analysis.arms import rates, repeatability
from analysis.claims import meets
from analysis.diagnostics import void_cases
from analysis.estimates import REFUSED, estimate
from analysis.verdicts import decide
from study.errors import InputError
from tests.support.tables import PRIMARY, failing, first, make_table


def number(planned):
    return int(planned.task_id[1:])


def uneven(planned):
    """Repetition r of task n passes in the baseline unless r = 1 and n is even, in the candidate more."""
    if planned.arm == "baseline":
        return {"completed": not (planned.repetition == 1 and number(planned) % 2 == 0)}
    return {"completed": not (planned.repetition < 3 and number(planned) % 5 == 0)}


def passes(table, arm):
    rows = table.frame.sort("task_id", "case_id", "repetition")
    part = rows.filter(rows["arm"] == arm)
    return [np.array(x, float) for x in part.group_by("case_id", maintain_order=True).agg("passed")["passed"]]


# --- pass^k and pass@k -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pass_hat_k", "pass_at_k"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_pass_k_of_single_cases_is_that_of_the_arrays(name, k):
    table = make_table(uneven, tasks=40, repetitions=3, endpoints=[PRIMARY | {"name": name, "k": k}])
    (found,) = estimate(table)
    arms = [passes(table, arm) for arm in ("baseline", "candidate")]
    assert found.interval == reliability.difference_interval(*arms, k, measure=name)
    assert found.estimate == pytest.approx(reliability.difference(*arms, k, measure=name), abs=1e-15)
    level = reliability.interval(arms[0], k, measure=name)
    assert (found.baseline.interval.low, found.baseline.interval.high) == (level.low, level.high)
    assert (found.k, found.label) == (k, f"{name} (k = {k})")
    assert (found.p_value <= 0.025) == (found.interval.low >= -0.1)


def test_pass_k_counts_all_choices_of_trials():
    table = make_table(uneven, tasks=20, repetitions=4)
    for k in (1, 2, 3, 4):
        for arm in ("baseline", "candidate"):
            chosen = [[all(c) for c in itertools.combinations(x, k)] for x in passes(table, arm)]
            expected = np.mean([np.mean(c) for c in chosen])
            assert rates(table, "pass_hat_k", k=k)[arm].estimate == pytest.approx(expected, abs=1e-12)


def test_repetitions_belong_to_a_case_and_cases_to_a_task():
    """One case that always passes and one that never does: pass^2 of the task is one half, not nothing."""
    table = make_table(
        lambda planned: {"completed": planned.case_id.endswith("c1")}, tasks=20, repetitions=2, cases=2
    )
    assert rates(table, "pass_hat_k", k=2)["baseline"].estimate == 0.5
    assert rates(table, "pass_at_k", k=2)["baseline"].estimate == 0.5


def test_k_needs_that_many_trials():
    with pytest.raises(InputError, match="fewer than 3 trials"):
        rates(make_table(tasks=20, repetitions=2), "pass_hat_k", k=3)
    with pytest.raises(InputError, match="completion with k = 2"):
        rates(make_table(tasks=20, repetitions=2), "completion", k=2)
    with pytest.raises(InputError, match="pass_hat_k with k = None"):
        rates(make_table(tasks=20, repetitions=2), "pass_hat_k")


def test_a_void_pair_that_takes_a_repetition_refuses_pass_k():
    def script(planned):
        lost = planned.task_id == "t000" and planned.repetition == 1
        return {"outcome": "infrastructure", "completed": False} if lost else None

    table = make_table(
        script,
        tasks=60,
        repetitions=3,
        endpoints=[
            PRIMARY,
            *[{"name": "pass_hat_k", "role": "exploratory", "k": k} for k in (2, 3)],
        ],
    )
    completion, two, three = estimate(table)
    assert completion.estimate == two.estimate == 0.0
    assert (three.status, three.estimate) == ("refused", None)
    assert "1 cases have fewer than 3 trials" in " ".join(three.diagnostics) or "2 cases" in " ".join(
        three.diagnostics
    )
    worst = void_cases(table, "pass_hat_k", 0.95, 3).worst
    assert worst.estimate == pytest.approx(-1 / 60)


# --- strata with declared weights ------------------------------------------------------------------------

SIZES = {"TOOL-0": 10, "TOOL-1": 20, "TOOL-2": 50}
NAMES = [name for name, size in SIZES.items() for _ in range(size)]


def weighted(trial=lambda planned: None, weights=(0.2, 0.3, 0.5), margin="10 pp", **options):
    declared = dict(zip(SIZES, weights, strict=True))
    workload = {"suites": ["shop"], "split": "held-out", "weighting": "rungs", "weights": declared}
    return make_table(
        trial,
        entry=lambda task: {"stratum": NAMES[int(task[1:])]},
        **{"tasks": 80, "workload": workload, "endpoints": [PRIMARY | {"margin": margin}]} | options,
    )


def strata_of(table):
    arms = [passes(table, arm) for arm in ("baseline", "candidate")]
    edges = np.cumsum([0, *SIZES.values()])
    return [tuple(arm[a:b] for arm in arms) for a, b in itertools.pairwise(edges)]


def test_declared_weights_give_the_stratified_interval():
    table = weighted(failing("candidate", ["t003", "t015", "t040", "t041"]))
    (found,) = estimate(table)
    parts, weights = strata_of(table), (0.2, 0.3, 0.5)
    assert found.estimate == pytest.approx(-(0.2 * 1 / 10 + 0.3 * 1 / 20 + 0.5 * 2 / 50), abs=1e-12)
    assert found.interval == paired.stratified_interval(parts, weights)
    assert found.p_value == paired.stratified_p_value(parts, weights, claim="non-inferior", margin=0.1)
    assert (found.p_value <= 0.025) == (found.interval.low >= -0.1)
    candidate = [part[1] for part in parts]
    assert found.candidate.estimate == proportions.stratified_rate(candidate, weights)
    assert found.candidate.interval == proportions.stratified_rate_interval(candidate, weights)
    assert rates(table)["candidate"].estimate == found.candidate.estimate
    assert [i.method for i in found.sensitivity] == [
        "tilted, strata, pseudo tasks in each",
        "tilted, equal task weights",
    ]
    assert found.sensitivity[0].low < found.interval.low
    arms = [np.concatenate([part[n] for part in parts]).reshape(80, 1) for n in (0, 1)]
    equal = paired.interval(*arms)
    assert (found.sensitivity[1].low, found.sensitivity[1].high) == (equal.low, equal.high)


def test_each_stratum_is_told_and_decides_nothing():
    table = weighted(failing("candidate", ["t003"]))
    (found,) = estimate(table)
    assert [(s.name, s.weight, s.n_tasks, s.n_pairs) for s in found.strata] == [
        ("TOOL-0", 0.2, 10, 10),
        ("TOOL-1", 0.3, 20, 20),
        ("TOOL-2", 0.5, 50, 50),
    ]
    assert [s.estimate for s in found.strata] == [-0.1, 0.0, 0.0]
    assert {s.status for s in found.strata} == {"descriptive"}
    assert found.strata[0].interval == paired.interval(*strata_of(table)[0])
    (plain,) = estimate(make_table(tasks=80))
    assert plain.strata == ()


@pytest.mark.parametrize(("weights", "bound"), [((0.2, 0.3, 0.5), 0.062017), ((0.5, 0.3, 0.2), 0.154249)])
def test_a_margin_below_the_loss_that_goes_unseen_is_refused(weights, bound):
    above, below = (math.ceil(bound * 1000) / 10, math.floor(bound * 1000) / 10)
    (met,) = estimate(weighted(weights=weights, margin=f"{above} pp"))
    assert met.outcome == "non_inferior"
    (open_,) = estimate(weighted(weights=weights, margin=f"{below} pp"))
    assert (open_.outcome, open_.p_value) == ("inconclusive", None)
    assert open_.diagnostics[0].startswith(f"{REFUSED}a loss of {100 * bound:.2f} pp")
    assert f"the margin is {below} pp" in open_.diagnostics[0]
    assert decide(weighted(weights=weights, margin=f"{below} pp"), hard_fails={}).outcome == "inconclusive"


def test_void_pairs_are_lost_at_the_declared_weights():
    def script(planned):
        return {"outcome": "infrastructure", "completed": False} if planned.task_id == "t015" else None

    table = weighted(script, missing={"max_void_pairs": "5 %"})
    cases = void_cases(table, "completion", 0.95)
    assert (cases.worst.estimate, cases.best.estimate) == pytest.approx((-0.015, 0.015))
    assert cases.worst.interval.method == paired.STRATIFIED
    (found,) = estimate(table)
    assert found.outcome == "non_inferior"
    (tight,) = estimate(weighted(script, missing={"max_void_pairs": "5 %"}, margin="6.5 pp"))
    assert tight.outcome == "inconclusive"
    assert any("lost every void pair" in note for note in tight.diagnostics)


def test_a_stratum_without_a_task_left_has_no_estimate():
    def script(planned):
        return {"outcome": "infrastructure", "completed": False} if number(planned) < 10 else None

    (found,) = estimate(weighted(script, missing={"max_void_pairs": "10 %"}))
    assert (found.status, found.estimate, found.outcome) == ("refused", None, "inconclusive")
    assert "no task of the stratum 'TOOL-0' is left" in found.diagnostics[0]


def test_a_lost_stratum_below_the_ceiling_ends_as_inconclusive_not_as_an_error():
    def script(planned):
        return {"outcome": "infrastructure", "completed": False} if number(planned) < 5 else None

    declared = {"TOOL-0": 0.05, "TOOL-1": 0.35, "TOOL-2": 0.6}
    table = make_table(
        script,
        tasks=80,
        entry=lambda task: {"stratum": "TOOL-0" if int(task[1:]) < 5 else NAMES[max(10, int(task[1:]))]},
        workload={"suites": ["shop"], "split": "held-out", "weighting": "rungs", "weights": declared},
        missing={"max_void_pairs": "10 %"},
    )
    verdict = decide(table)
    assert verdict.outcome == "inconclusive"
    assert any("not estimated (no task of the stratum 'TOOL-0' is left)" in step for step in verdict.reasons)
    record = repeatability(table)["candidate"]
    assert (record.pass_hat_k, record.n_tasks) == ((), 75)


# --- these tasks only ------------------------------------------------------------------------------------


def test_these_tasks_only_is_descriptive_and_says_so():
    extra = {"name": "completion", "role": "secondary", "estimand": "fixed-tasks"}
    table = make_table(uneven, tasks=40, repetitions=3, endpoints=[PRIMARY, extra])
    primary, found = estimate(table)
    arms = [passes(table, arm) for arm in ("baseline", "candidate")]
    expected = fixed_tasks.interval(*arms)
    assert found.interval == expected
    assert (found.interval.high - found.interval.low) < (primary.interval.high - primary.interval.low)
    assert (found.estimand, found.outcome, found.status) == ("fixed-tasks", None, "descriptive")
    assert found.diagnostics[0] == "says nothing about new tasks"
    assert found.estimate == primary.estimate
    assert found.baseline.interval is None
    assert primary.estimand == "new-tasks"


def test_these_tasks_only_needs_two_trials_of_every_task():
    def script(planned):
        lost = planned.task_id == "t000" and planned.repetition == 1
        return {"outcome": "infrastructure", "completed": False} if lost else None

    extra = {"name": "completion", "role": "secondary", "estimand": "fixed-tasks"}
    _, found = estimate(make_table(script, tasks=40, repetitions=2, endpoints=[PRIMARY, extra]))
    assert (found.status, found.estimate) == ("refused", None)


# --- families one level up -------------------------------------------------------------------------------


def test_families_are_a_sensitivity_row_that_decides_nothing():
    def script(planned):
        broken = planned.arm == "candidate" and number(planned) in (0, 8, 16, 24)
        return {"completed": not broken, "template_family": f"f{number(planned) % 8}"}

    table = make_table(script, tasks=80, entry=lambda task: {"task_family": f"s/{int(task[1:]) // 4}"})
    (found,) = estimate(table)
    template, declared = found.sensitivity[2:]
    assert template.method == "tilted, template families as tasks: 8 families"
    assert declared.method == "tilted, task families as tasks: 20 families"
    ones, families = np.ones((8, 1)), np.ones((8, 1))
    families[0] = 1 - 4 / 10
    expected = paired.interval(ones, families)
    assert (template.low, template.high, template.status) == pytest.approx(
        (expected.low, expected.high, "few_tasks")
    )
    groups, lost = np.ones((20, 4)), np.ones((20, 4))
    for n in (0, 8, 16, 24):
        lost[n // 4, n % 4] = 0
    expected = paired.interval(groups, lost)
    assert (declared.low, declared.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    plain = estimate(make_table(failing("candidate", ["t000", "t008", "t016", "t024"]), tasks=80))[0]
    assert (found.outcome, found.interval) == (plain.outcome, plain.interval)
    assert len(plain.sensitivity) == 2


def test_a_task_without_a_declared_family_is_one_by_itself():
    declared = {"t000": "s/a", "t001": "s/a"}
    table = make_table(
        tasks=40, entry=lambda task: {"task_family": declared[task]} if task in declared else {}
    )
    assert estimate(table)[0].sensitivity[-1].method.endswith("39 families")


def test_the_pure_bound_and_that_of_the_arrays_agree_on_the_smallest_level():
    from analysis.shares import Shares, Stratum, smallest_level

    tasks = tuple(str(n) for n in range(80))
    parts = (Stratum("a", 0.5, tuple(range(10))), Stratum("b", 0.5, tuple(range(10, 80))))
    level = smallest_level(Shares(tasks, {}, parts), 0.1)
    assert tilting.all_ties_bound((0.5, 0.5), (10, 70), level) == pytest.approx(0.1, abs=1e-9)
    assert smallest_level(Shares(tasks, {}, ()), 0.1) == pytest.approx(0.9**80)


def test_first_is_a_list_of_ids():
    assert first(2) == ["t000", "t001"]


@pytest.mark.parametrize("claim", ["non-inferior", "superior", "equivalent"])
@pytest.mark.parametrize("seed", range(4))
def test_a_p_value_is_small_exactly_when_the_claim_is_borne_out(claim, seed):
    """Every share, with equal and with declared weights, in both directions of benefit."""
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(size=(80, 2, 3)) < rng.choice([0.9, 0.95, 0.995])

    def script(planned):
        good = bool(drawn[number(planned), int(planned.arm == "candidate"), planned.repetition - 1])
        return {"completed": good, "outcome": "answered" if good else "timeout"}

    margin = {} if claim == "superior" else {"margin": f"{rng.integers(7, 12)} pp"}
    entry = {"role": "exploratory", "claim": claim, "alpha": 0.025, **margin}
    names = [{"name": "completion"}, {"name": "timeouts"}, {"name": "pass_hat_k", "k": 2}]
    declared = [PRIMARY | {"name": "pass"}, *[entry | name for name in names]]
    for make in (make_table, weighted):
        for n, found in enumerate(estimate(make(script, tasks=80, repetitions=3, endpoints=declared))):
            level = (1 - found.interval.level) / 2
            assert (found.p_value <= level) == meets(found.claim, found.outcome), (n, make)
