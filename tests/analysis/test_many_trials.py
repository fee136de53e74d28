"""A table of a million trials with latencies: right numbers in bounded memory, and what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 1_000_000_000
WANTED_CPU_S = 10

COMPARED = """
import json, resource, sys, time
from analysis.comparison import compare
from analysis.report.comparison import render_comparison
from analysis.tidy import read_table

began = time.perf_counter()
found = compare(read_table(sys.argv[1], baseline="old", candidate="new", margin="5 pp"))
told = render_comparison(found, "json")
used = resource.getrusage(resource.RUSAGE_SELF)
unit = 1 if sys.platform == "darwin" else 1024
spent = {"cpu_s": used.ru_utime + used.ru_stime, "wall_s": time.perf_counter() - began}
print(json.dumps({"told": told, "bytes": used.ru_maxrss * unit, **spent}))
"""


def write_trials(path: Path, tasks: int, repetitions: int) -> tuple[np.ndarray, np.ndarray]:
    """Write a shuffled table; return passes and seconds, shape (tasks, arms, repetitions) each."""
    rng = np.random.default_rng(4)
    passed = rng.random((tasks, 2, repetitions)) < rng.beta(4, 1.5, (tasks, 1, 1))
    logs = rng.normal(0, 0.8, (tasks, 1, 1)) + rng.normal((0, 0.1), 0.15, (tasks, 2))[:, :, None]
    seconds = np.exp(logs + rng.normal(0, 0.5, passed.shape)).round(6)
    task, arm, repetition = (place.ravel() for place in np.indices(passed.shape))
    frame = pl.DataFrame(
        {
            "task_id": pl.Series(task).cast(pl.String),
            "arm": np.array(["old", "new"])[arm],
            "repetition": repetition,
            "outcome": passed.ravel().astype(int),
            "latency_s": seconds.ravel(),
        }
    )
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(path)
    return passed, seconds


def compared(path: Path) -> dict:
    """Compare in a process of its own, whose memory and CPU are those of the comparison alone."""
    done = subprocess.run(
        [sys.executable, "-c", COMPARED, str(path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return {**found, "told": json.loads(found["told"])}


def check(found: dict, passed: np.ndarray, seconds: np.ndarray) -> None:
    completion, ratio = found["told"]["endpoints"]
    differences = np.diff(passed.mean(axis=2), axis=1).ravel()
    assert completion["estimate"] == pytest.approx(differences.mean(), abs=1e-12)
    logs = np.diff(np.log(seconds).mean(axis=2), axis=1).ravel()
    assert ratio["estimate"] == pytest.approx(logs.mean(), rel=1e-9)
    half = 1.959964 * logs.std(ddof=1) / np.sqrt(len(logs))
    assert ratio["interval"]["low"] == pytest.approx(logs.mean() - half, abs=0.002 * half)
    medians = [np.median(seconds[:, n]) for n in (0, 1)]
    for arm, median in zip(("baseline", "candidate"), medians, strict=True):
        assert found["told"]["latency"][arm]["p50_s"] == pytest.approx(median, rel=0.002)
    assert found["told"]["design"]["trials"] == passed.size


def test_thirty_thousand_trials_with_latencies(tmp_path):
    trials = write_trials(tmp_path / "trials.csv", 3_000, 5)
    check(compared(tmp_path / "trials.csv"), *trials)


@pytest.mark.long
def test_a_million_trials_with_latencies(tmp_path, capsys):
    trials = write_trials(tmp_path / "trials.csv", 50_000, 10)
    found = compared(tmp_path / "trials.csv")
    check(found, *trials)
    assert found["bytes"] < MOST_BYTES
    with capsys.disabled():
        print(
            f"\na million trials with latencies: {found['wall_s']:.1f} s of wall clock and "
            f"{found['cpu_s']:.1f} s of CPU (wanted: {WANTED_CPU_S}), "
            f"{found['bytes'] / 1e6:.0f} MB"
        )
