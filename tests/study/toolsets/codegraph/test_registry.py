"""The registry conforms to the dispatcher, the command table and the files of the suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from study.binding import Binder
from study.driver import Context, ToolError
from study.registry import load_registry
from study.toolsets.codegraph import EXCLUDED_FROM_REGISTRY, REGISTRY, TERSE_COMMANDS
from study.toolsets.codegraph.capabilities import GRAPH_REGISTRY, MEMORY_TOOLS, registry_bytes

CASES = Path(__file__).resolve().parents[4] / "cases"
VALUES = {
    "query": "seed",
    "kind": "class",
    "name": "Lot",
    "decorator": "dataclass",
    "symbol": "Lot",
    "module": "lots",
    "class": "Lot",
    "package": "seedbank",
    "term": "lot",
    "expression": "sealed",
    "size": "2",
}
ABSENT = {"query": "zzz", "kind": "zzz", "name": "zzz", "decorator": "zzz"}
PICTURED = ("expression", "size")
"""Arguments that change the text of an answer and not its labels."""
REFERENCE = """
search describe signature impact members subclasses exports callers callees calls
tests_for untested history cochanges architecture related sprite
"""


class Watched(dict):
    """Arguments that note which of their keys are read."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.read = set()

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.read.add(key)
        return super().get(key, default)

    def items(self):
        self.read.update(self)
        return super().items()


def every_key():
    return [(name, arg) for name, capability in REGISTRY.items() for arg in sorted(capability.accepted)]


def arguments_for(name, *, with_key):
    capability = REGISTRY[name]
    keys = {*capability.required, with_key, *(group[0] for group in capability.any_present)}
    return {key: VALUES[key] for key in keys}


@pytest.mark.parametrize(("name", "arg"), every_key())
def test_every_argument_key_is_read_by_the_dispatcher(toy, name, arg):
    watched = Watched(arguments_for(name, with_key=arg))
    assert toy.dispatch(name, watched).ok
    assert arg in watched.read


@pytest.mark.parametrize(("name", "arg"), every_key())
def test_every_argument_key_decides_the_answer(toy, name, arg):
    arguments = arguments_for(name, with_key=arg)
    part = "text" if arg in PICTURED else "result"
    before = getattr(toy.dispatch(name, arguments), part)
    try:
        after = getattr(toy.dispatch(name, {**arguments, arg: ABSENT.get(arg, "no such entity")}), part)
    except ToolError:
        after = None
    assert after != before


@pytest.mark.parametrize("name", REGISTRY)
def test_a_key_outside_the_registry_is_refused(toy, name):
    arguments = {**arguments_for(name, with_key=next(iter(REGISTRY[name].accepted), None) or "query")}
    arguments = {key: value for key, value in arguments.items() if key in REGISTRY[name].accepted}
    with pytest.raises(ToolError, match="takes no argument 'colour'"):
        toy.dispatch(name, {**arguments, "colour": "red"})


@pytest.mark.parametrize("name", REGISTRY)
def test_what_the_binder_lets_pass_the_dispatcher_understands(toy, name):
    capability = REGISTRY[name]
    binder = Binder(REGISTRY, [name])
    smallest = {key: VALUES[key] for key in capability.required}
    smallest |= {group[0]: VALUES[group[0]] for group in capability.any_present}
    assert binder.problems(name, smallest) == []
    assert Context(REGISTRY, toy, binder).dispatch(name, smallest).ok
    for key in smallest:
        without = {k: v for k, v in smallest.items() if k != key}
        assert [p["code"] for p in binder.problems(name, without)] == ["missing-arg"]
        with pytest.raises(ToolError):
            toy.dispatch(name, without)


def test_registered_names_are_properly_contained_in_the_dispatchable_ones(toy):
    assert set(REGISTRY) < set(toy.names)
    assert list(REGISTRY) == [f"tmct_{name}" for name in REFERENCE.split()]


def test_excluded_names_can_be_dispatched_and_are_not_registered(toy):
    assert set(toy.names) - set(REGISTRY) == set(EXCLUDED_FROM_REGISTRY)
    assert all(len(reason) > 20 for reason in EXCLUDED_FROM_REGISTRY.values())
    assert toy.dispatch("tmct_context", {"symbol": "Lot"}).ok
    assert toy.dispatch("tmct_context_more", {"symbol": "Lot", "page": 1}).ok
    with pytest.raises(ToolError, match="the source folder is not known"):
        toy.dispatch("tmct_snippet", {"symbol": "Lot"})
    for name in EXCLUDED_FROM_REGISTRY:
        context = Context(REGISTRY, toy, Binder(REGISTRY, [name]))
        assert not context.dispatch(name, {"symbol": "Lot"}).ok
        assert not context.dispatched[0].executed


def test_the_command_table_uses_keys_that_the_registry_accepts(toy):
    assert toy.commands == TERSE_COMMANDS
    assert sorted(tool for tool, _ in TERSE_COMMANDS.values()) == sorted(REGISTRY), "one verb per tool"
    for tool, key in TERSE_COMMANDS.values():
        capability = REGISTRY[tool]
        assert key in capability.accepted if key is not None else not capability.accepted
        arguments = {} if key is None else {key: VALUES[key]}
        assert Binder(REGISTRY, [tool]).problems(tool, arguments) == []


def test_every_capability_is_a_well_formed_reading_operator():
    topics = set()
    for capability in REGISTRY.values():
        assert capability.read_only
        assert capability.label
        assert capability.question.endswith("?")
        graph_loaded = {"kind": "graph-loaded"} in capability.preconditions
        assert graph_loaded == (capability.name not in MEMORY_TOOLS)
        assert len(capability.topics) == 1
        assert capability.effects["del"] == []
        (effect,) = capability.effects["add"]
        assert effect["param"] is None or effect["param"] in capability.accepted
        topics.update(capability.topics)
        for parameter in capability.parameters:
            if parameter.required:
                resolves = {"kind": "resolves", "param": parameter.name, "class": parameter.kind}
                memory = {"kind": "memory-facts", "param": parameter.name}
                assert (resolves if graph_loaded else memory) in capability.preconditions
    assert len(topics) == len(REGISTRY)


@pytest.mark.parametrize(("suite", "registry"), [("toy", REGISTRY), ("click", GRAPH_REGISTRY)])
def test_the_registry_files_are_the_table(suite, registry):
    path = CASES / suite / "registry.json"
    assert load_registry(path).digest == registry.digest
    assert path.read_bytes() == registry_bytes(registry)


def test_a_graph_without_memory_facts_registers_no_memory_tools():
    assert [name for name in REGISTRY if name not in GRAPH_REGISTRY] == list(MEMORY_TOOLS)
