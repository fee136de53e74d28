"""A run that is killed at random moments and resumed ends in the same bytes as one that was not."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SLOW = """
import time

def slow(request, tools, ctx):
    time.sleep(0.004)
    return careful(request, tools, ctx)

slow.stamp = "slow-1"
"""


EXECUTORS = {1: (), 4: ("--executor", "process", "--workers", "4")}
"""Workers -> options of `study run`."""


def start(study, out, workers):
    return subprocess.Popen(
        [sys.executable, "-m", "study.cli", "run", study.protocol.name, "--out", out, *EXECUTORS[workers]],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines_of(journal):
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def kill_at(study, out, journal, workers, *, lines=None, delay_s=0.0):
    """Start or resume the run and kill it when its journal has that many lines, or after a delay."""
    process = start(study, out, workers)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if lines is None or lines_of(journal) >= lines:
            time.sleep(delay_s)
            break
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode


def killed_and_resumed(mini, kills, seed, workers):
    study = mini(tasks=20, repetitions=2, baseline="careful", candidate="slow", extra=SLOW)
    assert study.command("freeze", study.protocol.name).returncode == 0
    whole = study.command("run", study.protocol.name, "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    (reference,) = study.folder.glob("whole/*/*")
    stamp = reference.name
    journal = study.folder / "cut" / reference.parent.name / stamp / "journal.jsonl"
    generator = random.Random(seed)
    total = lines_of(reference / "journal.jsonl")
    targets = sorted(generator.randrange(0, total) for _ in range(kills))
    deaths = []
    for n, target in enumerate(targets):
        early = n % 5 == 4
        deaths.append(
            kill_at(
                study,
                "cut",
                journal,
                workers,
                lines=None if early else max(target, lines_of(journal) + 1),
                delay_s=generator.uniform(0, 0.5 + 0.2 * workers) if early else generator.uniform(0, 0.01),
            )
        )
    done = study.command("run", study.protocol.name, "--out", "cut", *EXECUTORS[workers])
    assert done.returncode == 0, done.stderr
    folder = study.folder / "cut" / reference.parent.name / stamp
    return study, reference, folder, deaths


def check(study, reference, folder, deaths):
    assert deaths.count(-signal.SIGKILL) >= len(deaths) // 2
    assert (folder / "product.jsonl").read_bytes() == (reference / "product.jsonl").read_bytes()
    records = [json.loads(line)["record"] for line in (folder / "journal.jsonl").read_bytes().splitlines()]
    attempts = [r for r in records if r["kind"] == "attempt"]
    finals = [r["trial"] for r in attempts if r["outcome"] != "cancelled"]
    assert sorted(finals) == list(range(160))
    sessions = [r["session"] for r in records if r["kind"] == "session"]
    assert sessions == list(range(1, len(sessions) + 1))
    assert len(sessions) > 2
    kinds = {json.loads(line)["kind"] for line in (folder / "deviations.jsonl").read_text().splitlines()}
    assert "resumed" in kinds
    verified = study.command("verify", str(folder))
    assert verified.returncode == 0, verified.stderr


@pytest.mark.parametrize("workers", [1, 4])
def test_ten_kills(mini, workers):
    check(*killed_and_resumed(mini, kills=10, seed=20261130 + workers, workers=workers))


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_fifty_kills(mini, seed, workers):
    check(*killed_and_resumed(mini, kills=10, seed=seed, workers=workers))
