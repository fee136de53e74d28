"""Tidy tables for tests: ordinary ones by rule, and the nasty ones by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Cell = str | int | float | None
Rule = Callable[[int, str, int], Cell]
"""(task from 0, arm, repetition from 1) -> outcome; None leaves the row out."""

ARMS = ("old", "new")
HEADER = ("task_id", "arm", "repetition", "outcome")

BASELINE = ["111", "11", "1", "1110", "111", "110", "10", "111", "1", "11"]
CANDIDATE = ["111", "10", "11", "1100", "11", "111", "11", "101", "1", "11"]
"""Trials of ten tasks with unequal repetitions, one digit a trial."""


def always_pass(task: int, arm: str, repetition: int) -> Cell:
    return 1


def failing(arm: str, *tasks: int) -> Rule:
    """Return a rule by which one arm fails the given tasks."""
    return lambda task, which, repetition: int(not (which == arm and task in tasks))


def rows(tasks: int, repetitions: int, rule: Rule = always_pass) -> list[tuple[Cell, ...]]:
    """Return rows of both arms, tasks ``t000``, ``t001`` and so on."""
    made = [
        (f"t{task:03d}", arm, repetition, rule(task, arm, repetition))
        for task in range(tasks)
        for arm in ARMS
        for repetition in range(1, repetitions + 1)
    ]
    return [row for row in made if row[3] is not None]


def csv_text(rows: list[tuple[Cell, ...]], header: tuple[str, ...] = HEADER) -> str:
    """Return rows as the text of a CSV file."""
    return "".join(
        ",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in (header, *rows)
    )


def write_csv(path: Path, rows: list[tuple[Cell, ...]], header: tuple[str, ...] = HEADER) -> Path:
    """Write rows as a CSV file."""
    path.write_text(csv_text(rows, header))
    return path


def write_json_lines(path: Path, rows: list[tuple[Cell, ...]], header: tuple[str, ...] = HEADER) -> Path:
    """Write rows as JSON lines."""
    lines = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def uneven() -> list[tuple[Cell, ...]]:
    """Return the ten tasks with unequal repetitions."""
    return [
        (f"t{task:03d}", arm, n, int(digit))
        for arm, told in zip(ARMS, (BASELINE, CANDIDATE), strict=True)
        for task, digits in enumerate(told)
        for n, digit in enumerate(digits, 1)
    ]


def _changed(rows: list[tuple[Cell, ...]], place: int, column: int, cell: Cell) -> list[tuple[Cell, ...]]:
    changed = list(rows[place])
    changed[column] = cell
    return [*rows[:place], tuple(changed), *rows[place + 1 :]]


def _timed(rows: list[tuple[Cell, ...]], times: Callable[[int], Cell]) -> list[tuple[Cell, ...]]:
    return [(*row, times(n)) for n, row in enumerate(rows)]


class Nasty(NamedTuple):
    """A table that tempts: its rows and header."""

    rows: list[tuple[Cell, ...]]
    header: tuple[str, ...] = HEADER

    def write(self, folder: Path, name: str) -> Path:
        return write_csv(folder / f"{name}.csv", self.rows, self.header)


TIMED = (*HEADER, "latency_s")
CLUSTERED = (*HEADER, "cluster")
PLAIN = rows(20, 2)
MIXED = rows(40, 3, lambda task, arm, repetition: int((task * 7 + repetition) % 4 > 0 or task % 3 == 0))


def NASTY() -> dict[str, Nasty]:  # noqa: N802
    """Return the nasty tables by the name of their file."""
    return {
        "all-pass": Nasty(rows(8, 5)),
        "all-tied": Nasty(MIXED),
        "one-task": Nasty(rows(1, 10, failing("old", 0))),
        "three-tasks": Nasty(rows(3, 5, failing("old", 0, 1, 2))),
        "nine-tasks": Nasty(rows(9, 5, failing("old", *range(9)))),
        "one-arm-all-pass": Nasty(rows(40, 3, failing("old", *range(0, 40, 5)))),
        "single-repetition": Nasty(rows(40, 1, failing("new", 7))),
        "task-missing": Nasty(rows(40, 3, lambda task, arm, n: None if task == 3 and arm == "new" else 1)),
        "trial-missing": Nasty(
            rows(40, 5, lambda task, arm, n: None if task == 3 and arm == "new" and n == 2 else 1)
        ),
        "unequal-repetitions": Nasty(uneven()),
        "five-against-three": Nasty(
            rows(
                40, 5, lambda task, arm, n: None if arm == "new" and n > 3 else int(arm == "new" or task > 5)
            )
        ),
        "no-common-task": Nasty(
            rows(20, 1, lambda task, arm, n: None if (task < 10) == (arm == "new") else 1)
        ),
        "one-nan": Nasty(_changed(PLAIN, 6, 3, "NaN")),
        "half": Nasty(_changed(PLAIN, 6, 3, 0.5)),
        "empty": Nasty([], ()),
        "header-only": Nasty([]),
        "one-arm-only": Nasty([row for row in PLAIN if row[1] == "old"]),
        "three-arms": Nasty([*PLAIN, ("t000", "newer", 1, 1)]),
        "doubled": Nasty([*PLAIN, PLAIN[3]]),
        "odd-repetition": Nasty(_changed(PLAIN, 6, 2, 1.5)),
        "no-outcome": Nasty([row[:3] for row in PLAIN], HEADER[:3]),
        "split-cluster": Nasty(
            _changed([(*row, f"c{int(str(row[0])[1:]) // 2}") for row in PLAIN], 6, 4, "c9"), CLUSTERED
        ),
        "infinite-latency": Nasty(_timed(PLAIN, lambda n: "inf" if n == 6 else 0.5), TIMED),
        "negative-latency": Nasty(_timed(PLAIN, lambda n: -0.5 if n == 6 else 0.5), TIMED),
        "some-latency": Nasty(_timed(PLAIN, lambda n: None if n == 6 else 0.5), TIMED),
        "zero-latency": Nasty(_timed(PLAIN, lambda n: 0 if n == 6 else 0.5), TIMED),
    }
