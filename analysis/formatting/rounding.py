"""Numbers rounded half away from zero, and never across a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal

EXTRA_DIGITS = 6
"""Most digits that are added to keep a text on its value's side of a bound."""

STEADY = Context(prec=12, rounding=ROUND_HALF_UP)
"""Beyond its twelfth digit a float is noise."""

_WIDE = Context(prec=400, rounding=ROUND_HALF_UP)


def finite(value: float) -> float:
    """Return a number; raise :class:`ValueError` for NaN and infinities."""
    if not math.isfinite(value):
        raise ValueError(f"{value!r} has no place in a report: a missing number is None with a status")
    return float(value)


def to_decimal(value: float) -> Decimal:
    """Return the decimal number that a float is written as."""
    return Decimal(repr(finite(value)))


def round_decimal(value: Decimal, decimals: int) -> Decimal:
    """Round to ``decimals`` places, ties away from zero; float noise does not turn a tie."""
    # Float noise such as 0.30000000000000004 lies beyond the twelfth digit and must not turn a tie.
    coarse = -decimals > value.adjusted() - STEADY.prec + 1
    return (STEADY.plus(value) if coarse else value).quantize(Decimal(1).scaleb(-decimals), context=_WIDE)


def written(rounded: Decimal, *, signed: bool) -> str:
    """Return a rounded number as text; zero has no sign."""
    if not rounded:
        return format(abs(rounded), "f")
    return format(rounded, "+f" if signed else "f")


def trimmed(text: str) -> str:
    """Return a number's text without idle zeros after the point."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def guarded(
    value: float,
    shown: Callable[[float], Decimal],
    decimals: int,
    *,
    signed: bool,
    bounds: Iterable[float] = (),
) -> str:
    """Round for display, with as many more digits as keep the text on the value's side of every bound."""
    edges = [(STEADY.plus(shown(bound)), bound) for bound in bounds if bound != value]
    for extra in range(EXTRA_DIGITS + 1):
        rounded = round_decimal(shown(value), decimals + extra)
        if all(rounded > edge if value > bound else rounded < edge for edge, bound in edges):
            return written(rounded, signed=signed)
    edge, bound = min(edges, key=lambda pair: abs(value - pair[1]))
    near = trimmed(written(round_decimal(edge, decimals + EXTRA_DIGITS), signed=signed))
    return f"just {'above' if value > bound else 'below'} {near}"


def half_up(value: float, decimals: int) -> str:
    """Round to ``decimals`` places, ties away from zero, so that swapping the arms mirrors the text.

    Raises
    ------
    ValueError
        For NaN and infinities.
    """
    return written(round_decimal(to_decimal(value), decimals), signed=False)


def decimal_places(value: Decimal, digits: int) -> int:
    """Return the places that show ``digits`` significant digits; those before the point are never dropped."""
    if not value:
        return 0
    places = max(0, digits - 1 - value.adjusted())
    carried = round_decimal(value, places).adjusted() > value.adjusted()
    return max(0, places - 1) if carried else places


def significant(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number with ``digits`` significant digits: 0.0123, 1.23, 12.3, 1234."""
    exact = to_decimal(value)
    return written(round_decimal(exact, decimal_places(exact, digits)), signed=signed)
