"""Bad input at the command line: one clear message, the documented exit code, and nothing lost."""

from __future__ import annotations

import json
import os

import pytest


def told(done, code, *words):
    """Check exit code and message; there is never a traceback."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr + done.stdout
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def test_typos_in_a_protocol(mini):
    study = mini()
    study.edit("[design]", "[desing]")
    told(study.command("check", "shop.toml"), 2, "shop.toml", "'desing'", "did you mean 'design'")


def test_a_margin_without_unit(mini):
    study = mini()
    study.edit('margin = "20 pp"', "margin = 20")
    told(study.command("freeze", "shop.toml"), 2, "endpoints[0].margin", "20")
    assert not (study.folder / "shop.lock.json").exists()


def test_a_missing_protocol(mini):
    told(mini().command("run", "none.toml"), 2, "none.toml", "cannot read the protocol")


def test_a_run_without_a_lock(mini):
    told(mini().command("run", "shop.toml"), 2, "no lock", "study freeze")


def test_a_duplicate_case_id(mini):
    study = mini()
    cases = study.folder / "shop" / "cases.jsonl"
    cases.write_text(cases.read_text() + cases.read_text().splitlines()[0] + "\n")
    told(study.command("check", "shop.toml"), 2, "cases.jsonl:41", "status-0-a")


def test_a_duplicate_json_key(mini):
    study = mini()
    cases = study.folder / "shop" / "cases.jsonl"
    study.edit('"rung": "TOOL-1"', '"rung": "TOOL-1", "rung": "TOOL-0"', cases)
    told(study.command("check", "shop.toml"), 2, "cases.jsonl:1", "duplicate key 'rung'")


def test_a_case_that_names_an_unknown_tool(mini):
    study = mini()
    study.edit('"list_orders"]', '"lst_orders"]', study.folder / "shop" / "cases.jsonl")
    told(study.command("check", "shop.toml"), 2, "lst_orders", "status-0-a")


def test_a_design_that_cannot_support_its_claim(mini):
    few = mini("few", tasks=16)
    told(few.command("freeze", "shop.toml"), 2, "16 tasks", "at least 17")
    narrow = mini("narrow", tasks=20, margin="5 pp")
    told(narrow.command("freeze", "shop.toml"), 2, "20 tasks", "at least 72")
    wrong = mini("wrong", tasks=20)
    wrong.edit("tasks = 20", "tasks = 21")
    told(wrong.command("freeze", "shop.toml"), 2, "design.tasks", "20")
    tuned = mini("tuned")
    tuned.edit('split = "held-out"', 'split = "development"')
    tuned.edit('split = "held-out"', 'split = "development"', tuned.folder / "shop" / "suite.toml")
    told(tuned.command("freeze", "shop.toml"), 2, "development", "held-out")


def test_drivers_that_cannot_be_loaded(mini):
    study = mini()
    study.edit(f"{study.drivers}:hasty", f"{study.drivers}:hastyy")
    told(study.command("check", "shop.toml"), 2, "arms.candidate.driver", "hastyy")
    broken = mini("broken", extra="\nraise RuntimeError('at import')\n")
    told(broken.command("check", "shop.toml"), 2, "at import")


def test_a_lock_of_another_protocol(mini):
    one, two = mini("one"), mini("two", name="other-study")
    assert one.command("freeze", "shop.toml").returncode == 0
    (two.folder / "shop.lock.json").write_bytes((one.folder / "shop.lock.json").read_bytes())
    told(two.command("run", "shop.toml"), 2, "another protocol", "study:")
    assert not (two.folder / "runs").exists()


@pytest.mark.parametrize(
    "what, old, new, word",
    [
        ("protocol", "seed = 11", "seed = 12", "protocol.design.seed"),
        ("shop/cases.jsonl", "what is the status of order-3", "what's the status of order-3", "status-3-a"),
        ("shop/registry.json", "status of an order", "state of an order", "registry_digest"),
    ],
)
def test_a_change_after_the_freeze_is_named(mini, what, old, new, word):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    study.edit(old, new, study.protocol if what == "protocol" else study.folder / what)
    told(study.command("run", "shop.toml"), 2, "differs from the lock", word)
    told(study.command("freeze", "shop.toml"), 2, "--replace", word)
    assert study.command("freeze", "shop.toml", "--replace").returncode == 0


def test_a_changed_stamp_refuses_and_a_changed_source_is_a_deviation(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    study.edit('hasty.stamp = "hasty-1"', 'hasty.stamp = "hasty-2"', study.driver_file)
    told(study.command("run", "shop.toml", process=True), 2, "arms.candidate.stamp")
    study.edit('hasty.stamp = "hasty-2"', 'hasty.stamp = "hasty-1"  # touched', study.driver_file)
    done = study.command("run", "shop.toml", process=True)
    assert done.returncode in (0, 1, 4), done.stderr
    (deviations,) = study.folder.glob("runs/*/*/deviations.jsonl")
    kinds = [json.loads(line)["kind"] for line in deviations.read_text().splitlines()]
    # both arms and the file itself
    assert kinds == ["source", "source", "source"]


def test_a_truncated_lock_and_a_broken_one(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    lock = study.folder / "shop.lock.json"
    whole = lock.read_bytes()
    lock.write_bytes(whole[: len(whole) // 2])
    told(study.command("run", "shop.toml"), 2, "shop.lock.json", "not valid JSON")
    lock.write_bytes(b"{}")
    told(study.command("run", "shop.toml"), 2, "not a lock file")


def test_a_truncated_journal_loses_its_tail_only_and_a_changed_one_is_void(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    assert study.command("run", "shop.toml", "--no-report").returncode == 0
    (journal,) = study.folder.glob("runs/*/*/journal.jsonl")
    product = journal.with_name("product.jsonl")
    rows = product.read_bytes()
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-1000])
    done = study.command("run", "shop.toml", "--no-report")
    assert done.returncode == 0, done.stderr
    assert product.read_bytes() == rows
    assert "torn-tail" in journal.with_name("deviations.jsonl").read_text()
    changed = bytearray(journal.read_bytes())
    changed[len(changed) // 2] ^= 1
    journal.write_bytes(bytes(changed))
    told(study.command("run", "shop.toml"), 3, "journal.jsonl:", "chain")
    told(study.command("grade", str(journal.parent)), 3, "journal.jsonl:")


def test_an_output_place_that_cannot_be_written(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    (study.folder / "taken").write_text("a file")
    told(study.command("run", "shop.toml", "--out", "taken"), 2, "taken")
    told(study.command("run", "shop.toml", "--out", "/proc/nowhere"), 2, "cannot write", "--out")


@pytest.mark.parametrize(
    "arguments", [["rum"], ["run"], ["run", "x.toml", "--fast"], ["--nope"], ["verify", "x"]]
)
def test_usage_errors(mini, arguments):
    done = mini().command(*arguments)
    told(done, 2)
    assert done.stderr.strip()


def test_a_stamp_that_is_no_folder_name(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    told(study.command("run", "shop.toml", "--stamp", "../up"), 2, "--stamp", "letters")


def test_commands_on_a_folder_that_is_no_run(mini):
    study = mini()
    for name in ("verify", "report", "grade"):
        told(study.command(name, "shop"), 2, "not a run folder")


def test_a_pipe_in_the_place_of_a_file_is_refused_instead_of_waited_for(mini):
    study = mini()
    os.mkfifo(study.folder / "pipe.toml")
    done = study.command("check", "pipe.toml", process=True)
    assert done.returncode == 2
    assert "no regular file" in done.stderr
    assert "pipe.toml" in done.stderr


def test_a_claim_that_two_useless_arms_would_meet_is_warned_of(mini):
    study = mini()
    done = study.command("check", "shop.toml")
    protocol = study.folder / "shop.toml"
    text = protocol.read_text("utf-8")
    assert ("completion_floor" in text) != ("no completion_floor" in done.stderr)
    without = "\n".join(line for line in text.splitlines() if "completion_floor" not in line) + "\n"
    protocol.write_text(without, "utf-8")
    done = study.command("check", "shop.toml")
    assert done.returncode == 0, done.stderr
    assert "no completion_floor: two arms that complete nothing" in done.stderr
