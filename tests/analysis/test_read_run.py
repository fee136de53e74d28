"""A run folder that the command line wrote, read back and re-derived."""

from __future__ import annotations

import json

import pytest

import analysis
from analysis.summary import summarise, verify_results
from study.errors import IntegrityError, RunError, StudyError


@pytest.fixture
def run(mini):
    """Return a study that was frozen and run without a report, and the folder of its run."""
    study = mini(tasks=20)
    for arguments in (("freeze", study.protocol.name), ("run", study.protocol.name, "--no-report")):
        done = study.command(*arguments)
        assert done.returncode == 0, done.stderr
    (folder,) = (study.folder / "runs" / "shop-study").iterdir()
    return study, folder


def test_a_run_is_read_and_told(run):
    _, folder = run
    table = analysis.read_run(folder)
    assert len(table.frame) == 80
    assert table.frame["latency_s"].null_count() == 0
    (found,) = analysis.estimate(table)
    assert (found.n_tasks, found.n_pairs, found.estimate) == (20, 40, -0.5)
    verdict = analysis.decide(table)
    assert verdict.outcome == "inferior"
    assert analysis.hard_fails(table)["candidate"].trials == 80 // 2


def test_a_report_seals_the_run_and_verifies(run):
    study, folder = run
    told = study.command("report", str(folder))
    assert told.returncode == 1, told.stderr
    stored = json.loads((folder / "results.json").read_text())
    assert stored["verdict"]["outcome"] == "inferior"
    table = analysis.read_run(folder)
    fresh = summarise(table, deviations=stored["deviations"], notes=stored["notes"])
    assert {line.split(":")[0].split(".")[0] for line in verify_results(stored, fresh)} <= {
        "design",
        "toolkit",
    }
    assert stored["toolkit"] == json.loads((folder / "environment.json").read_text())["toolkit"]
    assert study.command("verify", str(folder)).returncode == 0


def test_a_change_after_sealing_is_refused(run):
    study, folder = run
    study.command("report", str(folder))
    product = folder / "product.jsonl"
    product.write_bytes(product.read_bytes().replace(b'"completed":false', b'"completed":true ', 1))
    with pytest.raises(IntegrityError, match=r"product\.jsonl"):
        analysis.read_run(folder)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("product.jsonl", b'"outcome":"answered"', b'"outcome":"refused"'),
        ("product.jsonl", b'"trial":0', b'"trial":[0]'),
        ("product.jsonl", b'"passed":true', b'"passed":1'),
        ("inputs/protocol.toml", b'margin = "20 pp"', b'margin = "30 pp"'),
        ("inputs/suites/shop/cases.jsonl", b"please", b"now"),
        ("lock.json", b'"alpha": 0.025', b'"alpha": 0.05'),
        ("journal.jsonl", b'"latency_s":', b'"latency_s": '),
    ],
)
def test_files_that_contradict_each_other_are_refused(run, name, old, new):
    _, folder = run
    place = folder / name
    data = place.read_bytes()
    assert old in data
    place.write_bytes(data.replace(old, new, 1))
    with pytest.raises(IntegrityError):
        analysis.read_run(folder)


def test_a_missing_row_is_refused(run):
    _, folder = run
    product = folder / "product.jsonl"
    product.write_bytes(b"\n".join(product.read_bytes().split(b"\n")[1:]))
    with pytest.raises(IntegrityError, match="no row"):
        analysis.read_run(folder)


def test_an_unfinished_run_is_not_read(run):
    _, folder = run
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(RunError, match="79 of 80"):
        analysis.read_run(folder)


def test_no_run_at_all(tmp_path):
    with pytest.raises(StudyError, match="not a run folder"):
        analysis.read_run(tmp_path)
