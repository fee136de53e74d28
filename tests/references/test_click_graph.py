"""The committed graph of click 8.3.3 against what other tools, and reading, found in its source.

``data/click_graph.json`` was written by ``measure_click_graph.py --freeze`` (grimp for imports, Python itself
for classes, bases, members and re-exports, jedi for the calls in 80 functions drawn with a seed);
``data/click_tests_by_hand.json`` was written while reading eight test modules. Both hold names and relations
of click (BSD-3-Clause), no source. The differences below were each judged by reading the source.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from study.digest import read_json_file
from study.toolsets.codegraph import CodeGraphTools, load_graph
from study.toolsets.codegraph.graph import graph_bytes

HERE = Path(__file__).resolve().parent
SPEC = importlib.util.spec_from_file_location("measure_click_graph", HERE / "measure_click_graph.py")
MEASURE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MEASURE)
GRAPH = HERE.parents[1] / "cases" / "click" / "graph.json"
FOUND = read_json_file(HERE / "data" / "click_graph.json", "reference")
BY_HAND = read_json_file(HERE / "data" / "click_tests_by_hand.json", "reference")["modules"]

GRAPH_ONLY = {
    # io re-exports the classes of _io; TypedDict replaces itself by dict when the class is made
    "bases, run time": {
        ("click._compat._NonClosingTextIOWrapper", "io.TextIOWrapper"),
        ("click.testing.BytesIOCopy", "io.BytesIO"),
        ("click.testing._NamedTextIOWrapper", "io.TextIOWrapper"),
        ("click.types.OptionHelpExtra", "typing.TypedDict"),
    },
    # declared in a method, without a value
    "members, run time and bytecode": {("click.exceptions.NoArgsIsHelpError", "ctx")},
    # jedi follows neither functions inside functions nor what contextlib wraps; each call is in the source
    "calls, jedi": {
        ("click.core.Command.format_options", "click.formatting.HelpFormatter.section"),
        ("click.core.Group.command", "click.core.Group.command.decorator"),
        ("click.core.Group.group", "click.core.Group.group.decorator"),
        ("click.formatting.wrap_text", "click._textwrap.TextWrapper.extra_indent"),
        ("click.formatting.wrap_text", "click.formatting.wrap_text._flush_par"),
        ("click.termui.raw_terminal", "click._termui_impl.raw_terminal"),
        ("click.testing.CliRunner.isolation", "click.testing.CliRunner.isolation._safe_fileno"),
        ("click.testing.CliRunner.isolation", "click.testing._pause_echo"),
    },
}
REFERENCE_ONLY = {
    "bases, run time": {
        ("click._compat._NonClosingTextIOWrapper", "_io.TextIOWrapper"),
        ("click.testing.BytesIOCopy", "_io.BytesIO"),
        ("click.testing._NamedTextIOWrapper", "_io.TextIOWrapper"),
        ("click.types.OptionHelpExtra", "dict"),
    },
    # written by enum and typing when the class is made
    "members, run time and bytecode": {
        ("click.core.ParameterSource", "__format__"),
        ("click.types.OptionHelpExtra", "__optional_keys__"),
        ("click.types.OptionHelpExtra", "__required_keys__"),
        ("click.types.OptionHelpExtra", "__total__"),
    },
    # missed: narrowing by isinstance, and a union of two classes
    "calls, jedi": {
        ("click.core.Option.get_help_extra", "click.types._NumberRangeBase._describe_range"),
        ("click.shell_completion.ShellComplete.get_completions", "click.core.Command.shell_complete"),
        ("click.shell_completion.ShellComplete.get_completions", "click.core.Parameter.shell_complete"),
    },
}
SIZES = {
    "imports, grimp": 60,
    "classes, run time": 67,
    "bases, run time": 49,
    "members, run time and bytecode": 616,
    "re-exports of click, run time": 57,
    "calls, jedi": 75,
}
MISSED_TESTS = {
    # what a decorator returns, the parts of a tuple, and parameters without annotation are not followed
    "tests.test_custom_classes": {"click.core.Context.invoke"},
    "tests.test_normalization": {"click.core", "click.core.Group", "click.core.Group.command"},
    "tests.typing.typing_aliased_group": {"click.core.Command.name", "click.core.Group.command"},
}


@pytest.fixture(scope="module")
def graph():
    return load_graph(GRAPH)


@pytest.fixture(scope="module")
def tools(graph):
    return CodeGraphTools(graph)


@pytest.mark.parametrize("what", SIZES)
def test_against_another_tool(graph, what):
    ours, theirs = next(
        (ours, theirs) for name, ours, theirs in MEASURE.compared(graph, FOUND) if name == what
    )
    assert len(theirs) == SIZES[what]
    assert ours - theirs == GRAPH_ONLY.get(what, set())
    assert theirs - ours == REFERENCE_ONLY.get(what, set())


def test_the_frozen_sample_is_what_it_says():
    assert len(FOUND["calls"]) == 80
    assert FOUND["not_importable"] == ["click._winconsole"]
    assert FOUND["about"]["seed"] == 20261130


@pytest.mark.parametrize("module", BY_HAND)
def test_what_test_modules_exercise(graph, module):
    found = set(graph.relations.tests[module])
    assert found <= set(BY_HAND[module])
    assert set(BY_HAND[module]) - found == MISSED_TESTS.get(module, set())


def test_the_file_is_in_the_written_form_and_small(graph):
    data = GRAPH.read_bytes()
    assert data == graph_bytes(graph)
    assert len(data) < 400_000
    assert graph.unparsed == ()
    assert graph.left_out == ("docs/conf.py",)


def test_it_holds_facts_and_names_only(graph):
    assert all(entity.doc is None for entity in graph.entities)
    allowed = {"label", "kind", "path", "line", "date", "signature", "decorators"}
    assert {key for entity in json.loads(GRAPH.read_bytes())["entities"] for key in entity} <= allowed


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("subclasses", {"class": "_NumberRangeBase"}, ["click.types.FloatRange", "click.types.IntRange"]),
        (
            "callers",
            {"symbol": "get_text_stderr"},
            ["click.exceptions.ClickException.show", "click.exceptions.UsageError.show"],
        ),
        (
            "members",
            {"class": "PacifyFlushWrapper"},
            [f"click.utils.PacifyFlushWrapper.{n}" for n in ("__getattr__", "__init__", "flush", "wrapped")],
        ),
        ("callers", {"symbol": "CommandCollection"}, []),
    ],
)
def test_answers_read_off_the_source(tools, tool, arguments, expected):
    assert tools.dispatch(f"tmct_{tool}", arguments).result == expected


def test_impact_is_what_can_be_reached_backwards_in_the_imports_of_grimp(tools):
    importers = {}
    for importer, imported in FOUND["imports"]:
        importers.setdefault(imported, set()).add(importer)
    for module in {name for pair in FOUND["imports"] for name in pair}:
        reached, waiting = set(), [module]
        while waiting:
            new = importers.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        assert tools.dispatch("tmct_impact", {"module": module}).result == sorted(reached - {module})


def test_history_is_the_published_one(graph, tools):
    commits = [entity for entity in graph.entities if entity.kind == "commit"]
    assert len(commits) == 695
    assert len(tools.dispatch("tmct_history", {"symbol": "click.core"}).result) == 202
    assert tools.dispatch("tmct_history", {"symbol": "click._utils"}).result == sorted(
        source for source, targets in graph.relations.touches.items() if "click._utils" in targets
    )
