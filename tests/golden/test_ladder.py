"""``study ladder``: what it prints, what it writes, and that bytes do not depend on how it was run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REFERENCE_KEYS = [
    "caseId",
    "rung",
    "request",
    "tools",
    "driver",
    "stamp",
    "version",
    "expect",
    "produced",
    "verdict",
]


@pytest.fixture
def work(mini):
    """Return a study whose folder ladder runs are started in."""
    return mini()


def rows_in(work, *parts):
    text = work.folder.joinpath(*parts, "product.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_the_default_is_the_stub_on_the_development_split_of_the_bundled_suites(work):
    done = work.command("ladder")
    assert done.returncode == 0, done.stderr
    assert "FLOOR" in done.stdout
    assert "stub-floor" in done.stdout
    assert "refuse-all" in done.stdout
    rows = rows_in(work, "runs", "ladder", "0.1.0")
    assert len(rows) == 588 + 144 + 148
    assert [key for key in rows[0] if key != "floorExpectApplied"] == REFERENCE_KEYS
    assert {row["stamp"] for row in rows} == {"0.1.0"}
    assert {row["driver"] for row in rows} == {"stub-floor"}
    assert not any("-h2-" in row["caseId"] for row in rows)
    again = work.command("ladder")
    assert again.returncode == 0
    first = work.folder / "runs" / "ladder" / "0.1.0" / "product.jsonl"
    second = work.folder / "runs" / "ladder" / "0.1.0_001" / "product.jsonl"
    assert first.read_bytes() == second.read_bytes()


def test_one_and_eight_workers_write_the_same_bytes(work):
    for workers in ("1", "8"):
        options = ["--cases", "bundled:toy", "--out", f"w{workers}", "--concurrency", workers]
        done = work.command("ladder", *options, process=True)
        assert done.returncode == 0, done.stderr
    assert (work.folder / "w1" / "product.jsonl").read_bytes() == (
        work.folder / "w8" / "product.jsonl"
    ).read_bytes()


def test_the_goal_driver_clears_every_rung_and_the_drivers_stand_in_their_order(work):
    passed = {}
    for driver in ("goal", "resolver", "stub", "shim"):
        done = work.command("ladder", "--driver", driver, "--ladder", "--out", driver)
        assert done.returncode == 0, done.stderr
        rows = rows_in(work, driver)
        assert not any(row["verdict"]["hallucinated"] for row in rows)
        passed[driver] = {row["caseId"] for row in rows if row["verdict"]["pass"]}
        if driver == "goal":
            assert "gated at no rung" in done.stdout
            assert {row["rung"] for row in rows} == {f"TOOL-{n}" for n in range(10)}
            assert len(passed["goal"]) == len(rows)
            assert {row["driver"] for row in rows} == {"resolver-0.8.0", "goal-0.8.1", "recognize-0.1.0"}
    counts = [len(passed[driver]) for driver in ("goal", "resolver", "stub", "shim")]
    assert counts[0] > counts[1] > counts[2] >= counts[3]


def test_every_verdict_can_be_regraded_and_a_changed_one_is_named(work):
    assert work.command("ladder", "--cases", "bundled:toy", "--out", "rows").returncode == 0
    product = work.folder / "rows" / "product.jsonl"
    done = work.command("grade", str(product), "--cases", "bundled:toy")
    assert done.returncode == 0, done.stderr
    text = product.read_text()
    assert '"pass":true' in text
    product.write_text(text.replace('"pass":true', '"pass":false', 1))
    done = work.command("grade", str(product), "--cases", "bundled:toy")
    assert done.returncode == 3
    assert "pass" in done.stderr


def test_rows_of_all_bundled_suites_are_regraded_without_naming_them(work):
    assert work.command("ladder", "--driver", "goal", "--out", "rows").returncode == 0
    product = work.folder / "rows" / "product.jsonl"
    done = work.command("grade", str(product))
    assert done.returncode == 0, done.stderr
    assert f"{588 + 144 + 148} rows regraded" in done.stdout
    lines = product.read_text("utf-8").splitlines()
    product.write_text(
        "\n".join([*lines[:3], lines[3].replace('"pass":true', '"pass":false')]) + "\n", "utf-8"
    )
    assert work.command("grade", str(product)).returncode == 3
    product.write_text(lines[0].replace("ck-d-", "nowhere-") + "\n", "utf-8")
    done = work.command("grade", str(product))
    assert done.returncode in (2, 3)
    assert "nowhere-" in done.stderr


def test_a_reader_that_leaves_early_is_told_nothing_more(work):
    study = Path(sys.executable).with_name("study")
    command = f"'{study}' ladder --cases bundled:toy --driver stub --ladder --out rows | head -1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=work.folder, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("driver stub")
    assert done.stderr == ""
    assert (work.folder / "rows" / "product.jsonl").stat().st_size > 0


@pytest.mark.parametrize(
    "options, words",
    [
        (["--rung", "TOOL-12"], ["TOOL-12", "--rung"]),
        (["--only", "nothing"], ["nothing", "--only"]),
        (["--driver", "stubb"], ["stubb", "did you mean 'stub'"]),
        (["--stamp", "a/b"], ["--stamp"]),
        (["--concurrency", "0"], ["--concurrency"]),
        (["--cases", "nowhere"], ["nowhere"]),
        (["--cases", "shop", "--rung", "TOOL-7"], ["no case is selected"]),
    ],
)
def test_bad_options_exit_with_2(work, options, words):
    done = work.command("ladder", *options)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr


def test_rung_is_case_insensitive_and_only_selects(work):
    assert work.command("ladder", "--cases", "bundled:toy", "--rung", "tool-0", "--out", "a").returncode == 0
    rows = rows_in(work, "a")
    assert {row["rung"] for row in rows} == {"TOOL-0"}
    wanted = rows[2]["caseId"]
    assert work.command("ladder", "--cases", "bundled:toy", "--only", wanted, "--out", "b").returncode == 0
    assert [row["caseId"] for row in rows_in(work, "b")] == [wanted]
    taken = work.command("ladder", "--cases", "bundled:toy", "--out", "b")
    assert taken.returncode == 2
    assert "nothing is overwritten" in taken.stderr


def test_a_failed_gate_fails_only_when_asked(work):
    options = ["ladder", "--driver", "shim", "--cases", "bundled:click", "--ladder"]
    done = work.command(*options, "--out", "one")
    assert done.returncode == 0
    assert "rung TOOL-1 skipped: gated by TOOL-0 completion" in done.stdout
    assert work.command(*options, "--fail-on-gate", "--out", "two").returncode == 1


def test_the_shim_never_hallucinates_and_the_held_out_split_is_there_when_asked(work):
    done = work.command("ladder", "--driver", "shim", "--cases", "bundled:click", "--held-out", "--out", "h")
    assert done.returncode == 0, done.stderr
    rows = rows_in(work, "h")
    assert len(rows) == 294
    assert all(row["caseId"].startswith("ck-h2-") for row in rows)
    assert not any(row["verdict"]["hallucinated"] for row in rows)


def test_a_driver_and_a_case_file_of_ones_own(work):
    options = [
        "--driver",
        f"{work.drivers}:careful",
        "--cases",
        "shop/cases.jsonl",
        "--registry",
        "shop/registry.json",
    ]
    done = work.command("ladder", *options, "--out", "own")
    assert done.returncode == 0, done.stderr
    assert {row["driver"] for row in rows_in(work, "own")} == {"careful-1"}
    suite = work.command(
        "ladder", "--driver", f"{work.drivers}:careful", "--cases", "shop", "--out", "s", "--held-out"
    )
    assert suite.returncode == 0, suite.stderr
    assert all(row["verdict"]["pass"] for row in rows_in(work, "s"))


LIES = '''

def liar(request, tools, ctx):
    """Reports the right call, and never makes it."""
    found = re.search(r"order-[0-9]+", request)
    return LoopResult(calls=[Call("order_status", {"order": found[0]})], driver="liar-1", terminated=True)


liar.stamp = "liar-1"
'''


def test_calls_that_were_never_made_fail_the_gate(mini):
    study = mini(tasks=12, extra=LIES)
    study.edit('"TOOL-1"', '"TOOL-0"', study.folder / "shop" / "cases.jsonl")
    options = ["--driver", f"{study.drivers}:liar", "--cases", "shop", "--held-out", "--ladder"]
    done = study.command("ladder", *options, "--out", "lies", "--fail-on-gate")
    assert done.returncode == 1, done.stderr
    told = done.stdout.splitlines()
    at = next(n for n, text in enumerate(told) if text.startswith("rung"))
    line = next(text for text in told if text.startswith("TOOL-0"))
    column = told[at].index("hard")
    assert told[at + 1][column : column + 5] == "fails"
    assert line[column:].split()[:3] == ["100", "%", "FAIL"]
    assert "hard fail" in done.stdout.partition("gates are read")[2]
    rows = rows_in(study, "lies")
    assert {tuple(row["verdict"]["hardFails"]) for row in rows} == {("fabricated-call",)}
    assert not any(row["verdict"]["hallucinated"] for row in rows)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"rung": "TOOL-10"}, ["TOOL-10"]),
        ({"tools": []}, ["no tool is declared"]),
        (
            {"expect": {"refuse": True, "calls": [{"name": "list_orders"}], "terminates": True}},
            ["calls-excluded"],
        ),
    ],
)
def test_faulty_cases_are_listed_before_anything_is_run(work, changes, words):
    path = work.folder / "shop" / "cases.jsonl"
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    cases[0] |= changes
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    registry = ["--registry", "shop/registry.json"]
    (work.folder / "rows.jsonl").write_text("", "utf-8")
    for command in (
        ["ladder", "--driver", "stub", "--cases", "shop", "--held-out", "--out", "none"],
        ["ladder", "--driver", "stub", "--cases", "shop/cases.jsonl", *registry, "--out", "none"],
        ["ladder", "--report", "--drivers", "stub", "--cases", "shop", "--held-out", "--out", "none"],
        ["grade", "rows.jsonl", "--cases", "shop/cases.jsonl", *registry],
        ["grade", "rows.jsonl", "--cases", "shop"],
    ):
        done = work.command(*command)
        assert done.returncode == 2, command
        for word in ("status-0-a", *words):
            assert word in done.stderr
    assert not (work.folder / "none").exists()


@pytest.mark.parametrize(
    "options, words",
    [
        (["--registry", "shop/registry.json"], ["--registry", "case file"]),
        (["--cases", "bundled:toy", "--registry", "shop/registry.json"], ["--registry", "case file"]),
        (["--cases", "shop", "--graph", "g.json"], ["--graph", "case file"]),
        (["--explain", "who calls x", "--graph", "g.json"], ["--graph", "case file"]),
        (["--only", ""], ["--only", "empty"]),
        (["--only", ",,"], ["--only", "names no case"]),
        (["--report", "--drivers", ""], ["--drivers", "empty"]),
        (["--report", "--drivers", ",,"], ["no driver is named"]),
        (["--out", ""], ["--out", "empty"]),
        (["--out", "."], ["--out .", "working folder"]),
        (["--report", "--driver", "stub", "--out", "."], ["--out .", "working folder"]),
        (["--report", "--driver", "stub", "--out", ".."], ["working folder"]),
        (["--concurrency", "65"], ["--concurrency", "1 to 64"]),
    ],
)
def test_what_would_be_ignored_or_misread_is_refused(work, options, words):
    before = sorted(work.folder.parent.rglob("*"))
    done = work.command("ladder", *options)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
    assert [path for path in sorted(work.folder.parent.rglob("*")) if path not in before] == []


def test_grade_takes_a_registry_only_with_a_case_file(work):
    for run in ("shop", "shop/cases.jsonl"):
        done = work.command("grade", run, "--registry", "shop/registry.json")
        assert done.returncode == 2
        assert "belongs to a case file" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_a_plain_error(work):
    study = Path(sys.executable).with_name("study")
    for words in (["ladder", "--cases", "bundled:toy", "--out", "rows"], ["--help"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [study, *words], cwd=work.folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert done.stderr == "error: cannot read or write: No space left on device\n"


def test_an_unwritable_place_promises_no_going_on(work):
    (work.folder / "file").write_text("", "utf-8")
    for mode in ([], ["--report"]):
        options = ["--driver", "stub", "--cases", "bundled:toy", "--rung", "TOOL-0", "--out", "file/inside"]
        done = work.command("ladder", *mode, *options)
        assert done.returncode == 2
        assert "cannot write" in done.stderr
        assert "goes on" not in done.stderr
