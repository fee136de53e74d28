"""Budgets, retries, rates, warm-up and pauses of a whole run, as a protocol declares them."""

from __future__ import annotations

import itertools
import json
import time

import pytest

DRIVERS = """
import pathlib
import time

LOG = pathlib.Path(__file__).parent / "asked.txt"


def spends(request, tools, ctx):
    ctx.record_usage(input=100, output=10)
    return careful(request, tools, ctx)

spends.stamp = "spends-1"


def flaky(request, tools, ctx):
    with LOG.open("a") as log:
        log.write(request + "\\n")
    seen = LOG.read_text().splitlines().count(request)
    if "order-1" in request and seen < 3:
        ctx.record_usage(input=1, output=1)
        return LoopResult(outcome="transport_error", driver="flaky-1")
    return careful(request, tools, ctx)

flaky.stamp = "flaky-1"


def flaky_and_wild(request, tools, ctx):
    with LOG.open("a") as log:
        log.write(request + "\\n")
    if request.endswith("order-3") and LOG.read_text().splitlines().count(request) == 1:
        ctx.dispatch("drop_all_tables", {})
        return LoopResult(outcome="transport_error", driver="wild-1")
    return careful(request, tools, ctx)

flaky_and_wild.stamp = "wild-1"


def logs(request, tools, ctx):
    with LOG.open("a") as log:
        log.write(f"{time.monotonic()} {request}\\n")
    return careful(request, tools, ctx)

logs.stamp = "logs-1"


def waits(request, tools, ctx):
    ctx.sleep(0.05)
    return careful(request, tools, ctx)

waits.stamp = "waits-1"


def breaks(request, tools, ctx):
    if request.endswith("order-3"):
        raise OSError("no model")
    return careful(request, tools, ctx)

breaks.stamp = "breaks-1"
"""


def frozen(mini, limits="", sections="", **options):
    study = mini(extra=DRIVERS, **options)
    study.edit("[limits]\n", f"{sections}\n[limits]\n{limits}\n")
    done = study.command("freeze", study.protocol.name)
    assert done.returncode == 0, done.stderr
    return study


def journal(study):
    (path,) = study.folder.glob("runs/*/*/journal.jsonl")
    return [json.loads(line)["record"] for line in path.read_bytes().splitlines()]


def attempts(study):
    return [record for record in journal(study) if record["kind"] == "attempt"]


def product(study):
    return [json.loads(line) for line in (run_folder(study) / "product.jsonl").read_bytes().splitlines()]


def run_folder(study):
    return next(study.folder.glob("runs/*/*"))


@pytest.mark.parametrize(
    "limit, per_trial, reason",
    [("max_calls = 20", 1, "max_calls"), ("max_tokens = 2200", 110, "max_tokens")],
)
def test_a_budget_ends_the_run_for_good(mini, limit, per_trial, reason):
    study = frozen(mini, limit, candidate="spends", tasks=20)
    done = study.command("run", study.protocol.name)
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert f"{reason} = " in done.stderr
    records = journal(study)
    assert records[-1]["kind"] == "stop"
    assert records[-1]["reason"] == reason
    spent = [a for a in attempts(study) if a["arm"] == "candidate"]
    assert len(spent) * per_trial == records[-1]["limit"] == records[-1]["used"]
    rows = product(study)
    assert len(rows) == 80
    assert sum(row["outcome"] == "cancelled" for row in rows) == 80 - len(attempts(study))
    assert "budget" in (run_folder(study) / "deviations.jsonl").read_text()
    assert study.command("verify", str(run_folder(study))).returncode == 0
    report = (run_folder(study) / "report.md").read_text()
    assert f"the declared {reason}" in report
    assert f"| {reason} | {per_trial * 20} |" in report
    again = study.command("run", study.protocol.name)
    assert again.returncode == 3
    assert "nothing was run" in again.stderr
    status = study.command("status", str(run_folder(study)))
    assert f"{reason}: {per_trial * 20:,} of {per_trial * 20:,} used (100 %)" in status.stdout


