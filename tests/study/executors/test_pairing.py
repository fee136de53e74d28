"""Pairs over several worker processes: each whole on one worker, in order, with nothing in between."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import study


def attempts(run):
    records = [json.loads(line)["record"] for line in run.journal.read_bytes().splitlines()]
    return [record for record in records if record["kind"] == "attempt"]


@pytest.fixture
def frozen(mini):
    made = mini(tasks=20, repetitions=2, candidate="careful", baseline="careful")
    assert made.command("freeze", "shop.toml").returncode == 0
    return made


def test_both_trials_of_a_pair_are_adjacent_on_one_of_four_workers(frozen):
    run = study.run(frozen.protocol, out=frozen.folder / "four", executor="process", workers=4)
    done = attempts(run)
    assert sorted(attempt["trial"] for attempt in done) == list(range(160))
    by_worker: dict[str, list] = {}
    for attempt in sorted(done, key=lambda attempt: attempt["started_at_s"]):
        by_worker.setdefault(attempt["worker"], []).append(attempt)
    assert set(by_worker) <= {f"worker {n}" for n in range(1, 5)}
    assert len(by_worker) >= 2
    for of_one in by_worker.values():
        trials = [attempt["trial"] for attempt in of_one]
        assert trials == sorted(trials)
        for first, second in zip(trials[::2], trials[1::2], strict=True):
            assert (first % 2, second) == (0, first + 1)
        for before, after in pairwise(of_one):
            assert before["started_at_s"] + before["latency_s"] <= after["started_at_s"] + 0.005
    alone = study.run(frozen.protocol, out=frozen.folder / "one")
    assert run.product.read_bytes() == alone.product.read_bytes()
