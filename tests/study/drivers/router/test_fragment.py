"""Every request of the fragment files gives the calls that stand beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.router import short


def _requests(name):
    tools = None
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("tools:"):
            tools = [f"tmct_{name}" for name in line.removeprefix("tools:").split()] or None
        elif line and not line.startswith("#"):
            request, _, wanted = line.partition(" => ")
            yield pytest.param(request, tools, wanted, id=request)


def _check(world, request, tools, wanted):
    result = world.ask(request, tools)
    assert short(result) == wanted
    assert all(step.executed for step in world.last.dispatched)
    assert all(step.get("ok", True) is True for step in result.proof)
    assert bool(result.proof) != result.refused


@pytest.mark.parametrize(
    "request_, tools, wanted", [*_requests("fragment.txt"), *_requests("fragment_forms.txt")]
)
def test_on_the_toy_graph(toy, request_, tools, wanted):
    _check(toy, request_, tools, wanted)


@pytest.mark.parametrize("request_, tools, wanted", list(_requests("fragment_click.txt")))
def test_on_the_graph_of_click(click_world, request_, tools, wanted):
    _check(click_world, request_, tools, wanted)
