"""The estimators on real data, against values computed by other software and published ones.

Each test names the reference values that it covers; `test_reference_values.py` accounts for all others.
Tolerances: values printed with 11 digits agree to 1e-9 relative; published ones to their last printed digit;
a bootstrap limit of counts sits on a lattice, so that one lattice step and 4 Monte Carlo standard errors are
allowed.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis import paired, proportions
from analysis.intervals import clopper_pearson_upper, percentile_limits, t_limits, tilted_limits

DATA = Path(__file__).parent / "data"
VALUES = {entry["id"]: entry for entry in json.loads((DATA / "statistics.json").read_text())}
T_975 = {n: float(stats.t.ppf(0.975, n - 1)) for n in (21, 50, 198)}
NANO, MINI = "gpt-5-nano-2025-08-07", "gpt-5.4-mini-2026-03-17"

COVERED: dict[str, set[str]] = {}


def covers(*ids: int):
    """Mark a test with the reference values that it checks."""

    def mark(test):
        COVERED[test.__name__] = {f"ref-{n:04d}" for n in ids}
        return test

    return mark


def value(number: int):
    return VALUES[f"ref-{number:04d}"]["value"]


def mc_error(number: int) -> np.ndarray:
    return 4 * np.array(VALUES[f"ref-{number:04d}"]["mc_se"] or 0.0)


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def by_task(name: str, arm: str) -> list[list[int]]:
    tasks: dict[str, list[int]] = {}
    for row in rows(name):
        if row["arm"] == arm:
            tasks.setdefault(row["cluster"], []).append(int(row["outcome"]))
    return list(tasks.values())


@pytest.fixture(scope="module")
def gpqa():
    """Return baseline (mini) and candidate (nano): the references subtract the second arm from the first."""
    return by_task("gpqa_two_models.csv", MINI), by_task("gpqa_two_models.csv", NANO)


@pytest.fixture(scope="module")
def tau():
    return by_task("taubench_airline_gpt4o.csv", "gpt-4o")


def half_width(limits: tuple[float, float]) -> float:
    return (limits[1] - limits[0]) / 2


# --- two models, 198 items, 5 repetitions ----------------------------------------------------------------


@covers(1, 2, 3, 17, 27, 36, 1215, 1220)
def test_rates_and_difference(gpqa):
    mini, nano = gpqa
    assert proportions.rate(nano) == pytest.approx(value(1), rel=1e-9)
    assert proportions.rate(nano) == pytest.approx(value(27), rel=1e-9)
    assert proportions.rate(mini) == pytest.approx(value(2), rel=1e-9)
    assert proportions.rate(mini) == pytest.approx(value(36), rel=1e-9)
    for number in (3, 17):
        assert paired.mean_difference(mini, nano) == pytest.approx(value(number), rel=1e-9)
    assert round(proportions.rate(nano), 4) == value(1215)
    assert round(paired.mean_difference(mini, nano), 3) == value(1220)


@covers(8, 9, 10, 16, 18, 19, 1221)
def test_t_is_the_paired_t_test_and_cr2(gpqa):
    found = paired.interval(*gpqa, method="t")
    for number in (10, 19):
        assert (found.low, found.high) == pytest.approx(tuple(value(number)), rel=1e-8)
    assert value(9) == len(gpqa[0]) - 1
    error = half_width((found.low, found.high)) / T_975[198]
    for number in (8, 16, 18):
        assert error == pytest.approx(value(number), rel=1e-9)
    assert (round(found.low, 3), round(found.high, 3)) == tuple(value(1221))


@covers(11, 20, 1222, 1225)
def test_the_differences_have_the_reference_variance_and_p(gpqa):
    differences = paired.task_differences(*gpqa)
    assert round(float(differences.var(ddof=1)), 4) == value(1225)
    p = stats.ttest_1samp(differences, 0).pvalue
    assert p == pytest.approx(value(20), rel=1e-9)
    assert p == pytest.approx(value(11), rel=1e-9)
    assert round(p, 4) == value(1222)


@covers(21)
def test_items_for_either_arm_and_ties(gpqa):
    differences = paired.task_differences(*gpqa)
    assert [int(np.sum(part)) for part in (differences > 0, differences < 0, differences == 0)] == value(21)


@covers(12, 1129)
def test_percentile_of_the_difference(gpqa):
    found = paired.interval(*gpqa, method="percentile", resamples=20_000, rng=1)
    step = 1 / (198 * 5)
    assert np.abs(np.array([found.low, found.high]) - value(12)) == pytest.approx(
        0, abs=step + mc_error(12).max()
    )
    # SciPy's run has no recorded Monte Carlo error; that of the R run with the same resamples stands in
    assert np.abs(np.array([found.low, found.high]) - value(1129)) == pytest.approx(
        0, abs=step + 2 * mc_error(12).max()
    )


@covers(29, 31, 38, 40, 1217, 1218)
def test_one_arm_by_itself(gpqa):
    for arm, error, limits in ((gpqa[1], 29, 31), (gpqa[0], 38, 40)):
        means = np.mean(arm, axis=1)
        assert half_width(t_limits(means, 0.95)) / T_975[198] == pytest.approx(value(error), rel=1e-9)
        found = percentile_limits(means, 0.95, 20_000, 2)
        assert np.abs(np.array(found) - value(limits)).max() <= 1 / (198 * 5) + mc_error(limits).max()
    nano = t_limits(np.mean(gpqa[1], axis=1), 0.95)
    assert round(half_width(nano) / T_975[198], 4) == value(1217)
    assert nano == pytest.approx(tuple(value(1218)), abs=5e-4)  # published with the normal quantile


@covers(4, 6, 7, 28, 1216)
def test_it_is_none_of_the_methods_it_must_differ_from(gpqa):
    """Trials as independent (wrong), and CR1 with its small-sample factor, are other numbers."""
    found = paired.interval(*gpqa, method="t")
    error = half_width((found.low, found.high)) / T_975[198]
    assert error / value(4) > 1.25
    assert error == pytest.approx(value(6), rel=1e-3)
    assert error != pytest.approx(value(6), rel=1e-4)
    assert (found.low, found.high) == pytest.approx(tuple(value(7)), abs=2e-5)
    arm = half_width(t_limits(np.mean(gpqa[1], axis=1), 0.95)) / T_975[198]
    assert arm / value(28) > 1.8
    assert arm / value(1216) > 1.8


def test_the_default_is_close_to_t_where_t_is_good(gpqa):
    default, t = paired.interval(*gpqa), paired.interval(*gpqa, method="t")
    assert (default.low, default.high) == pytest.approx((t.low, t.high), abs=0.003)
    assert default.high - default.low > t.high - t.low


# --- one arm, 50 tasks, 4 repetitions --------------------------------------------------------------------


@covers(940, 942, 946, 968, 969, 1211)
def test_one_arm_of_fifty_tasks(tau):
    means = np.mean(tau, axis=1)
    assert proportions.rate(tau) == pytest.approx(value(940), rel=1e-12)
    assert proportions.rate(tau) == pytest.approx(value(1211), rel=1e-12)
    error = half_width(t_limits(means, 0.95)) / T_975[50]
    for number in (946, 969):
        assert error == pytest.approx(value(number), rel=1e-9)
    assert error / value(968) > 1.4
    found = percentile_limits(means, 0.95, 20_000, 3)
    assert np.abs(np.array(found) - value(942)).max() <= 1 / 200 + mc_error(942).max()
    tilted = proportions.rate_interval(tau)
    assert tilted.low < value(942)[0] + 0.01
    assert tilted.high > value(942)[1] - 0.01


# --- 51 pairs in 21 patients -----------------------------------------------------------------------------


@covers(971, 975, 979, 1202)
def test_pairs_in_patients_of_unequal_size():
    pairs = rows("thyroids.csv")
    clusters: dict[str, list[dict[str, str]]] = {}
    for row in pairs:
        clusters.setdefault(row["cluster"], []).append(row)
    arms = [[[int(r[key]) for r in part] for part in clusters.values()] for key in ("outcome_b", "outcome_a")]
    cells = [(r["outcome_a"], r["outcome_b"]) for r in pairs]
    counts = [
        len(clusters),
        len(pairs),
        *(cells.count(c) for c in (("1", "1"), ("1", "0"), ("0", "1"), ("0", "0"))),
    ]
    assert counts == value(971)
    differences = paired.task_differences(*arms)
    # Durkalski's statistic is built on the clusters' mean differences, as this contrast is
    chi_square = differences.sum() ** 2 / (differences**2).sum()
    assert chi_square == pytest.approx(value(975)[0], rel=1e-9)
    assert round(chi_square, 2) == value(1202)
    # the pooled difference weighs patients by their pairs: another estimand with a similar error
    error = half_width(t_limits(differences, 0.95)) / T_975[21]
    assert error == pytest.approx(value(979), rel=0.25)


# --- paired 2x2 tables -----------------------------------------------------------------------------------


def table(name: str) -> np.ndarray:
    row = next(row for row in rows("paired_2x2.csv") if row["name"] == name)
    both, first, second, neither = (int(row[key]) for key in "abcd")
    return np.concatenate([np.zeros(both + neither), np.ones(first), -np.ones(second)])


@covers(1022, 1061, 1087, 1093)
def test_differences_of_paired_tables():
    for name, number in (("airway_bentur2009", 1022), ("tb_media_armitage", 1061), ("zero_discordant", 1087)):
        assert float(table(name).mean()) == pytest.approx(value(number), abs=1e-11)
    low, high = tilted_limits(table("zero_discordant"), (-1.0, 1.0), 1, 0.95)
    assert value(1093) == [0, 0]  # Wald: no width without a discordant pair
    assert low < -0.05 < 0.05 < high


@covers(1034, 1073)
def test_clopper_pearson_from_exact_odds_ratios():
    for number, first, second in ((1034, 1, 7), (1073, 12, 2)):
        total = first + second
        upper = clopper_pearson_upper(first, total, 0.975)
        lower = 1 - clopper_pearson_upper(second, total, 0.975)
        found = (lower / (1 - lower), upper / (1 - upper))
        assert found == pytest.approx(tuple(value(number)), rel=1e-8)


def test_stored_values_are_finite_and_these_exist():
    covered = set().union(*COVERED.values())
    assert covered < set(VALUES)  # the others are in test_reference_values.py
    assert all(math.isfinite(x) for entry in VALUES.values() for x in np.ravel(entry["value"]))