def test_a_wall_clock_budget_counts_all_sessions(mini):
    study = frozen(mini, "max_wall_s = 0.3", candidate="waits", tasks=20)
    done = study.command("run", study.protocol.name)
    assert done.returncode == 3
    assert journal(study)[-1]["reason"] == "max_wall_s"
    assert journal(study)[-1]["used"] >= 0.3
    assert 2 <= len(attempts(study)) < 40


def test_a_budget_that_suffices_changes_nothing(mini):
    study = frozen(mini, "max_calls = 40", candidate="spends", tasks=20)
    done = study.command("run", study.protocol.name)
    assert done.returncode == 0, done.stderr
    assert len(attempts(study)) == 80
    assert journal(study)[-1]["kind"] == "attempt"


RETRIES = '[retries]\noutcomes = ["transport_error"]\nattempts = 3\nwait_s = 0.01\n'


@pytest.mark.parametrize("executor", ["inprocess", "process"])
def test_declared_retries_stay_on_record_and_give_one_final_row(mini, executor):
    study = frozen(mini, sections=RETRIES, candidate="flaky", tasks=20)
    done = study.command("run", study.protocol.name, "--executor", executor)
    assert done.returncode == 0, done.stderr
    told = attempts(study)
    retried = [a for a in told if a.get("retried")]
    assert {a["outcome"] for a in retried} == {"transport_error"}
    for first in (a for a in retried if a["attempt"] == 1):
        outcomes = [a["outcome"] for a in told if a["trial"] == first["trial"]]
        assert outcomes == ["transport_error", "transport_error", "answered"]
    # order-1 and order-10 to order-19, two cases each
    assert len(retried) == 2 * 11 * 2
    rows = product(study)
    assert [row["trial"] for row in rows] == list(range(80))
    assert all(row["completed"] for row in rows)
    report = (run_folder(study) / "report.md").read_text()
    assert "44 attempts were repeated as declared (baseline 0, candidate 44)" in report
    assert '| retries | outcomes = ["transport_error"], attempts = 3, wait_s = 0.01 |' in report
    usage = json.loads((run_folder(study) / "results.json").read_text())["usage"]
    known = {"known_subtotal": 44, "missing_calls": 0, "total": 44}
    assert usage["candidate"]["fields"] == {"input": known, "output": known}
    assert study.command("verify", str(run_folder(study))).returncode == 0


@pytest.mark.parametrize("executor", ["inprocess", "process"])
def test_progress_counts_what_a_repeated_attempt_hallucinated(mini, executor):
    study = frozen(mini, sections=RETRIES, candidate="flaky_and_wild", tasks=20)
    done = study.command("run", study.protocol.name, "--executor", executor)
    assert done.returncode == 1, done.stderr
    assert "finished: 40 of 40 pairs; 1 failure, 1 hard fail" in done.stderr
    assert sum(bool(row["hard_fails"]) for row in product(study)) == 1


def test_without_declared_retries_nothing_is_repeated(mini):
    study = frozen(mini, candidate="flaky", tasks=20)
    study.command("run", study.protocol.name)
    told = attempts(study)
    assert len(told) == 80
    assert {a["attempt"] for a in told} == {1}
    assert sum(a["outcome"] == "transport_error" for a in told) == 2 * 11


def test_a_rate_spaces_the_pairs_and_its_waiting_is_no_latency(mini):
    study = frozen(mini, "trials_per_minute = 2400", candidate="logs", tasks=20)
    began = time.monotonic()
    study.command("run", study.protocol.name, "--no-report")
    took_s = time.monotonic() - began
    # 40 pairs, each 2 trials at 25 ms, the last one waits for nothing
    assert took_s >= 39 * 0.05
    told = attempts(study)
    assert sum(a.get("waited_s", 0.0) for a in told) > 0.5 * took_s
    assert sum(a["latency_s"] for a in told) < 0.5 * took_s
    first = [a for a in told if a.get("waited_s", 0.0) > 0]
    assert len({a["pair"] for a in first}) == len(first)


