"""Worlds for the router: the toy graph, and a registry made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from study.registry import load_registry, registry_from_json
from study.toolsets.codegraph.graph import load_graph
from study.toolsets.codegraph.tools import CodeGraphTools
from tests.support.router import TableTools, World, capability

CASES = Path(__file__).parents[4] / "cases"


def _bundled(name: str) -> World:
    folder = CASES / name
    return World(load_registry(folder / "registry.json"), CodeGraphTools(load_graph(folder / "graph.json")))


@pytest.fixture(scope="session")
def toy() -> World:
    return _bundled("toy")


@pytest.fixture(scope="session")
def click_world() -> World:
    return _bundled("click")


@pytest.fixture
def library() -> World:
    """A lending library: topics that the fragment does not know by itself."""
    registry = registry_from_json(
        [
            capability("lib_borrowers", "borrowers", "item", question="Who has borrowed this?"),
            capability("lib_holds", "holds", "item", question="Who waits for this?"),
            capability("lib_overdue", "overdue"),
            capability("lib_withdraw", "withdrawal", "item", read_only=False),
        ]
    )
    answers = {
        "lib_borrowers": {"Atlas-3": ["Ada"], "Atlas-4": []},
        "lib_holds": {"Atlas-3": [], "Atlas-4": ["Ben", "Cy"]},
        "lib_overdue": {"": ["Atlas-3"]},
        "lib_withdraw": {"Atlas-3": []},
    }
    kinds = {"Atlas-3": "thing", "Atlas-4": "thing"}
    return World(registry, TableTools(answers, kinds, {"Atlas": ["Atlas-3", "Atlas-4"]}))
