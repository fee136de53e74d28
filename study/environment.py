"""The environment record of a run: revisions, versions, machine, settings, seeds."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from study.records import Record

PACKAGES = (
    "click",
    "jsonschema-rs",
    "matplotlib",
    "msgspec",
    "numpy",
    "polars",
    "rich",
    "scipy",
    "statsmodels",
)
NO_GIT = "not in a git repository, or git is not installed"


class Environment(Record):
    """``environment.json``; every key is required, unknown things are ``None`` or say ``absent``.

    Attributes
    ----------
    toolkit, python, os, machine, cpu : str
    cpus : int or None
    packages : dict
        Distribution -> version, None when it is not installed.
    revision : dict
        ``{"commit", "dirty", "reason"}`` of the repository that holds the protocol.
    lock_commit : dict
        ``{"committed", "commit", "reason"}``: whether the lock was in that repository before the first trial.
    drivers : dict
        Arm -> ``{"stamp", "source_digest"}``.
    sources : dict
        The user's own source files, path -> digest.
    settings : dict
        Arm -> ``{"requested", "resolved"}``.
    seeds : dict
        ``design``, ``analysis`` and ``driver`` (``derived`` per case and repetition).
    conditions : dict or None
    order, executor : str
    workers : int
    run_number, runs_known : int
        This run is number ``run_number`` of ``runs_known`` known for its lock, counted at its start.
    """

    schema: Literal[1]
    toolkit: str
    packages: dict[str, str | None]
    python: str
    os: str
    machine: str
    cpu: str | None
    cpus: int | None
    revision: dict[str, Any]
    lock_commit: dict[str, Any]
    drivers: dict[str, dict[str, Any]]
    sources: dict[str, str]
    settings: dict[str, dict[str, Any]]
    seeds: dict[str, Any]
    conditions: dict[str, str] | None
    order: str
    executor: str
    workers: int
    run_number: int
    runs_known: int


def package_versions() -> dict[str, str | None]:
    """Return the versions of the packages that a run may use."""
    return {name: _version(name) for name in PACKAGES}


def toolkit_version() -> str:
    """Return the installed version of driver-study, or ``unknown`` in a bare checkout."""
    return _version("driver-study") or "unknown"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def cpu_name() -> str | None:
    """Return the processor's model name where the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or None
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else None


def machine() -> dict[str, Any]:
    """Return the fields of :class:`Environment` that describe the machine."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
    }


def _git(folder: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def revision(folder: Path) -> dict[str, Any]:
    """Return ``{"commit", "dirty", "reason"}`` of the repository that holds a folder."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {"commit": None, "dirty": None, "reason": NO_GIT}
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {
        "commit": commit.decode().strip(),
        "dirty": None if status is None else bool(status),
        "reason": None,
    }


def lock_commit(lock: Path) -> dict[str, Any]:
    """Return whether exactly this lock is in its repository's HEAD, and the commit that put it there."""
    folder = lock.parent
    if _git(folder, "rev-parse", "HEAD") is None:
        reason = NO_GIT
    else:
        stored = _git(folder, "show", f"HEAD:./{lock.name}")
        if stored == lock.read_bytes():
            commit = _git(folder, "log", "-1", "--format=%H", "--", lock.name)
            return {"committed": True, "commit": (commit or b"").decode().strip() or None, "reason": None}
        reason = "the lock is not committed" if stored is None else "the committed lock is a different one"
    return {"committed": False, "commit": None, "reason": reason}
