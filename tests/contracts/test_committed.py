"""What is committed holds together: locks, README, scaffold, and user folders with our names in them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from study.declare import current_lock, declare
from study.lock import lock_bytes, lock_path, read_lock

ROOT = Path(__file__).resolve().parents[2]
STUDY = Path(sys.executable).with_name("study")
PROTOCOLS = sorted((ROOT / "protocols").glob("*.toml"))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: p.stem)
def test_each_committed_protocol_is_frozen_and_freezing_again_gives_the_same_bytes(protocol):
    stored = read_lock(lock_path(protocol))
    lock = current_lock(declare(protocol), stored.get("supersedes"))
    assert lock_bytes(lock) == lock_path(protocol).read_bytes()


def test_the_demo_uses_the_held_out_split_of_click_with_enough_tasks():
    declared = declare(ROOT / "protocols" / "goal-vs-resolver.toml")
    assert declared.protocol.workload.split == "held-out"
    assert [suite.file.id for suite in declared.suites] == ["click"]
    assert len(declared.selection.tasks) >= 80


def test_the_readme_shows_what_the_demo_prints(tmp_path):
    shutil.copytree(ROOT / "protocols", tmp_path / "protocols")
    done = subprocess.run(
        [STUDY, "run", "protocols/goal-vs-resolver.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"what the demo prints:\n\n```\n(.*?)```", readme, re.DOTALL)
    assert found
    assert found[1] == f"{done.stdout}study run exited with {done.returncode}\n"


def test_the_functions_of_the_readme_run_as_a_study(mini):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n# my_drivers.py\n(.*?)\n# my_tools.py", readme, re.DOTALL)
    assert found
    code = found[1].replace("my_agent_finds_the_order(request)", 're.search("order-[0-9]+", request)[0]')
    study = mini(baseline="careful", candidate="candidate", extra=code)
    assert study.command("freeze", "shop.toml").returncode == 0
    done = study.command("run", "shop.toml")
    assert done.returncode == 0, done.stderr
    assert "NON-INFERIOR" in done.stdout


def test_a_study_runs_in_a_folder_with_files_that_carry_our_names(mini):
    study = mini()
    (study.folder / "analysis.py").write_text("raise RuntimeError('shadowed')\n")
    (study.folder / "study.py").write_text("raise RuntimeError('shadowed')\n")
    for command, code in (("freeze", 0), ("run", 1)):
        done = subprocess.run(
            [STUDY, command, "shop.toml"], cwd=study.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert "shadowed" not in done.stderr


def test_the_documented_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "lint", "bench", "long"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert (
        shutil.which("make") is None
        or subprocess.run(["make", "-n", "demo"], cwd=ROOT, check=False).returncode == 0
    )
