"""What a ladder report may say of its rows: whether they regrade, repeat, and come from sealed cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from study.drivers import load_driver
from study.errors import InputError
from study.grading.rows import Row, regrade_rows, rows_bytes
from study.ladder import LadderCases, measure
from study.records import Record

MANY_WORKERS = 8
"""Worker processes whose rows are compared with those of the run."""


class Repeat(Record):
    """A further run of the same cases: how it was made, and the first case that differs (None: none)."""

    how: str
    first_difference: str | None


class Sealing(Record):
    """Of the selected cases: how many carry their sealed digest, and the ids of those that do not."""

    sealed: int
    changed: tuple[str, ...]
    unsealed: tuple[str, ...]


def check_drivers(drivers: Sequence[str], *, search: Path | None = None) -> dict[str, str]:
    """Return driver -> its name in files, after each was loaded once.

    Raises
    ------
    StudyError
        For no driver, one named twice, one that cannot be loaded, and two with one name in files.
    """
    if not drivers:
        raise InputError("no driver is named", where="--drivers", allowed="names, separated by commas")
    slugs: dict[str, str] = {}
    for name in drivers:
        if name in slugs:
            raise InputError(f"{name!r} is named twice", where="--drivers")
        load_driver(name, where="--drivers", search=search)
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "driver"
        if slug.casefold() in {taken.casefold() for taken in slugs.values()}:
            raise InputError(f"{name!r} has the same file name as another driver", where="--drivers")
        slugs[name] = slug
    return slugs


def repeats(
    driver: str,
    parts: Sequence[LadderCases],
    rows: Sequence[Row],
    *,
    stamp: str,
    concurrency: int,
    search: Path | None = None,
) -> list[Repeat]:
    """Measure a driver twice more, alike and with another number of workers, and compare the bytes.

    Parameters
    ----------
    driver, parts, stamp, concurrency, search
        As for :func:`study.ladder.measure`.
    rows : sequence of Row
        What the run wrote.
    """
    other = MANY_WORKERS if concurrency == 1 else 1
    found: list[Repeat] = []
    for how, workers in (("a second run", concurrency), (f"{other} against {concurrency} workers", other)):
        again = measure(driver, parts, stamp=stamp, concurrency=workers, search=search).rows
        pairs = zip(rows, again, strict=True)
        differing = (str(a["caseId"]) for a, b in pairs if rows_bytes([a]) != rows_bytes([b]))
        found.append(Repeat(how=how, first_difference=next(differing, None)))
    return found


def regrade(rows: Sequence[Row], parts: Sequence[LadderCases]) -> list[str]:
    """Grade rows again from what they record; return one line for each difference."""
    found: list[str] = []
    start = 0
    for part in parts:
        own = rows[start : start + len(part.cases)]
        start += len(part.cases)
        found += map(str, regrade_rows(own, part.cases, part.suite.registry, part.suite.rules))
    return found


def sealing(parts: Sequence[LadderCases]) -> Sealing:
    """Return which of the selected cases are as they were sealed."""
    changed: list[str] = []
    unsealed: list[str] = []
    for part in parts:
        seals = part.suite.file.sealed
        unsealed += [case.id for case in part.cases if case.id not in seals]
        changed += [case.id for case in part.cases if seals.get(case.id, case.digest) != case.digest]
    total = sum(len(part.cases) for part in parts)
    return Sealing(
        sealed=total - len(changed) - len(unsealed), changed=tuple(changed), unsealed=tuple(unsealed)
    )
