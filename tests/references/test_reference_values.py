"""Every stored reference value: reproduced by the product within a tolerance, or named as not offered.

The values of `data/statistics.json` were computed by other software, or published. Tolerances: numbers
printed with 11 digits agree to 1e-9 relative; published ones to their last printed digit; a bootstrap limit
of counts sits on a lattice, so that one lattice step and 4 Monte Carlo standard errors are allowed; a
bootstrap standard error has 6 of its Monte Carlo standard errors, as both sides are random.
"""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis import reliability
from analysis.intervals import bca_limits, clopper_pearson_upper, percentile_limits, t_limits
from analysis.resampling import resampled_means
from analysis.taskvalues import TaskValues, differences
from tests.references.test_statistics import COVERED

DATA = Path(__file__).parent / "data"
ENTRIES = {entry["id"]: entry for entry in json.loads((DATA / "statistics.json").read_text())}
NANO, MINI = "gpt-5-nano-2025-08-07", "gpt-5.4-mini-2026-03-17"
RESAMPLES = 60_000


def ids(*parts: int | tuple[int, int]) -> set[str]:
    """Return identifiers; a pair stands for a closed range."""
    numbers = [n for p in parts for n in (range(p[0], p[1] + 1) if isinstance(p, tuple) else [p])]
    return {name for name in (f"ref-{n:04d}" for n in numbers) if name in ENTRIES}


NOT_OFFERED = {
    "cluster-robust errors without a small-sample factor, or with that of a regression on trials; Student's "
    "on task means is the one offered": ids(5, 30, 39, 1128),
    "a pooled difference in clusters of unequal size: here clusters weigh equally": ids(
        977, 978, (980, 981), (983, 985)
    ),
    "tests of no difference, which say nothing of a margin": ids(
        22, 23, 972, 973, 974, 976, 987, 1031, 1032, 1033
    )
    | ids(1070, 1071, 1072, 1200, 1201, 1203, 1204, 1210),
    "odds ratios of models": ids(24, 25, 26),
    "Welch's interval for different tasks; the tilted one is offered": ids(45, 1223, 1224),
    "intervals for single pairs that ignore clusters; the tilted interval takes their place": ids(986)
    | ids((1023, 1030), (1062, 1069), (1088, 1092), 1094, 1095),
    "counts of a column that is no outcome": ids(970),
    "planning by the normal quantile, without the tasks that a margin needs": ids(1226, 1227, 1228),
    "BCa with ties counted on one side; here they count one half, as in the values beside these": {
        key for key, entry in ENTRIES.items() if "BCa" in entry["method"] and "boot.ci" in entry["method"]
    },
}

POINTS = {
    "unbiased estimator C(c,k)/C(n,k), mean over tasks",
    "unbiased estimator 1-C(n-c,k)/C(n,k), mean over tasks",
    "point estimate",
}
PERCENTILE = "cluster bootstrap percentile 95% CI"
BCA = "cluster bootstrap BCa 95% CI (same, mid-rank z0 for ties)"
BOOTSTRAP_ERROR = "cluster bootstrap standard error"
JACKKNIFE_ERROR = "delete-one-cluster jackknife standard error"


