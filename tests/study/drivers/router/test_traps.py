"""Requests that change something, tell something or ask for less than a tool gives are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.router import short

LINES = Path(__file__).with_name("traps.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("request_", [line for line in LINES if line and not line.startswith("#")])
def test_a_trap_is_refused(toy, request_):
    assert short(toy.ask(request_)) == "REFUSE"
