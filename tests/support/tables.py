"""Run tables for tests, built from scripted outcomes without running anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from analysis.table import RunTable, build_table
from study.convert import convert
from study.errors import ProtocolError
from study.protocol import Protocol
from study.schedule import Assignment, build_schedule, schedule_digest

PRIMARY = {
    "name": "completion",
    "role": "primary",
    "claim": "non-inferior",
    "margin": "10 pp",
    "alpha": 0.025,
}

Trial = Callable[[Assignment], Mapping[str, Any] | None]


def written_protocol(
    tasks: int = 40, repetitions: int = 1, endpoints: list[dict[str, Any]] | None = None, **sections: Any
) -> dict[str, Any]:
    """Return a protocol as it would be written; keywords replace whole sections."""
    base: dict[str, Any] = {
        "schema": 1,
        "id": "shop",
        "question": "May the candidate replace the baseline?",
        "arms": {"baseline": {"driver": "shop:old"}, "candidate": {"driver": "shop:new"}},
        "change": {"paths": ["driver"], "why": "a new driver"},
        "workload": {"suites": ["shop"], "split": "held-out"},
        "design": {"tasks": tasks, "repetitions": repetitions, "seed": 3},
        "endpoints": [PRIMARY] if endpoints is None else endpoints,
        "gates": {"completion_floor": 0.5},
        "missing": {"max_void_pairs": "2 %"},
        "limits": {"trial_timeout_s": 5.0},
        "analysis": {"resamples": 1000, "seed": 1},
    }
    return base | sections


def plan(written: Mapping[str, Any], cases: int = 1) -> tuple[Protocol, list[Assignment]]:
    """Return the protocol and its schedule: ``cases`` cases a task, ids ``t001-c1``."""
    protocol = convert(dict(written), Protocol, "shop.toml", ProtocolError)
    pairs = [
        (f"t{n:03d}", f"t{n:03d}-c{c}") for n in range(protocol.design.tasks) for c in range(1, cases + 1)
    ]
    return protocol, build_schedule(protocol.design.seed, pairs, protocol.design.repetitions)


def product_row(planned: Assignment, **changes: Any) -> dict[str, Any]:
    """Return a passed row of an assignment; keywords replace fields (``completed`` sets ``passed`` too)."""
    completed = changes.get("completed", True)
    row = {
        "trial": planned.trial,
        "pair": planned.pair,
        "position": planned.position,
        "task_id": planned.task_id,
        "case_id": planned.case_id,
        "rung": "TOOL-1",
        "template_family": planned.task_id,
        "repetition": planned.repetition,
        "arm": planned.arm,
        "driver": f"{planned.arm}-1",
        "outcome": "answered",
        "passed": completed,
        "completed": completed,
        "result_completed": completed,
        "failure": None if completed else "wrong_answer",
        "hallucinated": [],
        "hard_fails": [],
        "reasons": [],
        "result_reasons": [],
        "probes": 0,
        "n_calls": 1,
    }
    return row | changes


def make_table(
    trial: Trial = lambda planned: None,
    *,
    cases: int = 1,
    latency: Callable[[Assignment], float | None] = lambda planned: 1.0,
    usage: Callable[[Assignment], dict[str, Any] | None] = lambda planned: None,
    split_pairs: Collection[str] = (),
    arrange: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda rows: rows,
    entry: Callable[[str], dict[str, Any]] = lambda task: {},
    **protocol: Any,
) -> RunTable:
    """Build a table: ``trial(assignment)`` returns the fields of its row that differ from a passed one.

    ``entry(task)`` returns what the lock keeps of a task: its stratum, its declared family.
    """
    written = written_protocol(**protocol)
    parsed, schedule = plan(written, cases)
    rows = arrange([product_row(planned, **(trial(planned) or {})) for planned in schedule])
    lock = {
        "study": written["id"],
        "question": written["question"],
        "protocol": written,
        "arms": {
            arm: {"driver": entry["driver"], "stamp": f"{arm}-1", "floor": False, "config": {}}
            for arm, entry in written["arms"].items()
        },
        "tasks": {planned.task_id: entry(planned.task_id) for planned in schedule},
        "schedule_digest": schedule_digest(schedule),
        "grader_version": "1",
    }
    times = {planned.trial: latency(planned) for planned in schedule}
    return build_table(
        rows,
        schedule,
        protocol=parsed,
        lock=lock,
        latencies={trial: time for trial, time in times.items() if time is not None},
        usage={planned.trial: usage(planned) for planned in schedule},
        split_pairs=split_pairs,
    )


def failing(arm: str, tasks: Collection[str], **changes: Any) -> Trial:
    """Return a script in which one arm fails the given tasks."""

    def script(planned: Assignment) -> Mapping[str, Any] | None:
        if planned.arm == arm and planned.task_id in tasks:
            return {"completed": False} | changes
        return None

    return script


def first(count: int) -> list[str]:
    """Return the ids of the first tasks."""
    return [f"t{n:03d}" for n in range(count)]
