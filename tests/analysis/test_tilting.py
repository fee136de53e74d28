"""The tilt of several groups: golden values, an exact oracle, closed forms, invariances, p and interval."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from analysis import sums, tilting
from analysis.sums import Group
from analysis.tilting import all_ties_bound, degrees_of_freedom, estimate, limits, p_value
from study.errors import InputError

BOTH, UNIT = (-1.0, 1.0), (0.0, 1.0)


@pytest.fixture(autouse=True, scope="module")
def digits():
    """Work with 45 decimal digits in this module only."""
    with localcontext(prec=45):
        yield


def values(*counts: tuple[float, int]) -> np.ndarray:
    return np.concatenate([np.full(n, float(value)) for value, n in counts])


def strata(weights, mass, *groups) -> list[Group]:
    return [Group(x, BOTH, 1, w, mass) for x, w in zip(groups, weights, strict=True)]


def arms(baseline, candidate, denominator=1) -> list[Group]:
    return [Group(baseline, UNIT, denominator, -1.0), Group(candidate, UNIT, denominator, 1.0)]


THREE = (
    values((-1, 1), (0, 9)),
    values((-1, 1), (1, 1), (0, 18)),
    values((-1, 3), (1, 5), (0, 42)),
)
THIRDS = (1 / 3, 1 / 3, 1 / 3)


# --- golden values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "mass", "observed", "degrees", "expected"),
    [
        ((0.2, 0.3, 0.5), 1 / 3, 0.0, 55.153, (-0.09481, 0.09049)),
        ((0.2, 0.3, 0.5), 1 / 2, 0.0, 51.730, (-0.09833, 0.09522)),
        (THIRDS, 1 / 3, -0.02, 21.905, (-0.14375, 0.08593)),
        (THIRDS, 1 / 2, -0.02, 20.807, (-0.14821, 0.09533)),
    ],
)
def test_three_strata(weights, mass, observed, degrees, expected):
    groups = strata(weights, mass, *THREE)
    assert estimate(groups) == pytest.approx(observed, abs=1e-15)
    assert degrees_of_freedom(groups) == pytest.approx(degrees, abs=5e-4)
    assert limits(groups, 0.95) == pytest.approx(expected, abs=2e-5)


def test_tied_strata():
    zeros = [np.zeros(n) for n in (10, 20, 50)]
    low, high = limits(strata((0.2, 0.3, 0.5), 1 / 3, *zeros), 0.95)
    assert (low, high) == (-high, pytest.approx(0.0580, abs=5e-5))
    pair = strata((0.5, 0.5), 1 / 2, np.zeros(20), np.zeros(20))
    assert limits(pair, 0.95)[1] == pytest.approx(0.0902, abs=5e-5)
    assert limits([Group(np.zeros(40), BOTH, 1)], 0.95)[1] == pytest.approx(0.08045, abs=2e-5)


@pytest.mark.parametrize(("n_tasks", "half"), [(10, 0.29614), (20, 0.15397), (50, 0.06313)])
def test_two_arms_that_pass_everything(n_tasks, half):
    found = limits(arms(np.ones(n_tasks), np.ones(n_tasks)), 0.95)
    assert found == (pytest.approx(-half, abs=2e-5), -found[0])


def test_two_arms():
    found = limits(arms(values((1, 18), (0, 2)), values((1, 24), (0, 6))), 0.95)
    assert found == pytest.approx((-0.30007, 0.12468), abs=2e-5)


@pytest.mark.parametrize(
    ("weights", "n_tasks", "bound"),
    [
        (THIRDS, (10, 10, 10), 0.1157),
        ((0.2, 0.3, 0.5), (10, 20, 50), 0.06202),
        ((0.5, 0.3, 0.2), (10, 20, 50), 0.1542),
        ((0.25,) * 4, (20,) * 4, 0.0451),
        ((0.125,) * 8, (10,) * 8, 0.0451),
        ((0.5, 0.5), (10, 200), 0.1542),
        ((0.5, 0.3, 0.2), (50, 50, 50), 0.0356),
    ],
)
def test_all_ties_bound(weights, n_tasks, bound):
    assert all_ties_bound(weights, n_tasks) == pytest.approx(bound, abs=5e-5)


# --- closed forms ----------------------------------------------------------------------------------------


def test_all_ties_bound_of_one_stratum_and_by_direct_maximisation():
    for n in (5, 20, 200):
        assert all_ties_bound([1.0], [n], 0.01) == pytest.approx(1 - 0.01 ** (1 / n), rel=1e-12)
    w, t = np.array([0.6, 0.3, 0.1]), np.array([12, 30, 9])

    def lost(logs):  # q_h = 1 - exp(-logs_h), under sum T_h logs_h = -ln(0.025)
        return w @ np.expm1(-logs)

    budget = optimize.LinearConstraint(t, 0, -math.log(0.025))
    best = optimize.minimize(lost, np.full(3, 0.01), constraints=budget, bounds=[(0, None)] * 3, tol=1e-12)
    assert all_ties_bound(w, t) == pytest.approx(-best.fun, abs=1e-6)


def test_degrees_of_freedom_are_welch_of_the_augmented_samples():
    rng = np.random.default_rng(1)
    groups = arms(rng.random(12), rng.random(30), None)
    # whole pseudo tasks stand in the sample itself, so that the software of others can be asked
    groups = [group._replace(pseudo_mass=1.0) for group in groups]
    v = [np.var([*g.values, 0, 1], ddof=1) / len(g.values) for g in groups]
    expected = sum(v) ** 2 / sum(x**2 / (len(g.values) - 1) for x, g in zip(v, groups, strict=True))
    assert degrees_of_freedom(groups) == pytest.approx(expected, rel=1e-12)
    plain = [group._replace(pseudo_mass=1e-12) for group in groups]
    welch = stats.ttest_ind(groups[1].values, groups[0].values, equal_var=False).df
    assert degrees_of_freedom(plain) == pytest.approx(welch, rel=1e-9)
    assert degrees_of_freedom(groups[:1]) == 11


@pytest.mark.parametrize("n_tasks", [10, 20, 50, 200])
def test_strict_closed_form(n_tasks):
    tail = float(special.ndtr(-stats.t.isf(0.025, n_tasks - 1)))
    low, high = limits([Group(np.ones(n_tasks), UNIT, 1)], 0.95, strict=True)
    assert (low, high) == (pytest.approx(tail ** (1 / n_tasks), rel=1e-13), 1.0)
    printed = {10: 0.642, 20: 0.818, 50: 0.927, 200: 0.982}[n_tasks]
    assert round(low, 3) == printed
    assert low < 0.025 ** (1 / n_tasks)  # Clopper and Pearson


def test_arms_at_opposite_ends():
    """Candidate all 1, baseline all 0: both laws have two points, and so the equation is explicit."""
    for strict, share in ((False, 2.0), (True, 1.0)):
        found = limits(arms(np.zeros(10), np.ones(10)), 0.95, strict=strict)
        degrees = degrees_of_freedom(arms(np.zeros(10), np.ones(10)))
        tail = float(special.ndtr(-stats.t.isf(0.025, degrees)))
        assert found == (pytest.approx(2 * (share * tail) ** (1 / 20) - 1, rel=1e-12), 1.0)
    low, high = limits(arms(np.ones(11), np.zeros(17)), 0.95)
    assert low == -1
    assert -1 < high < -0.5


def test_one_stratum_is_the_single_group_and_two_equal_ones_are_pooled():
    whole = Group(values((-1, 2), (0, 20)), BOTH, 1)
    assert limits([whole], 0.9) == pytest.approx(limits([whole._replace(denominator=None)], 0.9), abs=1e-12)
    halves = [Group(values((-1, 1), (0, 10)), BOTH, 1, 0.5, 0.5)] * 2
    degrees, quantile = degrees_of_freedom(halves), tilting.t_quantile(0.95, degrees_of_freedom(halves))
    assert degrees == pytest.approx(20, rel=1e-12)
    level = 1 - 2 * float(stats.t.sf(quantile, 21))
    pooled = whole._replace(pseudo_mass=1.0)  # both halves draw from the same law, half as many tasks each
    assert limits(halves, 0.95) == pytest.approx(limits([pooled], level), abs=1e-9)


# --- an exact oracle: Fractions and decimals, by direct convolution ----------------------------------------


class Exact(NamedTuple):
    """One group in exact numbers."""

    values: list[Fraction]
    bounds: tuple[int, int]
    weight: Fraction
    mass: Fraction


def dec(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


class Oracle:
    """The law of the sum as whole multiples of a unit, tilted by powers of x = exp(tilt * unit)."""

    def __init__(self, groups: list[Exact], *, full: bool = False) -> None:
        self.full, self.groups = full, groups
        factors = [g.weight / len(g.values) for g in groups]
        points = [
            c * x for g, c in zip(groups, factors, strict=True) for x in (*g.values, *map(Fraction, g.bounds))
        ]
        self.unit = Fraction(1, math.lcm(*(x.denominator for x in points)))
        self.laws: list[dict[int, Fraction]] = []
        total = {0: Fraction(1)}
        for group, c in zip(groups, factors, strict=True):
            law: dict[int, Fraction] = {}
            masses = [(x, Fraction(1)) for x in group.values] + [
                (Fraction(e), group.mass) for e in group.bounds
            ]
            for x, mass in masses:
                k = int(c * x / self.unit)
                law[k] = law.get(k, Fraction(0)) + mass / (len(group.values) + 2 * group.mass)
            self.laws.append(law)
            for _ in group.values:
                grown: dict[int, Fraction] = {}
                for (left, p), (right, q) in itertools.product(total.items(), law.items()):
                    grown[left + right] = grown.get(left + right, Fraction(0)) + p * q
                total = grown
        self.observed = sum(
            int(c * x / self.unit) for g, c in zip(groups, factors, strict=True) for x in g.values
        )
        self.total = {k: dec(p) for k, p in total.items()}

    def tail(self, x: Decimal) -> Decimal:
        weighted = {k: p * x**k for k, p in self.total.items()}
        above = sum(p for k, p in weighted.items() if k > self.observed)
        return (above + weighted[self.observed] / (1 if self.full else 2)) / sum(weighted.values())

    def mean(self, x: Decimal) -> Decimal:
        found = Decimal(0)
        for group, law in zip(self.groups, self.laws, strict=True):
            weighted = {k: dec(p) * x**k for k, p in law.items()}
            # k counts units of c * x, and the group's part of the estimate is T times that
            mean = sum(k * p for k, p in weighted.items()) / sum(weighted.values())
            found += mean * dec(self.unit) * len(group.values)
        return found

    def degrees(self) -> float:
        if len(self.groups) == 1:
            return len(self.groups[0].values) - 1
        v: list[Fraction] = []
        for g in self.groups:
            n = len(g.values) + 2 * g.mass
            mean = (sum(g.values) + g.mass * sum(g.bounds)) / n
            squares = sum(x**2 for x in g.values) + g.mass * sum(e**2 for e in g.bounds)
            v.append(g.weight**2 * (squares - n * mean**2) / (n - 1) / len(g.values))
        return float(
            sum(v) ** 2 / sum(x**2 / (len(g.values) - 1) for x, g in zip(v, self.groups, strict=True))
        )

    def tail_probability(self, level: float) -> Decimal:
        return Decimal(float(stats.norm.cdf(-stats.t.isf((1 - level) / 2, self.degrees()))))

    def lower(self, level: float) -> float:
        wanted = self.tail_probability(level)
        return float(self.mean(solve(lambda x: self.tail(x) - wanted)))

    def p_value(self, at: float) -> float:
        tail = self.tail(solve(lambda x: self.mean(x) - Decimal(at)))
        small = tail < Decimal("0.5")
        z = -special.ndtri(float(tail)) if small else special.ndtri(float(1 - tail))
        return float(stats.t.sf(z, self.degrees()))


def solve(function) -> Decimal:
    """Solve an increasing function of x for 0, on the logarithmic scale."""
    low, high = Decimal(10) ** -12, Decimal(10) ** 12
    for _ in range(75):
        middle = (low * high).sqrt()
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low * high).sqrt()


def mirrored(groups: list[Exact]) -> list[Exact]:
    return [group._replace(weight=-group.weight) for group in groups]


def as_groups(groups: list[Exact]) -> list[Group]:
    return [
        Group(
            np.array([float(x) for x in g.values]),
            (float(g.bounds[0]), float(g.bounds[1])),
            math.lcm(*(x.denominator for x in g.values)),
            float(g.weight),
            float(g.mass),
        )
        for g in groups
    ]


def draw_group(low: int, weight: st.SearchStrategy[Fraction], mass: Fraction) -> st.SearchStrategy[Exact]:
    def build(q: int) -> st.SearchStrategy[Exact]:
        counts = st.lists(st.integers(low * q, q), min_size=2, max_size=5)
        return st.tuples(counts, weight).map(
            lambda pair: Exact([Fraction(k, q) for k in pair[0]], (low, 1), pair[1], mass)
        )

    return st.integers(1, 3).flatmap(build)


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
TWO_ARMS = st.tuples(
    draw_group(0, st.just(Fraction(-1)), HALF), draw_group(0, st.just(Fraction(1)), HALF)
).map(list)
TWO_STRATA = st.sampled_from([(1, 1), (1, 2), (1, 3)]).flatmap(
    lambda w: st.tuples(*(draw_group(-1, st.just(Fraction(part, sum(w))), HALF) for part in w)).map(list)
)
THREE_STRATA = st.tuples(*(draw_group(-1, st.just(part), THIRD) for part in (HALF, THIRD, THIRD / 2))).map(
    list
)


def end(groups: list[Exact], side: int) -> Fraction:
    return sum((side * max(side * g.weight * e for e in g.bounds) for g in groups), Fraction(0))


@settings(max_examples=12, deadline=None)
@given(st.one_of(TWO_ARMS, TWO_STRATA, THREE_STRATA), st.sampled_from([0.8, 0.95]), st.booleans())
def test_limits_against_the_exact_oracle(groups, level, strict):
    found = limits(as_groups(groups), level, strict=strict)
    observed = sum((g.weight * sum(g.values) / len(g.values) for g in groups), Fraction(0))
    if observed > end(groups, -1):
        expected = min(Oracle(groups, full=strict).lower(level), float(observed))
        assert found[0] == pytest.approx(expected, abs=1e-9)
    if observed < end(groups, 1):
        expected = max(-Oracle(mirrored(groups), full=strict).lower(level), float(observed))
        assert found[1] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.one_of(TWO_ARMS, TWO_STRATA), st.floats(-0.8, 0.8), st.booleans())
def test_p_values_against_the_exact_oracle(groups, at, strict):
    observed = sum((g.weight * sum(g.values) / len(g.values) for g in groups), Fraction(0))
    if abs(at - float(observed)) > 0.01 and (observed > end(groups, -1) or not strict):
        found = p_value(as_groups(groups), at, strict=strict)
        assert found == pytest.approx(Oracle(groups, full=strict).p_value(at), rel=1e-6, abs=1e-9)


# --- grids -----------------------------------------------------------------------------------------------


def test_a_fine_grid_agrees_with_the_common_lattice():
    rng = np.random.default_rng(4)
    for _ in range(5):
        groups = [
            Group((rng.binomial(3, 0.9, n) - rng.binomial(3, 0.8, n)) / 3, BOTH, 3, w, 1 / 3)
            for n, w in ((12, 0.25), (16, 0.35), (24, 0.4))
        ]
        exact = limits(groups, 0.95)
        # weights that no small denominator has force the fine grid; so do values without one
        moved = [g._replace(weight=g.weight * (1 + 1e-12)) for g in groups]
        assert limits(moved, 0.95) == pytest.approx(exact, abs=5e-5)
        assert limits([g._replace(denominator=None) for g in groups], 0.95) == pytest.approx(exact, abs=5e-5)


def test_arms_without_a_common_divisor_agree_on_the_fine_grid():
    """Tied tasks are the hardest case: the sum equals the observed one with a large probability."""
    for first, second, failed in ((7, 8, 0), (7, 8, 1), (50, 63, 2)):
        groups = arms(values((0, failed), (1, first - failed)), np.ones(second))
        fine = [group._replace(denominator=None) for group in groups]
        assert limits(fine, 0.95) == pytest.approx(limits(groups, 0.95), abs=1e-4)
        assert limits(fine, 0.95, strict=True) == pytest.approx(limits(groups, 0.95, strict=True), abs=5e-4)


def test_a_coarser_grid_is_used_for_very_many_tasks(monkeypatch):
    rng = np.random.default_rng(8)
    groups = arms(rng.random(300), rng.random(170), None)
    fine = limits(groups, 0.95)
    monkeypatch.setattr(sums, "LONGEST_GRID", 100_000)
    assert limits(groups, 0.95) == pytest.approx(fine, abs=5e-5)


def test_the_short_transform_loses_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    groups = [Group((rng.random(n) < 0.95).astype(float), UNIT, 1, w) for n, w in ((150, -1.0), (260, 1.0))]
    short = limits(groups, 0.95)
    monkeypatch.setattr(sums, "_WINDOW_LOG_TAIL", 1e9)
    assert short == pytest.approx(limits(groups, 0.95), abs=1e-12)


def test_binning_keeps_the_mean_of_every_position():
    position = np.array([0.0, 0.25, 3.5, 7.999, 8.0])
    counts = sums._binned(position, 9)
    assert counts.sum() == pytest.approx(5, abs=1e-12)
    assert counts @ np.arange(9) == pytest.approx(position.sum(), abs=1e-12)


# --- invariances -----------------------------------------------------------------------------------------

SHAPE = st.tuples(
    st.integers(5, 14),
    st.integers(5, 14),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
    st.floats(0, 1),
    st.booleans(),
)


def draw(case, bounds=UNIT, weights=(-1.0, 1.0)):
    first, second, q, seed, rate, continuous = case
    rng = np.random.default_rng(seed)
    low = bounds[0]
    groups: list[Group] = []
    for n, weight in zip((first, second), weights, strict=True):
        share = rng.random(n) if continuous else rng.binomial(q, rate, n) / q
        groups.append(Group(low + (bounds[1] - low) * share, bounds, None if continuous else q, weight))
    return groups


@settings(max_examples=30, deadline=None)
@given(SHAPE)
def test_exchanging_the_arms_mirrors_the_limits(case):
    baseline, candidate = draw(case)
    one = limits([baseline, candidate], 0.95)
    other = limits([candidate._replace(weight=-1.0), baseline._replace(weight=1.0)], 0.95)
    assert one == (-other[1], -other[0])


@settings(max_examples=8, deadline=None)
@given(SHAPE, st.floats(0.2, 0.8))
def test_the_order_of_groups_and_tasks_does_not_matter(case, weight):
    groups = draw(case, BOTH, (weight, 1 - weight))
    rng = np.random.default_rng(0)
    shuffled = [g._replace(values=rng.permutation(g.values)) for g in groups[::-1]]
    assert limits(shuffled, 0.95) == limits(groups, 0.95)


@settings(max_examples=30, deadline=None)
@given(SHAPE, st.sampled_from([0.8, 0.95, 0.99]), st.booleans())
def test_limits_contain_the_estimate_are_never_flat_and_nest(case, level, strict):
    groups = draw(case)
    low, high = limits(groups, level, strict=strict)
    assert -1 <= low <= estimate(groups) <= high <= 1
    assert low < high
    wide = limits(groups, (1 + level) / 2, strict=strict)
    assert wide[0] <= low
    assert high <= wide[1]
    if strict:
        plain = limits(groups, level)
        assert low <= plain[0] + 1e-12
        assert plain[1] - 1e-12 <= high


@settings(max_examples=8, deadline=None)
@given(SHAPE, st.floats(0.1, 50))
def test_limits_scale_with_weights(case, factor):
    groups = draw(case)
    scaled = limits([g._replace(weight=factor * g.weight) for g in groups], 0.95)
    assert np.array(scaled) / factor == pytest.approx(np.array(limits(groups, 0.95)), abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(SHAPE, st.floats(-0.9, 0.9), st.sampled_from([0.005, 0.025, 0.05]), st.booleans())
def test_p_agrees_with_the_interval(case, at, alpha, strict):
    groups = draw(case)
    low, _ = limits(groups, 1 - 2 * alpha, strict=strict)
    if abs(low - at) > 1e-9:
        p = p_value(groups, at, strict=strict)
        assert 0 <= p <= 1
        assert (p <= alpha) == (low >= at)


@settings(max_examples=30, deadline=None)
@given(SHAPE, st.floats(0.02, 0.9), st.sampled_from(["non-inferior", "superior", "equivalent"]))
def test_claims_agree_with_the_interval(case, margin, claim):
    groups = draw(case)
    low, high = limits(groups, 0.95)
    shown = {
        "non-inferior": low >= -margin,
        "superior": low >= 0,
        "equivalent": low >= -margin and high <= margin,
    }[claim]
    if min(abs(low + margin), abs(low), abs(high - margin)) > 1e-9:
        assert (tilting.claim_p_value(groups, claim, margin) <= 0.025) == shown


def test_p_rises_with_the_tested_value():
    groups = strata((0.2, 0.3, 0.5), 1 / 3, *THREE)
    ps = [p_value(groups, float(at)) for at in np.linspace(-0.9, 0.5, 25)]
    assert all(a < b for a, b in itertools.pairwise(ps))


@pytest.mark.parametrize("at", [-1.0, 1.0, 2.0, float("nan")])
def test_p_refuses_the_ends_of_the_range(at):
    with pytest.raises(InputError, match="at"):
        p_value(arms(np.ones(10), np.ones(10)), at)


@pytest.mark.parametrize("weights", [[], [1.0], [0.5, 0.6], [1.5, -0.5], [1.0, 0.0], [0.5, float("nan")]])
def test_weights_are_checked(weights):
    with pytest.raises(InputError, match="weights"):
        tilting.check_weights(weights, 2)
    with pytest.raises(InputError, match="no strata"):
        tilting.check_weights([], 0)
