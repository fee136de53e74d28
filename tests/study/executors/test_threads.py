"""Pairs beside each other in one process: async drivers on one loop, the others each in a thread."""

from __future__ import annotations

import json
import os
import sys
import threading

import pytest

import study
from study.errors import RunError
from study.runner import Interrupted

DRIVERS = """
import asyncio
import os
import signal
import threading
import time
from contextlib import contextmanager

at_once = []
peak = []


@contextmanager
def counted():
    at_once.append(1)
    peak.append(len(at_once))
    try:
        yield
    finally:
        at_once.pop()


def told(request, tools, ctx):
    result = careful(request, tools, ctx)
    result.why = str(threading.get_ident())
    return result


async def waits(request, tools, ctx):
    with counted():
        await asyncio.sleep(0.02)
    return told(request, tools, ctx)


def sleeps(request, tools, ctx):
    with counted():
        time.sleep(0.02)
    return told(request, tools, ctx)


async def never(ctx):
    await asyncio.sleep(3600)


def goes_on(request, tools, ctx):
    if request == "what is the status of order-0":
        time.sleep(3)
    if request == "what is the status of order-1":
        while True:
            pass
    if request == "what is the status of order-2":
        return never(ctx)
    return careful(request, tools, ctx)


def cannot_be_ended(request, tools, ctx):
    if os.environ.get("HANGS"):
        time.sleep(4)
    return careful(request, tools, ctx)


def interrupts(request, tools, ctx):
    if os.environ.pop("INTERRUPTS", None):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
    return careful(request, tools, ctx)


for driver in (waits, sleeps, goes_on, cannot_be_ended, interrupts):
    driver.stamp = driver.__name__ + "-1"
"""


def frozen(mini, driver, **options):
    made = mini(tasks=20, repetitions=1, candidate=driver, extra=DRIVERS, **options)
    assert made.command("freeze", "shop.toml").returncode == 0
    return made


def run(made, workers=4, out="runs"):
    return study.run(made.protocol, out=made.folder / out, workers=workers)


def attempts(folder):
    records = [json.loads(line)["record"] for line in folder.journal.read_bytes().splitlines()]
    return [record for record in records if record["kind"] == "attempt"]


def peak_of(made):
    return max(sys.modules[made.drivers].peak)


@pytest.mark.parametrize("driver, threads", [("waits", 1), ("sleeps", None)])
def test_four_pairs_run_at_once_and_give_the_same_product(mini, driver, threads):
    made = frozen(mini, driver)
    four = run(made)
    assert 2 <= peak_of(made) <= 4
    seen = {
        attempt["produced"]["report"]["why"] for attempt in attempts(four) if attempt["arm"] == "candidate"
    }
    assert str(threading.get_ident()) not in seen
    assert threads is None or len(seen) == threads
    assert {attempt["worker"] for attempt in attempts(four)} <= {f"thread {n}" for n in range(1, 5)}
    assert run(made, workers=1, out="one").product.read_bytes() == four.product.read_bytes()


def test_a_driver_that_goes_on_is_a_timeout_of_its_own_trial(mini):
    made = frozen(mini, "goes_on", timeout=1.0)
    late = {
        (attempt["arm"], attempt["case_id"]): attempt["latency_s"]
        for attempt in attempts(run(made))
        if attempt["outcome"] != "answered"
    }
    assert set(late) == {("candidate", f"status-{n}-a") for n in range(3)}
    assert min(late.values()) >= 1.0


def test_too_many_drivers_that_cannot_be_ended_end_the_run_which_can_be_resumed(mini, monkeypatch):
    monkeypatch.setattr("study.executors.threads.MOST_LEFT_BEHIND", 2)
    monkeypatch.setattr("study.executors.threads.REPEATS", 2)
    monkeypatch.setenv("HANGS", "1")
    made = frozen(mini, "cannot_be_ended", timeout=0.1)
    with pytest.raises(RunError) as caught:
        run(made)
    assert "go on after their time limit and cannot be ended" in caught.value.problem
    assert "cannot_be_ended" in caught.value.problem
    assert "--executor process" in (caught.value.next_step or "")
    monkeypatch.delenv("HANGS")
    done = made.command("run", "shop.toml", "--executor", "process", "--no-report")
    assert done.returncode == 0, done.stderr
    (folder,) = made.folder.glob("runs/*/*")
    assert len((folder / "product.jsonl").read_bytes().splitlines()) == 80


EVIDENT = """

class Evident:
    names = tuple(TOOLS)

    def dispatch(self, name, arguments):
        from study import ToolResult

        return ToolResult(ok=True, text=str(TOOLS[name](**arguments)))

    def evidence(self):
        return {}


EVIDENT = Evident()
"""


def test_a_toolset_with_evidence_is_refused_beside_others_and_not_alone(mini):
    made = mini(tasks=20, repetitions=1, candidate="careful", baseline="careful")
    file = made.folder / f"{made.tools}.py"
    file.write_text(file.read_text() + EVIDENT)
    made.edit(f"{made.tools}:TOOLS", f"{made.tools}:EVIDENT", made.folder / "shop" / "suite.toml")
    assert made.command("freeze", "shop.toml").returncode == 0
    with pytest.raises(RunError) as caught:
        run(made)
    assert "evidence" in caught.value.problem
    assert "--executor process" in (caught.value.allowed or "")
    assert len(attempts(run(made, workers=1))) == 80


def test_an_interrupt_lets_running_pairs_end_and_a_resume_does_the_rest(mini, monkeypatch):
    made = frozen(mini, "interrupts")
    monkeypatch.setenv("INTERRUPTS", "1")
    with pytest.raises(Interrupted):
        run(made)
    assert "INTERRUPTS" not in os.environ
    (folder,) = made.folder.glob("runs/*/*")
    journal = (folder / "journal.jsonl").read_bytes().splitlines()
    before = [json.loads(line)["record"] for line in journal]
    done = [record for record in before if record["kind"] == "attempt"]
    assert 0 < len(done) < 80
    assert {record["outcome"] for record in done} == {"answered"}
    assert len(done) % 2 == 0
    again = run(made)
    assert again.path == folder
    assert sorted(attempt["trial"] for attempt in attempts(again)) == list(range(80))
