"""Ctrl-C and SIGTERM: the first lets running pairs end, the second stops at once; the run can be resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]

SLOW = """
import time

def slow(request, tools, ctx):
    time.sleep(0.05)
    return careful(request, tools, ctx)

slow.stamp = "slow-1"


def endless(request, tools, ctx):
    if "order-3 " in request or request.endswith("order-3"):
        time.sleep(600)
    return careful(request, tools, ctx)

endless.stamp = "endless-1"
"""
EXECUTORS = {
    "inprocess": (),
    "threads": ("--workers", "3"),
    "process": ("--executor", "process", "--workers", "3"),
}


def start(study, executor):
    return subprocess.Popen(
        [sys.executable, "-m", "study.cli", "run", study.protocol.name, *EXECUTORS[executor]],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def records(study):
    (journal,) = study.folder.glob("runs/*/*/journal.jsonl")
    lines = journal.read_bytes().split(b"\n")[:-1]
    return [json.loads(line)["record"] for line in lines]


def attempts(study):
    return [record for record in records(study) if record["kind"] == "attempt"]


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (ValueError, OSError):
            pass
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


def reference_bytes(study):
    done = study.command("run", study.protocol.name, "--out", "whole")
    assert done.returncode in (0, 1, 4), done.stderr
    (product,) = study.folder.glob("whole/*/*/product.jsonl")
    return product.read_bytes()


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_lets_running_pairs_end(mini, executor, number):
    study = mini(tasks=20, candidate="slow", extra=SLOW)
    assert study.command("freeze", study.protocol.name).returncode == 0
    process = start(study, executor)
    wait_until(lambda: len(attempts(study)) >= 6)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert "next: study run shop.toml" in err
    assert all(option in err for option in EXECUTORS[executor])
    told = attempts(study)
    assert {attempt["outcome"] for attempt in told} == {"answered"}
    pairs = [attempt["pair"] for attempt in told]
    assert all(pairs.count(pair) == 2 for pair in pairs)
    assert 6 <= len(told) < 80
    again = study.command("run", study.protocol.name, *EXECUTORS[executor])
    assert again.returncode in (0, 1, 4), again.stderr
    (product,) = study.folder.glob("runs/*/*/product.jsonl")
    assert product.read_bytes() == reference_bytes(study)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_second_interrupt_stops_at_once(mini, executor):
    study = mini(tasks=20, candidate="endless", extra=SLOW, timeout=120)
    assert study.command("freeze", study.protocol.name).returncode == 0
    process = start(study, executor)
    family = psutil.Process(process.pid)
    before = []

    def stands_still():
        now = len(attempts(study))
        before.append((time.monotonic(), now))
        return (
            now > 0
            and all(count == now for at, count in before if at > time.monotonic() - 1.0)
            and (before[-1][0] - before[0][0] > 1.5)
        )

    wait_until(stands_still)
    children = family.children(recursive=True)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert time.monotonic() - began < 8
    outcomes = [attempt["outcome"] for attempt in attempts(study)]
    assert set(outcomes) <= {"answered", "cancelled"}
    if executor == "inprocess":
        assert outcomes.count("cancelled") == 1
    assert not any(child.is_running() for child in children)
    status = study.command("status", str(next(study.folder.glob("runs/*/*"))))
    assert status.returncode == 0
    assert "interrupted" in status.stdout


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_does_not_end_within_the_grace_is_cancelled(mini, executor):
    study = mini(tasks=20, candidate="endless", extra=SLOW, timeout=120)
    study.edit("trial_timeout_s = 120", "trial_timeout_s = 120\ngrace_s = 0.5")
    assert study.command("freeze", study.protocol.name).returncode == 0
    process = start(study, executor)
    wait_until(lambda: len(attempts(study)) >= 1)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    told = attempts(study)
    finals = {attempt["trial"] for attempt in told if attempt["outcome"] != "cancelled"}
    cut = {attempt["trial"] for attempt in told if attempt["outcome"] == "cancelled"}
    assert not finals & cut
    if executor == "inprocess":
        assert len(cut) == 1


HOLDS = """
import itertools

def holds(request, tools, ctx):
    if request.endswith("order-3"):
        sum(itertools.repeat(0, 10**13))
    return careful(request, tools, ctx)

holds.stamp = "holds-1"
"""


SWALLOWS = """
import time

def swallows(request, tools, ctx):
    while request.endswith("order-3"):
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    return careful(request, tools, ctx)