def test_waiting_of_a_driver_is_recorded_apart(mini):
    study = frozen(mini, candidate="waits", tasks=10, margin="40 pp")
    done = study.command("run", study.protocol.name)
    assert done.returncode == 0, done.stderr
    report = (run_folder(study) / "report.md").read_text()
    assert (
        "waiting (rate limits, pauses, ctx.sleep) is no part of latency: baseline 0.0 s, candidate 1."
        in report
    )
    assert "trials ran on the executor inprocess, 1 worker(s)" in report
    for attempt in attempts(study):
        if attempt["arm"] == "candidate":
            assert attempt["waited_s"] >= 0.05
            assert attempt["latency_s"] < 0.05
        else:
            assert "waited_s" not in attempt


def test_warm_up_asks_each_arm_before_the_first_pair_and_leaves_no_trial(mini):
    study = frozen(mini, candidate="logs", tasks=10, margin="40 pp")
    study.edit("seed = 11", 'seed = 11\nconditions = { cache = "warm", warm_up = 3, cool_down_s = 0.01 }')
    assert study.command("freeze", study.protocol.name, "--replace").returncode == 0
    done = study.command("run", study.protocol.name, "--no-report")
    assert done.returncode == 0, done.stderr
    asked = (study.folder / "asked.txt").read_text().splitlines()
    assert len(asked) == 20 + 3
    assert len(attempts(study)) == 40
    assert [a["trial"] for a in attempts(study)] == list(range(40))
    times = [float(line.split()[0]) for line in asked[3:]]
    assert all(later - earlier >= 0.01 for earlier, later in itertools.pairwise(times))


def test_trials_that_were_never_run_are_no_evidence_against_hard_fails(mini):
    study = frozen(mini, "max_wall_s = 0.001", candidate="spends", tasks=20)
    done = study.command("run", study.protocol.name)
    assert done.returncode == 3, done.stderr
    results = json.loads((run_folder(study) / "results.json").read_text())
    ran = len(attempts(study))
    assert sum(arm["trials"] for arm in results["hard_fails"].values()) == ran
    assert ran < 80


def test_showing_arms_is_recorded_in_the_journal_and_cannot_be_taken_back(mini):
    study = frozen(mini, candidate="spends", tasks=20)
    assert study.command("run", study.protocol.name, "--unblind", "--no-report").returncode == 0
    assert next(r for r in journal(study) if r["kind"] == "session")["unblinded"]
    (run_folder(study) / "deviations.jsonl").unlink()
    done = study.command("report", str(run_folder(study)))
    assert done.returncode == 3
    assert "unblinded" in done.stderr


def test_errors_among_the_times_that_latency_compares_are_told(mini):
    study = frozen(mini, candidate="breaks", tasks=10, margin="40 pp")
    study.edit("[gates]", '[[endpoints]]\nname = "latency_gmr"\nrole = "secondary"\n\n[gates]')
    assert study.command("freeze", study.protocol.name, "--replace").returncode == 0
    study.command("run", study.protocol.name)
    report = (run_folder(study) / "report.md").read_text()
    assert "How fast the candidate answers: 1 of 20 trials ended in errors" in report
    assert "How fast the baseline answers" not in report


def test_a_claim_on_latency_without_a_floor_is_warned_of(mini):
    study = frozen(mini, candidate="breaks", tasks=10, margin="40 pp")
    study.edit('name = "completion"', 'name = "latency_gmr"')
    study.edit('margin = "40 pp"', 'margin = "40 %"')
    done = study.command("check", study.protocol.name)
    assert "a candidate that fails at once would win on latency_gmr" in done.stderr
