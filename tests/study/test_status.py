"""Where a run stands: read from files in any state, pooled over the arms, without touching the writer."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from study.cli.main import _run
from study.errors import InputError, RunError
from study.journal import Attempt, Header, Journal, Session, Stop, first_link, read_journal
from study.lock import lock_bytes, lock_digest, read_lock
from study.records import Produced
from study.runs import RunFolder
from study.status import read_status, resuming, study_runs

ROOT = Path(__file__).resolve().parents[2]
PINNED = ROOT / "tests" / "references" / "runs" / "format-1"


@pytest.fixture
def planned(tmp_path):
    """Return a maker of run folders with a plan of so many trials and no journal."""

    def make(n_trials=1000, stamp="run", **sections) -> RunFolder:
        folder = RunFolder(tmp_path / "runs" / "pinned-shop" / stamp)
        folder.path.mkdir(parents=True)
        lock = read_lock(PINNED / "unfinished" / "lock.json")
        lock |= {"n_trials": n_trials, "n_pairs": n_trials // 2}
        lock["protocol"] |= sections
        folder.lock.write_bytes(lock_bytes(lock))
        shutil.copy(PINNED / "finished" / "environment.json", folder.environment)
        return folder

    return make


def session(number, started_at_s=1_796_000_000.0):
    return Session(session=number, started_at_s=started_at_s, environment_digest="e")


def attempt(trial, outcome="answered", *, number=1, within=1, **extra):
    return Attempt(
        trial=trial,
        pair=f"case-{trial // 2}#1",
        arm=("baseline", "candidate")[trial % 2],
        case_id=f"case-{trial // 2}",
        repetition=1,
        attempt=number,
        session=within,
        outcome=outcome,
        produced=Produced(outcome=outcome, report={}),
        started_at_s=1.0,
        latency_s=0.25,
        **extra,
    )


def opened(folder, *entries):
    """Return the open journal of a folder, with a header, a first session and these entries."""
    digest = lock_digest(read_lock(folder.lock))
    journal = Journal(folder.journal, first_link(digest))
    for entry in (Header(schema=1, study="pinned-shop", lock_digest=digest), session(1), *entries):
        journal.append(entry)
    return journal


def written(folder, *entries):
    opened(folder, *entries).close()


def told(folder, capsys, code=0):
    assert _run(["status", str(folder.path)]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_a_tenth_of_the_plan_is_ten_percent_and_ok(planned, capsys):
    folder = planned(1000)
    written(folder, *(attempt(n) for n in range(100)))
    status = read_status(folder.path)
    assert (status.used_trials, status.planned_trials) == (100, 1000)
    assert (status.used_pairs, status.planned_pairs) == (50, 500)
    assert (status.state, status.trouble, status.evidence_level) == ("interrupted", (), "comparative")
    text = told(folder, capsys)
    assert "100 of 1,000 (10 %); 900 left" in text
    assert text.splitlines()[-2].split() == ["trouble", "ok"]
    assert "2026-11-29" not in text
    assert "began 2026-11-30 00:53:20 UTC, 100 trials" in text


def test_counts_are_pooled_and_no_arm_is_named(planned, capsys):
    folder = planned(40)
    outcomes = ["answered", "refused", "timeout", "empty"]
    written(folder, *(attempt(n, outcomes[n % 4]) for n in range(20)))
    text = told(folder, capsys)
    assert "answered 5, refused 5, empty 5, timeout 5 (both arms together)" in text
    assert "baseline" not in text
    assert "candidate" not in text


def test_interrupted_and_retried_attempts_and_split_pairs_are_counted(planned):
    folder = planned(40)
    written(
        folder,
        attempt(0),
        attempt(1, "cancelled"),
        session(2),
        attempt(1, number=2, within=2),
        attempt(2, "transport_error", within=2, retried=True),
        attempt(2, number=2, within=2),
    )
    status = read_status(folder.path)
    assert (status.interrupted, status.retried, status.split_pairs) == (1, 1, 1)
    assert (status.used_trials, status.used_pairs) == (3, 1)
    assert status.outcomes == {"answered": 3, "transport_error": 1, "cancelled": 1}
    assert [use.trials for use in status.sessions] == [1, 2]


def test_a_run_that_is_written_to_is_running_and_its_writer_goes_on(planned, capsys):
    folder = planned(40)
    journal = opened(folder, attempt(0))
    status = read_status(folder.path)
    assert (status.state, status.used_trials) == ("running", 1)
    with folder.journal.open("ab") as half:
        half.write(b'{"chain":"ab')
    text = told(folder, capsys)
    assert "torn tail of 12 bytes (a record is being written)" in text
    assert "next:" not in text
    os.truncate(folder.journal, folder.journal.stat().st_size - 12)
    journal.append(attempt(1))
    journal.close()
    assert read_status(folder.path).state == "interrupted"
    assert len(read_journal(folder.journal, status.lock_digest).finals) == 2


def test_a_journal_is_read_wherever_a_crash_cut_it(planned, capsys):
    folder = planned(8)
    written(folder, *(attempt(n) for n in range(3)))
    whole = folder.journal.read_bytes()
    for cut in [*range(0, len(whole), 37), len(whole)]:
        folder.journal.write_bytes(whole[:cut])
        status = read_status(folder.path)
        kept = whole[:cut].rfind(b"\n") + 1
        assert status.torn_bytes == cut - kept
        assert status.used_trials == max(0, whole[:cut].count(b"\n") - 2)
        assert status.state == "interrupted"
    folder.journal.write_bytes(whole[:30])
    assert "torn tail of 30 bytes (it will be cut off)" in told(folder, capsys)
    folder.journal.unlink()
    assert "0 of 8 (0 %); 8 left" in told(folder, capsys)


def test_a_changed_line_is_damage_and_named(planned, capsys):
    folder = planned(8)
    written(folder, *(attempt(n) for n in range(3)))
    folder.journal.write_bytes(folder.journal.read_bytes().replace(b'"trial":1', b'"trial":2', 1))
    with pytest.raises(RunError, match="damaged: the journal was changed"):
        read_status(folder.path)
    text = told(folder, capsys, 2)
    assert "journal.jsonl:4: damaged" in text
    assert "next: " in text


@pytest.mark.parametrize(
    "name, change, words",
    [
        ("environment.json", lambda data: data.replace(b'"cpus"', b'"cups"'), "'cups'"),
        ("environment.json", lambda data: data.replace(b'"schema": 1', b'"schema": 9'), "schema 9"),
        ("lock.json", lambda data: data[:-9], "lock.json"),
        ("lock.json", lambda data: data.replace(b'"n_tasks": 16', b'"n_tasks": 17'), "journal.jsonl"),
    ],
)
def test_other_damage_is_told_without_a_traceback(planned, capsys, name, change, words):
    folder = planned(8)
    written(folder, attempt(0))
    place = folder.path / name
    place.write_bytes(change(place.read_bytes()))
    assert words in told(folder, capsys, 2)


def test_a_place_without_a_run_is_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="not a run folder"):
        read_status(tmp_path)
    for place in (tmp_path, tmp_path / "none"):
        assert _run(["status", str(place)]) == 2
        assert "runs/<study>" in capsys.readouterr().err


def test_what_is_finished_waits_for_grades_then_for_the_report(planned, capsys):
    folder = planned(4)
    written(folder, *(attempt(n) for n in range(4)))
    assert read_status(folder.path).state == "not graded"
    folder.product.write_text("")
    text = told(folder, capsys)
    assert "finished, not reported" in text
    assert text.splitlines()[-1] == f"next: study report {folder.path}"
    folder.results.write_text('{"evidence_level": "pilot"}')
    folder.manifest.write_text("{}")
    status = read_status(folder.path)
    assert (status.state, status.evidence_level) == ("sealed", "pilot")


def test_a_run_that_its_budget_ended_is_finished(planned, capsys):
    folder = planned(40)
    written(folder, attempt(0), attempt(1), Stop(reason="max_tokens", limit=1000.0, used=1003.0))
    text = told(folder, capsys)
    assert "finished, not graded; ended by its budget (max_tokens = 1000: 1003 used)" in text


def test_a_study_without_a_claim_is_a_pilot(planned):
    folder = planned(4, endpoints=[{"name": "completion", "role": "primary"}])
    assert read_status(folder.path).evidence_level == "pilot"


@pytest.mark.parametrize("failed, trouble", [(2, False), (3, True)])
def test_more_than_a_fifth_of_errors_and_timeouts_is_trouble(planned, capsys, failed, trouble):
    folder = planned(40)
    names = ["driver_error", "timeout", "transport_error"]
    written(folder, *(attempt(n, names[n] if n < failed else "answered") for n in range(10)))
    assert ("3 of 10 trials ended in an error or a timeout" in told(folder, capsys)) == trouble


@pytest.mark.parametrize("planned_trials, trouble", [(40, False), (38, True)])
def test_void_pairs_above_the_declared_ceiling_are_trouble(planned, planned_trials, trouble):
    folder = planned(planned_trials, missing={"max_void_pairs": "5 %"})
    written(folder, *(attempt(n, "infrastructure" if n < 2 else "answered") for n in range(20)))
    found = read_status(folder.path).trouble
    assert bool(found) == trouble
    assert all("1 pairs are void, above the declared ceiling of 5 %" in line for line in found)


def test_notes_and_deviations_are_counted(planned):
    folder = planned(4)
    folder.deviations.write_text('{"kind":"note","text":"a","at":"2026-11-30T00:00:00Z"}\n' * 3)
    assert read_status(folder.path).deviations == 3


def test_the_runs_of_a_study_are_listed_and_counted(planned, capsys):
    first, second, third = planned(40, "a"), planned(40, "b"), planned(38, "c")
    for folder in (first, second, third):
        written(folder, attempt(0), attempt(1))
    assert (read_status(first.path).run_number, read_status(first.path).runs_known) == (1, 2)
    base = first.path.parent
    assert study_runs(base) == [first.path, second.path, third.path]
    assert _run(["status", str(base)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows[0] == ["a", "2", "of", "40", "5", "%", "interrupted", "ok"]
    assert [row[0] for row in rows] == ["a", "b", "c"]
    second.journal.write_bytes(second.journal.read_bytes().replace(b"header", b"heater"))
    assert _run(["status", str(base)]) == 2
    captured = capsys.readouterr()
    assert "damaged" in captured.out
    assert "b/journal.jsonl:1" in captured.err


def test_neither_a_driver_nor_the_statistics_are_loaded():
    program = "from study.cli.main import _run\nimport sys\ncode = _run(sys.argv[1:])\nprint(*sys.modules)\n"
    for place in (PINNED / "finished", PINNED / "unfinished", PINNED):
        done = subprocess.run(
            [sys.executable, "-c", program, "status", str(place)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = set(done.stdout.splitlines()[-1].split())
        assert "study.status" in loaded
        assert not loaded & {"numpy", "polars", "scipy", "statsmodels", "matplotlib", "pinned_drivers"}
        assert not [name for name in loaded if name.startswith(("study.drivers", "study.toolsets"))]


def test_the_command_that_resumes_is_found_by_the_lock(planned, tmp_path, monkeypatch):
    folder = planned(8)
    status = read_status(folder.path)
    assert resuming(status) is None
    monkeypatch.chdir(tmp_path)
    protocols = tmp_path / "protocols"
    protocols.mkdir()
    (protocols / "other.toml").write_text("")
    (protocols / "other.lock.json").write_text("{}")
    (protocols / "shop.toml").write_text("")
    shutil.copy(folder.lock, protocols / "shop.lock.json")
    assert resuming(status) == ["run", "protocols/shop.toml", "--stamp", "run"]
    elsewhere = tmp_path / "out dir" / "pinned-shop" / f"{status.lock_digest[:12]}_001"
    shutil.copytree(folder.path, elsewhere)
    out = ["--out", "out dir"]
    assert resuming(read_status(elsewhere)) == ["run", "protocols/shop.toml", *out]
    monkeypatch.chdir(protocols)
    assert resuming(status) == ["run", "shop.toml", "--stamp", "run"]
    moved = tmp_path / "elsewhere" / "run"
    shutil.copytree(folder.path, moved)
    assert resuming(read_status(moved)) is None


SLOW = """
import time

