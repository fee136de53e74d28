"""Every request of the fragment file gives the calls that stand beside it, on the toy graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.router import short

LINES = Path(__file__).with_name("fragment.txt").read_text(encoding="utf-8").splitlines()


def _requests():
    tools = None
    for line in LINES:
        if line.startswith("tools:"):
            tools = [f"tmct_{name}" for name in line.removeprefix("tools:").split()] or None
        elif line and not line.startswith("#"):
            request, _, wanted = line.partition(" => ")
            yield pytest.param(request, tools, wanted, id=request)


@pytest.mark.parametrize("request_, tools, wanted", list(_requests()))
def test_request(toy, request_, tools, wanted):
    result = toy.ask(request_, tools)
    assert short(result) == wanted
    assert all(step.executed for step in toy.last.dispatched)
    assert all(step.get("ok", True) is True for step in result.proof)
    assert bool(result.proof) != result.refused
