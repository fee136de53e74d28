"""The built wheel, installed into a clean environment, runs the demo study from there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def call(*command, cwd, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.wheel
def test_the_wheel_runs_the_demo_in_a_clean_environment(tmp_path):
    built = call(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("study/py.typed", "analysis/py.typed", "study/_data/protocols/goal-vs-resolver.lock.json"):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", "cases/", "runs/", "protocols/"))]
    assert call(sys.executable, "-m", "venv", tmp_path / "clean", cwd=tmp_path).returncode == 0
    python = tmp_path / "clean" / "bin" / "python"
    installed = call(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    study = tmp_path / "clean" / "bin" / "study"
    work = tmp_path / "work"
    work.mkdir()
    # files with the names of our packages must not shadow them
    (work / "analysis.py").write_text("raise RuntimeError('shadowed')\n")
    (work / "study.py").write_text("raise RuntimeError('shadowed')\n")
    done = call(study, "run", "bundled:goal-vs-resolver", cwd=work)
    assert done.returncode == 0, done.stderr
    (folder,) = work.glob("runs/goal-vs-resolver/*")
    assert (folder / "figures" / "forest.svg").stat().st_size > 1000
    checked = call(study, "verify", folder, cwd=work)
    assert checked.returncode == 0, checked.stderr
    assert call(study, "init", "own", cwd=work).returncode == 0
    for command in ("check", "freeze", "run"):
        done = call(study, command, "comparison.toml", cwd=work / "own")
        assert done.returncode == 0, done.stderr
