"""Several claims: Holm against statsmodels, fallback against its definition, and both through a study."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from analysis import paired
from analysis.estimates import estimate
from analysis.multiplicity import fallback, holm, sequence
from tests.support.tables import PRIMARY, first, make_table

ALPHA = 0.025


def drawn(size, seed):
    rng = np.random.default_rng(seed)
    return [float(p) for p in rng.uniform(0, 1, size) ** 4]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_holm_is_that_of_statsmodels(size, seed):
    p_values = drawn(size, seed)
    rejected, adjusted, *_ = multipletests(p_values, ALPHA, method="holm")
    found = holm(p_values, ALPHA)
    assert [share.adjusted for share in found] == pytest.approx(list(adjusted), rel=1e-12)
    assert [p <= share.level for p, share in zip(p_values, found, strict=True)] == list(rejected)


def shown_by_fallback(p_values, weights, alpha):
    """Follow the definition: a claim has its own share, and all of the one before it if that was shown."""
    shown, carried = [], 0.0
    for p, weight in zip(p_values, weights, strict=True):
        level = alpha * weight + carried
        shown.append(p <= level)
        carried = level if shown[-1] else 0.0
    return shown


@pytest.mark.parametrize("seed", range(20))
def test_the_adjusted_p_value_is_the_smallest_level_at_which_fallback_shows_a_claim(seed):
    p_values = drawn(4, seed)
    weights = [0.4, 0.3, 0.2, 0.1]
    found = fallback(p_values, weights, ALPHA)
    assert [p <= s.level for p, s in zip(p_values, found, strict=True)] == shown_by_fallback(
        p_values, weights, ALPHA
    )
    for n, share in enumerate(found):
        assert not shown_by_fallback(p_values, weights, share.adjusted * (1 - 1e-9))[n]
        if share.adjusted < 1:
            assert shown_by_fallback(p_values, weights, share.adjusted * (1 + 1e-9))[n]


def test_fallback_hands_on_what_was_won():
    assert [s.level for s in fallback([0.001, 0.02, 0.5], [0.5, 0.3, 0.2], 0.025)] == pytest.approx(
        [0.0125, 0.02, 0.025]
    )
    assert [s.level for s in fallback([0.02, 0.001, 0.5], [0.5, 0.3, 0.2], 0.025)] == pytest.approx(
        [0.0125, 0.0075, 0.0125]
    )


def test_a_sequence_is_only_as_good_as_its_worst_claim_so_far():
    assert sequence([0.01, 0.001, 0.2, 0.03]) == [0.01, 0.01, 0.2, 0.2]
    assert sequence([]) == []


@pytest.mark.parametrize("rule", ["holm", "fallback"])
def test_the_level_of_a_family_holds_under_dependence(rule):
    """Claims that are all untrue, their p-values uniform and anything from independent to equal."""
    rng, n, shown = np.random.default_rng(5), 4000, 0
    for correlation in (0.0, 1.0):
        own, common = rng.uniform(size=(n, 4)), rng.uniform(size=(n, 1))
        p = own if correlation == 0 else np.repeat(common, 4, axis=1)
        shown = 0
        for row in p:
            given = holm(list(row), 0.05) if rule == "holm" else fallback(list(row), [0.25] * 4, 0.05)
            shown += any(x <= share.level for x, share in zip(row, given, strict=True))
        assert shown / n <= 0.05 + 2.5 * (0.05 * 0.95 / n) ** 0.5


# --- through a study ------------------------------------------------------------------------------------

SHARES = {"pass": "passed", "result_completion": "result_completed"}


def script(**gains):
    """Return trials in which the candidate gains the given number of tasks in each grade."""

    def trial(planned):
        grades = {"completed": True, "passed": True, "result_completed": True}
        for name, gained in gains.items():
            field = {"completion": "completed", **SHARES}[name]
            grades[field] = planned.arm == "candidate" or planned.task_id not in first(gained)
        return grades

    return trial


def claims(rule="holm", weights=(None, None), role="secondary", alpha=ALPHA):
    endpoints = [PRIMARY]
    for name, weight in zip(SHARES, weights, strict=True):
        entry = {"name": name, "role": role, "claim": "superior", "alpha": alpha}
        endpoints.append(entry if weight is None else entry | {"weight": weight})
    return {
        "tasks": 60,
        "endpoints": endpoints,
        "analysis": {"resamples": 1000, "seed": 1, "multiplicity": rule},
    }


def p_of(gained):
    ones, some = np.ones((60, 1)), np.ones((60, 1))
    some[:gained] = 0
    return paired.p_value(some, ones, claim="superior")


def test_each_claim_is_estimated_at_the_level_that_holm_gives_it():
    completion, graded, results = estimate(
        make_table(script(**{"pass": 9, "result_completion": 6}), **claims())
    )
    assert completion.adjusted_p_value is None
    assert (graded.p_value, results.p_value) == pytest.approx((p_of(9), p_of(6)), rel=1e-9)
    assert graded.adjusted_p_value == pytest.approx(max(2 * p_of(9), completion.p_value, 0.9**60), rel=1e-6)
    assert graded.interval.level == pytest.approx(1 - 2 * ALPHA / 2)
    assert results.interval.level == pytest.approx(1 - 2 * ALPHA)
    assert [e.outcome for e in (completion, graded, results)] == ["non_inferior", "superior", "superior"]
    assert graded.diagnostics[0].startswith(
        "Holm over 2 secondary claims: tested at the one-sided level 0.0125"
    )


def test_a_claim_that_holm_does_not_show_stays_open_whatever_its_own_p_value():
    gained = next(n for n in range(1, 20) if ALPHA / 2 < p_of(n) <= ALPHA)
    _, graded, results = estimate(make_table(script(**{"pass": gained, "result_completion": 1}), **claims()))
    assert graded.p_value <= ALPHA < graded.adjusted_p_value
    assert (graded.outcome, results.outcome) == ("inconclusive", "inconclusive")
    assert graded.interval.low < 0 < graded.estimate


def test_nothing_behind_a_primary_claim_that_is_not_met_is_tested():
    trial = script(**{"pass": 12, "result_completion": 12})

    def worse(planned):
        fails = planned.arm == "candidate" and planned.task_id in first(6)
        return trial(planned) | ({"completed": False} if fails else {})

    for rule, weights in (("holm", (None, None)), ("fallback", (0.5, 0.5))):
        _, *rest = estimate(make_table(worse, **claims(rule, weights)))
        assert [(e.outcome, e.status, e.adjusted_p_value) for e in rest] == [
            ("inconclusive", "descriptive", None)
        ] * 2


def test_fallback_takes_the_declared_weights_in_declared_order():
    options = claims("fallback", (0.2, 0.8))
    _, graded, results = estimate(make_table(script(**{"pass": 1, "result_completion": 9}), **options))
    assert graded.interval.level == pytest.approx(1 - 2 * 0.2 * ALPHA)
    assert results.interval.level == pytest.approx(1 - 2 * 0.8 * ALPHA)
    assert (graded.outcome, results.outcome) == ("inconclusive", "superior")
    assert results.diagnostics[0].startswith("fallback with weight 0.8 over 2 secondary claims")


def test_a_fixed_sequence_has_adjusted_p_values_too_where_its_levels_agree():
    gains = script(**{"pass": 9, "result_completion": 12})
    primary, graded, results = estimate(make_table(gains, **claims("fixed-sequence")))
    assert graded.adjusted_p_value == pytest.approx(max(primary.p_value, 0.9**60, graded.p_value), rel=1e-9)
    assert results.adjusted_p_value == pytest.approx(graded.adjusted_p_value, rel=1e-9)
    assert graded.interval.level == 1 - 2 * ALPHA


def test_exploratory_claims_are_one_holm_family_and_labelled():
    options = claims("fixed-sequence", role="exploratory", alpha=0.05)
    _, graded, results = estimate(make_table(script(**{"pass": 9, "result_completion": 1}), **options))
    assert graded.adjusted_p_value == pytest.approx(2 * graded.p_value, rel=1e-9)
    assert (graded.outcome, graded.status, results.outcome) == ("superior", "descriptive", "inconclusive")
    assert any(note.startswith("exploratory: it never changes") for note in graded.diagnostics)
    assert graded.diagnostics[0].startswith("Holm over 2 exploratory claims")


def test_too_few_tasks_for_a_level_count_in_the_family():
    """36 tasks show a margin of 10 pp at 0.025, not at half of it, however well they go."""
    entry = {"role": "secondary", "claim": "non-inferior", "margin": "10 pp", "alpha": ALPHA}
    options = claims() | {"tasks": 36}
    options["endpoints"] = [PRIMARY, *[{"name": name, **entry} for name in SHARES]]
    primary, *rest = estimate(make_table(**options))
    assert primary.outcome == "non_inferior"
    assert [e.outcome for e in rest] == ["inconclusive"] * 2
    assert all(e.adjusted_p_value == pytest.approx(2 * 0.9**36) for e in rest)
