"""Hostile drivers: each costs its own trial, is recorded as what it was, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import uuid
from pathlib import Path

import psutil
import pytest

import study
from study.errors import StudyError

SOURCE = Path(__file__).with_name("hostile_driver.py").read_text()
TAIL = """

CHOSEN = {chosen!r}


def hostile(request, tools, ctx):
    number = int(re.search("order-([0-9]+)", request)[1])
    if number < len(CHOSEN) and "please" not in request:
        return globals()[CHOSEN[number]](ctx)
    return careful(request, tools, ctx)


hostile.stamp = "hostile-1"
{more}
"""
FEWEST_TASKS = 20
AMPLE_S = 30.0
SHORT_S = 1.0
MARK = "MARK_OF_THIS_TEST"
MEBIBYTE = 2**20
RSS_UNIT = 1 if sys.platform == "darwin" else 1024

DIED = "WorkerDied"
TIMEOUTS = {
    "sleeps": None,
    "waits": None,
    "is_busy": None,
    "is_busy_in_a_pattern": None,
    "holds_the_interpreter": "the worker was killed",
    "swallows_everything": "the worker was killed",
    "disables_every_alarm": "the worker was killed",
    "stops_itself": "the worker was killed",
}
ERRORS = {
    "exits": "os._exit(3)",
    "exits_in_native_code": "ended with code 4",
    "signals_a_fault": "SIGSEGV",
    "reads_from_nowhere": "SIGSEGV",
    "kills_itself": "SIGKILL",
    "tries_an_unknown_tool_and_crashes": "SIGSEGV",
    "leaves_a_child_and_crashes": "SIGSEGV",
    "leaves_a_daemon_and_crashes": "SIGSEGV",
    "returns_100_megabytes": "at most 16777216",
    "raises_10_megabytes": "xxx",
    "dispatches_a_million_times": "may dispatch 10000 times",
    "swallows_the_limit_of_dispatches": "may dispatch 10000 times",
    "returns_not_a_number": "not JSON",
    "returns_a_number": "returned int",
    "returns_itself_within_itself": "cyclic",
    "returns_deep_nesting": "nested too deeply",
    "returns_some_nesting": "nested more than 200 deep",
    "dispatches_deep_nesting": "recursion",
    "dispatches_some_nesting_and_crashes": "SIGSEGV",
    "raises_its_own": "odd",
    "raises_the_unspeakable": "cannot be shown",
    "raises_exit": "5",
    "raises_interrupt": "",
    "raises_generator_exit": "",
    "sets_its_own_clock": "its context",
    "replaces_its_ledger": "its context",
    "erases_its_dispatches": "record of dispatches",
    "closes_every_file": "closed",
    "writes_to_the_connection": "no message",
    "forges_an_answer": "came from the worker",
}
REFUSALS = (
    "leaves_a_child",
    "leaves_a_daemon",
    "returns_twice",
    "prints_100_megabytes",
    "prints_100_megabytes_of_errors_in_one_line",
    "changes_what_it_is_given",
    "moves_out",
    "deletes_its_folder",
    "replaces_its_streams",
    "limits_recursion",
    "waits_for_a_rate_limit",
)
LINGERING = (
    "leaves_threads_that_print",
    "crashes_a_little_later",
    "writes_to_the_connection_a_little_later",
    "changes_the_harness",
)


LEAKS = """
globals().update({f"leaks_{n}": leaks for n in range(9)})
"""


class Hostile:
    """A study of a tame baseline and a hostile candidate, which acts in the first case of each task."""

    def __init__(self, mini, tmp_path, chosen, *, timeout=AMPLE_S, more=""):
        self.chosen = list(chosen)
        self.folder = tmp_path / "elsewhere"
        self.folder.mkdir()
        tail = TAIL.format(chosen=self.chosen, more=more)
        tasks = max(FEWEST_TASKS, len(self.chosen))
        self.study = mini(
            tasks=tasks, repetitions=1, candidate="hostile", timeout=timeout, extra=SOURCE + tail
        )
        assert self.study.command("freeze", self.study.protocol.name).returncode == 0

    def run(self, workers):
        """Run it in worker processes, from a folder of its own; return its own trials and the others."""
        with contextlib.chdir(self.folder):
            run = study.run(
                self.study.protocol, out=self.study.folder / "runs", executor="process", workers=workers
            )
        return self.read(run.path)

    def read(self, folder):
        graded = {row["trial"]: row for row in lines(folder / "product.jsonl")}
        attempts = [
            line["record"] for line in lines(folder / "journal.jsonl") if line["record"]["kind"] == "attempt"
        ]
        assert sorted(attempt["trial"] for attempt in attempts) == list(range(len(graded)))
        own, others = {}, []
        for attempt in attempts:
            number, letter = attempt["case_id"].split("-")[1:]
            trial = attempt | {"graded": graded[attempt["trial"]]}
            if attempt["arm"] == "candidate" and letter == "a" and int(number) < len(self.chosen):
                own[self.chosen[int(number)]] = trial
            else:
                others.append(trial)
        return own, others


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def nothing_is_left(monkeypatch):
    """Mark every process that descends from this one; none of them, nor a zombie, is left in the end."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert not left, [(child.status(), child.cmdline()) for child in left]
    marked = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                marked.append((process.pid, process.status(), process.cmdline()[:2]))
    assert not marked


