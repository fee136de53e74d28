"""What is known of the value of an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Value:
    """What is known of a value.

    ``module``, ``class``, ``function`` are themselves; ``instance`` is one of the class ``name``; ``super``
    is the parent view of a class; ``external`` lies outside the graph (``name`` is its dotted name);
    ``foreign`` is an instance of an external class, ``foreign-member`` something of such an instance;
    ``none`` is None. ``items`` is the class of what iterating over a foreign container gives,
    ``entries`` of what subscribing it gives. ``entity`` is the label that was named.
    """

    kind: Literal[
        "module",
        "class",
        "function",
        "instance",
        "super",
        "external",
        "foreign",
        "foreign-member",
        "none",
        "unknown",
    ]
    name: str = ""
    entity: str | None = None
    items: str | None = None
    entries: str | None = None


UNKNOWN = Value("unknown")
NONE = Value("none")
FOREIGN = Value("foreign")


def either(values: list[Value]) -> Value:
    """Return the value that all agree on; None among others says that a value may be absent."""
    some = [value for value in values if value.kind != "none"]
    if not some:
        return NONE if values else UNKNOWN
    first = _substance(some[0])
    return some[0] if all(_substance(value) == first for value in some[1:]) else UNKNOWN


def _substance(value: Value) -> tuple[str | None, ...]:
    """Return what a value is, whatever it was called."""
    return value.kind, value.name, value.items, value.entries