def outcomes(dataset: str, arm: str) -> list[list[int]]:
    tasks: dict[str, list[int]] = {}
    with (DATA / f"{dataset}.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["arm"] == arm:
                tasks.setdefault(row["cluster"], []).append(int(row["outcome"]))
    return list(tasks.values())


ARMS = {
    ("gpqa_two_models", NANO): outcomes("gpqa_two_models", NANO),
    ("gpqa_two_models", MINI): outcomes("gpqa_two_models", MINI),
    ("taubench_airline_gpt4o", "gpt-4o"): outcomes("taubench_airline_gpt4o", "gpt-4o"),
}


def task_values(entry) -> tuple[np.ndarray, int]:
    """Return the task values that a value describes, and their denominator."""
    found = re.search(r"(pass@|pass\^)(\d)", entry["estimand"])
    k = int(found[2]) if found else 1
    measure = "pass_at_k" if found and found[1] == "pass@" else "pass_hat_k"

    def arm(name: str) -> TaskValues:
        return reliability.task_probabilities(ARMS[entry["dataset"], name], k, measure=measure)

    if " - " in entry["contrast"]:
        first, second = entry["contrast"].split(" - ")
        values, denominator = differences(arm(second), arm(first))
    else:
        values, _, denominator = arm(entry["contrast"])
    return values, denominator


def reproduced(*methods: str) -> list[str]:
    """Return the values by some methods, on the two sets of trials, that no other test covers."""
    left = set(ENTRIES) - set().union(*COVERED.values()) - set().union(*NOT_OFFERED.values())
    sets = {name for name, _ in ARMS}
    return sorted(k for k in left if ENTRIES[k]["method"] in methods and ENTRIES[k]["dataset"] in sets)


def spread(entry) -> np.ndarray:
    return np.array(entry["mc_se"] or 0.0)


@pytest.mark.parametrize("key", reproduced(*POINTS))
def test_pass_rates_and_their_differences(key):
    values, _ = task_values(ENTRIES[key])
    assert math.fsum(values) / len(values) == pytest.approx(ENTRIES[key]["value"], rel=1e-9)


@pytest.mark.parametrize("key", reproduced(JACKKNIFE_ERROR))
def test_the_jackknife_of_a_mean_is_students_error(key):
    values, _ = task_values(ENTRIES[key])
    low, high = t_limits(values, 0.95)
    error = (high - low) / 2 / stats.t.isf(0.025, len(values) - 1)
    assert error == pytest.approx(ENTRIES[key]["value"], rel=1e-9)


@pytest.mark.parametrize("key", reproduced(PERCENTILE))
def test_percentile_limits(key):
    values, denominator = task_values(ENTRIES[key])
    found = percentile_limits(values, 0.95, RESAMPLES, 11)
    allowed = 1 / (len(values) * denominator) + 4 * spread(ENTRIES[key])
    assert np.all(np.abs(np.subtract(found, ENTRIES[key]["value"])) <= allowed + 1e-9)


@pytest.mark.parametrize("key", reproduced(BCA))
def test_bca_limits(key):
    values, denominator = task_values(ENTRIES[key])
    found = bca_limits(values, 0.95, RESAMPLES, 12)
    allowed = 1 / (len(values) * denominator) + 4 * spread(ENTRIES[key])
    assert np.all(np.abs(np.subtract(found, ENTRIES[key]["value"])) <= allowed + 1e-9)


@pytest.mark.parametrize("key", reproduced(BOOTSTRAP_ERROR))
def test_the_spread_of_resampled_means(key):
    values, _ = task_values(ENTRIES[key])
    means = resampled_means(values, RESAMPLES, np.random.default_rng(13))
    assert means.std() == pytest.approx(ENTRIES[key]["value"], abs=6 * spread(ENTRIES[key]))


SINGLE = ids(37, 1130, (1212, 1214), 1219, 1229)


def test_bca_of_scipy():
    """No Monte Carlo error is stored; that of the R run with as many resamples stands in, for both sides."""
    values, denominator = task_values(ENTRIES["ref-0014"])
    found = bca_limits(values, 0.95, RESAMPLES, 14)
    allowed = 1 / (len(values) * denominator) + 8 * spread(ENTRIES["ref-0014"])
    assert np.all(np.abs(np.subtract(found, ENTRIES["ref-1130"]["value"])) <= allowed)


def test_published_pass_hat_k():
    arm = ARMS["taubench_airline_gpt4o", "gpt-4o"]
    for k in (2, 3, 4):
        assert round(reliability.pass_hat_k(arm, k), 3) == ENTRIES[f"ref-{1210 + k}"]["value"]


def test_design_effects():
    """Published for one arm; for the other the ratio of two stored errors, with and without clusters."""
    found = reliability.variance_components(ARMS["gpqa_two_models", NANO])
    assert round(found.design_effect, 2) == ENTRIES["ref-1219"]["value"]
    assert found.design_effect == pytest.approx(1 + 4 * found.icc, rel=0.01)
    other = reliability.variance_components(ARMS["gpqa_two_models", MINI])
    ratio = ENTRIES["ref-0038"]["value"] / ENTRIES["ref-0037"]["value"]
    assert other.design_effect == pytest.approx(ratio**2, rel=1e-9)


def test_published_limits_of_an_odds_ratio():
    _, _, low, high, _ = ENTRIES["ref-1229"]["value"]
    upper = clopper_pearson_upper(12, 14, 0.975)
    lower = 1 - clopper_pearson_upper(2, 14, 0.975)
    assert round(lower / (1 - lower), 6) == low
    assert round(upper / (1 - upper), 6) == high


def test_every_value_is_reproduced_or_named_as_not_offered():
    elsewhere = set().union(*COVERED.values())
    here = set(reproduced(*POINTS, PERCENTILE, BCA, BOOTSTRAP_ERROR, JACKKNIFE_ERROR)) | SINGLE
    named = set().union(*NOT_OFFERED.values())
    assert len(ENTRIES) == 256
    assert set(ENTRIES) == elsewhere | here | named
    assert not ((elsewhere & here) | (elsewhere & named) | (here & named))
    assert sum(len(part) for part in NOT_OFFERED.values()) == len(named)
    assert len(elsewhere | here) == 170
