"""``study compare``: what it prints, what it exits with, and that the documentation shows exactly that."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from study.cli.main import main
from tests.support.tidy import MIXED, NASTY, failing, rows, write_csv

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n\$ (study compare [^\n]+)\n(.*?)```", PAGE, re.DOTALL)
GPQA = ROOT / "tests" / "references" / "data" / "gpqa_two_models.csv"
TAU = ROOT / "tests" / "references" / "data" / "taubench_airline_gpt4o.csv"
ARMS = ("--baseline", "old", "--candidate", "new")


class Done(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path):
    """Return the command line, run in an empty folder."""

    def call(*arguments: str) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(list(arguments))
            except SystemExit as stop:
                code = int(stop.code or 0)
        return Done(code, out.getvalue(), err.getvalue())

    return call


def numbers(value, path=""):
    """Yield every number of a JSON value with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from numbers(item, f"{path}[{n}]")
    elif isinstance(value, float | int):
        yield path, value


def intervals(value):
    """Yield every interval of a JSON value."""
    if isinstance(value, dict):
        if {"low", "high", "method"} <= set(value):
            yield value
        for item in value.values():
            yield from intervals(item)
    elif isinstance(value, list):
        for item in value:
            yield from intervals(item)


# --- the documented answers --------------------------------------------------------------------------


def name_of(command: str) -> str:
    return shlex.split(command)[2].removesuffix(".csv")


def test_every_nasty_table_has_a_documented_answer():
    assert sorted(name_of(command) for command, _ in BLOCKS) == sorted(NASTY())


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[name_of(command) for command, _ in BLOCKS])
def test_the_page_shows_what_the_command_prints(run, tmp_path, command, shown):
    name = name_of(command)
    NASTY()[name].write(tmp_path, name)
    done = run(*shlex.split(command)[1:])
    assert done.code == (2 if shown.startswith("error:") else 0)
    # one of the streams only: results on stdout, errors on stderr
    assert bool(done.out) != bool(done.err)
    lines = (done.out or done.err).splitlines()
    place, free = 0, False
    for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        wanted = part.splitlines()
        if wanted:
            starts = range(place, len(lines) if free else place + 1)
            found = [n for n in starts if lines[n : n + len(wanted)] == wanted]
            assert found, (wanted, lines)
            place = found[0] + len(wanted)
        free = True
    if done.err:
        assert place == len(lines)


@pytest.mark.parametrize("name", sorted(NASTY()))
def test_no_nasty_table_gives_a_number_that_nobody_has_a_right_to(run, tmp_path, name):
    nasty = NASTY()[name]
    nasty.write(tmp_path, name)
    for margin in ([], ["--margin", "10 pp"]):
        done = run("compare", f"{name}.csv", *ARMS, "--format", "json", *margin)
        assert "Traceback" not in done.out + done.err
        assert "internal" not in done.err
        if done.code == 2:
            assert not done.out
            assert f"{name}.csv" in done.err
            continue
        told = json.loads(done.out)
        assert all(math.isfinite(number) for _, number in numbers(told))
        for interval in intervals(told):
            if interval["low"] is None:
                assert interval["high"] is None
                assert interval["status"] == "refused"
            else:
                assert interval["low"] < interval["high"]
        # nothing is dropped in silence
        assert told["design"]["trials"] == len(nasty.rows)
        assert sum(told["missing"][arm]["trials"] for arm in ("baseline", "candidate")) == len(nasty.rows)
        assert told["declared"] == "exploratory"
        for endpoint in told["endpoints"]:
            assert endpoint["status"]
            assert endpoint["interval"] is None or endpoint["interval"]["method"]


def test_the_glossary_holds_the_vocabulary():
    words = (
        "arm band candidate capability case driver endpoint gate hallucination ladder lock margin "
        "pair protocol registry repetition rung suite task trial"
    )
    glossary = PAGE.split("## Glossary")[1]
    entries = re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)
    named = {word.strip() for entry in entries for word in entry.split(",")}
    assert set(words.split()) - {"candidate"} <= named
    assert "*candidate*" in glossary
    assert "metric pair" in named
    assert "hard fail" in named
    assert entries[2:] == sorted(entries[2:], key=str.casefold)