swallows.stamp = "swallows-1"
"""


def run_impatiently(study, patch):
    """Run a study with a constant of the harness changed, so that nobody waits as long as a user does."""
    code = f"{patch}\nimport sys\nfrom study.cli.main import main\nmain(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", code, "run", study.protocol.name],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def check_one_timeout(study, at):
    """Resume; the trial at which the run had to end is the only timeout, and none was run twice."""
    done = study.command("run", study.protocol.name, "--executor", "process")
    assert done.returncode in (0, 1, 4), done.stderr
    told = attempts(study)
    assert len(told) == len({attempt["trial"] for attempt in told}) == 40
    assert [n for n, attempt in enumerate(told) if attempt["outcome"] == "timeout"] == [at]
    assert not (next(study.folder.glob("runs/*/*")) / "stuck").exists()


def test_a_driver_that_swallows_every_interrupt_ends_the_run_with_its_trial_on_record(mini):
    study = mini(tasks=10, candidate="swallows", extra=SWALLOWS, timeout=0.3, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    done = run_impatiently(study, "import study.executors.inprocess as p; p.STUCK_AFTER_ALARMS = 2")
    assert done.returncode == 2, done.stderr
    assert "swallows every interrupt" in done.stderr
    assert "repeat the command to resume" in done.stderr
    before = attempts(study)
    assert [attempt["outcome"] for attempt in before] == ["answered"] * (len(before) - 1) + ["timeout"]
    check_one_timeout(study, len(before) - 1)


def test_a_driver_that_holds_the_interpreter_ends_the_run_and_its_trial_is_a_timeout_afterwards(mini):
    study = mini(tasks=10, candidate="holds", extra=HOLDS, timeout=0.5, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    process = run_impatiently(study, "import study.executors.watchdog as w; w.MARGIN_S = 1.0")
    assert process.returncode == -signal.SIGKILL
    assert "held the Python interpreter" in process.stderr
    assert "--executor process" in process.stderr
    before = attempts(study)
    assert {attempt["outcome"] for attempt in before} == {"answered"}
    check_one_timeout(study, len(before))


SIGNALS = """
import os
import signal

def signals(request, tools, ctx):
    if request.endswith("order-3"):
        signal.raise_signal(signal.SIGINT)
    if request.endswith("order-5"):
        os.kill(os.getpid(), signal.SIGTERM)
    return careful(request, tools, ctx)

signals.stamp = "signals-1"


def refuses_late(request, tools, ctx):
    return refuses(request, tools, ctx)

refuses_late.stamp = "refuses-late-1"


class Leaves:
    stamp = "leaves-1"

    def setup(self, config):
        os._exit(0)

    def __call__(self, request, tools, ctx):
        return refuses(request, tools, ctx)


