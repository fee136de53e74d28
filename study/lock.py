"""The lock: the frozen, digested form of a protocol, and what differs between two locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from study.cases import Case
from study.digest import JSON, digest, is_list, is_object, pretty, read_json_file
from study.errors import LockError
from study.records import ARMS, Record
from study.schedule import Assignment, schedule_digest
from study.selection import Selection

LOCK_SCHEMA = 1


class DriverIdentity(Record):
    """What the lock keeps of a driver: its name as written, stamp, floor flag, resolved settings, source."""

    driver: str
    stamp: str
    floor: bool
    config: dict[str, Any]
    source_digest: str | None


def build_lock(
    written: dict[str, JSON],
    selection: Selection,
    schedule: Sequence[Assignment],
    drivers: Mapping[str, DriverIdentity],
    families: Mapping[str, str],
    graph_digests: Mapping[str, str | None],
    sources: Mapping[str, str],
    grader_version: str,
    supersedes: str | None = None,
) -> dict[str, JSON]:
    """Return the lock of a protocol as JSON data.

    Parameters
    ----------
    written : dict
        The protocol exactly as written; keys that are absent there are absent here.
    selection, schedule
        What it selects and the order that follows.
    drivers : mapping
        Arm -> identity.
    families : mapping
        Task id -> template family.
    graph_digests : mapping
        Suite id -> digest of its graph file, None without one.
    sources : mapping
        The user's own source files, path -> digest.
    grader_version : str
    supersedes : str, optional
        Digest of the lock that this one replaces, when runs of it exist.
    """
    tasks = selection.tasks
    lock: dict[str, JSON] = {
        "schema": LOCK_SCHEMA,
        "study": written["id"],
        "question": written["question"],
        "protocol": written,
        "protocol_digest": digest(written),
        "arms": {arm: _identity(drivers[arm]) for arm in ARMS},
        "suites": [_suite_entry(part, graph_digests) for part in selection.suites],
        "cases": {case.id: case.digest for part in selection.suites for case in part.cases},
        "tasks": {task: _task_entry(task, cases, families, selection) for task, cases in tasks.items()},
        "n_tasks": len(tasks),
        "n_families": len({families[task] for task in tasks}),
        "n_cases": sum(len(cases) for cases in tasks.values()),
        "n_pairs": len(schedule) // 2,
        "n_trials": len(schedule),
        "schedule_digest": schedule_digest(schedule),
        "sources": dict(sources),
        "grader_version": grader_version,
    }
    pinned = [case.id for part in selection.suites for case in part.cases if case.pinned]
    if pinned:
        lock["pinned"] = pinned
    if supersedes is not None:
        lock["supersedes"] = supersedes
    return lock


def _identity(driver: DriverIdentity) -> dict[str, JSON]:
    return {name: getattr(driver, name) for name in DriverIdentity.__struct_fields__}


def _task_entry(
    task: str, cases: Sequence[Case], families: Mapping[str, str], selection: Selection
) -> dict[str, JSON]:
    """Return what the lock keeps of a task; what was not declared is absent."""
    entry: dict[str, JSON] = {"family": families[task], "cases": [case.id for case in cases]}
    if task in selection.strata:
        entry["stratum"] = selection.strata[task]
    for part in selection.suites:
        declared = part.suite.file.tasks.get(task)
        if declared is not None and declared.family is not None:
            entry["task_family"] = f"{part.suite.file.id}/{declared.family}"
    return entry


def _suite_entry(part: Any, graph_digests: Mapping[str, str | None]) -> dict[str, JSON]:
    file = part.suite.file
    return {
        "name": part.name,
        "id": file.id,
        "toolset": file.toolset,
        "match": file.match,
        "execution": part.suite.rules.execution,
        "compare": file.compare,
        "defaults_equal_omitted": file.defaults_equal_omitted,
        "goals": list(file.goals),
        "registry_digest": part.suite.registry.digest,
        "graph_digest": graph_digests[file.id],
    }


def lock_bytes(lock: dict[str, JSON]) -> bytes:
    """Return the bytes of a lock file: the same lock always gives the same bytes."""
    return pretty(lock)


def lock_digest(lock: dict[str, JSON]) -> str:
    """Return the SHA-256 of a lock's canonical JSON."""
    return digest(lock)


def lock_path(protocol: Path) -> Path:
    """Return the place of a protocol's lock: ``<study>.lock.json`` beside ``<study>.toml``."""
    return protocol.with_suffix(".lock.json")


def read_lock(path: Path) -> dict[str, JSON]:
    """Read a lock file.

    Raises
    ------
    LockError
        When it is missing, not a lock, or of a schema that this version does not know.
    """
    if not path.exists():
        raise LockError(
            "there is no lock: the protocol was not frozen",
            where=str(path),
            next_step="`study freeze PROTOCOL` writes it; commit it before you run",
        )
    lock = read_json_file(path, "lock")
    if not is_object(lock) or "protocol_digest" not in lock or "schema" not in lock:
        raise LockError("not a lock file", where=str(path), next_step="`study freeze PROTOCOL` writes one")
    if lock["schema"] != LOCK_SCHEMA:
        raise LockError(f"lock schema {lock['schema']!r}", where=str(path), allowed=str(LOCK_SCHEMA))
    return lock


def differences(stored: JSON, current: JSON) -> list[str]:
    """Return one ``path: stored -> current`` line for each place at which two locks differ."""
    found: list[str] = []
    _compare(stored, current, "", found)
    return found


def split_source_changes(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split differences into those that refuse a run and those of source files, which are deviations."""
    sources = [
        line
        for line in lines
        if line.startswith("sources.") or (line.startswith("arms.") and ".source_digest:" in line)
    ]
    return [line for line in lines if line not in sources], sources


_ABSENT = object()


def _compare(stored: Any, current: Any, path: str, found: list[str]) -> None:
    if is_object(stored) and is_object(current):
        for key in sorted({*stored, *current}):
            below = f"{path}.{key}" if path else key
            _compare(stored.get(key, _ABSENT), current.get(key, _ABSENT), below, found)
    elif is_list(stored) and is_list(current) and len(stored) == len(current):
        for n, (left, right) in enumerate(zip(stored, current, strict=True)):
            _compare(left, right, f"{path}[{n}]", found)
    elif stored != current or type(stored) is not type(current):
        found.append(f"{path}: {_shown(stored)} -> {_shown(current)}")


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = repr(value)
    if isinstance(value, str) and len(value) == 64:
        return value[:12]
    return text if len(text) <= 60 else text[:57] + "..."
