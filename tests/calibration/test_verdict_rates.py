"""Error rates and power of the whole verdict, simulated from trials to `analysis.decide`.

Every simulated study is a `RunTable` that goes through `analysis.estimate` and `analysis.decide`. The tables
are those that `build_table` makes of product rows, and of a run folder: two tests say so. Bands of the short
form as in `test_intervals.py`; the long form allows 2.5 Monte Carlo standard errors.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from analysis import decide, estimate, read_run
from study.protocol import minimum_tasks
from tests.calibration.test_intervals import most
from tests.support import populations
from tests.support.populations import KINDS, power
from tests.support.studies import Studies

SIDE = 0.025
"""Largest rate of a false "superior", and of a false "inferior", for equal arms."""

AT_MARGIN = 0.03
"""Largest rate of "non-inferior" where the true loss is the margin."""

FORMULA = 0.04
"""How far the planned power may be off: the formula is normal theory, trials are 0 or 1."""

SHORT = 20
"""Studies of each cell; the short form judges all cells together as well."""

LONG = 3000
LONG_POWER = 1000

SUPERIOR = [{"name": "completion", "role": "primary", "claim": "superior", "alpha": 0.025}]


def non_inferior(margin):
    text = f"{100 * margin:g} pp"
    return [
        {
            "name": "completion",
            "role": "primary",
            "claim": "non-inferior",
            "margin": text,
            "alpha": 0.025,
        }
    ]


def outcomes(cell, endpoints, count, seed=0):
    """Count the verdicts of simulated studies of one cell: kind, tasks, repetitions, base, effect, icc."""
    kind, n_tasks, repetitions, base, effect, icc = cell
    population = KINDS[kind](base, effect, icc)
    studies = Studies(n_tasks, repetitions, endpoints=endpoints)
    rng = np.random.default_rng([seed, *str(cell).encode()])
    found: dict[str, int] = {}
    for _ in range(count):
        table = studies.table(*population.trials(rng, n_tasks, repetitions))
        outcome = decide(table, estimate(table)).outcome
        found[outcome] = found.get(outcome, 0) + 1
    return found


def within(rate, count):
    """Return the largest count within 2.5 Monte Carlo standard errors of a rate."""
    return rate * count + 2.5 * math.sqrt(rate * (1 - rate) * count)


# --- the tables are those of the product -----------------------------------------------------------------


def test_simulated_tables_are_those_that_rows_make():
    studies = Studies(40, 3, endpoints=non_inferior(0.1))
    rng = np.random.default_rng(1)
    for kind in ("beta", "flip", "heavy"):
        trials = KINDS[kind](0.9, -0.1, 0.4).trials(rng, 40, 3)
        quick, slow = studies.table(*trials), studies.table_from_rows(*trials)
        assert_frame_equal(quick.frame, slow.frame)
        assert (quick.protocol, quick.lock) == (slow.protocol, slow.lock)
        assert decide(quick) == decide(slow)


SCRIPTED = """
import json, pathlib
OUTCOMES = json.loads((pathlib.Path(__file__).parent / "outcomes.json").read_text())

def scripted(arm):
    def drive(request, tools, ctx):
        order = re.search(r"order-([0-9]+)", request)
        first = "what is" in request
        if OUTCOMES[arm][int(order[1])][0 if first else 1]:
            return careful(request, tools, ctx)
        return LoopResult(refused=True, driver=f"scripted-{arm}")
    drive.stamp = f"scripted-{arm}"
    return drive