leaves = Leaves()
"""


def test_a_signal_to_a_worker_is_no_interrupt_of_the_run(mini):
    study = mini(tasks=10, candidate="signals", extra=SIGNALS, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    done = study.command("run", study.protocol.name, "--executor", "process")
    assert done.returncode in (0, 1, 4), done.stderr
    told = attempts(study)
    assert len(told) == 40
    outcomes = [attempt["outcome"] for attempt in told if attempt["arm"] == "candidate"]
    assert sorted(outcomes) == ["answered"] * 19 + ["driver_error"]
    (error,) = (attempt["error"] for attempt in told if attempt["outcome"] == "driver_error")
    assert "SIGTERM" in error["message"]


@pytest.mark.parametrize("redirect", ["2>&1 | true", "2>/dev/full", "2>&-"])
def test_output_that_nobody_reads_changes_no_exit_code(mini, redirect):
    study = mini(tasks=10, candidate="refuses_late", extra=SIGNALS, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    command = f"{sys.executable} -m study.cli run {study.protocol.name} {redirect}; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    heard = study.command("run", study.protocol.name, "--out", "heard").returncode
    assert heard in (1, 4)
    assert done.stdout.split()[-1] == str(heard)
    assert len(attempts(study)) == 40
    assert next(study.folder.glob("runs/*/*/manifest.json")).exists()


def test_a_driver_that_leaves_in_its_setup_is_told(mini):
    study = mini(tasks=10, candidate="leaves", extra=SIGNALS, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    done = study.command("run", study.protocol.name, process=True)
    assert done.returncode == 2
    assert "setup failed" in done.stderr


def test_a_second_run_that_is_refused_leaves_no_deviation(mini):
    study = mini(tasks=20, repetitions=8, candidate="slow", extra=SLOW)
    assert study.command("freeze", study.protocol.name).returncode == 0
    first = start(study, "inprocess")
    wait_until(lambda: len(attempts(study)) >= 6)
    second = study.command("run", study.protocol.name, process=True)
    assert second.returncode == 2
    assert "another process" in second.stderr
    first.communicate(timeout=60)
    deviations = next(study.folder.glob("runs/*/*")) / "deviations.jsonl"
    assert not deviations.exists()


@pytest.mark.parametrize("changed", ["protocol.toml", "suites/shop/cases.jsonl", "suites/shop/registry.json"])
def test_an_unfinished_run_whose_inputs_were_changed_runs_no_further_trial(mini, changed):
    study = mini(tasks=10, candidate="swallows", extra=SWALLOWS, timeout=0.3, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    done = run_impatiently(study, "import study.executors.inprocess as p; p.STUCK_AFTER_ALARMS = 2")
    assert done.returncode == 2
    (run,) = study.folder.glob("runs/*/*")
    before, file = (run / "journal.jsonl").read_bytes(), run / "inputs" / changed
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"status", b"stages", 1).replace(b"seed = 11", b"seed = 12"))
    refused = study.command("run", study.protocol.name, "--executor", "process")
    assert refused.returncode == 3
    assert "inputs" in refused.stderr
    assert "restore" in refused.stderr
    assert (run / "journal.jsonl").read_bytes() == before
    file.write_bytes(whole)
    check_one_timeout(study, len(attempts(study)) - 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_report_is_written_says_how_to_go_on(mini, number):
    study = mini(tasks=20)
    assert study.command("freeze", study.protocol.name).returncode == 0
    # a shell lets what it starts in the background ignore SIGINT, but not SIGTERM
    handler = "signal.default_int_handler" if number == signal.SIGINT else "signal.SIG_IGN"
    patch = (
        "import os, signal\nimport analysis.summary as s\nsummarise = s.summarise\n"
        f"signal.signal(signal.SIGINT, {handler})\n"
        f"s.summarise = lambda *a, **k: (os.kill(os.getpid(), {int(number)}), summarise(*a, **k))[1]"
    )
    done = run_impatiently(study, patch)
    assert done.returncode == 130
    (run,) = study.folder.glob("runs/*/*")
    assert f"next: study report {run.relative_to(study.folder)}" in done.stderr
    assert len(attempts(study)) == 80
    again = study.command("report", str(run))
    assert again.returncode in (0, 1, 4), again.stderr
    assert study.command("verify", str(run)).returncode == 0


CLOSES = """
import os
import time

class Closes:
    stamp = "closes-1"

    def __call__(self, request, tools, ctx):
        return refuses(request, tools, ctx)

    def close(self):
        {ending}


closes = Closes()
"""


@pytest.mark.parametrize(
    "ending, told",
    [
        ("os._exit(0)", "os._exit(0)"),
        ("os.execv('/bin/true', ['true'])", "os.execv"),
        ("raise SystemExit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("while True: time.sleep(0.01)", "did not end within 0.2 s"),
    ],
)
def test_a_close_that_ends_or_hangs_costs_a_line_among_the_deviations(mini, ending, told):
    study = mini(tasks=20, candidate="closes", extra=CLOSES.format(ending=ending))
    assert study.command("freeze", study.protocol.name).returncode == 0
    done = run_impatiently(study, "import study.executors.stations as s; s.CLOSE_S = 0.2")
    assert done.returncode == 1, done.stderr
    (run,) = study.folder.glob("runs/*/*")
    assert (run / "manifest.json").exists()
    assert told in (run / "deviations.jsonl").read_text()
    assert "verdict" in done.stdout


CLOSES_FILES = """
import os

def closes_files(request, tools, ctx):
    if request.endswith("order-3"):
        os.closerange(3, 200)
    return careful(request, tools, ctx)

closes_files.stamp = "closes-files-1"
"""


def test_a_driver_that_closes_the_files_of_the_run_is_told_what_helps(mini):
    study = mini(tasks=10, candidate="closes_files", extra=CLOSES_FILES, margin="40 pp")
    assert study.command("freeze", study.protocol.name).returncode == 0
    done = run_impatiently(study, "")
    assert done.returncode == 2
    assert "--executor process" in done.stderr
    before = attempts(study)
    done = study.command("run", study.protocol.name, "--executor", "process")
    assert done.returncode in (0, 1, 4), done.stderr
    assert attempts(study)[: len(before)] == before


def test_a_message_that_cannot_be_written_changes_no_exit_code(mini):
    study = mini(tasks=10)
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m study.cli run missing.toml 2>/dev/full"],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 2
