"""How a toolset is found by name, what counts as one, and what is said when it is none."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from study.cases import Suite, SuiteFile
from study.driver import ToolError, ToolResult
from study.errors import DriverError, StudyError
from study.registry import Registry
from study.toolsets import TOOLSETS, load_toolset
from study.toolsets.codegraph import CodeGraphTools
from study.toolsets.functions import FunctionToolset

CASES = Path(__file__).resolve().parents[3] / "cases"
MODULE = """
from study.driver import ToolResult
from study.errors import SuiteError

class Tools:
    names = ("add",)
    def __init__(self, suite=None, config=None):
        self.suite, self.config = suite, config
    def dispatch(self, name, arguments):
        return ToolResult(ok=True, text=str(sum(arguments.values())))

ready = Tools()
def make(suite): return Tools(suite)
def make_configured(suite, *, config): return Tools(suite, config)
def make_mapping(suite): return {"id": lambda: suite.file.id}
TOOLS = {"add": lambda a, b=0: a + b}
class nested:
    made = ready
number = 3
EMPTY = {}
NOT_CALLABLE = {"add": 3}
BAD_NAME = {3: make}
async def later(): ...
ASYNC = {"later": later}
def needs_two(suite, other): return Tools()
def needs_none(): return Tools()
def breaks(suite): raise RuntimeError("no disk")
def refuses(suite): raise SuiteError("this suite has no orders", where="suite.toml")
def gives_number(suite): return 3
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    (tmp_path / "own_tools.py").write_text(MODULE)
    (tmp_path / "broken_tools.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "invalid_tools.py").write_text("def f(:\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield suite_in(tmp_path)
    for name in ("own_tools", "broken_tools", "invalid_tools"):
        sys.modules.pop(name, None)


def load(name, suite, **options):
    return load_toolset(name, suite, search=suite.folder, **options)


def suite_in(folder, graph=None):
    file = SuiteFile(schema=1, id="mine", registry="r.json", cases="c.jsonl", tasks={}, graph=graph)
    return Suite(folder=folder, file=file, registry=Registry([]), cases=())


def test_none_is_no_toolset(suite):
    assert load_toolset("none", suite) is None


def test_the_built_in_code_graph(suite):
    found = load_toolset("codegraph", suite_in(CASES / "toy", "graph.json"))
    assert isinstance(found, CodeGraphTools)
    assert found.dispatch("tmct_untested", {}).ok


def test_the_code_graph_in_a_checkout_without_metadata(suite, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])
    assert isinstance(load_toolset("codegraph", suite_in(CASES / "toy", "graph.json")), CodeGraphTools)


def test_an_entry_point_of_another_distribution(suite, monkeypatch):
    monkeypatch.syspath_prepend(str(suite.folder))
    entry = EntryPoint("shop", "own_tools:make", TOOLSETS.group)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    assert load_toolset("shop", suite).suite is suite


@pytest.mark.parametrize("name", ["own_tools:ready", "own_tools:nested.made"])
def test_a_finished_object(suite, name):
    assert load(name, suite).dispatch("add", {"a": 1, "b": 2}).text == "3"


def test_a_factory_and_a_class_are_given_the_suite(suite):
    assert load("own_tools:make", suite).suite is suite
    assert load("own_tools:Tools", suite).suite is suite


def test_a_factory_with_a_config_parameter_is_given_the_config(suite):
    assert load("own_tools:make_configured", suite, config={"k": 1}).config == {"k": 1}
    assert load("own_tools:Tools", suite, config={"k": 2}).config == {"k": 2}


def test_a_mapping_of_functions(suite):
    found = load("own_tools:TOOLS", suite)
    assert isinstance(found, FunctionToolset)
    assert found.dispatch("add", {"a": 2, "b": 5}) == ToolResult(ok=True, text="7", result=7)
    assert load("own_tools:make_mapping", suite).dispatch("id", {}).text == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("codegraf", "did you mean 'codegraph'"),
        ("", "'' is no name of a toolset"),
        (":x", "':x' is no name of a toolset"),
        ("own_tools:", "'own_tools:' is no name of a toolset"),
        ("no_such_module:TOOLS", "there is no module 'no_such_module'"),
        ("broken_tools:TOOLS", "No module named 'nothing_of_that_name'"),
        ("invalid_tools:TOOLS", "SyntaxError"),
        ("own_tools:TOOLZ", "has no 'TOOLZ'"),
        ("own_tools:nested.absent", "has no 'absent'"),
        ("own_tools:number", "own_tools:number is of type int"),
        ("own_tools:EMPTY", "the mapping of tools is empty"),
        ("own_tools:NOT_CALLABLE", "the tool 'add' is of type int"),
        ("own_tools:BAD_NAME", "the tool name 3"),
        ("own_tools:ASYNC", "the tool 'later' is async"),
        ("own_tools:needs_two", "cannot be called with the suite"),
        ("own_tools:needs_none", "cannot be called with the suite"),
        ("own_tools:breaks", "own_tools:breaks' raised RuntimeError: no disk"),
        ("own_tools:gives_number", "own_tools:gives_number returned something of type int"),
    ],
)
def test_what_is_no_toolset_is_refused_with_place_and_advice(suite, name, said):
    with pytest.raises(DriverError) as caught:
        load(name, suite)
    assert said in str(caught.value)
    assert caught.value.where == f"{suite.folder / 'suite.toml'}:toolset"
    assert caught.value.allowed or caught.value.next_step


def test_a_refusal_of_the_factory_itself_is_kept(suite):
    with pytest.raises(StudyError) as caught:
        load("own_tools:refuses", suite)
    assert caught.value.problem == "this suite has no orders"


@pytest.mark.parametrize(
    ("value", "text", "result"),
    [
        ("plain", "plain", "plain"),
        (None, "", None),
        (["b", "a"], '["b","a"]', ["b", "a"]),
        ({"z": 1, "a": None}, '{"a":null,"z":1}', {"z": 1, "a": None}),
        (True, "true", True),
        (1.5, "1.5", 1.5),
        ("é", "é", "é"),
    ],
)
def test_what_a_function_may_return(value, text, result):
    answer = FunctionToolset({"t": lambda: value}).dispatch("t", {})
    assert (answer.ok, answer.text, answer.result, answer.error) == (True, text, result, None)


def test_a_tool_result_passes_as_it_is():
    given = ToolResult(ok=False, error="closed")
    assert FunctionToolset({"t": lambda: given}).dispatch("t", {}) is given


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan")])
def test_a_value_that_is_no_json_is_a_bug_of_the_tool(value):
    with pytest.raises(TypeError, match="the tool 't' returned something of type"):
        FunctionToolset({"t": lambda: value}).dispatch("t", {})


def test_misses_and_bugs_of_functions():
    def miss():
        raise ToolError("no such order")

    tools = FunctionToolset({"miss": miss, "bug": lambda: 1 / 0})
    assert tools.names == ("miss", "bug")
    with pytest.raises(ToolError, match="no such order"):
        tools.dispatch("miss", {})
    with pytest.raises(ZeroDivisionError):
        tools.dispatch("bug", {})
    with pytest.raises(ToolError, match=r"there is no tool 'mis' \(did you mean 'miss'\?\)"):
        tools.dispatch("mis", {})
