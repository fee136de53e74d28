"""Four probes of requests as people type them, by writers who did not know the documented fragment.

Each was put before the goal driver once before anybody looked at a miss (docs/benchmark.md has those counts);
what was missed was then mended in kind. Since then these requests are open: they guard, and measure nothing.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from study.ladder import case_source, measure, select_cases
from study.lint import lint_suite
from study.toolsets.codegraph import PlainGraph

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("data")
CLICK = ROOT / "cases" / "click"
COMPLETED = {1: 80, 2: 96, 3: 98, 4: 96}
"""How many requests of each probe are completed now."""


def sources_of(number):
    path = DATA / f"probe-{number}.jsonl"
    return case_source(str(path), str(CLICK / "registry.json"), str(CLICK / "graph.json"))


@cache
def measured(number):
    """Return (case, row) of a probe."""
    sources = sources_of(number)
    rows = measure("goal", select_cases(sources, split="development")).rows
    return list(zip(sources[0].cases, rows, strict=True))


@pytest.fixture(params=sorted(COMPLETED))
def probe(request):
    return request.param


def test_no_call_is_hallucinated(probe):
    assert [case.id for case, row in measured(probe) if row["verdict"]["hallucinated"]] == []


def test_every_trap_is_refused_without_a_call(probe):
    traps = [(case, row) for case, row in measured(probe) if case.note.startswith("trap-")]
    assert len(traps) >= 35
    for case, row in traps:
        assert (row["produced"]["refused"], row["produced"]["calls"]) == (True, []), case.id


def test_what_is_completed_stays_completed(probe):
    completed = [row["verdict"]["completed"] for _, row in measured(probe)]
    assert (len(completed), sum(completed)) == ({1: 80, 4: 110}.get(probe, 100), COMPLETED[probe])


def test_every_expectation_holds_by_brute_force(probe):
    suite = sources_of(probe)[0]
    plain = PlainGraph(CLICK / "graph.json")
    found = lint_suite(suite, labels=plain.labels, oracle=plain)
    assert [finding for finding in found if finding.level == "error"] == []
