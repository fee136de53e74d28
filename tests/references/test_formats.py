"""Files of earlier versions are read: runs that were pinned when they were written, never made again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from analysis.table import read_run
from study import environment
from study.cli.main import _run
from study.declare import verify
from study.environment import ABSENT, read_environment
from study.grading import GRADER_VERSION
from study.journal import read_journal
from study.lock import lock_bytes, lock_digest, read_lock
from study.product import grade_run, product_bytes, product_differences
from study.runs import RunFolder, check_manifest
from study.status import read_status

ROOT = Path(__file__).resolve().parents[2]
PINNED = Path(__file__).with_name("runs") / "format-1"
FINISHED, UNFINISHED = RunFolder(PINNED / "finished"), RunFolder(PINNED / "unfinished")
LOCK_DIGEST = "2f4092d4ff4c15220053dd208cfaece8e631e3e845cbb9335ed085040d026790"
SAME_GRADER = read_lock(FINISHED.lock)["grader_version"] == GRADER_VERSION


def command(*arguments, folder, patch):
    program = f"{patch}\nfrom study.cli.main import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def resumable(tmp_path):
    """Return the folder of the study, with its unfinished run where `study run` looks for it."""
    shutil.copytree(PINNED / "study", tmp_path / "study")
    folder = RunFolder(tmp_path / "study" / "runs" / "pinned-shop" / "unfinished")
    shutil.copytree(UNFINISHED.path, folder.path)
    return tmp_path / "study", folder


def test_the_pinned_files_are_the_ones_that_were_written():
    assert check_manifest(FINISHED) == []
    assert not UNFINISHED.journal.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("folder", [FINISHED, UNFINISHED], ids=["finished", "unfinished"])
def test_a_lock_keeps_its_digest_and_its_bytes(folder):
    lock = read_lock(folder.lock)
    assert lock_digest(lock) == LOCK_DIGEST
    assert lock_bytes(lock) == folder.lock.read_bytes()


def test_a_journal_is_read():
    state = read_journal(FINISHED.journal, LOCK_DIGEST)
    assert (len(state.sessions), len(state.attempts), len(state.finals)) == (3, 129, 128)
    assert [a.trial for a in state.attempts if not a.final] == [39]
    assert state.split_pairs == {"status-0-a#1", "status-3-a#1"}
    first = state.attempts[0]
    assert (first.arm, first.outcome, first.produced.report["driver"]) == ("candidate", "timeout", "timeout")
    torn = read_journal(UNFINISHED.journal, LOCK_DIGEST)
    assert (len(torn.finals), len(torn.torn)) == (52, 683)


def test_an_environment_record_is_read_and_says_what_it_never_held():
    record = read_environment(FINISHED.environment)
    assert (record.toolkit, record.workers, record.seeds["design"]) == ("0.1.0", 1, 20261130)
    assert (record.sdks, record.memory_bytes, record.toolkit_revision) == (ABSENT, ABSENT, ABSENT)


def test_regrading_gives_the_same_bytes_or_says_which_rows_differ():
    stored, rows = FINISHED.product.read_bytes(), grade_run(FINISHED)
    if SAME_GRADER:
        assert product_bytes(rows) == stored
    else:
        told = product_differences(stored, rows)
        assert (told == []) == (product_bytes(rows) == stored)
        assert any("graded by version" in line for line in verify(FINISHED.path))


def test_a_finished_run_is_verified_and_told(capsys):
    assert _run(["verify", str(FINISHED.path)]) == 0, capsys.readouterr().err
    assert _run(["report", str(FINISHED.path)]) == 1
    told = capsys.readouterr()
    assert told.err == ""
    assert "HARD FAIL" in told.out


def test_a_finished_run_is_analysed():
    frame = read_run(FINISHED.path).frame
    stored = json.loads(FINISHED.results.read_text())
    outcomes = frame["outcome"].value_counts()
    assert dict(outcomes.iter_rows()) == {
        "answered": 108,
        "driver_error": 4,
        "infrastructure": 8,
        "refused": 4,
        "timeout": 4,
    }
    # of 15 tasks whose tool works, order 5 breaks the baseline; 7, 9 and 11 go wrong in the candidate
    kept = frame.filter(~frame["void_pair"]).group_by("arm").agg(rate=pl.col("completed").mean())
    assert dict(kept.iter_rows()) == {"baseline": pytest.approx(14 / 15), "candidate": pytest.approx(12 / 15)}
    completion = stored["endpoints"][0]
    assert completion["estimate"] == pytest.approx(-2 / 15)
    assert stored["verdict"]["outcome"] == "hard_fail"


@pytest.mark.parametrize("folder, state, used", [(FINISHED, "sealed", 128), (UNFINISHED, "interrupted", 52)])
def test_where_a_run_stands(folder, state, used):
    status = read_status(folder.path)
    assert (status.state, status.used_trials, status.planned_trials) == (state, used, 128)
    assert (status.run_number, status.runs_known) == ((1, 2) if state == "sealed" else (2, 2))


RECORDED = f"""
import json, study.environment
recorded = json.load(open({str(UNFINISHED.environment)!r}))["packages"]
study.environment.package_versions = lambda: recorded
"""


@pytest.mark.skipif(not SAME_GRADER, reason="another grader refuses to resume: see the next test")
def test_an_unfinished_run_goes_on_where_packages_are_as_recorded(resumable):
    study, folder = resumable
    done = command("run", "pinned.toml", "--stamp", "unfinished", "--no-report", folder=study, patch=RECORDED)
    assert done.returncode == 0, done.stderr
    state = read_journal(folder.journal, LOCK_DIGEST)
    assert (len(state.sessions), len(state.finals), state.torn) == (2, 128, b"")
    assert folder.product.read_bytes() == FINISHED.product.read_bytes()
    kinds = [json.loads(line)["kind"] for line in folder.deviations.read_text().splitlines()]
    assert kinds[:2] == ["resumed", "torn-tail"]


def test_an_unfinished_run_is_refused_where_something_is_not_as_recorded(resumable):
    study, folder = resumable
    before = folder.journal.read_bytes()
    other = RECORDED + 'recorded["numpy"] = "1.0"'
    done = command("run", "pinned.toml", "--stamp", "unfinished", folder=study, patch=other)
    assert done.returncode == 2
    if SAME_GRADER:
        was = read_environment(UNFINISHED.environment).packages["numpy"]
        assert f"changed since the run began: packages.numpy: {was!r} -> '1.0'" in done.stderr
        assert "next: restore it and resume, or choose another --stamp" in done.stderr
    else:
        assert "grader_version" in done.stderr
        assert "study freeze PROTOCOL --replace" in done.stderr
    assert folder.journal.read_bytes() == before


def test_the_shape_of_a_record_that_is_written_today_has_a_number_of_its_own():
    assert environment.SCHEMA == 2
    assert json.loads(FINISHED.environment.read_text())["schema"] == 1
