"""Whole studies of small drivers: what each kind of driver comes to."""

from __future__ import annotations

import json

import pytest

EXTRA = """
import time

def once_undeclared(request, tools, ctx):
    if "order-13 please" in request:
        ctx.dispatch("delete_order", {"order": "order-13"})
    return careful(request, tools, ctx)

def once_reported(request, tools, ctx):
    answer = careful(request, tools, ctx)
    if "order-13 please" in request:
        answer.calls.append(Call("delete_order", {"order": "order-13"}))
    return answer

def raises(request, tools, ctx):
    if "order-7" in request:
        raise RuntimeError("out of luck")
    return careful(request, tools, ctx)

def rubbish(request, tools, ctx):
    return 42 if "order-7" in request else careful(request, tools, ctx)

def sleeps(request, tools, ctx):
    if "order-7" in request:
        time.sleep(60)
    return careful(request, tools, ctx)

def forks(request, tools, ctx):
    import os

    if "order-7" in request and os.fork() == 0:
        return careful(request, tools, ctx)
    return careful(request, tools, ctx)

class Exact:
    stamp = "exact-1"
    defaults = {"polite": False}

    def setup(self, config):
        self.polite = config["polite"]

    async def __call__(self, request, tools, ctx):
        assert ctx.config["polite"] is self.polite
        answer = careful(request, tools, ctx)
        return answer

class Flaky:
    stamp = "flaky-1"

    def setup(self, config):
        raise OSError("no licence")

    def __call__(self, request, tools, ctx):
        return careful(request, tools, ctx)
"""


def finished(study, code):
    done = study.command("freeze", "shop.toml")
    assert done.returncode == 0, done.stderr
    done = study.command("run", "shop.toml")
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    (folder,) = study.folder.glob("runs/*/*")
    return done, folder, json.loads((folder / "results.json").read_text())


