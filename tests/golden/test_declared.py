"""Whole studies with what a protocol may declare beyond one share: k, weights, families, pinned cases."""

from __future__ import annotations

import json
import re

import pytest

EXTRA = """
seen = {}

def _first_time_fails(numbers):
    def drive(request, tools, ctx):
        found = re.search(r"order-([0-9]+)", request)
        if int(found[1]) in numbers:
            seen[request] = seen.get(request, 0) + 1
            if seen[request] == 1:
                return LoopResult(refused=True, driver="flaky-1")
        return careful(request, tools, ctx)
    return drive

flaky = _first_time_fails({4, 5})

def slips(request, tools, ctx):
    if re.search("order-7 please", request):
        return LoopResult(refused=True, driver="slips-1")
    return careful(request, tools, ctx)
"""

PLAN = "[gates]\nhard_fails = 0"


def declared(study, *entries, analysis="", gates=""):
    """Add endpoints, a setting of the analysis and one of the gates to a study's protocol."""
    text = "".join(f"[[endpoints]]\n{entry}\n\n" for entry in entries)
    study.edit(PLAN, f"{text}{PLAN}\n{gates}")
    if analysis:
        study.edit("seed = 3", f"seed = 3\n{analysis}")


def finished(study, code):
    done = study.command("freeze", "shop.toml")
    assert done.returncode == 0, done.stderr
    done = study.command("run", "shop.toml")
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    (folder,) = study.folder.glob("runs/*/*")
    verified = study.command("verify", str(folder))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    return json.loads((folder / "results.json").read_text()), (folder / "report.md").read_text()


def refused(study, *words):
    done = study.command("check", "shop.toml")
    assert done.returncode == 2, (done.stdout, done.stderr)
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr


PASS_3 = """\
name = "pass_hat_k"
role = "secondary"
claim = "non-inferior"
margin = "40 pp"
alpha = 0.025
k = 3"""
THESE = 'name = "completion"\nrole = "secondary"\nestimand = "fixed-tasks"'


def test_repetitions_are_told_as_pass_k_and_for_these_tasks(mini):
    study = mini(tasks=20, repetitions=3, candidate="flaky", extra=EXTRA)
    declared(study, PASS_3, THESE)
    results, report = finished(study, 0)
    completion, powers, these = results["endpoints"]
    assert (powers["name"], powers["k"], powers["estimate"]) == ("pass_hat_k", 3, pytest.approx(-2 / 20))
    assert completion["estimate"] == pytest.approx(-2 / 3 / 20)
    assert (powers["p_value"] <= 0.025) == (powers["interval"]["low"] >= -0.4)
    assert (these["estimand"], these["outcome"], these["claim"]) == ("fixed-tasks", None, None)
    assert these["interval"]["method"] == "pseudo trials, these tasks only"
    flaky = results["reliability"]["candidate"]
    assert [entry["k"] for entry in flaky["pass_hat_k"]] == [1, 2, 3]
    assert flaky["pass_hat_k"][2]["estimate"] == powers["candidate"]["estimate"] == pytest.approx(18 / 20)
    assert 0 < flaky["within"] < 0.1
    assert flaky["n_trials"] == 120
    for words in ("pass_hat_k (k = 3)", "completion (these tasks only)", "says nothing about new tasks"):
        assert words in report
    assert "Reliability of repetitions" in report


def test_more_than_was_repeated_is_refused_when_the_protocol_is_checked(mini):
    study = mini(repetitions=2)
    declared(study, PASS_3)
    refused(study, "endpoints[1].k", "k = 3", "declared repetitions (2)")
    once = mini("once", repetitions=1)
    declared(once, THESE)
    refused(once, "endpoints[1].estimand", "1 repetition")


def test_these_tasks_only_takes_no_declared_weights(mini):
    study = mini(tasks=40, repetitions=2)
    with_rungs(study, 15)
    weights(study, 0.6, 0.4)
    declared(study, THESE)
    refused(study, "endpoints[1].estimand", "declared weights")


def with_rungs(study, tasks_below):
    """Put the first tasks on the rung TOOL-0."""
    cases = study.folder / "shop" / "cases.jsonl"
    lines = []
    for line in cases.read_text().splitlines():
        case = json.loads(line)
        if int(case["id"].split("-")[1]) < tasks_below:
            case["rung"] = "TOOL-0"
        lines.append(json.dumps(case))
    cases.write_text("\n".join(lines) + "\n")


def weights(study, first, second):
    table = f'weighting = "rungs"\nweights = {{ "TOOL-0" = {first}, "TOOL-1" = {second} }}'
    study.edit('split = "held-out"\n', f'split = "held-out"\n{table}\n')


def test_declared_weights_decide_and_each_stratum_is_told(mini):
    study = mini(tasks=40, candidate="slips", extra=EXTRA)
    with_rungs(study, 15)
    weights(study, 0.6, 0.4)
    results, report = finished(study, 0)
    (completion,) = results["endpoints"]
    assert completion["estimate"] == pytest.approx(-0.6 * 0.5 / 15)
    assert completion["interval"]["method"] == "tilted, strata"
    assert [(s["name"], s["weight"], s["n_tasks"]) for s in completion["strata"]] == [
        ("TOOL-0", 0.6, 15),
        ("TOOL-1", 0.4, 25),
    ]
    assert results["design"]["weights"] == {"TOOL-0": 0.6, "TOOL-1": 0.4}
    assert "Strata with declared weights" in report
    assert "TOOL-0 = 0.6" in report.replace("`", "")
    lock = json.loads((study.folder / "shop.lock.json").read_text())
    assert lock["tasks"]["status-3"]["stratum"] == "TOOL-0"


