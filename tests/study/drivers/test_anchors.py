import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.binding import Binder
from study.driver import Context
from study.drivers import first_declared, refuse_all, shim
from study.registry import registry_from_json


@pytest.mark.parametrize(
    "request_, tool, arguments",
    [
        ("about Shelf", "tmct_describe", {"symbol": "Shelf"}),
        ("  about   Shelf ", "tmct_describe", {"symbol": "Shelf"}),
        ("find overdue", "tmct_search", {"query": "overdue"}),
        ("find Atlas", "tmct_search", {"query": "Atlas"}),
        ("untested", "tmct_untested", {}),
        ("map", "tmct_architecture", {}),
        ("map loans", "tmct_architecture", {"package": "loans"}),
    ],
)
def test_terse_commands(request_, tool, arguments, make_context, all_tools):
    ctx = make_context(all_tools)
    got = shim.drive(request_, all_tools, ctx)
    assert [(c.name, c.input) for c in got.calls] == [(tool, arguments)]
    assert got.driver == "shim-transport"
    assert [step["kind"] for step in got.proof][-1] == "effect"
    assert len(ctx.dispatched) == 1


@pytest.mark.parametrize(
    "request_, why",
    [
        ("", "not a terse command"),
        ("about", "tmct_describe needs"),
        ("About Shelf", "not a terse command"),
        ("about Shelf please", "not a terse command"),
        ("please about Shelf", "not a terse command"),
        ("describe Shelf", "not a terse command"),
        ("untested Shelf", "takes no argument"),
        ("about Nowhere", "no entity 'Nowhere'"),
        ("about Atlas", "Atlas-3 or Atlas-4"),
        ("move", "has effects"),
        ("ghost Shelf", "not registered"),
    ],
)
def test_the_shim_refuses(request_, why, make_context, all_tools):
    ctx = make_context(all_tools)
    got = shim.drive(request_, all_tools, ctx)
    assert got.refused
    assert got.calls == []
    assert why in got.why
    assert all(d.executed for d in ctx.dispatched)


def test_the_shim_calls_declared_tools_only(make_context):
    ctx = make_context(["tmct_search"])
    assert "not declared" in shim.drive("about Shelf", ["tmct_search"], ctx).why
    assert ctx.dispatched == ()


def test_the_shim_needs_a_command_table(registry):
    ctx = Context(registry, None, Binder(registry, ["tmct_describe"]))
    assert shim.drive("about Shelf", ["tmct_describe"], ctx).refused


@settings(deadline=None)
@given(
    verb=st.sampled_from(["about", "find", "untested", "map"]),
    rest=st.lists(st.text("abS.-", min_size=1, max_size=5), min_size=2, max_size=6),
    gap=st.sampled_from([" ", "  ", "\t", "\n"]),
)
def test_the_shim_refuses_more_words_than_a_command_has(verb, rest, gap, make_context, all_tools):
    ctx = make_context(all_tools)
    assert shim.drive(gap.join([verb, *rest]), all_tools, ctx).refused
    assert ctx.dispatched == ()


@given(request_=st.text(), tools=st.lists(st.text(max_size=5)))
def test_refuse_all_refuses(request_, tools, make_context):
    ctx = make_context(tools)
    got = refuse_all.drive(request_, tools, ctx)
    assert (got.refused, got.terminated, got.calls, got.driver) == (True, True, [], "refuse-all")
    assert ctx.dispatched == ()


@pytest.mark.parametrize(
    "tools, arguments",
    [
        (["tmct_callers", "tmct_describe"], {"symbol": "Shelf"}),
        (["tmct_search"], {"query": "Shelf"}),
        (["tmct_untested"], {}),
        (["tmct_architecture"], {}),
    ],
)
def test_first_declared_calls_the_first_tool(tools, arguments, make_context):
    ctx = make_context(tools)
    got = first_declared.drive("who wants the Shelf?", tools, ctx)
    assert [(c.name, c.input) for c in got.calls] == [(tools[0], arguments)]
    assert [(d.name, d.executed) for d in ctx.dispatched] == [(tools[0], True)]
    assert got.driver == "first-declared"
    assert got.proof
    assert not got.refused


def test_first_declared_reports_what_failed_without_a_proof(make_context):
    tools = ["tmct_describe"]
    got = first_declared.drive("describe Nowhere", tools, make_context(tools))
    assert [c.input for c in got.calls] == [{"symbol": "Nowhere"}]
    assert got.proof == []
    assert got.composed is None


def test_first_declared_measures_a_suite_without_toolset(registry):
    ctx = Context(registry, None, Binder(registry, ["tmct_describe"]))
    got = first_declared.drive("describe Shelf", ["tmct_describe"], ctx)
    assert [c.name for c in got.calls] == ["tmct_describe"]


@pytest.mark.parametrize("tools", [[], ["tmct_ghost"], ["shelf_move"]])
def test_first_declared_refuses_what_it_may_not_call(tools, make_context):
    ctx = make_context(tools)
    assert first_declared.drive("describe Shelf", tools, ctx).refused
    assert ctx.dispatched == ()


def test_first_declared_refuses_what_does_not_bind(make_context):
    ctx = make_context(["tmct_describe"])
    assert first_declared.drive("12 ?", ["tmct_describe"], ctx).refused
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    world = registry_from_json([{"name": "count", "parameters": schema}])
    ctx = make_context(["count"], world=world)
    assert first_declared.drive("count Shelf", ["count"], ctx).refused
    assert ctx.dispatched == ()