def rows_of(folder):
    return [json.loads(line) for line in (folder / "product.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "candidate, code", [("once_undeclared", "unknown-tool"), ("once_reported", "unknown-tool")]
)
def test_one_bad_call_in_hundreds_of_trials_is_a_hard_fail(mini, candidate, code):
    study = mini(tasks=60, repetitions=3, candidate=candidate, extra=EXTRA)
    done, _, results = finished(study, 1)
    assert results["verdict"]["outcome"] == "hard_fail"
    fails = results["hard_fails"]["candidate"]
    assert fails["by_code"]["unknown-tool"] == 3
    assert (fails["tasks"], fails["trials"], fails["n_tasks"]) == (1, 360, 60)
    assert results["hard_fails"]["baseline"]["count"] == 0
    (completion,) = results["endpoints"]
    assert completion["candidate"]["estimate"] > 0.99
    assert "HARD FAIL" in done.stdout


def test_a_driver_that_refuses_everything_does_not_win(mini):
    _, _, results = finished(mini(candidate="refuses"), 1)
    assert results["verdict"]["outcome"] == "inferior"
    study = mini("floored", baseline="hasty", candidate="refuses")
    study.edit("hard_fails = 0", "hard_fails = 0\ncompletion_floor = 0.5")
    _, _, results = finished(study, 1)
    assert results["verdict"]["outcome"] == "below_floor"


@pytest.mark.parametrize(
    "candidate, outcome", [("raises", "driver_error"), ("rubbish", "driver_error"), ("sleeps", "timeout")]
)
def test_a_broken_trial_is_recorded_as_such_and_the_study_goes_on(mini, candidate, outcome):
    study = mini(candidate=candidate, extra=EXTRA, timeout=0.4)
    _, folder, results = finished(study, 4)
    assert results["outcomes"]["candidate"][outcome] == 2
    assert results["outcomes"]["baseline"]["answered"] == 40
    broken = [row for row in rows_of(folder) if row["outcome"] == outcome]
    assert {row["task_id"] for row in broken} == {"status-7"}
    assert not any(row["completed"] or row["hard_fails"] for row in broken)
    (completion,) = results["endpoints"]
    assert completion["candidate"]["estimate"] == pytest.approx(38 / 40)
    assert completion["n_tasks"] == 20


def test_equal_drivers_are_non_inferior_with_an_interval_that_has_width(mini):
    _, _, results = finished(mini(baseline="careful", candidate="careful"), 0)
    assert results["verdict"]["outcome"] == "non_inferior"
    (completion,) = results["endpoints"]
    assert completion["estimate"] == 0
    # the published half width for 20 tasks that all tie
    assert completion["interval"]["high"] == pytest.approx(0.1614, abs=5e-5)
    assert completion["interval"]["low"] == pytest.approx(-0.1614, abs=5e-5)


def test_a_forked_child_does_not_go_on_with_the_study(mini):
    study = mini(candidate="forks", extra=EXTRA)
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml", process=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("verdict") == 1
    (folder,) = study.folder.glob("runs/*/*")
    assert study.command("verify", str(folder)).returncode == 0
    assert len(rows_of(folder)) == 80


def test_an_async_class_driver_with_settings(mini):
    study = mini(candidate="Exact", extra=EXTRA)
    _, _, results = finished(study, 0)
    assert results["arms"]["candidate"]["config"] == {"polite": False}
    assert results["arms"]["candidate"]["stamp"] == "exact-1"


def test_a_driver_whose_setup_fails_is_told_before_any_trial(mini):
    study = mini(candidate="Flaky", extra=EXTRA)
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml")
    assert done.returncode == 2
    assert "no licence" in done.stderr
    assert "arms.candidate" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_runs_are_byte_identical_and_the_second_gets_its_own_folder(mini):
    study = mini()
    _, first, _ = finished(study, 1)
    before = {p: p.read_bytes() for p in first.rglob("*") if p.is_file()}
    told = study.command("run", "shop.toml")
    assert told.returncode == 1
    assert "nothing was run: this plan was run already" in told.stderr
    assert "HARD FAIL" in told.stdout or "verdict" in told.stdout
    assert [p.name for p in first.parent.iterdir()] == [first.name]
    study.driver_file.write_text(study.driver_file.read_text() + "\n# changed\n")
    other = study.command("run", "shop.toml", process=True)
    assert other.returncode == 2
    assert "run already, with other code: drivers.baseline.source_digest" in other.stderr
    study.driver_file.write_text(study.driver_file.read_text().removesuffix("\n# changed\n"))
    again = study.command("run", "shop.toml", "--again")
    assert again.returncode == 1
    assert "run         2 of 2 known for this lock" in again.stdout
    assert "known for this lock" not in told.stdout
    second = first.with_name(first.name + "_001")
    assert (second / "product.jsonl").read_bytes() == (first / "product.jsonl").read_bytes()
    assert {p: p.read_bytes() for p in first.rglob("*") if p.is_file()} == before
    environment = json.loads((second / "environment.json").read_text())
    assert (environment["run_number"], environment["runs_known"]) == (2, 2)


def test_freezing_again_is_byte_identical(mini):
    study = mini()
    lock = study.folder / "shop.lock.json"
    assert study.command("freeze", "shop.toml").returncode == 0
    first = lock.read_bytes()
    assert study.command("freeze", "shop.toml", PYTHONHASHSEED="5").returncode == 0
    assert lock.read_bytes() == first
    assert "gates" in json.loads(first)["protocol"]
    assert "conditions" not in json.loads(first)["protocol"]["design"]


def test_a_new_lock_says_what_it_supersedes_once_runs_exist(mini):
    study = mini()
    _, _, results = finished(study, 1)
    study.edit("seed = 11", "seed = 12")
    done = study.command("freeze", "shop.toml", "--replace")
    assert done.returncode == 0, done.stderr
    lock = json.loads((study.folder / "shop.lock.json").read_text())
    assert lock["supersedes"] == results["lock_digest"]
    done = study.command("run", "shop.toml")
    (report,) = [
        p for p in study.folder.glob("runs/*/*/report.md") if results["lock_digest"][:12] not in str(p)
    ]
    assert results["lock_digest"][:12] in report.read_text()


def test_no_report_then_report(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml", "--no-report")
    assert done.returncode == 0
    (folder,) = study.folder.glob("runs/*/*")
    assert not (folder / "manifest.json").exists()
    assert study.command("report", str(folder)).returncode == 1
    assert (folder / "manifest.json").exists()
    for form in ("text", "md", "html", "json", "junit"):
        told = study.command("report", str(folder), "--format", form)
        assert told.returncode == 1
        assert told.stdout.strip()
    assert study.command("report", str(folder), "--format", "pdf").returncode == 2


def test_a_lock_in_git_is_told_with_its_commit(mini):
    import subprocess

    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "plan"]):
        subprocess.run(["git", *arguments], cwd=study.folder, check=True, capture_output=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=study.folder, capture_output=True, text=True
    ).stdout
    _, folder, results = finished(study, 1)
    assert results["design"]["lock_commit"]["committed"] is True
    assert results["design"]["lock_commit"]["commit"] == head.strip()
    assert head.strip() in (folder / "report.md").read_text()


