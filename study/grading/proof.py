"""Whether a proof chain holds: non-empty, no failed step, causally connected to the graph."""

from __future__ import annotations

import re
from typing import Any

from study.binding import shown
from study.digest import is_list

GRAPH = "graph"
"""The producer that needs no earlier step: the grounded graph."""

LINK = "causal-link"

_STEP = re.compile(r"step-([1-9][0-9]{0,8})")


def proof_problem(proof: Any) -> str | None:
    """Return why a proof does not hold, or None.

    Parameters
    ----------
    proof : list of dict
        Steps ``{"kind": K, ...}``. A step with an ``ok`` must have it true. A step of kind ``causal-link``
        names its ``producer`` (``graph`` or ``step-N``) and its ``consumer`` (``step-M``; a ``step`` number
        does as well, and without either the links count from 1).

    Notes
    -----
    With causal links, one producer at least is the graph, and each ``step-N`` comes before its consumer and
    exists: another link consumes in it, or a step is marked with its number.
    """
    if not is_list(proof) or not proof:
        return "there is no proof"
    links = False
    for step in proof:
        if step.__class__ is not dict:
            return f"a proof step is {shown(step)}"
        if step.get("ok", True) is not True:
            return f"a proof step is not ok: {shown(step)}"
        if step.get("kind") == LINK:
            links = True
    return _connection_problem(proof) if links else None


def _connection_problem(proof: list[dict[str, Any]]) -> str | None:
    links = [step for step in proof if step.get("kind") == LINK]
    consumers = [_consumer(link, n) for n, link in enumerate(links, 1)]
    marked = {_number(step.get("step")) for step in proof if step.get("kind") != LINK}
    existing = marked.union(consumers)
    grounded = False
    for link, consumer in zip(links, consumers, strict=True):
        producer = link.get("producer")
        if producer == GRAPH:
            grounded = True
            continue
        number = _number(producer) if isinstance(producer, str) else None
        if number is None:
            return f"the producer {shown(producer)} is neither the graph nor a step"
        if consumer is None or number >= consumer:
            return f"the producer step-{number} does not come before its consumer"
        if number not in existing:
            return f"the producer step-{number} does not exist"
    return None if grounded else "no causal link starts from the graph"


def _consumer(link: dict[str, Any], ordinal: int) -> int | None:
    named = link.get("consumer", link.get("step"))
    return ordinal if named is None else _number(named)


def _number(value: Any) -> int | None:
    """Return the number of a step, given as ``step-N`` or as N."""
    if isinstance(value, str):
        match = _STEP.fullmatch(value)
        return int(match[1]) if match else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
