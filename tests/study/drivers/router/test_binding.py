"""Binding: names, ties and what the gate says."""

from __future__ import annotations

import pytest

from study.registry import registry_from_json
from tests.support.router import TableTools, World, capability, short


def tied_world(labels, answered=None):
    registry = registry_from_json([capability("g_callers", "callers", "symbol")])
    table = {label: ["a"] for label in (labels if answered is None else answered)}
    return World(registry, TableTools({"g_callers": table}, {}, {"run": labels}))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_ties_are_enumerated_one_dispatched_read_each(count):
    labels = [f"m{n}.run" for n in range(count)]
    world = tied_world(labels)
    result = world.ask("Who calls `run`?")
    assert result.refused
    assert [call.input for call in result.candidate_results] == [{"symbol": label} for label in labels]
    assert world.toolset.asked == [("g_callers", label) for label in labels]


def test_more_than_four_readings_are_a_plain_refusal():
    world = tied_world([f"m{n}.run" for n in range(5)])
    assert short(world.ask("Who calls `run`?")) == "REFUSE"
    assert world.toolset.asked == []


def test_a_reading_that_the_tool_rejects_is_no_candidate():
    labels = ["a.run", "b.run", "c.run"]
    assert (
        short(tied_world(labels, labels[:2]).ask("Who calls `run`?"))
        == "REFUSE cand g_callers(a.run) g_callers(b.run)"
    )
    assert short(tied_world(labels, labels[:1]).ask("Who calls `run`?")) == "REFUSE"


@pytest.mark.parametrize(
    "request_", ["callers weigh", "Who calls weigh?", "describe Lot, then list the callers of weigh"]
)
def test_ties_on_every_route(toy, request_):
    result = toy.ask(request_)
    assert result.refused
    assert [call.input["symbol"] for call in result.candidate_results] == [
        "seedbank.lots.Lot.weigh",
        "seedbank.vault.ColdRoom.weigh",
    ]


@pytest.mark.parametrize(
    "written",
    ["Lot", "`Lot`", '"Lot"', "'Lot'", "the class Lot", "the Lot class", "seedbank.Lot", "seedbank.lots.Lot"],
)
def test_the_argument_is_the_mention(toy, written):
    result = toy.ask(f"List the members of {written}.")
    name = written.strip("`\"'").removeprefix("the ").removeprefix("class ").removesuffix(" class")
    assert [call.input for call in result.calls] == [{"class": name}]


def test_an_anaphor_carries_the_mention(toy):
    result = toy.ask("Describe seedbank.Lot. Then list its members.")
    assert [next(iter(call.input.values())) for call in result.calls] == ["seedbank.Lot", "seedbank.Lot"]


def test_undeclared_topics_are_refused_before_anything_is_called(toy):
    result = toy.ask("Describe Lot, then list its members.", ["tmct_describe"])
    assert result.refused
    assert toy.last.dispatched == ()


def test_an_error_of_a_tool_refuses_the_whole_plan(toy):
    assert short(toy.ask("Describe sow, then list its members.")) == "REFUSE"