HOSTILE = """
import os, signal

def exits(request, tools, ctx):
    if "order-7" in request:
        os._exit(0)
    return careful(request, tools, ctx)

def interrupted(request, tools, ctx):
    marker = os.path.join(os.path.dirname(__file__), "interrupted-once")
    if "order-7 please" in request and not os.path.exists(marker):
        open(marker, "w").close()
        ctx.dispatch("delete_order", {"order": "order-7"})
        signal.raise_signal(signal.SIGINT)
    return careful(request, tools, ctx)

class CloseFails:
    def __call__(self, request, tools, ctx):
        return careful(request, tools, ctx)

    def close(self):
        raise OSError("still busy")
"""


def test_a_driver_that_ends_the_process_does_not_end_the_study(mini):
    study = mini(candidate="exits", extra=HOSTILE)
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml", process=True)
    assert done.returncode == 4, (done.stdout, done.stderr)
    assert "INCONCLUSIVE" in done.stdout


def test_a_hallucination_in_a_cancelled_attempt_is_not_forgotten(mini):
    study = mini(candidate="interrupted", extra=HOSTILE)
    assert study.command("freeze", "shop.toml").returncode == 0
    cut = study.command("run", "shop.toml", process=True)
    assert cut.returncode == 130, cut.stderr
    assert "study run" in cut.stderr
    done = study.command("run", "shop.toml", process=True)
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "HARD FAIL" in done.stdout
    (folder,) = study.folder.glob("runs/*/*")
    assert study.command("verify", str(folder)).returncode == 0


def test_a_close_that_fails_loses_nothing_and_is_told(mini):
    study = mini(candidate="CloseFails", extra=HOSTILE)
    _, _, results = finished(study, 0)
    assert any("still busy" in entry["text"] for entry in results["deviations"])


def test_a_tool_that_fails_is_named_in_the_deviations(mini):
    study = mini(candidate="careful", baseline="hasty")
    tools = study.folder / f"{study.tools}.py"
    study.edit(
        "    if order not in ORDERS",
        '    if order == "order-3":\n        raise KeyError(order)\n    if order not in ORDERS',
        tools,
    )
    study.edit('max_void_pairs = "2 %"', 'max_void_pairs = "10 %"')
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml")
    assert "trial" in done.stderr
    assert "KeyError" in done.stderr
    (folder,) = study.folder.glob("runs/*/*")
    assert "status-3" in (folder / "report.md").read_text()


def test_a_changed_tool_file_is_a_deviation(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    study.edit('"sent"', '"sent" ', study.folder / f"{study.tools}.py")
    done = study.command("run", "shop.toml", process=True)
    assert done.returncode == 1
    assert f"deviation: source: changed after the freeze: sources.{study.tools}.py" in done.stderr


def test_a_worse_candidate_within_the_margin_is_told_to_be_worse(mini):
    extra = """
def slightly_worse(request, tools, ctx):
    if re.search("order-[0-5] ?(please)?$", request):
        return LoopResult(refused=True)
    return careful(request, tools, ctx)
"""
    study = mini(tasks=100, candidate="slightly_worse", extra=extra)
    _, _, results = finished(study, 0)
    assert results["verdict"]["outcome"] == "non_inferior"
    assert results["endpoints"][0]["interval"]["high"] < 0
    assert "that it is worse, by less than the margin, was shown" in results["verdict"]["sentence"]


def test_results_that_no_endpoint_reads_are_told_as_not_shown(mini):
    study = mini(candidate="careful")
    study.edit(
        '"terminates": true', '"result": ["paid"], "terminates": true', study.folder / "shop" / "cases.jsonl"
    )
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml")
    assert done.returncode in (0, 1, 4), done.stderr
    (path,) = study.folder.glob("runs/*/*/report.md")
    text = " ".join(path.read_text("utf-8").split())
    assert "completion compares calls, not results" in text
    # the careful driver reports calls and never a result
    assert (
        "result completion was 0.0 % / 0.0 % (baseline / candidate). 40 of 40 cases expect a result." in text
    )