def slow(request, tools, ctx):
    time.sleep(0.01)
    return careful(request, tools, ctx)

slow.stamp = "slow-1"
"""


def test_a_run_is_followed_from_its_start_over_a_kill_to_its_report(mini):
    study = mini(tasks=20, candidate="slow", extra=SLOW)
    assert study.command("freeze", "shop.toml").returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "study.cli", "run", "shop.toml", "--out", "my runs"],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    seen = []
    while time.monotonic() < deadline and len(seen) < 4:
        for folder in study.folder.glob("my runs/*/*"):
            if (folder / "lock.json").exists():
                status = read_status(folder)
                if status.state == "running" and status.used_trials > 4 * len(seen):
                    seen.append(status.used_trials)
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert seen == sorted(seen)
    assert len(seen) == 4
    done = study.command("status", str(folder))
    assert "interrupted" in done.stdout
    step = done.stdout.splitlines()[-1].removeprefix("next: study ")
    assert step == "run shop.toml --out 'my runs'"
    resumed = study.command(*shlex.split(step), "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    done = study.command("status", str(folder))
    assert "80 of 80 (100 %); 0 left" in done.stdout
    assert "session 2" in done.stdout
    assert study.command("report", str(folder)).returncode == 0
    assert read_status(folder).state == "sealed"
    assert json.loads((folder / "results.json").read_text())["evidence_level"] == "comparative"
