"""How long a run takes: sums done by hand, and what an earlier journal lets expect."""

from __future__ import annotations

import json
import os

import msgspec
import pytest

from study.forecast import forecast, last_run
from study.lock import lock_digest
from study.protocol import Conditions, Limits, Retries
from tests.support.journals import attempt, header, session, write_entries
from tests.support.protocols import parse


def declared(*, conditions=None, retries=None, **limits):
    protocol, _ = parse()
    design = msgspec.structs.replace(protocol.design, conditions=conditions)
    return msgspec.structs.replace(
        protocol, design=design, retries=retries, limits=Limits(trial_timeout_s=20, **limits)
    )


def test_without_further_declarations_only_the_time_limit_counts():
    plan = forecast(declared(), 294)
    assert plan.n_trials == 588
    assert plan.trials_s == 588 * 20
    assert plan.retries_s == plan.warm_up_s == plan.cool_down_s == plan.paced_s == plan.warm_up == 0
    assert plan.expected_s(0.5) == pytest.approx(294)


def test_each_declaration_adds_its_part():
    plan = forecast(
        declared(
            conditions=Conditions(warm_up=3, cool_down_s=2),
            retries=Retries(outcomes=("timeout",), attempts=3, wait_s=1),
            trials_per_minute=30,
        ),
        10,
    )
    assert plan.retries_s == 20 * 2 * (20 + 1)
    assert plan.warm_up == 6
    assert plan.warm_up_s == 6 * 20
    assert plan.cool_down_s == 9 * 2
    # nine pairs of two trials each must have been counted before the tenth pair starts, two seconds a trial
    assert plan.paced_s == 36
    assert plan.expected_s(0.5) == pytest.approx(36.5)
    assert plan.expected_s(10) == pytest.approx(26 * 10 + 18)


def test_one_pair_waits_for_nothing():
    plan = forecast(declared(conditions=Conditions(cool_down_s=5), trials_per_minute=1), 1)
    assert (plan.cool_down_s, plan.paced_s) == (0, 0)


def arms_of(driver, source_digest="a" * 64):
    return {
        arm: {"driver": driver, "stamp": f"{driver}-1", "config": {}, "source_digest": source_digest}
        for arm in ("baseline", "candidate")
    }


MINE = arms_of("mine:agent")


def write_run(base, stamp, latencies, *, at, lock_id="x", arms=MINE):
    folder = base / stamp
    folder.mkdir(parents=True)
    lock = {"schema": 1, "protocol_digest": lock_id, "arms": arms}
    (folder / "lock.json").write_text(json.dumps(lock))
    attempts = [attempt(n, latency_s=seconds) for n, seconds in enumerate(latencies)]
    more = [attempt(len(attempts), outcome="cancelled", latency_s=99.0)] if latencies else []
    digest = lock_digest(lock)
    write_entries(folder / "journal.jsonl", [header(digest), session(), *attempts, *more], digest)
    os.utime(folder / "journal.jsonl", (at, at))
    return folder / "journal.jsonl"


def test_runs_of_other_drivers_say_nothing(tmp_path):
    write_run(tmp_path, "mine", [0.5, 0.5], at=1000, arms=arms_of("mine:agent", "b" * 64))
    write_run(tmp_path, "toys", [0.1, 0.1], at=2000, arms=arms_of("toy:agent"))
    last = last_run(tmp_path, MINE)
    assert last is not None
    assert last.median_s == 0.5
    assert last_run(tmp_path, arms_of("another:agent")) is None


def test_the_newest_journal_is_told_and_interrupted_attempts_are_not_counted(tmp_path):
    write_run(tmp_path, "old", [9.0, 9.0, 9.0], at=1000)
    write_run(tmp_path, "new", [0.5, 0.5, 2.0], at=2000, lock_id="y")
    last = last_run(tmp_path, MINE)
    assert last is not None
    assert (last.median_s, last.mean_s, last.n_trials) == (0.5, 1.0, 3)


def test_no_run_no_trial_and_no_readable_journal_let_expect_nothing(tmp_path):
    assert last_run(tmp_path / "none", MINE) is None
    assert last_run(tmp_path, MINE) is None
    write_run(tmp_path, "begun", [], at=1000)
    assert last_run(tmp_path, MINE) is None
    journal = write_run(tmp_path, "broken", [0.5, 0.5], at=2000)
    journal.write_bytes(journal.read_bytes().replace(b"0.5", b"0.6"))
    assert last_run(tmp_path, MINE) is None
    (tmp_path / "broken" / "lock.json").unlink()
    assert last_run(tmp_path, MINE) is None
