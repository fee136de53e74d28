"""The paired, order-randomised schedule as data: derived by hash, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from study.digest import canonical, digest, sha256

ARM_ORDERS = (("baseline", "candidate"), ("candidate", "baseline"))


class Assignment(NamedTuple):
    """One trial to be executed.

    Attributes
    ----------
    trial : int
        Position in the schedule, from 0.
    pair : str
        ``case#repetition``: the two trials that are executed next to each other.
    position : int
        0 for the first trial of its pair, 1 for the second.
    task_id, case_id : str
    repetition : int
        From 1.
    arm : str
    """

    trial: int
    pair: str
    position: int
    task_id: str
    case_id: str
    repetition: int
    arm: str


def hash_key(seed: int, *parts: object) -> str:
    """Return the SHA-256 that orders things: of the canonical JSON of the seed and the parts."""
    return sha256(canonical([seed, *parts]))


def build_schedule(seed: int, cases: Sequence[tuple[str, str]], repetitions: int) -> list[Assignment]:
    """Return the schedule of a study.

    Parameters
    ----------
    seed : int
        The design's seed.
    cases : sequence of (task_id, case_id)
        The selected cases; their order does not matter.
    repetitions : int
        Attempts per case and arm.

    Returns
    -------
    list of Assignment
        Each pair once per arm, adjacent. Within a task the orders AB and BA differ by at most one; the
        odd ones alternate over the tasks, so that they balance over the study.

    Notes
    -----
    Pairs are executed in the order of ``SHA-256(canonical [seed, "order", task, case, repetition])``;
    whether a pair starts with the baseline follows from the rank of ``[seed, "arms", ...]`` in its task.
    """
    pairs = [(task, case, repetition) for task, case in cases for repetition in range(1, repetitions + 1)]
    starts = _first_arms(seed, pairs)
    pairs.sort(key=lambda pair: hash_key(seed, "order", *pair))
    schedule: list[Assignment] = []
    for task, case, repetition in pairs:
        arms = ARM_ORDERS[starts[task, case, repetition]]
        for position, arm in enumerate(arms):
            pair = f"{case}#{repetition}"
            schedule.append(Assignment(len(schedule), pair, position, task, case, repetition, arm))
    return schedule


def _first_arms(seed: int, pairs: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str, int], int]:
    """Map each pair to 0 (baseline first) or 1 (candidate first)."""
    by_task: dict[str, list[tuple[str, str, int]]] = {}
    for pair in pairs:
        by_task.setdefault(pair[0], []).append(pair)
    starts: dict[tuple[str, str, int], int] = {}
    odd_tasks = 0
    for task in sorted(by_task, key=lambda task: hash_key(seed, "task", task)):
        ranked = sorted(by_task[task], key=lambda pair: hash_key(seed, "arms", *pair))
        offset = int(hash_key(seed, "start", task)[0], 16) % 2
        if len(ranked) % 2:
            offset = odd_tasks % 2
            odd_tasks += 1
        for rank, pair in enumerate(ranked):
            starts[pair] = (rank + offset) % 2
    return starts


def trial_seed(seed: int, case_id: str, repetition: int) -> int:
    """Return the seed that both arms of a pair are given: 63 bits of the hash key of case and repetition."""
    return int(sha256(b"%s,%d]" % (_trial_key(seed, case_id), repetition))[:16], 16) >> 1


@lru_cache(maxsize=4096)
def _trial_key(seed: int, case_id: str) -> bytes:
    """Return the canonical JSON that the repetitions of a case begin with."""
    return canonical([seed, "trial", case_id])[:-1]


def schedule_digest(schedule: Sequence[Assignment]) -> str:
    """Return the SHA-256 of a schedule's canonical JSON."""
    return digest([list(assignment) for assignment in schedule])
