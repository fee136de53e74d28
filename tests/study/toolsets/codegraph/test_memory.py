"""Memory facts: terms, synonyms, relations and sprites; read off cases/toy/graph.json by hand."""

from __future__ import annotations

import json
import re

import pytest

from study.binding import Binder
from study.driver import Context, Resolution, ToolError
from study.drivers.resolver import drive
from study.errors import InputError
from study.toolsets.codegraph import REGISTRY, CodeGraphTools
from study.toolsets.codegraph.graph import graph_bytes, graph_from_json

TOOLS = ("tmct_callers", "tmct_related", "tmct_sprite")


def asked(toy, request):
    return drive(request, TOOLS, Context(REGISTRY, toy, Binder(REGISTRY, TOOLS)))


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("lot", ["accession"]),
        ("accession", ["lot"]),
        ("germination", ["viability"]),
        ("Viability", ["germination"]),
        ("dormancy", []),
    ],
)
def test_relations_count_in_both_directions(toy, term, found):
    assert toy.dispatch("tmct_related", {"term": term}).result == found


def test_a_text_says_how_a_term_is_related(toy):
    assert toy.dispatch("tmct_related", {"term": "lot"}).text == "related to lot: 1\n- accession (synonym)"
    assert "viability (related)" in toy.dispatch("tmct_related", {"term": "germination"}).text


def test_a_sprite_has_expressions_and_sizes(toy):
    assert toy.dispatch("tmct_sprite", {"class": "lot"}).text.splitlines()[0] == "/    \\"
    sealed = toy.dispatch("tmct_sprite", {"class": "Lot", "expression": "sealed", "size": 2})
    assert sealed.text.splitlines()[:2] == ["//--------\\\\"] * 2
    assert (sealed.result, sealed.resolved) == (["lot"], "lot")


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("tmct_related", {"term": "sow"}, "the memory knows no 'sow'"),
        ("tmct_related", {"term": " "}, "'term' is missing"),
        ("tmct_sprite", {"class": "dormancy"}, "has no sprite"),
        ("tmct_sprite", {"class": "lot", "expression": "open-ended"}, "expressions: open, sealed"),
        ("tmct_sprite", {"class": "lot", "size": "5"}, "none of 1, 2, 3, 4"),
    ],
)
def test_misses_are_tool_errors(toy, tool, arguments, told):
    with pytest.raises(ToolError, match=told):
        toy.dispatch(tool, arguments)


def test_terms_are_resolved_apart_from_entities(toy):
    assert toy.resolve_memory_term("Accession") == Resolution("accession", "term")
    assert toy.resolve_memory_term("sow") == Resolution(None)
    assert toy.resolve("accession") == Resolution(None)


@pytest.mark.parametrize(
    "request_", ["What is related to accession?", "synonyms of Accession", "related accession"]
)
def test_the_resolver_reads_memory_requests(toy, request_):
    answer = asked(toy, request_)
    assert [call.name for call in answer.calls] == ["tmct_related"]
    assert answer.calls[0].input["term"].lower() == "accession"


@pytest.mark.parametrize(
    "request_", ["What is related to harvest?", "who calls accession?", "sprite dormancy"]
)
def test_the_resolver_refuses_what_the_memory_or_the_graph_does_not_know(toy, request_):
    answer = asked(toy, request_)
    assert (answer.refused, answer.calls) == (True, [])


BARE = {"schema": 1, "name": "n", "entities": [], "relations": {}}


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ({"terms": ["a", "a"]}, "terms.1."),
        ({"terms": [" a"]}, "terms.0."),
        ({"terms": ["a"], "synonyms": [["a", "b"]]}, "'b' is no term"),
        ({"terms": ["a"], "related": [["a", "a"]]}, "paired with itself"),
        ({"terms": ["a"], "sprites": {"b": {}}}, "'b' is no term"),
        ({"terms": ["a"], "sprites": {"a": {"plain": ["..", "."]}}}, "unequal"),
        ({"terms": ["a"], "relatives": []}, "relatives"),
        ({"terms": ["a"], "sprites": {"a": {}}}, "no picture"),
        ({"terms": ["a", "b"], "synonyms": [["a", "b"]], "related": [["b", "a"]]}, "synonyms too"),
    ],
)
def test_contradictions_are_refused_with_their_place(memory, told):
    with pytest.raises(InputError) as caught:
        graph_from_json({**BARE, "memory": memory})
    assert caught.value.where.startswith("graph:memory")
    assert re.search(told, str(caught.value))


def test_memory_survives_the_file_form():
    memory = {"terms": ["a", "b"], "synonyms": [["a", "b"]], "sprites": {"a": {"plain": ["x"]}}}
    graph = graph_from_json({**BARE, "memory": memory})
    assert graph_from_json(json.loads(graph_bytes(graph))) == graph
    assert CodeGraphTools(graph).dispatch("tmct_related", {"term": "a"}).result == ["b"]
