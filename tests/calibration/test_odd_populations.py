"""Coverage on two kinds of tasks on which no method here was tuned.

``opposed``: in two of five tasks the arms pull apart, so that pairing adds noise instead of removing it.
``heavy``: difficulty with Cauchy tails on the logit scale, so that most tasks are alike and some are hopeless
or trivial. Bands as in `test_intervals.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from analysis import paired
from study.protocol import minimum_tasks
from tests.calibration.test_intervals import FALSE_CLAIM, MISS, most, plain_t
from tests.support.populations import KINDS

SHORT = 200
LONG = 1500

CELLS = [
    ("opposed", 10, 3, 0.9, 0.0, 0.8),
    ("opposed", 50, 1, 0.9, -0.10, 0.4),
    ("heavy", 20, 3, 0.97, -0.05, 0.4),
    ("heavy", 50, 3, 0.9, -0.10, 0.8),
]
MORE = [
    (kind, n_tasks, repetitions, base, effect, icc)
    for kind in ("opposed", "heavy")
    for n_tasks in (10, 20, 50, 200)
    for repetitions in (1, 3)
    for base in (0.5, 0.9, 0.97)
    for icc in (0.1, 0.8)
    for effect in (0.0, -0.10)
]


def misses(cell, count, method):
    """Count, over data sets: the difference outside, a lower limit at or above it, flat intervals."""
    kind, n_tasks, repetitions, *law = cell
    population = KINDS[kind](*law)
    rng = np.random.default_rng([13, *str(cell).encode()])
    outside = above = flat = 0
    for _ in range(count):
        low, high = method(*population.trials(rng, n_tasks, repetitions))
        outside += not low - 1e-9 <= population.difference <= high + 1e-9
        above += low > population.difference + 1e-9
        flat += high - low < 1e-9
    return outside, above, flat


def default(baseline, candidate):
    found = paired.interval(baseline, candidate)
    return found.low, found.high


def check(cell, count):
    outside, above, flat = misses(cell, count, default)
    assert flat == 0
    assert outside <= most(MISS, count)
    n_tasks, effect = cell[1], cell[4]
    if effect < 0 and n_tasks >= minimum_tasks(-effect):
        assert above <= most(FALSE_CLAIM, count)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_odd_populations_are_covered(cell):
    check(cell, SHORT)


@pytest.mark.long
@pytest.mark.parametrize("cell", MORE, ids=str)
def test_odd_populations_on_the_grid(cell):
    check(cell, LONG)


def test_students_t_breaks_the_promise_on_heavy_tails():
    outside, _, flat = misses(CELLS[2], SHORT, plain_t)
    assert outside > most(MISS, SHORT)
    assert flat > 0


def test_the_populations_are_what_they_are_called():
    rng = np.random.default_rng(14)
    first, second = KINDS["opposed"](0.5, 0.0, 0.4).rates(rng, 100_000)
    alike = np.corrcoef(*KINDS["beta"](0.5, 0.0, 0.4).rates(rng, 100_000))[0, 1]
    assert np.corrcoef(first, second)[0, 1] < 0.25 < 0.8 < alike
    rates = KINDS["heavy"](0.9, 0.0, 0.2).rates(rng, 100_000)[0]
    middle = np.quantile(rates, 0.75) - np.quantile(rates, 0.25)
    assert middle < 0.1
    assert np.quantile(rates, 0.01) < 0.01
    for kind, make in KINDS.items():
        effect = 0.0 if kind == "same" else -0.1
        population = make(0.9, effect, 0.4)
        first, second = population.rates(rng, 200_000)
        assert (second - first).mean() == pytest.approx(population.difference, abs=0.003)
        assert population.difference == pytest.approx(effect, abs=1e-3)
        assert first.mean() == pytest.approx(0.9, abs=0.003)
