"""What a ladder report may say of its rows."""

from __future__ import annotations

import contextlib

import pytest

from study.errors import StudyError
from study.ladder import case_source, measure, select_cases
from study.ladderchecks import check_drivers, regrade, repeats, sealing

TWICE = """

import itertools

_count = itertools.count()


def fickle(request, tools, ctx):
    return LoopResult(refused=True, driver="fickle-1", why=str(next(_count)))
"""


@pytest.fixture
def shop(mini):
    """Return a study, and its cases."""
    study = mini(tasks=3, extra=TWICE)
    with contextlib.chdir(study.folder):
        yield study, select_cases(case_source("shop", None, None), split="held-out")


def run(study, parts, name):
    return measure(f"{study.drivers}:{name}", parts, search=study.folder).rows


@pytest.mark.parametrize(
    "names, words",
    [
        ([], "no driver"),
        (["stub", "stub"], "named twice"),
        (["stub", "stubb"], "did you mean 'stub'"),
    ],
)
def test_drivers_are_refused_before_anything_runs(names, words):
    with pytest.raises(StudyError, match=words):
        check_drivers(names)


def test_each_driver_has_a_file_name_of_its_own(shop):
    study, _ = shop
    own = f"{study.drivers}:careful"
    assert check_drivers(["stub", own], search=study.folder) == {
        "stub": "stub",
        own: f"{study.drivers}-careful",
    }


def test_a_driver_that_repeats_itself_and_one_that_does_not(shop):
    study, _ = shop
    only = ("status-0-a", "status-1-a")
    parts = select_cases(case_source("shop", None, None), split="held-out", only=only)
    for name, first in (("careful", None), ("fickle", "status-0-a")):
        found = repeats(
            f"{study.drivers}:{name}",
            parts,
            run(study, parts, name),
            stamp="0.1.0",
            concurrency=1,
            search=study.folder,
        )
        assert [r.how for r in found] == ["a second run", "8 against 1 workers"]
        assert found[0].first_difference == first


def test_rows_of_several_suites_are_graded_again_by_their_own(shop):
    study, parts = shop
    both = [*parts, *select_cases(case_source("bundled:toy", None, None), split="development", rung="TOOL-0")]
    rows = [*run(study, parts, "hasty"), *measure("stub", both[1:]).rows]
    assert regrade(rows, both) == []
    rows[-1]["verdict"]["pass"] = not rows[-1]["verdict"]["pass"]
    (line,) = regrade(rows, both)
    assert "verdict.pass" in line
    assert str(rows[-1]["caseId"]) in line


def test_sealed_changed_and_new_cases_are_told_apart(shop):
    study, parts = shop
    assert sealing(parts).unsealed == tuple(case.id for case in parts[0].cases)
    cases = parts[0].cases
    suite = study.folder / "shop" / "suite.toml"
    seals = f'[sealed]\n"{cases[0].id}" = "{cases[0].digest}"\n"{cases[1].id}" = "{"0" * 64}"\n'
    suite.write_text(suite.read_text() + seals)
    found = sealing(select_cases(case_source("shop", None, None), split="held-out"))
    assert (found.sealed, found.changed) == (1, (cases[1].id,))
    assert len(found.unsealed) == 4


def test_an_id_in_two_suites_is_refused(shop):
    suites = case_source("shop", None, None)
    with pytest.raises(StudyError, match="in another suite too"):
        select_cases(suites * 2, split="held-out")