def test_weights_that_the_tasks_cannot_bear_are_refused_when_frozen(mini):
    study = mini(tasks=40, margin="15 pp")
    with_rungs(study, 10)
    weights(study, 0.6, 0.4)
    refused(study, "go unseen by the tasks of the weighted strata", "TOOL-0: 10 tasks")
    thin = mini("thin", tasks=40)
    with_rungs(thin, 9)
    weights(thin, 0.5, 0.5)
    refused(thin, "'TOOL-0' has 9 tasks and the weight 0.5")
    few = mini("few", tasks=40)
    with_rungs(few, 4)
    weights(few, 0.1, 0.9)
    refused(few, "'TOOL-0' has 4 tasks", "at least 5")
    none = mini("none", tasks=40)
    weights(none, 0.5, 0.5)
    refused(none, "'TOOL-0' has a weight, but no task")
    split = mini("split", tasks=40)
    with_rungs(split, 20)
    cases = split.folder / "shop" / "cases.jsonl"
    split.edit('"id": "status-3-b", "rung": "TOOL-0"', '"id": "status-3-b", "rung": "TOOL-1"', cases)
    weights(split, 0.5, 0.5)
    refused(split, "the task 'status-3' has cases on 'TOOL-0' and on 'TOOL-1'")


def superior(name, role="secondary", weight=""):
    return f'name = "{name}"\nrole = "{role}"\nclaim = "superior"\nalpha = 0.025{weight}'


@pytest.mark.parametrize("rule", ["holm", "fallback"])
def test_several_claims_share_their_level(mini, rule):
    study = mini(tasks=40, baseline="hasty", candidate="careful")
    given = ("\nweight = 0.5", "\nweight = 0.5") if rule == "fallback" else ("", "")
    entries = [superior("pass", weight=given[0]), superior("timeouts", weight=given[1])]
    declared(
        study, *entries, superior("result_completion", "exploratory"), analysis=f'multiplicity = "{rule}"'
    )
    results, report = finished(study, 0)
    _, graded, timeouts, results_too = results["endpoints"]
    assert (graded["outcome"], timeouts["outcome"]) == ("superior", "inconclusive")
    gate = 0.8**40  # the smallest level at which 40 tasks can bear the primary claim out at all
    assert graded["adjusted_p_value"] == pytest.approx(max(gate, 2 * graded["p_value"]), rel=1e-9)
    assert timeouts["adjusted_p_value"] > 0.4
    assert graded["interval"]["level"] == pytest.approx(0.975)
    assert (results_too["role"], results_too["status"]) == ("exploratory", "descriptive")
    assert results["design"]["multiplicity"] == rule
    assert "adjusted p-value" in report
    assert "exploratory: it never changes what the other endpoints come to" in report


def test_a_pinned_case_that_the_candidate_fails_is_a_regression(mini):
    study = mini(tasks=17, candidate="slips", extra=EXTRA)
    cases = study.folder / "shop" / "cases.jsonl"
    for letter in ("a", "b"):
        study.edit(f'"id": "status-7-{letter}",', f'"id": "status-7-{letter}", "pinned": true,', cases)
    results, _ = finished(study, 1)
    assert json.loads((study.folder / "shop.lock.json").read_text())["pinned"] == ["status-7-a", "status-7-b"]
    assert results["verdict"]["outcome"] == "hard_fail"
    assert results["hard_fails"]["candidate"]["by_code"] == {"compatibility-regression": 1}
    assert results["hard_fails"]["baseline"]["count"] == 0


def test_a_failing_baseline_is_no_regression(mini):
    study = mini(tasks=17, baseline="slips", candidate="careful", extra=EXTRA)
    cases = study.folder / "shop" / "cases.jsonl"
    study.edit('"id": "status-7-b",', '"id": "status-7-b", "pinned": true,', cases)
    results, _ = finished(study, 0)
    assert results["hard_fails"]["baseline"]["count"] == 0


def test_a_declared_correlation_gives_a_second_bound_and_families_a_row(mini):
    study = mini(tasks=18, repetitions=2, candidate="slips", extra=EXTRA)
    declared(study, gates="hard_fail_icc = 0.1")
    suite = study.folder / "shop" / "suite.toml"
    text = suite.read_text()
    for n in range(18):
        text = re.sub(rf'("status-{n}" = {{ split = "held-out",)', rf'\1 family = "block-{n // 3}",', text)
    suite.write_text(text)
    results, report = finished(study, 0)
    fails = results["hard_fails"]["candidate"]
    assert fails["n_effective"] == pytest.approx(72 / 1.3)
    assert fails["icc_bound"] == pytest.approx(1 - 0.05 ** (1.3 / 72))
    assert "if the declared ICC 0.10 holds" in report
    methods = [row["method"] for row in results["endpoints"][0]["sensitivity"]]
    assert "tilted, task families as tasks: 6 families" in methods
    lock = json.loads((study.folder / "shop.lock.json").read_text())
    assert lock["tasks"]["status-4"]["task_family"] == "shop/block-1"
    assert "pinned" not in lock
