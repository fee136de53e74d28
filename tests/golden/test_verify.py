"""``study verify`` finds one changed byte anywhere in a run folder and names the file."""

from __future__ import annotations

import json
import random

import pytest

FILES = [
    "lock.json",
    "journal.jsonl",
    "product.jsonl",
    "results.json",
    "manifest.json",
    "environment.json",
    "report.md",
    "inputs/protocol.toml",
    "inputs/suites/shop/cases.jsonl",
    "inputs/suites/shop/registry.json",
    "inputs/suites/shop/suite.toml",
]


@pytest.fixture
def run(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    assert study.command("run", "shop.toml").returncode == 1
    (folder,) = study.folder.glob("runs/*/*")
    return study, folder


def test_an_intact_run_and_each_changed_file(run):
    from study.cli.main import _run

    study, folder = run
    assert study.command("verify", str(folder)).returncode == 0
    generator = random.Random(4)
    for name in FILES:
        path = folder / name
        whole = path.read_bytes()
        for _ in range(3):
            place = generator.randrange(len(whole))
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            from study.declare import verify

            found = verify(folder)
            assert found, (name, place)
            assert any(line.startswith(name) for line in found), (name, place, found)
        path.write_bytes(whole)
    path = folder / "product.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"completed":true', b'"completed":false', 1))
    assert _run(["verify", str(folder)]) == 3
    assert _run(["report", str(folder)]) == 3
    path.write_bytes(whole)
    assert _run(["verify", str(folder)]) == 0


def test_results_that_were_changed_together_with_the_manifest_are_still_found(run):
    from study.runs import RunFolder, write_manifest

    study, folder = run
    place = folder / "results.json"
    results = json.loads(place.read_text())
    results["verdict"]["outcome"] = "superior"
    place.write_text(json.dumps(results))
    write_manifest(RunFolder(folder))
    done = study.command("verify", str(folder))
    assert done.returncode == 3
    assert "results.json: verdict.outcome" in done.stderr


def test_a_removed_and_an_added_file_are_named(run):
    from study.declare import verify

    _, folder = run
    (folder / "report.md").unlink()
    (folder / "extra.txt").write_text("x")
    (folder / "empty").mkdir()
    (folder / "alias.json").symlink_to(folder / "results.json")
    assert set(verify(folder)) == {
        "report.md is missing",
        "extra.txt was added after the run was sealed",
        "empty was added after the run was sealed",
        "alias.json was added after the run was sealed",
    }


def test_regrading_a_changed_product_names_the_row(run):
    study, folder = run
    path = folder / "product.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"passed":true', b'"passed":false', 1))
    done = study.command("grade", str(folder))
    assert done.returncode == 3
    assert "product.jsonl:" in done.stderr


@pytest.mark.parametrize("name", ["lock.json", "journal.jsonl", "environment.json", "deviations.jsonl"])
def test_a_file_that_is_gone_is_named(mini, name):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    study.driver_file.write_text(study.driver_file.read_text() + "\n# touched\n")
    assert study.command("run", "shop.toml", process=True).returncode == 1
    (folder,) = study.folder.glob("runs/*/*")
    (folder / name).unlink()
    done = study.command("verify", str(folder))
    assert done.returncode == 3
    assert name in done.stderr
    assert study.command("report", str(folder)).returncode in (2, 3)


def test_a_deviation_cannot_be_dropped_before_the_run_is_sealed(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    study.driver_file.write_text(study.driver_file.read_text() + "\n# touched\n")
    assert study.command("run", "shop.toml", "--no-report", process=True).returncode == 0
    (folder,) = study.folder.glob("runs/*/*")
    (folder / "deviations.jsonl").unlink()
    done = study.command("report", str(folder))
    assert done.returncode == 3
    assert "deviations.jsonl lacks" in done.stderr
    assert not (folder / "manifest.json").exists()
