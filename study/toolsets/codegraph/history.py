"""Commits from a history file, as relations between commits and modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from study.convert import convert
from study.digest import read_json_lines
from study.errors import InputError
from study.records import Record

COCHANGE_MINIMUM = 2
"""Two modules change together when at least this many commits touch both."""

SWEEP_SIZE = 10
"""A commit that touches more files is a sweep (formatting, renaming): it counts for no cochange."""

_FORM = 'a line of a history is {"commit": ID, "date": "YYYY-MM-DD", "files": [PATH, ...]}'


class Commit(Record):
    """One line of a history file: an id, an ISO date, and the touched paths relative to the source folder."""

    commit: str
    date: str
    files: tuple[str, ...]


def read_history(path: Path) -> list[Commit]:
    """Read a history file: JSON lines ``{"commit": ID, "date": "YYYY-MM-DD", "files": [PATH, ...]}``.

    Raises
    ------
    InputError
        When a line is something else, or a commit is listed twice.
    """
    commits: dict[str, Commit] = {}
    for number, value in read_json_lines(path, "history"):
        where = f"{path}:{number}"
        commit = convert(value, Commit, where, InputError, _FORM)
        if commit.commit in commits:
            raise InputError(f"commit {commit.commit!r} is listed twice", where=where)
        commits[commit.commit] = commit
    return list(commits.values())


def touched(commits: list[Commit], label_of: Mapping[str, str], where: str) -> list[tuple[str, str]]:
    """Return ``(commit, module)`` for each touched file that still is a module.

    Raises
    ------
    InputError
        When no path of the history is a file of the source: the paths have another root.
    """
    pairs = [(c.commit, label_of[path]) for c in commits for path in c.files if path in label_of]
    if commits and not pairs:
        example = next((path for c in commits for path in c.files), "no path at all")
        raise InputError(
            f"no path of the history is a file of the source (the history has {example!r})",
            where=where,
            allowed="paths relative to the source folder, such as " + repr(min(label_of)),
        )
    return pairs


def cochanges(commits: list[Commit], label_of: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Count the commits that two modules share; sweeps are left out, rare pairs too.

    Returns
    -------
    dict
        First module -> {second module: count}, the first one being smaller by code point.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for commit in commits:
        if len(set(commit.files)) > SWEEP_SIZE:
            continue
        labels = sorted({label_of[path] for path in commit.files if path in label_of})
        counts.update(combinations(labels, 2))
    found: dict[str, dict[str, int]] = {}
    for (first, second), count in sorted(counts.items()):
        if count >= COCHANGE_MINIMUM:
            found.setdefault(first, {})[second] = count
    return found