def own_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def checked(own, others, outcome, parts):
    """Check that each hostile trial came to the outcome, its error has that part, and no other suffered."""
    assert {name: trial["outcome"] for name, trial in own.items()} == dict.fromkeys(parts, outcome)
    assert {(trial["outcome"], trial["graded"]["passed"]) for trial in others} == {("answered", True)}
    for name, part in parts.items():
        error = own[name].get("error")
        assert error is None if part is None else part in error["message"], (name, error)
        assert len(json.dumps(error)) < 5000


def test_a_driver_that_does_not_end_costs_its_own_trial_only(mini, tmp_path, nothing_is_left):
    own, others = Hostile(mini, tmp_path, TIMEOUTS, timeout=SHORT_S).run(workers=2)
    checked(own, others, "timeout", TIMEOUTS)
    assert min(trial["latency_s"] for trial in own.values()) >= SHORT_S


def test_a_driver_that_crashes_or_returns_rubbish_costs_its_own_trial_only(mini, tmp_path, nothing_is_left):
    before = own_peak()
    own, others = Hostile(mini, tmp_path, ERRORS).run(workers=2)
    assert own_peak() - before < 300 * MEBIBYTE
    checked(own, others, "driver_error", ERRORS)
    hard = {name: trial["graded"]["hard_fails"] for name, trial in own.items()}
    assert hard["tries_an_unknown_tool_and_crashes"] == ["unknown-tool"]
    assert hard["erases_its_dispatches"] == ["unknown-tool"]
    assert hard["reads_from_nowhere"] == []
    for name in ("dispatches_a_million_times", "swallows_the_limit_of_dispatches"):
        assert len(own[name]["produced"]["dispatches"]) == 10_000


def test_a_driver_that_misbehaves_and_answers_has_its_answer_kept(mini, tmp_path, nothing_is_left):
    before = own_peak()
    own, others = Hostile(mini, tmp_path, REFUSALS).run(workers=1)
    assert own_peak() - before < 100 * MEBIBYTE
    checked(own, others, "refused", dict.fromkeys(REFUSALS))
    waited = own["waits_for_a_rate_limit"]
    assert waited["latency_s"] < 0.3 <= waited["waited_s"]


