"""Registries that the fragment does not know: topics, labels and questions are enough."""

from __future__ import annotations

import pytest

from study.registry import registry_from_json
from tests.support.router import TableTools, World, capability, short


@pytest.mark.parametrize(
    "request_, wanted",
    [
        ("borrowers of Atlas-3", "lib_borrowers(Atlas-3)"),
        ("Who has borrowed Atlas-3?", "lib_borrowers(Atlas-3)"),
        ("Show the holds of Atlas-4.", "lib_holds(Atlas-4)"),
        ("Atlas-4's holds", "lib_holds(Atlas-4)"),
        ("overdue", "lib_overdue()"),
        ("List the borrowers of Atlas-3, then its holds.", "lib_borrowers(Atlas-3) lib_holds(Atlas-3)"),
        (
            "If Atlas-3 has no holds, show the holds of Atlas-4 instead.",
            "lib_holds(Atlas-3) lib_holds(Atlas-4)",
        ),
        (
            "Show the holds of Atlas-3, and if there are none, its borrowers.",
            "lib_holds(Atlas-3) lib_borrowers(Atlas-3) !rec",
        ),
        ("Show the holds of Atlas-4, and if there are none, its borrowers.", "lib_holds(Atlas-4)"),
        ("Who has borrowed Atlas?", "REFUSE cand lib_borrowers(Atlas-3) lib_borrowers(Atlas-4)"),
        ("Who has borrowed Atlas-9?", "REFUSE"),
        ("withdrawal of Atlas-3", "REFUSE"),
        ("Withdraw Atlas-3.", "REFUSE"),
        ("We listed the overdue ones.", "REFUSE"),
        ("tidy the shelves", "REFUSE"),
    ],
)
def test_library(library, request_, wanted):
    assert short(library.ask(request_)) == wanted


def test_a_tool_with_effects_is_never_dispatched(library):
    library.ask("Show the withdrawal of Atlas-3.")
    assert library.last.dispatched == ()
    assert ("lib_withdraw", "Atlas-3") not in library.toolset.asked


def test_tools_are_found_by_topic_and_never_by_name():
    swapped = registry_from_json(
        [capability("tmct_callees", "callers", "symbol"), capability("tmct_callers", "callees", "symbol")]
    )
    table = {"x": ["y"]}
    world = World(swapped, TableTools({"tmct_callers": table, "tmct_callees": table}, {"x": "function"}))
    assert short(world.ask("Who calls `x`?")) == "callees(x)"
    assert short(world.ask("What does `x` call?")) == "callers(x)"


def test_memory_topics():
    related = capability("mem_related", "related", "term", kind="text")
    related["preconditions"] = [{"kind": "memory-facts", "param": "term"}]
    sprite = capability("mem_sprite", "sprite", "class", kind="text")
    sprite["preconditions"] = [{"kind": "memory-facts", "param": "class"}]
    answers = {"mem_related": {"`lot`": [], "lot": ["batch"]}, "mem_sprite": {"Lot": ["sprite"]}}
    world = World(registry_from_json([related, sprite]), TableTools(answers, {"lot": "term", "Lot": "class"}))
    assert short(world.ask("What is related to `lot`?")) == "mem_related(lot)"
    assert short(world.ask("synonyms of lot")) == "mem_related(lot)"
    assert short(world.ask("Show the sprite of Lot.")) == "mem_sprite(Lot)"
    assert short(world.ask("What is related to `vault`?")) == "REFUSE"
