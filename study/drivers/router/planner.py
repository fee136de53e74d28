"""Decomposition of a request into a plan: the methods in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable

from study.drivers.router.conditions import conditional, recovery
from study.drivers.router.filters import filtered
from study.drivers.router.plans import Plan
from study.drivers.router.reading import Reader
from study.drivers.router.sequences import sequence, single

Method = Callable[[str, Reader], Plan | None]

METHODS: tuple[tuple[str, Method], ...] = (
    ("single", single),
    ("conditional", conditional),
    ("recover", recovery),
    ("filter", filtered),
    ("sequence", sequence),
)
"""Name and method; a method returns None for a request that is not of its kind.

The single step comes first because a step must account for every word: it can never hide another method.
"""


def plan(line: str, reader: Reader) -> Plan | None:
    """Return the plan of a scanned request, or None for one outside the fragment."""
    for _, method in METHODS:
        found = method(line.strip(), reader)
        if found is not None:
            return found
    return None
