"""The committed envelope is what the held-out cases give now."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEWEST = sorted((ROOT / "docs" / "benchmark").glob("*/envelope.json"))[-1]


def test_the_committed_envelope_comes_out_again(mini):
    work = mini()
    done = work.command("ladder", "--report", "--held-out", "--driver", "goal", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert (work.folder / "again" / "envelope.json").read_bytes() == NEWEST.read_bytes()


def test_the_page_of_the_benchmark_tells_what_the_envelope_says():
    envelope = json.loads(NEWEST.read_text("utf-8"))
    page = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
    overall = envelope["metrics"]["overall"]
    passed = round(overall["planCompletion"] * overall["n"])
    low, high = (round(100 * overall["interval"][end], 1) for end in ("low", "high"))
    assert envelope["ladder"]["gatedAt"] is None
    assert f"| {passed} (99 %): mean over tasks 99.2 % [{low} %, {high} %], no gate failed" in page
    assert envelope["routing"]["mayRoute"] is True
    assert all(entry["failures"] == 0 for entry in envelope["routing"]["classes"] if entry["inEnvelope"])