one, two = scripted(0), scripted(1)
"""


def test_a_run_folder_gives_the_verdict_of_the_simulated_table(mini):
    """Two drivers do as the population says; run, journal, grader, product and table follow."""
    n_tasks = 36
    trials = KINDS["flip"](0.8, -0.1, 0.4).trials(np.random.default_rng(2), n_tasks, 2)
    study = mini(tasks=n_tasks, margin="10 pp", baseline="one", candidate="two", extra=SCRIPTED)
    (study.folder / "outcomes.json").write_text(json.dumps([arm.tolist() for arm in trials]))
    assert study.command("freeze", "shop.toml").returncode == 0
    study.command("run", "shop.toml")
    (folder,) = study.folder.glob("runs/*/*")
    run = read_run(folder)
    # two cases a task stand where the simulation has two repetitions: both are trials of one task
    simulated = Studies(n_tasks, 2, endpoints=non_inferior(0.1)).table(*trials)
    (left,), (right,) = estimate(run), estimate(simulated)
    assert (left.estimate, left.interval, left.outcome) == (right.estimate, right.interval, right.outcome)
    assert decide(run).sentence == decide(simulated).sentence


# --- equal arms, claim superior --------------------------------------------------------------------------

EQUAL = [
    ("same", 10, 1, 0.9, 0.0, 0.4),
    ("same", 50, 3, 0.5, 0.0, 0.4),
    ("beta", 100, 1, 0.5, 0.0, 0.1),
    ("logit", 50, 1, 0.5, 0.0, 0.1),
    ("inflated", 36, 3, 0.9, 0.0, 0.4),
    ("opposed", 20, 3, 0.9, 0.0, 0.4),
    ("heavy", 50, 3, 0.9, 0.0, 0.4),
]


@pytest.fixture(scope="module")
def equal_short():
    """Return the outcomes of a few studies of equal arms, by cell."""
    return [outcomes(cell, SUPERIOR, SHORT) for cell in EQUAL]


@pytest.mark.parametrize("side", ["superior", "inferior"])
def test_equal_arms_are_rarely_told_apart(equal_short, side):
    counts = [found.get(side, 0) for found in equal_short]
    assert max(counts) <= most(SIDE, SHORT)
    assert sum(counts) <= most(SIDE, SHORT * len(EQUAL))


@pytest.mark.long
@pytest.mark.parametrize("cell", EQUAL, ids=str)
def test_equal_arms_on_the_grid(cell):
    found = outcomes(cell, SUPERIOR, LONG)
    assert set(found) <= {"superior", "inferior", "inconclusive"}
    assert max(found.get("superior", 0), found.get("inferior", 0)) <= within(SIDE, LONG)


# --- a true loss of the margin, claim non-inferior --------------------------------------------------------

# those with the most false claims of their kind in a scan of 48 cells a kind with 400 repetitions
AT = [
    ("flip", 200, 1, 0.9, -0.05, 0.1),
    ("flip", 200, 1, 0.97, -0.05, 0.1),
    ("beta", 72, 1, 0.97, -0.05, 0.1),
    ("logit", 72, 1, 0.97, -0.05, 0.1),
    ("inflated", 36, 3, 0.9, -0.10, 0.1),
    ("opposed", 36, 3, 0.9, -0.10, 0.4),
    ("heavy", 36, 1, 0.9, -0.10, 0.1),
]


def false_at_margin(cell, count):
    n_tasks, effect = cell[1], cell[4]
    assert n_tasks >= minimum_tasks(-effect)
    found = outcomes(cell, non_inferior(-effect), count)
    return found.get("non_inferior", 0) + found.get("superior", 0)


def test_a_loss_of_the_margin_rarely_passes():
    counts = [false_at_margin(cell, SHORT) for cell in AT]
    assert max(counts) <= most(AT_MARGIN, SHORT)
    assert sum(counts) <= most(AT_MARGIN, SHORT * len(AT))


@pytest.mark.long
@pytest.mark.parametrize("cell", AT, ids=str)
def test_a_loss_of_the_margin_on_the_grid(cell):
    assert false_at_margin(cell, LONG) <= within(AT_MARGIN, LONG)


def test_below_the_fewest_tasks_of_a_margin_nothing_passes():
    found = outcomes(("beta", 35, 3, 0.97, 0.0, 0.4), non_inferior(0.1), 5)
    assert found == {"inconclusive": 5}


@pytest.mark.long
def test_a_verdict_by_students_t_breaks_the_promise():
    """The same studies, decided by the limits that stand beside the deciding ones."""
    kind, n_tasks, repetitions, *law = ("flip", 50, 3, 0.97, -0.10, 0.1)
    population = KINDS[kind](*law)
    studies = Studies(n_tasks, repetitions, endpoints=non_inferior(0.1))
    rng = np.random.default_rng(3)
    student = tilted = 0
    for _ in range(LONG_POWER):
        table = studies.table(*population.trials(rng, n_tasks, repetitions))
        (found,) = estimate(table)
        (beside,) = (limits for limits in found.sensitivity if limits.method == "t")
        tilted += found.outcome == "non_inferior"
        student += beside.low is not None and beside.low >= -0.1
    assert tilted <= within(AT_MARGIN, LONG_POWER)
    assert student > within(AT_MARGIN, LONG_POWER)


# --- power ------------------------------------------------------------------------------------------------

PLANNED = [
    # kind, tasks, repetitions, base, effect, icc; margin 10 pp; the printed value for the first four
    (("beta", 50, 3, 0.5, 0.0, 0.4), 0.451),
    (("beta", 50, 3, 0.9, 0.0, 0.4), 0.765),
    (("beta", 50, 10, 0.9, 0.0, 0.8), 0.818),
    (("beta", 100, 3, 0.9, 0.0, 0.4), 0.986),
    (("logit", 60, 3, 0.9, 0.0, 0.1), None),
    (("inflated", 60, 3, 0.9, 0.0, 0.4), None),
]


def planned(cell):
    kind, n_tasks, repetitions, base, effect, icc = cell
    return power(KINDS[kind](base, effect, icc), n_tasks, repetitions, effect + 0.1)


@pytest.mark.parametrize("cell, printed", PLANNED[:4], ids=str)
def test_the_formula_of_the_plan_gives_the_printed_power(cell, printed):
    """Printed by a separate study, whose moments came from a draw of their own: hence the tolerance."""
    assert planned(cell) == pytest.approx(printed, abs=0.006)


def check_power(cell, count):
    found = outcomes(cell, non_inferior(0.1), count)
    shown = (found.get("non_inferior", 0) + found.get("superior", 0)) / count
    expected = planned(cell)
    assert abs(shown - expected) <= FORMULA + 2.5 * math.sqrt(expected * (1 - expected) / count)


@pytest.mark.parametrize("cell", [cell for cell, _ in PLANNED[1:2]], ids=str)
def test_power_is_as_planned(cell):
    check_power(cell, 3 * SHORT)


@pytest.mark.long
@pytest.mark.parametrize("cell", [cell for cell, _ in PLANNED], ids=str)
def test_power_on_the_grid(cell):
    check_power(cell, LONG_POWER)


@pytest.mark.long
def test_power_of_a_claim_to_be_superior():
    found = outcomes(("beta", 100, 3, 0.8, 0.1, 0.4), SUPERIOR, LONG_POWER)
    expected = power(populations.beta(0.8, 0.1, 0.4), 100, 3, 0.1)
    slack = FORMULA + 2.5 * math.sqrt(expected * (1 - expected) / LONG_POWER)
    assert abs(found.get("superior", 0) / LONG_POWER - expected) <= slack
    assert found.get("inferior", 0) == 0