# --- the command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "arm", "margin", "code"),
    [
        (range(0, 40, 4), "old", None, 0),
        ([], "old", "10 pp", 0),
        (range(0, 40, 2), "new", "10 pp", 1),
        (range(0, 40, 2), "new", None, 1),
        ([7], "new", "10 pp", 4),
        ([], "old", None, 4),
    ],
)
def test_the_claim_decides_the_exit_code_only_when_asked(run, tmp_path, broken, arm, margin, code):
    write_csv(tmp_path / "t.csv", rows(40, 2, failing(arm, *broken)))
    options = [] if margin is None else ["--margin", margin]
    assert run("compare", "t.csv", *ARMS, *options).code == 0
    done = run("compare", "t.csv", *ARMS, *options, "--fail-on-claim")
    assert done.code == code
    assert done.out.startswith("Comparison of new with old\n")
    assert not done.err


def test_a_pilot_is_inconclusive_and_compares_nothing(run, tmp_path):
    NASTY()["three-tasks"].write(tmp_path, "t")
    done = run("compare", "t.csv", *ARMS, "--fail-on-claim")
    assert done.code == 4
    assert not re.search(r"better|worse|superior|faster|-?\d pp", done.out)


def test_formats_tell_the_same(run, tmp_path):
    write_csv(tmp_path / "t.csv", MIXED)
    text = run("compare", "t.csv", *ARMS, "--margin", "10 pp").out
    markdown = run("compare", "t.csv", *ARMS, "--margin", "10 pp", "--format", "md").out
    told = json.loads(run("compare", "t.csv", *ARMS, "--margin", "10 pp", "--format", "json").out)
    assert told["verdict"]["outcome"] == "non_inferior"
    assert (told["lock_digest"], told["declared"]) == (None, "exploratory")
    for shown in (text, markdown):
        joined = " ".join(shown.replace("|", " ").split())
        assert told["verdict"]["sentence"] in joined
        assert "EXPLORATORY" in shown
        assert "[-8.0 pp, +8.0 pp] (95 %, tilted), n tasks = 40, pairs = 120" in joined
        assert "sensitivity, not for the decision" in joined
    assert all(len(line) <= 100 for line in text.splitlines())


def test_all_sources_print_the_same(run, tmp_path):
    write_csv(tmp_path / "t.csv", MIXED)
    frame = pl.read_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    printed = {
        suffix: run("compare", f"t.{suffix}", *ARMS).out.replace(f"t.{suffix}", "t")
        for suffix in ("csv", "parquet", "jsonl")
    }
    assert printed["csv"] == printed["parquet"] == printed["jsonl"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--baseline", "old"], ["--candidate"]),
        ([*ARMS, "--format", "mdd"], ["'mdd'", "did you mean 'md'", "text, md, json"]),
        ([*ARMS, "--margin", "5"], ["margin", "no unit", "5 pp"]),
        ([*ARMS, "--margin", "5 %"], ["'%'"]),
        (["--baseline", "odl", "--candidate", "new"], ["did you mean 'old'"]),
        ([*ARMS, "--marign", "5 pp"], ["--marign"]),
    ],
)
def test_wrong_options_are_explained(run, tmp_path, arguments, words):
    write_csv(tmp_path / "t.csv", MIXED)
    done = run("compare", "t.csv", *arguments)
    assert (done.code, done.out) == (2, "")
    for word in words:
        assert word in done.err


def test_a_file_that_is_not_there(run):
    done = run("compare", "none.csv", *ARMS)
    assert (done.code, done.out) == (2, "")
    assert "none.csv: cannot read the table" in done.err


