"""Whatever is asked: no call with problems, no call beside a refusal, the same answer twice."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from study.drivers.router.plans import MAX_STEPS
from study.grading.proof import proof_problem

LINES = Path(__file__).with_name("fragment.txt").read_text(encoding="utf-8").splitlines()
REQUESTS = [line.partition(" => ")[0] for line in LINES if " => " in line]
WORDS = sorted({word for request in REQUESTS for word in request.split()})
TOOLS = (
    "search describe signature impact members subclasses exports callers callees calls tests_for untested"
    " history cochanges architecture"
)

requests = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join),
    st.tuples(
        st.sampled_from(REQUESTS),
        st.sampled_from([" and ", ", then ", ". ", "; if there are none, "]),
        st.sampled_from(REQUESTS),
    ).map("".join),
    st.text(max_size=60),
)
tool_sets = st.lists(st.sampled_from([f"tmct_{name}" for name in TOOLS.split()]), unique=True)
many = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(request=requests, tools=tool_sets)
def test_never_a_call_with_problems(toy, request, tools):
    result = toy.ask(request, tools)
    context = toy.last
    assert all(step.executed and not step.effects for step in context.dispatched)
    for call in [*result.calls, *(result.candidate_results or [])]:
        assert call.name in tools
        assert context.problems(call.name, call.input) == []
    assert result.refused != bool(result.calls)
    assert result.refused or proof_problem(result.proof) is None
    assert len(result.calls) <= 2 * MAX_STEPS


@many
@given(request=requests, tools=tool_sets)
def test_deterministic(toy, request, tools):
    first, second = (dataclasses.asdict(toy.ask(request, tools)) for _ in range(2))
    assert first == second


@many
@given(request=st.sampled_from(REQUESTS), tools=tool_sets)
def test_fewer_tools_never_make_another_call(toy, request, tools):
    """A request may be refused for want of a tool, never answered by another one."""
    some = toy.ask(request, tools)
    everything = toy.ask(request)
    if not some.refused and not everything.refused and some.driver.startswith("resolver"):
        assert {c.name for c in some.calls} <= {c.name for c in everything.calls} | {"tmct_calls"}


def test_a_very_long_request_is_refused_at_once(toy):
    assert toy.ask("describe Lot and " * 5000).refused
    assert toy.ask("if " * 600).refused
