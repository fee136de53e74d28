"""``study check`` says beforehand how long a run takes, and how it is declared to be conducted."""

from __future__ import annotations

import json
import os

import pytest

from study.lock import lock_digest
from tests.support.journals import attempt, header, session, write_entries

DECLARED = """\
trial_timeout_s = 5.0
grace_s = 3
max_wall_s = 60
max_tokens = 2000000
max_calls = 10000
trials_per_minute = 20

[retries]
outcomes = ["transport_error", "timeout"]
attempts = 3
wait_s = 1.0

[journal]
fsync_trials = 100
fsync_s = 1.5
"""


def rows(done, name):
    """Return the cells of a row name; a wrapped cell is joined again."""
    assert done.returncode == 0, (done.stdout, done.stderr)
    found, mine = [], False
    for line in done.stdout.splitlines():
        if line.startswith(" ") and mine:
            found[-1] += " " + line.strip()
            continue
        mine = line.split(" ")[0] == name
        if mine:
            found.append(line[len(name) :].strip())
    return found


def test_a_study_that_declares_nothing_has_one_row_of_time(mini):
    done = mini().command("check", "shop.toml")
    assert rows(done, "time") == ["at most 5 s a trial, 0.1 h if every trial timed out"]
    assert rows(done, "conduct") == []


def test_what_is_declared_is_told_in_plain_rows(mini):
    study = mini()
    study.edit("trial_timeout_s = 5.0\n", DECLARED)
    conditions = '{ cache = "warm", warm_up = 2, cool_down_s = 0.5, concurrency = 4 }'
    study.edit("seed = 11", f"seed = 11\nconditions = {conditions}")
    done = study.command("check", "shop.toml")
    assert rows(done, "time") == [
        "at most 5 s a trial, 0.1 h if every trial timed out",
        "retries: at most 16 min more, if every attempt ended at the limit",  # 80 trials x 2 x 6 s
        "warm-up: 4 requests a worker, at most 20 s if all timed out",
        "cool-down: 20 s on one worker",  # 39 x 0.5 s
        "rate limit: at least 4 min, with any number of workers",  # 78 x 3 s
        "budget: no pair starts after 60 s, and the rate limit lets the last one start later than that",
    ]
    assert rows(done, "conduct") == [
        "conditions: warm cache",
        "conditions: each worker warms up with 2 requests an arm",
        "conditions: each worker pauses for 0.5 s between pairs",
        "conditions: up to 4 pairs beside each other on a worker",
        "rate limit: at most 20 trials start in a minute",
        "budgets: the run is over after 60 s or 2000000 known tokens or 10000 model calls",
        "retries: after transport_error or timeout, 3 attempts a trial at most, 1 s apart",
        "group commit: the journal is forced onto the disk after 100 records or 1.5 s",
        "interrupt: running pairs may go on for 3 s",
    ]


@pytest.mark.parametrize(
    "latencies, told",
    [
        ([0.5, 0.5, 0.5], "about 40 s on one worker, from the last run's median of 500 ms a trial"),
        (
            [0.5, 0.5, 9.5],
            "about 40 s on one worker, from the last run's median of 500 ms a trial "
            "(5 min from its mean of 3.50 s)",
        ),
    ],
)
def test_an_earlier_run_lets_expect_how_long_it_takes(mini, latencies, told):
    study = mini()
    folder = study.folder / "runs" / "shop-study" / "some-stamp"
    folder.mkdir(parents=True)
    assert study.command("freeze", "shop.toml").returncode == 0
    arms = json.loads((study.folder / "shop.lock.json").read_text())["arms"]
    lock = {"schema": 1, "protocol_digest": "x", "arms": arms}
    (folder / "lock.json").write_text(json.dumps(lock))
    digest = lock_digest(lock)
    attempts = [attempt(n, latency_s=seconds) for n, seconds in enumerate(latencies)]
    write_entries(folder / "journal.jsonl", [header(digest), session(), *attempts], digest)
    assert rows(study.command("check", "shop.toml"), "time")[-1] == told
    os.truncate(folder / "journal.jsonl", 10)
    assert len(rows(study.command("check", "shop.toml"), "time")) == 1


def test_check_names_the_command_that_comes_next(mini):
    study = mini()
    assert "ok; next: study freeze shop.toml\n" in study.command("check", "shop.toml").stdout
    assert study.command("freeze", "shop.toml").returncode == 0
    assert "ok; next: study run shop.toml (it is frozen" in study.command("check", "shop.toml").stdout
    study.edit("seed = 11", "seed = 12")
    assert "ok; next: study freeze shop.toml --replace" in study.command("check", "shop.toml").stdout
    assert study.command("freeze", "shop.toml", "--replace").returncode == 0


def test_only_what_is_declared_is_locked(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    locked = json.loads((study.folder / "shop.lock.json").read_text())["protocol"]
    assert locked["limits"] == {"trial_timeout_s": 5.0}
    assert not {"retries", "journal"} & set(locked)
    assert "conditions" not in locked["design"]
    study.edit("trial_timeout_s = 5.0\n", DECLARED)
    done = study.command("freeze", "shop.toml")
    assert done.returncode == 2
    assert "protocol.retries: (absent) ->" in done.stderr
    assert study.command("freeze", "shop.toml", "--replace").returncode == 0
    locked = json.loads((study.folder / "shop.lock.json").read_text())["protocol"]
    assert locked["journal"] == {"fsync_trials": 100, "fsync_s": 1.5}


def test_a_cold_cache_with_pairs_beside_each_other_is_refused(mini):
    study = mini()
    study.edit("seed = 11", 'seed = 11\nconditions = { cache = "cold", concurrency = 2 }')
    done = study.command("check", "shop.toml")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in ("shop.toml:design.conditions", "pairs beside it", "--executor process"):
        assert word in done.stderr
