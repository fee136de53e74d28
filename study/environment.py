"""The environment record of a run: revisions, versions, machine, settings, seeds."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from study.convert import convert
from study.digest import JSON, is_object, read_json_file
from study.errors import InputError, IntegrityError
from study.records import ARMS, Record

SCHEMA = 2
"""Of the records that are written now; those of schema 1 are read as well."""

Absent = Literal["absent"]
ABSENT: Absent = "absent"
"""What a key holds that was not recorded: the record is older than the key."""

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
SDKS = ("anthropic", "distributed", "google-genai", "openai")
"""Clients of models and clusters; none of them is a dependency."""

NO_GIT = "not in a git repository, or git is not installed"


class Environment(Record):
    """``environment.json``; every key is required.

    What the system does not tell is None. A key that came with schema 2 says ``absent`` in a record of
    schema 1, which is the only other one that can be read (:func:`read_environment`).

    Attributes
    ----------
    toolkit, python, os, machine : str
    cpu : str or None
    cpus : int or None
    memory_bytes : int or None
        Since schema 2.
    packages : dict
        Distribution -> version, None when it is not installed.
    sdks : dict
        The same for :data:`SDKS`. Since schema 2.
    toolkit_revision : dict
        ``{"commit", "dirty", "reason"}`` of this package, used from its repository. Since schema 2.
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
        ``design``, ``analysis`` (the default where the protocol sets none) and ``driver`` (``derived per case
        and repetition``); ``absent`` where nothing is set.
    conditions : dict or None
    order, executor : str
    workers : int
    run_number, runs_known : int
        This run is number ``run_number`` of ``runs_known`` known for its lock, counted at its start.
    """

    schema: Literal[2]
    toolkit: str
    toolkit_revision: dict[str, Any] | Absent
    packages: dict[str, str | None]
    sdks: dict[str, str | None] | Absent
    python: str
    os: str
    machine: str
    cpu: str | None
    cpus: int | None
    memory_bytes: int | Absent | None
    revision: dict[str, Any]
    lock_commit: dict[str, Any]
    drivers: dict[str, dict[str, Any]]
    sources: dict[str, str]
    settings: dict[str, dict[str, Any]]
    seeds: dict[str, Any]
    conditions: dict[str, Any] | None
    order: str
    executor: str
    workers: int
    run_number: int
    runs_known: int


_SINCE_2 = ("memory_bytes", "sdks", "toolkit_revision")
_STATE = ("commit", "dirty", "reason")
_INSIDE = {
    "revision": _STATE,
    "lock_commit": ("committed", "commit", "reason"),
    "seeds": ("design", "analysis", "driver"),
    **{f"drivers.{arm}": ("stamp", "source_digest") for arm in ARMS},
    **{f"settings.{arm}": ("requested", "resolved") for arm in ARMS},
}
_RESTORE = "restore the file as the run wrote it, or begin a new run with another --stamp"


def read_environment(path: Path) -> Environment:
    """Read the environment record of a run.

    Parameters
    ----------
    path : Path
        ``environment.json``, of schema 1 or 2.

    Returns
    -------
    Environment
        As of schema 2; what a record of schema 1 lacks is :data:`ABSENT`.

    Raises
    ------
    InputError
        When it cannot be read as JSON, or is of a schema that this version does not know.
    IntegrityError
        When a required key is missing or an unknown one is there.
    """
    data: JSON = read_json_file(path, "environment record")
    schema = data.get("schema") if is_object(data) else None
    if schema not in (1, SCHEMA) or not is_object(data):
        raise InputError(
            f"environment schema {schema!r}",
            code="environment",
            where=str(path),
            allowed=f"1 or {SCHEMA}",
            next_step="read the run with the version of driver-study that wrote it, or a newer one",
        )
    if schema == 1:
        data = {**dict.fromkeys(_SINCE_2, ABSENT), **data, "schema": SCHEMA}
    record = convert(data, Environment, str(path), IntegrityError, _RESTORE)
    for place, keys in _INSIDE.items():
        _require(data, place, keys, path)
    return record


def _require(data: JSON, place: str, keys: tuple[str, ...], path: Path) -> None:
    """Refuse a table of the record that lacks one of its keys."""
    table, at = data, str(path)
    for name in place.split("."):
        _require_key(table, name, at)
        table, at = table[name], f"{path}:{place}"
    for key in keys:
        _require_key(table, key, at)


def _require_key(table: JSON, key: str, where: str) -> None:
    if not is_object(table) or key not in table:
        raise IntegrityError(
            f"the key {key!r} is missing", code="environment", where=where, next_step=_RESTORE
        )


def package_versions() -> dict[str, str | None]:
    """Return the versions of the packages that a run may use."""
    return {name: _version(name) for name in PACKAGES}


def sdk_versions() -> dict[str, str | None]:
    """Return the versions of the clients in :data:`SDKS`, None for those that are not installed."""
    return {name: _version(name) for name in SDKS}


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


def memory_bytes() -> int | None:
    """Return the physical memory in bytes where the system tells it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def machine() -> dict[str, Any]:
    """Return the fields of :class:`Environment` that the machine and its software tell by themselves."""
    return {
        "toolkit_revision": toolkit_revision(),
        "sdks": sdk_versions(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "memory_bytes": memory_bytes(),
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


def toolkit_revision() -> dict[str, Any]:
    """Return the revision of this package, as :func:`revision` does; None where it was installed."""
    package = Path(__file__).resolve().parent
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return {"commit": None, "dirty": None, "reason": "not used from its repository"}
    return revision(package)


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
