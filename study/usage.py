"""Token accounting that never shows an unknown count as zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from study.records import Record

FIELDS = ("input", "output")
LARGEST = 10**12
"""No single model call has more tokens; a larger count is a mistake."""


class UsageTotal(Record):
    """One field's count: ``known_subtotal``, ``missing_calls``, and ``total`` (None while any is missing)."""

    known_subtotal: int
    missing_calls: int
    total: int | None


class UsageLedger:
    """Adds up what a driver says of its model calls."""

    __slots__ = ("_known", "_missing", "calls")

    def __init__(self) -> None:
        self.calls = 0
        self._known: dict[str, int] = {}
        self._missing: dict[str, int] = {}

    def add(self, *, calls: int = 1, **tokens: int | None) -> None:
        """Count ``calls`` model calls; a field that is absent or None is missing for all of them.

        Raises
        ------
        ValueError
            For a field that is not ``input`` or ``output``, and for a count that is no whole number from 0
            to 10^12.
        """
        unknown = set(tokens) - set(FIELDS)
        if unknown:
            raise ValueError(f"unknown usage field {sorted(unknown)[0]!r}; allowed: {', '.join(FIELDS)}")
        for count in (calls, *(v for v in tokens.values() if v is not None)):
            if type(count) is not int or not 0 <= count <= LARGEST:
                raise ValueError(f"a usage count must be a whole number from 0 to {LARGEST}")
        self.calls += calls
        for name in FIELDS:
            value = tokens.get(name)
            counts, amount = (self._missing, calls) if value is None else (self._known, value)
            counts[name] = counts.get(name, 0) + amount

    def to_json(self) -> dict[str, Any] | None:
        """Return ``{"calls": n, field: {known_subtotal, missing_calls}}``, or None without a model call."""
        if not self.calls:
            return None
        fields = {
            f: {"known_subtotal": self._known.get(f, 0), "missing_calls": self._missing.get(f, 0)}
            for f in FIELDS
        }
        return {"calls": self.calls, **fields}


def summed(ledgers: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the sum of ledgers in the form of :meth:`UsageLedger.to_json`; None without a model call."""
    told = [ledger for ledger in ledgers if ledger is not None]
    if not told:
        return None
    parts = ("known_subtotal", "missing_calls")
    fields = {field: {part: sum(one[field][part] for one in told) for part in parts} for field in FIELDS}
    return {"calls": sum(ledger["calls"] for ledger in told), **fields}


def total(known_subtotal: int, missing_calls: int) -> UsageTotal:
    """Return the total of a field, None while any call's count is missing."""
    value = None if missing_calls else known_subtotal
    return UsageTotal(known_subtotal=known_subtotal, missing_calls=missing_calls, total=value)