def test_hostile_names_cannot_move_the_cursor(run, tmp_path):
    evil = "\x1b[2Jnew"
    data = [(row[0], evil if row[1] == "new" else row[1], *row[2:]) for row in MIXED]
    write_csv(tmp_path / "t.csv", data)
    done = run("compare", "t.csv", "--baseline", "old", "--candidate", evil)
    assert done.code == 0
    assert "\x1b" not in done.out
    done = run("compare", "t.csv", "--baseline", "old", "--candidate", "new")
    assert done.code == 2
    assert "\x1b" not in done.err


# --- real data ---------------------------------------------------------------------------------------


def test_two_models_on_198_questions(run):
    """Against R 4.2.2: ref-0001, 0002, 0017 (point), 0019 (paired t), 0012 (percentile; lattice 1/990)."""
    arms = ["--baseline", "gpt-5.4-mini-2026-03-17", "--candidate", "gpt-5-nano-2025-08-07"]
    told = json.loads(run("compare", str(GPQA), *arms, "--format", "json").out)
    (found,) = told["endpoints"]
    assert (found["n_tasks"], found["n_pairs"]) == (198, 990)
    assert found["estimate"] == pytest.approx(0.058585858586, abs=1e-11)
    assert found["candidate"]["estimate"] == pytest.approx(0.67575757576, abs=1e-11)
    assert found["baseline"]["estimate"] == pytest.approx(0.61717171717, abs=1e-11)
    percentile, student = found["sensitivity"]
    assert (student["low"], student["high"]) == pytest.approx((0.0037847928651, 0.11338692431), rel=1e-9)
    for key, value, mc_error in (("low", 0.0050505050505, 0.00057), ("high", 0.11313131313, 0.00062)):
        assert percentile[key] == pytest.approx(value, abs=1 / 990 + 4 * mc_error)
    assert found["interval"]["low"] < student["low"]
    assert "latency: not recorded" in told["notes"]
    # ref-0022: 62 questions favour the first arm, 46 the second, 90 are tied
    assert any("tied tasks: 90 of 198" in note for note in found["diagnostics"])


def test_one_model_alone_is_no_comparison(run):
    done = run("compare", str(TAU), "--baseline", "gpt-4o", "--candidate", "gpt-4.1")
    assert done.code == 2
    assert "no arm 'gpt-4.1'" in done.err
    assert "one arm only" in done.err


# --- many rows ---------------------------------------------------------------------------------------


def many(folder: Path, tasks: int, repetitions: int) -> np.ndarray:
    """Write a shuffled table; return its outcomes, shape (tasks, arms, repetitions)."""
    rng = np.random.default_rng(11)
    passed = rng.random((tasks, 2, repetitions)) < rng.beta(4, 1, (tasks, 1, 1))
    task, arm, repetition = (place.ravel() for place in np.indices(passed.shape))
    frame = pl.DataFrame(
        {
            "task_id": pl.Series(task).cast(pl.String),
            "arm": np.array(["old", "new"])[arm],
            "repetition": repetition,
            "outcome": passed.ravel().astype(int),
        }
    )
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(folder / "many.csv")
    return passed


def check_many(run, folder: Path, tasks: int, repetitions: int) -> None:
    passed = many(folder, tasks, repetitions)
    told = json.loads(run("compare", "many.csv", *ARMS, "--margin", "5 pp", "--format", "json").out)
    (found,) = told["endpoints"]
    differences = passed[:, 1].mean(axis=1) - passed[:, 0].mean(axis=1)
    assert found["estimate"] == pytest.approx(differences.mean(), abs=1e-12)
    assert told["design"]["trials"] == passed.size
    assert (found["n_tasks"], found["n_pairs"]) == (tasks, tasks * repetitions)
    # with this many tasks the interval is close to the normal one
    half = 1.96 * differences.std(ddof=1) / math.sqrt(tasks)
    width = found["interval"]["high"] - found["interval"]["low"]
    assert width == pytest.approx(2 * half, rel=0.02)


def test_a_hundred_thousand_rows(run, tmp_path):
    check_many(run, tmp_path, 10_000, 5)


@pytest.mark.long
def test_a_million_rows(run, tmp_path):
    check_many(run, tmp_path, 50_000, 10)
