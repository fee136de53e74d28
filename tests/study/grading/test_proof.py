"""When a proof chain holds."""

from __future__ import annotations

import pytest

from study.grading.proof import proof_problem


def link(producer, consumer=None, **more):
    step = {"kind": "causal-link", "producer": producer, **more}
    return step if consumer is None else {**step, "consumer": consumer}


def made(step, **more):
    return {"kind": "precondition", "step": step, "ok": True, **more}


GOOD = [
    [{"kind": "effect"}],
    [{"kind": "precondition", "ok": True}, {"kind": "effect"}],
    [link("graph", "step-1"), made(1)],
    [link("graph", "step-1"), made(1), link("step-1", "step-2"), made(2)],
    [link("graph", "step-1"), link("graph", "step-2"), link("step-1", "step-3"), link("step-2", "step-3")],
    [link("graph", 1), link("step-1", 2)],
    [link("graph", step=1), link("step-1", step=2), made(1), made(2)],
    [link("graph"), link("step-1"), link("step-2")],
    [link("step-1", "step-2"), link("graph", "step-1")],
    [made(1), link("graph", "step-2"), link("step-1", "step-2")],
]


@pytest.mark.parametrize("proof", GOOD)
def test_proofs_that_hold(proof):
    assert proof_problem(proof) is None


BAD = [
    (None, "no proof"),
    ([], "no proof"),
    ({}, "no proof"),
    ("proof", "no proof"),
    ([1], "a proof step is 1"),
    ([[]], "a proof step is []"),
    ([{"ok": False}], "not ok"),
    ([{"ok": None}], "not ok"),
    ([{"ok": 1}], "not ok"),
    ([{"ok": "true"}], "not ok"),
    ([made(1), made(2, ok=False)], "not ok"),
    ([link("moon", "step-1")], "neither the graph nor a step"),
    ([link(None, "step-1")], "neither the graph nor a step"),
    ([link(1, "step-2")], "neither the graph nor a step"),
    ([link("step-0", "step-1")], "neither the graph nor a step"),
    ([link("step-01", "step-2")], "neither the graph nor a step"),
    ([link("graph", "step-1"), link("step-1", "step-1")], "does not come before"),
    ([link("graph", "step-1"), link("step-2", "step-1")], "does not come before"),
    ([link("graph", "step-1"), link("step-1", "here")], "does not come before"),
    ([link("graph"), link("step-2")], "does not come before"),
    ([link("graph", "step-1"), link("step-2", "step-3")], "step-2 does not exist"),
    ([link("step-1", "step-2"), made(1)], "no causal link starts from the graph"),
]


@pytest.mark.parametrize(("proof", "problem"), BAD)
def test_proofs_that_do_not(proof, problem):
    assert problem in proof_problem(proof)
