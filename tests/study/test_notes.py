"""Notes: appended whole, with the time, until the run is sealed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from study.errors import InputError, RunError
from study.notes import LONGEST_NOTE, add_note, closing
from study.runs import RunFolder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.lock.write_text("{}")
    run.journal.write_text("")
    return run


def lines(folder):
    return [json.loads(line) for line in folder.deviations.read_text(encoding="utf-8").splitlines()]


def test_a_note_is_a_deviation_with_the_time_in_utc(folder):
    before = datetime.now(UTC).replace(microsecond=0)
    add_note(folder, "  the fan was replaced – ⚙ at noon ")
    add_note(folder, "again")
    first, second = lines(folder)
    assert first["kind"] == second["kind"] == "note"
    assert first["text"] == "the fan was replaced – ⚙ at noon"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first["at"])
    assert before <= datetime.fromisoformat(first["at"]) <= datetime.now(UTC)
    assert set(first) == {"kind", "text", "at"}


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("x" * (LONGEST_NOTE + 1), "2001 characters"),
        ("a\x1b[31mred", "character 2 of the note is a control character (U+001B)"),
        ("two\nlines", "U+000A"),
        ("two\u2028lines", "line break"),
        ("caf\udce9", "no UTF-8"),
    ],
)
def test_what_is_no_line_of_text_is_refused(folder, text, told):
    with pytest.raises(InputError) as caught:
        add_note(folder, text)
    assert told in str(caught.value)
    assert not folder.deviations.exists()


def test_the_longest_note_is_taken(folder):
    add_note(folder, "é" * LONGEST_NOTE)
    assert len(lines(folder)[0]["text"]) == LONGEST_NOTE


def test_a_sealed_run_is_never_touched(folder):
    add_note(folder, "before")
    folder.manifest.write_text("{}")
    data = folder.deviations.read_bytes()
    with pytest.raises(RunError, match="sealed") as caught:
        add_note(folder, "after")
    assert caught.value.next_step
    assert folder.deviations.read_bytes() == data


def test_no_note_comes_between_the_results_and_the_seal(folder):
    with closing(folder):
        with pytest.raises(RunError, match="is being written"):
            add_note(folder, "too late")
        folder.manifest.write_text("{}")
    assert not folder.deviations.exists()
    with pytest.raises(RunError, match="another process has sealed"), closing(folder):
        pytest.fail("a sealed run was opened again")


def test_a_note_does_not_run_into_a_torn_line(folder):
    folder.deviations.write_bytes(b'{"kind":"source","te')
    add_note(folder, "whole")
    last = folder.deviations.read_bytes().split(b"\n")[1]
    assert json.loads(last)["text"] == "whole"


def test_notes_of_several_processes_never_mix(folder):
    program = (
        "import sys; from pathlib import Path\n"
        "from study.notes import add_note; from study.runs import RunFolder\n"
        "for n in range(100): add_note(RunFolder(Path(sys.argv[1])), f'{sys.argv[2]} {n} ' + 'x' * 1500)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(folder.path), name], env=environment)
        for name in ("a", "b", "c")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    texts = [line["text"].rsplit(" ", 1)[0] for line in lines(folder)]
    assert sorted(texts) == sorted(f"{name} {n}" for name in "abc" for n in range(100))


def test_the_report_lists_a_note_and_the_run_is_intact(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    assert study.command("run", "shop.toml", "--no-report").returncode == 0
    (run,) = study.folder.glob("runs/*/*")
    done = study.command("note", str(run), "one *key* was rotated at noon")
    assert done.returncode == 0, done.stderr
    at = lines(RunFolder(run))[0]["at"]
    assert at in done.stdout
    reported = study.command("report", str(run))
    assert "deviation: note: one *key* was rotated at noon" in reported.stderr
    text = (run / "report.md").read_text()
    assert "was rotated at noon" in text
    assert at in text.replace("\\", "")
    assert json.loads((run / "results.json").read_text())["deviations"][0]["kind"] == "note"
    assert study.command("verify", str(run)).returncode == 0
    late = study.command("note", str(run), "too late")
    assert late.returncode == 2
    assert "sealed" in late.stderr
    assert "next: " in late.stderr
    assert study.command("verify", str(run)).returncode == 0


def test_a_note_needs_a_run_and_a_text(mini):
    study = mini()
    done = study.command("note", "runs/none", "text")
    assert (done.returncode, "not a run folder" in done.stderr) == (2, True)
    assert study.command("note", "runs/none").returncode == 2
