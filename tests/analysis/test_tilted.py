"""The tilted task bootstrap: golden values, an exact oracle, invariances, agreement of p and interval."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from analysis.intervals import tilted_limits, tilted_p_value
from analysis.paired import interval, p_value
from analysis.sums import BINNED_LATTICE
from study.errors import InputError

BOTH = (-1.0, 1.0)
ALL_TIES = {5: 0.6592, 8: 0.4089, 10: 0.3256, 15: 0.2158, 20: 0.1614, 30: 0.1074, 36: 0.0894}
ALL_TIES |= {50: 0.0643, 72: 0.0446, 100: 0.0321, 200: 0.0161}
ONE_BREAKS = {5: -0.8227, 8: -0.5713, 10: -0.4701, 15: -0.3244, 20: -0.2473, 30: -0.1675, 36: -0.1403}
ONE_BREAKS |= {50: -0.1018, 72: -0.0711, 100: -0.0514, 200: -0.0258}
CONTINUOUS = np.array([0.12, -0.05, 0.33, 0, 0, -0.41, 0.07, 0.02, -0.11, 0.25, 0, 0.04])


@pytest.fixture(autouse=True, scope="module")
def digits():
    """Work with 45 decimal digits in this module only."""
    with localcontext(prec=45):
        yield


def bits(text: str) -> list[np.ndarray]:
    """Read ragged outcomes: one word a task, one digit a trial."""
    return [np.array([int(digit) for digit in word]) for word in text.split()]


# --- golden values, to the printed digits -------------------------------------------------------------


@pytest.mark.parametrize("n_tasks", ALL_TIES)
def test_all_ties(n_tasks):
    found = interval(np.ones((n_tasks, 1)), np.ones((n_tasks, 1)))
    assert round(found.high, 4) == ALL_TIES[n_tasks]
    assert found.low == -found.high


@pytest.mark.parametrize("n_tasks", ONE_BREAKS)
def test_one_task_breaks(n_tasks):
    candidate = np.ones((n_tasks, 1))
    candidate[0] = 0
    assert round(interval(np.ones((n_tasks, 1)), candidate).low, 4) == ONE_BREAKS[n_tasks]


@pytest.mark.parametrize(
    ("differences", "low", "high"),
    [
        ([-1] + [0] * 9, -0.47009, 0.21776),
        ([0] * 10, -0.32559, 0.32559),
        ([-1, 1] + [0] * 18, -0.20106, 0.20106),
    ],
)
def test_default_checks(differences, low, high):
    found = tilted_limits(np.array(differences, float), BOTH, 1, 0.95)
    assert found == pytest.approx((low, high), abs=2e-5)


@pytest.mark.parametrize(
    ("baseline", "candidate", "limits", "tolerance"),
    [
        (
            "111 11 1 1110 111 110 10 111 1 11",
            "111 10 11 1100 11 111 11 101 1 11",
            (-0.31913, 0.28681),
            2e-5,
        ),
        (
            "11111 1111 111 11 1 11111 1111 111 11 1 11111 1111",
            "11111 1111 111 11 1 1111 111 11 1 11111 0000 1111",
            (-0.39872, 0.17672),
            2e-5,
        ),
        (
            "1111111 11111111111 1111111111111 11111 11011 1111111 111 1110 11 10",
            "1111110 11111111101 1111110111111 10111 11111 1101111 110 1111 10 11",
            (-0.3367, 0.2681),
            1e-4,
        ),
    ],
)
def test_unequal_repetitions(baseline, candidate, limits, tolerance):
    found = interval(bits(baseline), bits(candidate))
    assert (found.low, found.high) == pytest.approx(limits, abs=tolerance)


def test_continuous_values_are_binned_not_rounded():
    found = tilted_limits(CONTINUOUS, BOTH, None, 0.95)
    assert found == pytest.approx((-0.2313, 0.2585), abs=1e-4)


# --- an exact oracle, on another path: Fractions and 45-digit decimals, no FFT, no logarithms ----------


def exact_sum(law: dict[int, Fraction], n_tasks: int) -> dict[int, Fraction]:
    """Convolve a law on whole numbers with itself."""
    total = {0: Fraction(1)}
    for _ in range(n_tasks):
        grown: dict[int, Fraction] = {}
        for (left, p), (right, q) in itertools.product(total.items(), law.items()):
            grown[left + right] = grown.get(left + right, Fraction(0)) + p * q
        total = grown
    return total


def as_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def bisect(function, low: Decimal, high: Decimal) -> Decimal:
    """Solve an increasing function of the base x = exp(tilt / Q) for 0, on the logarithmic scale."""
    for _ in range(70):
        middle = (low * high).sqrt()
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low * high).sqrt()


class Oracle:
    """The law of the sum of T tasks on a lattice, tilted by powers of x."""

    def __init__(self, totals: list[int], q: int, half_range: int) -> None:
        n_tasks = len(totals)
        law: dict[int, Fraction] = {}
        masses = [
            *((k, Fraction(1)) for k in totals),
            (-half_range, Fraction(1, 2)),
            (half_range, Fraction(1, 2)),
        ]
        for k, mass in masses:
            law[k] = law.get(k, Fraction(0)) + mass / (n_tasks + 1)
        self.q, self.observed = q, sum(totals)
        self.one = {k: as_decimal(p) for k, p in law.items()}
        self.all = {k: as_decimal(p) for k, p in exact_sum(law, n_tasks).items()}
        self.edges = (Decimal(10) ** -25, Decimal(10) ** 25)

    def tail(self, x: Decimal) -> Decimal:
        lowest = min(self.all)
        weighted = {k: p * x ** (k - lowest) for k, p in self.all.items()}
        above = sum(p for k, p in weighted.items() if k > self.observed)
        return (above + weighted[self.observed] / 2) / sum(weighted.values())

    def mean(self, x: Decimal) -> Decimal:
        lowest = min(self.one)
        weighted = {k: p * x ** (k - lowest) for k, p in self.one.items()}
        return sum(k * p for k, p in weighted.items()) / sum(weighted.values()) / self.q

    def lower(self, tail: float) -> float:
        return float(self.mean(bisect(lambda x: self.tail(x) - Decimal(tail), *self.edges)))

    def normal_quantile(self, at: float) -> float:
        """Return the normal quantile of the tail at a mean, from whichever tail is small."""
        tail = self.tail(bisect(lambda x: self.mean(x) - Decimal(at), *self.edges))
        return float(-special.ndtri(float(tail)) if tail < Decimal("0.5") else special.ndtri(float(1 - tail)))


def tail_of(level: float, n_tasks: int) -> float:
    return float(stats.norm.cdf(-stats.t.isf((1 - level) / 2, n_tasks - 1)))


SMALL = st.integers(1, 3).flatmap(
    lambda q: st.tuples(st.just(q), st.lists(st.integers(-q, q), min_size=5, max_size=8))
)


@settings(max_examples=40, deadline=None)
@given(data=SMALL, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_limits_against_the_exact_oracle(data, level):
    q, totals = data
    found = tilted_limits(np.array(totals) / q, BOTH, q, level)
    tail = tail_of(level, len(totals))
    if sum(totals) > -q * len(totals):
        assert found[0] == pytest.approx(Oracle(totals, q, q).lower(tail), abs=1e-11)
    if sum(totals) < q * len(totals):
        assert found[1] == pytest.approx(-Oracle([-k for k in totals], q, q).lower(tail), abs=1e-11)


@settings(max_examples=20, deadline=None)
@given(data=SMALL, at=st.floats(-0.9, 0.9))
def test_p_values_against_the_exact_oracle(data, at):
    q, totals = data
    p = tilted_p_value(np.array(totals) / q, BOTH, q, at)
    z = Oracle(totals, q, q).normal_quantile(at)
    assert p == pytest.approx(float(stats.t.sf(z, len(totals) - 1)), rel=1e-8, abs=1e-10)


def test_binned_limits_against_the_exact_oracle():
    """Values off the lattice: bin by hand on 1/840, convolve exactly, take the mean before binning."""
    values, tail = CONTINUOUS[:6], tail_of(0.95, 6)
    law: dict[int, Fraction] = {-BINNED_LATTICE: Fraction(1, 14), BINNED_LATTICE: Fraction(1, 14)}
    for value in values:
        exact = Fraction(value).limit_denominator(10**6) * BINNED_LATTICE
        below = exact.numerator // exact.denominator
        for k, share in ((below, 1 - (exact - below)), (below + 1, exact - below)):
            law[k] = law.get(k, Fraction(0)) + share / 7
    total = {k: as_decimal(p) for k, p in exact_sum(law, 6).items() if p}
    observed = Decimal(str(round(float(values.sum()), 6))) * BINNED_LATTICE

    def midtail(x: Decimal) -> Decimal:
        weighted = {k: p * x**k for k, p in total.items()}
        part = sum(p * min(Decimal(1), max(Decimal(0), (1 + k - observed) / 2)) for k, p in weighted.items())
        return part / sum(weighted.values())

    edge = Decimal("1.05")
    x = bisect(lambda x: midtail(x) - Decimal(tail), 1 / edge, edge)
    tilt = float(x.ln()) * BINNED_LATTICE
    augmented = np.array([*values, -1, 1])
    mass = np.array([1.0] * 6 + [0.5, 0.5]) * np.exp(tilt * augmented)
    found = tilted_limits(values, BOTH, None, 0.95)
    assert found[0] == pytest.approx(float(mass @ augmented / mass.sum()), abs=1e-10)


def test_one_arm_closed_form():
    for n_tasks in (5, 10, 20, 50):
        tail = tail_of(0.95, n_tasks)
        low, high = tilted_limits(np.ones(n_tasks), (0.0, 1.0), 1, 0.95)
        assert (low, high) == (pytest.approx((2 * tail) ** (1 / n_tasks), rel=1e-14), 1.0)
        mirrored = tilted_limits(np.zeros(n_tasks), (0.0, 1.0), 1, 0.95)
        assert mirrored == (0.0, pytest.approx(1 - low, abs=1e-15))


# --- invariances ---------------------------------------------------------------------------------------

ARRAYS = st.tuples(st.integers(5, 15), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(0, 1))


def draw(case):
    n_tasks, repetitions, seed, rate = case
    rng = np.random.default_rng(seed)
    return rng, rng.random((2, n_tasks, repetitions)) < rate


@settings(max_examples=50, deadline=None)
@given(ARRAYS)
def test_exchanging_the_arms_mirrors_the_limits(case):
    _, (baseline, candidate) = draw(case)
    one, other = interval(baseline, candidate), interval(candidate, baseline)
    assert (one.low, one.high) == (-other.high, -other.low)


@settings(max_examples=15, deadline=None)
@given(ARRAYS)
def test_exchanging_the_arms_mirrors_continuous_limits(case):
    rng, _ = draw(case)
    baseline, candidate = rng.random((2, case[0], case[1]))
    one, other = interval(baseline, candidate), interval(candidate, baseline)
    assert (one.low, one.high) == (-other.high, -other.low)


@settings(max_examples=40, deadline=None)
@given(ARRAYS, st.booleans())
def test_the_order_of_tasks_and_repetitions_does_not_matter(case, continuous):
    rng, (baseline, candidate) = draw(case)
    if continuous:
        baseline, candidate = rng.random((2, case[0], case[1]))
    order = rng.permutation(case[0])
    left, right = (rng.permuted(arm[order], axis=1) for arm in (baseline, candidate))
    assert interval(left, right) == interval(baseline, candidate)


@settings(max_examples=50, deadline=None)
@given(ARRAYS, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_limits_contain_the_estimate_and_are_never_flat(case, level):
    _, (baseline, candidate) = draw(case)
    found = interval(baseline, candidate, level=level)
    estimate = float(np.mean(candidate.mean(1) - baseline.mean(1)))
    assert -1 <= found.low <= estimate + 1e-15
    assert estimate - 1e-15 <= found.high <= 1
    assert found.low < found.high


@settings(max_examples=50, deadline=None)
@given(ARRAYS)
def test_more_confidence_is_wider(case):
    _, (baseline, candidate) = draw(case)
    found = [interval(baseline, candidate, level=level) for level in (0.8, 0.9, 0.95, 0.99)]
    assert all(a.low >= b.low and a.high <= b.high for a, b in itertools.pairwise(found))


def test_same_data_same_limits():
    rng = np.random.default_rng(4)
    arms = rng.random((2, 60, 3)) < 0.9
    first = interval(*arms, rng=1)
    np.random.default_rng(0).random(10)
    assert interval(*arms, rng=2) == first


def test_binning_does_not_move_lattice_data():
    rng = np.random.default_rng(2)
    differences = (rng.binomial(4, 0.9, 40) - rng.binomial(4, 0.9, 40)) / 4
    exact = tilted_limits(differences, BOTH, 4, 0.95)
    assert tilted_limits(differences, BOTH, None, 0.95) == pytest.approx(exact, abs=1e-12)


def test_the_short_transform_loses_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    differences = (rng.binomial(10, 0.95, 400) - rng.binomial(10, 0.95, 400)) / 10
    short = tilted_limits(differences, BOTH, 10, 0.95)
    monkeypatch.setattr("analysis.sums._WINDOW_LOG_TAIL", 1e9)
    assert short == pytest.approx(tilted_limits(differences, BOTH, 10, 0.95), abs=1e-13)


@pytest.mark.parametrize("level", [0.999, 1 - 1e-6, 1 - 1e-9])
def test_extreme_levels_keep_their_precision(level):
    totals = [-1] + [0] * 10 + [1]
    low, high = tilted_limits(np.array(totals, float), BOTH, 1, level)
    distance = 1 + Oracle(totals, 1, 1).lower(tail_of(level, 12))
    assert 1 + low == pytest.approx(distance, rel=1e-6)
    assert -1 < low < high < 1


# --- p-values never contradict the interval -------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(ARRAYS, st.floats(0.01, 0.9), st.sampled_from([0.005, 0.025, 0.05]))
def test_p_agrees_with_the_interval(case, margin, alpha):
    _, (baseline, candidate) = draw(case)
    found = interval(baseline, candidate, level=1 - 2 * alpha)
    shown = {
        "non-inferior": found.low >= -margin,
        "superior": found.low >= 0,
        "equivalent": found.low >= -margin and found.high <= margin,
    }
    near = {
        "non-inferior": abs(found.low + margin),
        "superior": abs(found.low),
        "equivalent": min(abs(found.low + margin), abs(found.high - margin)),
    }
    for claim, holds in shown.items():
        if near[claim] > 1e-9:
            p = p_value(baseline, candidate, claim=claim, margin=margin)
            assert 0 <= p <= 1
            assert (p <= alpha) == holds, claim


@settings(max_examples=50, deadline=None)
@given(ARRAYS)
def test_p_is_half_the_level_at_the_limit(case):
    _, (baseline, candidate) = draw(case)
    found = interval(baseline, candidate)
    for at, sign in ((found.low, 1), (found.high, -1)):
        if abs(at) < 1 - 1e-9:
            differences = sign * (candidate.mean(1) - baseline.mean(1))
            p = tilted_p_value(differences, BOTH, case[1], sign * at)
            assert p == pytest.approx(0.025, rel=1e-7)


def test_p_rises_with_the_tested_value():
    differences = np.array([-1.0, 0, 0, 0, 0, 0.5, 0, 0, 1, 0])
    grid = np.linspace(-0.95, 0.95, 39)
    ps = [tilted_p_value(differences, BOTH, 2, float(at)) for at in grid]
    assert all(a < b for a, b in itertools.pairwise(ps))


@pytest.mark.parametrize(
    "options", [{"claim": "better"}, {"claim": "non-inferior"}, {"claim": "equivalent", "margin": 1.0}]
)
def test_p_refuses_what_it_cannot_answer(options):
    with pytest.raises(InputError):
        p_value([[1]] * 10, [[1]] * 10, **options)


def test_p_refuses_few_tasks():
    with pytest.raises(InputError, match="4 tasks"):
        p_value([[1]] * 4, [[1]] * 4, claim="superior")


def test_p_refuses_the_end_of_the_range():
    with pytest.raises(InputError):
        tilted_p_value(np.zeros(10), BOTH, 1, -1.0)
