"""``study ladder --report``: one folder that tells several drivers, and what changed since the last one."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

OWN = '''

import pathlib


def moody(request, tools, ctx):
    """Like careful, unless a file says otherwise."""
    if pathlib.Path("bad-mood").exists():
        return LoopResult(refused=True, driver="moody-1")
    return careful(request, tools, ctx)


moody.stamp = "moody-1"


def mixed(request, tools, ctx):
    """Misses order-0, answers order-1 wrongly, invents a tool for order-2."""
    if "order-0" in request:
        return LoopResult(refused=True, driver="mixed-1")
    if "order-1" in request:
        ctx.dispatch("list_orders")
        return LoopResult(calls=[Call("list_orders")], driver="mixed-1")
    if "order-2" in request:
        return LoopResult(calls=[Call("delete_all")], driver="mixed-1")
    return careful(request, tools, ctx)


mixed.stamp = "mixed-1"


def liar(request, tools, ctx):
    found = re.search(r"order-[0-9]+", request)
    calls = [Call("order_status", {"order": found[0]})]
    if "order-3 " not in f"{request} ":
        ctx.dispatch("order_status", {"order": found[0]})
    return LoopResult(calls=calls, driver="liar-1")


liar.stamp = "liar-1"


def random_words(request, tools, ctx):
    import os

    return LoopResult(refused=True, driver="random-1", why=os.urandom(8).hex())
'''


@pytest.fixture
def shop(mini, monkeypatch):
    """Return a study whose cases stand on TOOL-0; its figures, drawn in other tests, are not drawn."""
    monkeypatch.setattr("analysis.figures.ladder", lambda *_: None)
    monkeypatch.setattr("analysis.figures.to_svg", lambda _: "<svg/>")
    study = mini(tasks=12, extra=OWN)
    study.edit('"TOOL-1"', '"TOOL-0"', study.folder / "shop" / "cases.jsonl")
    return study


def report(study, *drivers, out="out", code=0, options=()):
    """Run a report over the shop and return its folder."""
    names = ",".join(f"{study.drivers}:{name}" if name.isidentifier() else name for name in drivers)
    words = ["ladder", "--report", "--cases", "shop", "--held-out", "--drivers", names, "--out", out]
    before = {path.name for path in study.folder.iterdir()}
    done = study.command(*words, *options)
    assert done.returncode == code, done.stderr
    (new,) = {path.name for path in study.folder.iterdir()} - before - {"__pycache__", "bad-mood"}
    return study.folder / new


def read(folder, name):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def page(folder):
    (path,) = folder.glob("BENCHMARK_AGENT_*.md")
    return path.read_text(encoding="utf-8")


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def toy(mini):
    """Return a study, and its report of two floors on the bundled toy suite."""
    study = mini()
    done = study.command(
        "ladder", "--report", "--drivers", "stub,shim", "--cases", "bundled:toy", "--rung", "TOOL-1"
    )
    assert done.returncode == 0, done.stderr
    return study, study.folder / "runs" / "ladder" / "0.1.0", done


def test_one_folder_holds_rows_figures_envelope_data_and_report(toy):
    study, folder, done = toy
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "BENCHMARK_AGENT_0.1.0.md",
        "benchmark.json",
        "envelope.json",
        "drivers/shim/product.jsonl",
        "drivers/stub/product.jsonl",
        "figures/ladder-shim.svg",
        "figures/ladder-stub.svg",
    }
    for line in done.stdout.splitlines():
        if line.startswith(("report: ", "envelope: ", "data: ", "figure of ")):
            assert (study.folder / line.rpartition(": ")[2]).is_file()
    alone = study.command("ladder", "--cases", "bundled:toy", "--rung", "TOOL-1", "--out", "alone")
    assert alone.returncode == 0
    rows = (folder / "drivers" / "stub" / "product.jsonl").read_bytes()
    assert rows == (study.folder / "alone" / "product.jsonl").read_bytes()


def test_the_numbers_of_the_report_are_those_of_the_rows(toy):
    _, folder, _ = toy
    text = page(folder)
    for name in ("stub", "shim"):
        rows = rows_of(folder / "drivers" / name / "product.jsonl")
        passed = sum(row["verdict"]["pass"] for row in rows)
        completed = sum(row["verdict"]["completed"] for row in rows)
        part = text.partition(f"## Driver {name}\n")[2].partition("\n## ")[0]
        (line,) = [line for line in part.splitlines() if line.startswith("| TOOL-1 |")]
        cells = [cell.strip() for cell in line.split("|")][1:-1]
        assert cells[2] == str(len(rows))
        assert cells[4].startswith(f"{passed} (")
        assert cells[5] == f"{completed} ({(200 * completed + len(rows)) // (2 * len(rows))} %)"
        failing = text.partition(f"## Failing rows of {name}\n")[2].partition("\n## ")[0]
        missed = [row["caseId"] for row in rows if not row["verdict"]["pass"]]
        assert [case for case in missed if f"| {case} |" not in failing] == []


def test_the_envelope_is_that_of_the_rows(toy):
    _, folder, _ = toy
    envelope = read(folder, "envelope.json")
    rows = rows_of(folder / "drivers" / "stub" / "product.jsonl")
    assert envelope["generatedFrom"]["drivers"] == {"stub": ["stub-floor"]}
    assert envelope["generatedFrom"]["caseCount"] == len(rows)
    assert envelope["generatedFrom"]["split"] == "development"
    metrics = envelope["metrics"]["byRung"]["TOOL-1"]
    assert metrics["n"] == len(rows)
    assert metrics["planCompletion"] == sum(row["verdict"]["completed"] for row in rows) / len(rows)
    assert envelope["ladder"] == {
        "rungs": ["TOOL-1"],
        "rungReached": None,
        "gatedAt": None if metrics["gatePass"] else "TOOL-1",
        "unmeasured": [f"TOOL-{n}" for n in range(10) if n != 1],
    }
    assert envelope["routing"]["mayRoute"] is False
    classes = [c for c in envelope["routing"]["classes"] if c["level"] == "shape" and c["answer"] == "calls"]
    failures = sum(not (r["verdict"]["pass"] and r["verdict"]["resultCompleted"]) for r in rows)
    assert sum(c["failures"] for c in classes) == failures


def test_goal_comes_first_where_it_is_measured_and_alone_it_is_enough(mini):
    study = mini()
    options = ["--cases", "bundled:toy", "--rung", "TOOL-0"]
    done = study.command("ladder", "--report", "--drivers", "stub,goal", *options, "--out", "two")
    assert done.returncode == 0, done.stderr
    assert read(study.folder / "two", "envelope.json")["generatedFrom"]["driver"] == "goal"
    done = study.command("ladder", "--report", "--driver", "goal", *options, "--out", "one")
    assert done.returncode == 0, done.stderr
    one = (study.folder / "one" / "envelope.json").read_bytes()
    assert one == (study.folder / "two" / "envelope.json").read_bytes()


def test_a_rerun_overwrites_nothing_repeats_every_row_and_finds_the_previous_report(shop):
    first = report(shop, "careful", "refuse-all")
    kept = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    second = report(shop, "careful", "refuse-all")
    assert {path: path.read_bytes() for path in first.rglob("*") if path.is_file()} == kept
    assert second.name == "out_001"
    assert (second / "BENCHMARK_AGENT_0.1.0_001.md").is_file()
    for path, data in kept.items():
        if path.name not in ("benchmark.json", "BENCHMARK_AGENT_0.1.0.md"):
            assert (second / path.relative_to(first)).read_bytes() == data
    changes = read(second, "benchmark.json")["changes"]
    assert changes["previousVersion"] == "0.1.0"
    assert changes["meanings"] == []
    assert "No change of meaning: the same cases, judged in the same way." in page(second)
    assert "There is no previous report." in page(first)
    assert read(report(shop, "careful"), "benchmark.json")["changes"]["previousVersion"] == "0.1.0_001"


def test_rows_hold_no_clock_and_the_report_does(shop):
    folder = report(shop, "careful")
    clock = re.compile(r"\d\d:\d\d:\d\d")
    for name in ("envelope.json", f"drivers/{shop.drivers}-careful/product.jsonl"):
        assert not clock.search((folder / name).read_text())
    times = read(folder, "benchmark.json")["times"]
    assert times["runStarted"] <= times["runEnded"] <= times["analysisStarted"] <= times["analysisEnded"]
    assert times["runStarted"] in page(folder)
    assert "study ladder --cases shop --held-out --out out --report --drivers" in page(folder)


def test_same_cases_that_flip_are_capability_and_named(shop):
    report(shop, "moody")
    (shop.folder / "bad-mood").touch()
    folder = report(shop, "moody")
    (change,) = read(folder, "benchmark.json")["changes"]["drivers"]
    assert len(change["flips"]) == 24
    assert change["flips"][0] == {"caseId": "status-0-a", "before": "pass", "after": "honest miss"}
    text = page(folder)
    assert "24 of 24 cases (100 %) passed then, 0 of 24 cases (0 %) now" in text
    assert "(0 gained, 24 lost)" in text
    assert "it is the same version (moody-1)" in text


def test_new_rungs_cases_and_expectations_are_named_and_not_capability(shop):
    report(shop, "careful")
    path = shop.folder / "shop" / "cases.jsonl"
    cases = rows_of(path)
    cases[0]["expect"]["calls"][0]["input"]["order"] = "order-5"
    cases[1]["request"] = "status of order-0?"
    cases += [{**cases[2], "id": f"new-{n}", "rung": "TOOL-3", "request": "no answer"} for n in (1, 2)]
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    suite = shop.folder / "shop" / "suite.toml"
    suite.write_text(suite.read_text() + '"new" = { split = "held-out", cases = ["new-1", "new-2"] }\n')
    folder = report(shop, "careful")
    changes = read(folder, "benchmark.json")["changes"]
    assert [meaning["code"] for meaning in changes["meanings"]] == [
        "new-rung",
        "new-case",
        "changed-request",
        "changed-expectation",
    ]
    assert changes["newRungs"] == ["TOOL-3"]
    assert changes["newCases"] == ["new-1", "new-2"]
    assert changes["changedExpectations"] == ["status-0-a"]
    assert changes["changedRequests"] == ["status-0-b"]
    text = page(folder)
    assert "On the 22 cases that did not change: 22 then, 22 now (0 gained, 0 lost)" in text
    assert "1 of 4 cases (25 %) that are new or changed pass" in text
    assert "CHANGE OF MEANING (new-rung): new rungs: TOOL-3." in text


def test_another_selection_is_no_previous_report_unless_it_is_named(shop):
    first = report(shop, "careful", options=("--only", "status-0-a,status-1-a"))
    second = report(shop, "careful", out="second")
    assert read(second, "benchmark.json")["changes"] is None
    for n, given in enumerate((str(first), str(first / "benchmark.json"))):
        third = report(shop, "careful", out=f"third-{n}", options=("--previous", given))
        changes = read(third, "benchmark.json")["changes"]
        assert len(changes["newCases"]) == 22
        assert [meaning["code"] for meaning in changes["meanings"]] == ["new-case"]


def test_an_unreadable_neighbour_is_told_and_passed_over(shop):
    broken = shop.folder / "broken"
    broken.mkdir()
    (broken / "benchmark.json").write_text('{"schema": 9}')
    done = shop.command(
        "ladder", "--report", "--cases", "shop", "--held-out", "--drivers", "refuse-all", "--out", "out"
    )
    assert done.returncode == 0
    assert "not compared with: " in done.stderr
    assert "broken" in done.stderr


def test_every_kind_of_failure_is_listed_with_its_reason(shop):
    folder = report(shop, "mixed")
    text = page(folder).partition("## Failing rows of")[2].partition("\n## ")[0]
    rows = rows_of(folder / "drivers" / f"{shop.drivers}-mixed" / "product.jsonl")
    kinds = Counter(row["verdict"].get("failure") for row in rows)
    assert set(kinds) == {None, "honest_miss", "wrong_answer", "hallucination"}
    for title, kind in (
        ("Honest misses", "honest_miss"),
        ("Wrong answers", "wrong_answer"),
        ("Hallucinations", "hallucination"),
    ):
        part = text.partition(title)[2].partition("\n\n")[2].partition("\n\n")[0]
        listed = re.findall(r"^\| (status-[0-9]+-[ab]) \|", part, re.MULTILINE)
        assert listed == [row["caseId"] for row in rows if row["verdict"].get("failure") == kind]
    assert "unknown-tool" in text
    envelope = read(folder, "envelope.json")
    assert envelope["capability"]["toolsOk"] is False
    assert envelope["capability"]["structuredOk"] is True
    assert "no hallucination | NO |" in page(folder)


def test_held_out_and_flawless_is_what_may_be_routed(shop):
    envelope = read(report(shop, "careful"), "envelope.json")
    assert envelope["routing"]["mayRoute"] is True
    (known,) = envelope["routing"]["classes"]
    assert (known["inEnvelope"], known["topics"], known["tasks"], known["cases"]) == (
        True,
        ["status"],
        12,
        24,
    )
    hasty = read(report(shop, "hasty"), "envelope.json")
    assert hasty["routing"]["mayRoute"] is False
    assert hasty["routing"]["classes"][0]["failures"] == 12
    silent = read(report(shop, "refuses"), "envelope.json")["capability"]
    assert (silent["toolsOk"], silent["toolsOkMeasured"]) == (None, False)


def test_a_gated_ladder_is_no_pass_and_fails_only_when_asked(shop):
    folder = report(shop, "refuses")
    text = page(folder)
    assert "GATED at TOOL-0, not accepted from there on" in text.partition("## Decision")[2]
    assert "gated at TOOL-0" in text.partition("## What was run")[0]
    report(shop, "refuses", code=1, options=("--fail-on-gate",))
    report(shop, "careful", "refuses", options=("--fail-on-gate",))


def test_bytes_are_compared_when_asked_and_claimed_only_then(shop):
    options = ("--check-identity", "--only", "status-0-a,status-1-a")
    folder = report(shop, "careful", "random_words", options=options)
    checks = {
        (c["name"].rpartition(":")[0], c["text"]): c["held"] for c in read(folder, "benchmark.json")["checks"]
    }
    careful, words = (f"{shop.drivers}:{name}" for name in ("careful", "random_words"))
    assert checks[careful, "a second run: identical"] is True
    assert checks[careful, "8 against 1 workers: identical"] is True
    assert checks[words, "a second run: differs, first at status-0-a"] is False
    unchecked = read(report(shop, "careful"), "benchmark.json")["checks"]
    assert [c["held"] for c in unchecked if "same bytes" in c["name"]] == [None]


def test_reds_are_declared_in_a_file(shop):
    reds = shop.folder / "reds.toml"
    reds.write_text(f'["{shop.drivers}:mixed"]\n"status-0-a" = "the agent cannot count to zero"\n')
    text = page(report(shop, "mixed", options=("--reds", "reds.toml")))
    assert "status-0-a: honest miss; the agent cannot count to zero" in text


@pytest.mark.parametrize(
    "options, words",
    [
        (["--drivers", "stub"], ["--drivers", "add --report"]),
        (["--check-identity"], ["--check-identity", "add --report"]),
        (["--report", "--drivers", "stub", "--driver", "goal"], ["--driver"]),
        (["--report", "--drivers", "stubb"], ["did you mean 'stub'"]),
        (["--report", "--drivers", "stub,stub"], ["named twice"]),
        (["--report", "--drivers", ","], ["no driver is named"]),
        (["--report", "--explain", "who calls x"], ["--explain"]),
        (["--report", "--drivers", "stub", "--previous", "nowhere"], ["nowhere", "cannot read"]),
        (["--report", "--drivers", "stub", "--reds", "shop.toml"], ["shop.toml", "table for each driver"]),
        (["--report", "--drivers", "stub", "--reds", "shop/registry.json"], ["not valid TOML"]),
    ],
)
def test_bad_options_exit_with_2_and_write_nothing(shop, options, words):
    done = shop.command("ladder", "--cases", "shop", "--held-out", *options, "--out", "none")
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (shop.folder / "none").exists()


def test_a_call_that_was_reported_and_never_made_gates_and_keeps_every_class_out(shop):
    folder = report(shop, "liar", code=1, options=("--fail-on-gate",))
    envelope, text = read(folder, "envelope.json"), page(folder)
    assert envelope["metrics"]["byRung"]["TOOL-0"]["hallucinationRate"] == 0
    assert envelope["metrics"]["byRung"]["TOOL-0"]["gatePass"] is False
    assert envelope["capability"]["toolsOk"] is False
    assert not any(found["inEnvelope"] for found in envelope["routing"]["classes"])
    head = text.partition("## What was run")[0]
    assert "0 hallucinate, 2 with a hard fail (fabricated-call 2)" in head
    assert "HARD FAILS in 2 cases (fabricated-call 2)" in text.partition("## Decision")[2]
    assert "no hard fail | NO |" in text
    assert "| hallucination | hard fails | gate |" in text
    assert "| hallucination | hard fails | gate |" in page(report(shop, "careful"))


def test_an_unfinished_report_is_told_and_left(shop):
    left = shop.folder / "out" / "drivers" / "stub"
    left.mkdir(parents=True)
    (left / "product.jsonl").write_text("")
    words = ["ladder", "--report", "--cases", "shop", "--held-out", "--drivers", "refuse-all", "--out", "out"]
    done = shop.command(*words)
    assert done.returncode == 0, done.stderr
    assert "found an unfinished report in out; it is left as it is" in done.stderr
    assert [path.name for path in left.iterdir()] == ["product.jsonl"]
    assert (shop.folder / "out_001" / "benchmark.json").is_file()
    assert "unfinished" not in shop.command(*words).stderr


def test_title_and_since_line_name_the_folder_of_the_series(shop):
    first = report(shop, "careful", out="0.1.0_001")
    assert page(first).startswith("# BENCHMARK\\_AGENT 0.1.0\\_001") or page(first).startswith(
        "# BENCHMARK_AGENT 0.1.0_001"
    )
    data = read(first, "benchmark.json")
    assert data["version"] == "0.1.0_001"
    # a report from before the folder's number was read
    (first / "benchmark.json").write_text(json.dumps(data | {"version": "0.1.0"}))
    second = report(shop, "careful", out="0.1.0_002")
    assert read(second, "benchmark.json")["changes"]["previousVersion"] == "0.1.0_001"


def test_other_code_under_the_same_version_is_told(shop):
    first = read(report(shop, "careful"), "benchmark.json")["drivers"][0]["codeDigest"]
    assert first == read(report(shop, "careful"), "benchmark.json")["drivers"][0]["codeDigest"]
    assert "code changed" not in page(shop.folder / "out_001")
    shop.driver_file.write_text(shop.driver_file.read_text() + "\n# another hand\n")
    names = f"{shop.drivers}:careful"
    words = ["ladder", "--report", "--cases", "shop", "--held-out", "--drivers", names, "--out", "out"]
    done = shop.command(*words, process=True)
    assert done.returncode == 0, done.stderr
    folder = shop.folder / "out_002"
    assert read(folder, "benchmark.json")["drivers"][0]["codeDigest"] != first
    text = " ".join(page(folder).split())
    said = "The driver's code changed, though it says that it is the same version (careful-1)."
    assert text.count(said) == 2
    assert said in " ".join(done.stdout.split())