def test_what_outlasts_a_trial_hits_the_own_arm_only_on_the_command_line(mini, tmp_path, nothing_is_left):
    hostile = Hostile(mini, tmp_path, LINGERING)
    done = hostile.study.command(
        "run", "shop.toml", "--executor", "process", "--workers", "1", "--no-report", process=True
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (folder,) = hostile.study.folder.glob("runs/*/*")
    own, others = hostile.read(folder)
    tame = [trial for trial in others if trial["arm"] == "baseline"]
    assert len(tame) == 2 * FEWEST_TASKS
    assert {(trial["outcome"], trial["graded"]["passed"]) for trial in tame} == {("answered", True)}
    assert set(own) == set(LINGERING)
    assert study.grade(folder) == lines(folder / "product.jsonl")


def test_a_driver_cannot_reach_the_grade_or_the_journal(mini, tmp_path, nothing_is_left):
    """After it changed all that it can reach, its later trials are no better, and the baseline's the same."""
    own, others = Hostile(mini, tmp_path, ["changes_the_harness"]).run(workers=1)
    assert own["changes_the_harness"]["outcome"] in ("refused", "driver_error")
    assert not own["changes_the_harness"]["graded"]["passed"]
    tame = [trial for trial in others if trial["arm"] == "baseline"]
    assert {(trial["outcome"], trial["graded"]["passed"]) for trial in tame} == {("answered", True)}
    assert [trial["produced"]["dispatches"][0]["name"] for trial in tame] == ["order_status"] * len(tame)


def test_a_worker_whose_memory_grows_is_replaced(mini, tmp_path, monkeypatch, nothing_is_left):
    limit = 120 * MEBIBYTE
    monkeypatch.setattr("study.executors.child.GROWTH_LIMIT_BYTES", limit)
    own, others = Hostile(mini, tmp_path, [f"leaks_{n}" for n in range(9)], more=LEAKS).run(workers=1)
    held: dict[int, list[int]] = {}
    for trial in sorted(own.values(), key=lambda trial: trial["trial"]):
        process, rss = map(int, trial["produced"]["report"]["why"].split())
        held.setdefault(process, []).append(rss)
    assert len(held) >= 3
    assert max(map(max, held.values())) < min(map(min, held.values())) + 2 * limit
    assert {trial["outcome"] for trial in others} == {"answered"}


HOOKS = """
class Hooked:
    stamp = "hooked-1"

    def __call__(self, request, tools, ctx):
        return careful(request, tools, ctx)
"""
FAILING_SETUP = (
    HOOKS
    + """
    def setup(self, config):
        raise ValueError("no model here")

hooked = Hooked()
"""
)
FAILING_LATER = (
    HOOKS
    + """
    def reset(self, condition):
        raise ValueError("no reset today")

    def close(self):
        raise ValueError("no end today")

hooked = Hooked()
"""
)


def hooked(mini, extra, *, cold=False):
    made = mini(tasks=FEWEST_TASKS, repetitions=1, candidate="hooked", extra=extra)
    if cold:
        made.edit("seed = 11\n", 'seed = 11\nconditions = { cache = "cold" }\n')
    assert made.command("freeze", "shop.toml").returncode == 0
    return made


RUN = ("run", "shop.toml", "--executor", "process", "--no-report")


def test_a_setup_that_fails_in_a_worker_is_told_and_the_run_goes_on_once_it_works(mini, nothing_is_left):
    extra = FAILING_SETUP.replace("raise", 'if __import__("os").environ.get("BROKEN"): raise')
    made = hooked(mini, extra)
    done = made.command(*RUN, process=True, BROKEN="1")
    assert done.returncode == 2
    assert "in a worker process: the driver's setup failed: ValueError: no model here" in done.stderr
    assert "arms.candidate.driver" in done.stderr
    assert "Traceback" not in done.stderr
    done = made.command(*RUN)
    assert done.returncode == 0, done.stderr
    (folder,) = made.folder.glob("runs/*/*")
    assert len(lines(folder / "product.jsonl")) == 4 * FEWEST_TASKS


def test_a_reset_that_fails_costs_its_trials_and_a_close_that_fails_is_noted(mini, nothing_is_left):
    made = hooked(mini, FAILING_LATER, cold=True)
    done = made.command(*RUN)
    assert done.returncode == 0, done.stderr
    (folder,) = made.folder.glob("runs/*/*")
    outcomes = {(row["arm"], row["outcome"]) for row in lines(folder / "product.jsonl")}
    assert outcomes == {("baseline", "answered"), ("candidate", "driver_error")}
    assert "no end today" in (folder / "deviations.jsonl").read_text()


CHANGES_ITSELF = """
def changes(ctx):
    with open(__file__, "a") as source:
        source.write("# changed\\n")
    return exits_in_native_code(ctx)
"""


def test_a_driver_whose_source_changed_before_a_worker_was_replaced_is_refused(
    mini, tmp_path, nothing_is_left
):
    hostile = Hostile(mini, tmp_path, ["changes"], more=CHANGES_ITSELF)
    whole = hostile.study.driver_file.read_bytes()
    with pytest.raises(StudyError) as caught:
        hostile.run(workers=1)
    assert caught.value.code == "changed-during-run"
    assert "source_digest" in caught.value.problem
    assert "resume" in (caught.value.next_step or "")
    hostile.study.driver_file.write_bytes(whole)
    done = hostile.study.command(
        "run", "shop.toml", "--out", "runs", "--executor", "process", "--no-report", process=True
    )
    assert done.returncode == 0, done.stderr


def test_the_environment_of_the_run_stays_its_own(mini, tmp_path, nothing_is_left):
    before = dict(os.environ), os.getcwd(), sys.getrecursionlimit()
    Hostile(mini, tmp_path, ["moves_out", "limits_recursion", "replaces_its_streams"]).run(workers=1)
    assert (dict(os.environ), os.getcwd(), sys.getrecursionlimit()) == before
