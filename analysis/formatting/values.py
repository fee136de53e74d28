"""A value in its unit as text: shares, points, ratios, times, p-values, margins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from analysis.formatting.rounding import (
    STEADY,
    decimal_places,
    finite,
    guarded,
    half_up,
    round_decimal,
    significant,
    to_decimal,
    trimmed,
    written,
)

NOT_RECORDED = "not recorded"

_SMALLEST_P = 0.0001
_MOST_P_PLACES = 12
_TIME_UNITS = ((Decimal(1), "s"), (Decimal("1e-3"), "ms"), (Decimal("1e-6"), "µs"), (Decimal("1e-9"), "ns"))


def percent(proportion: float | None, decimals: int = 1, *, bounds: Iterable[float] = ()) -> str:
    """Return a proportion as ``"93.8 %"``; 0 % and 100 % are printed only when they are meant exactly."""
    if proportion is None:
        return NOT_RECORDED
    # A mean of ones that comes out as 0.9999999999999999 is 100 %.
    edges = [edge for edge in (0.0, 1.0) if STEADY.plus(to_decimal(proportion)) != edge]
    return f"{guarded(proportion, _hundredfold, decimals, signed=False, bounds=(*edges, *bounds))} %"


def points(difference: float | None, decimals: int = 1, *, bounds: Iterable[float] = ()) -> str:
    """Return a difference of proportions as signed percentage points, ``"-1.3 pp"``.

    Parameters
    ----------
    difference : float or None
        As a proportion: -0.013 is -1.3 pp.
    decimals : int
        Places after the point.
    bounds : iterable of float
        Values (zero, the margin) that the text must not be rounded onto or across; up to six digits are
        added for that, and where they do not do it says "just above" or "just below" the bound.
    """
    if difference is None:
        return NOT_RECORDED
    return f"{guarded(difference, _hundredfold, decimals, signed=True, bounds=bounds)} pp"


def _hundredfold(value: float) -> Decimal:
    return to_decimal(value) * 100


def _change(log_ratio: float) -> Decimal:
    return to_decimal(math.expm1(finite(log_ratio)) * 100)


def relative(log_ratio: float | None, *, bounds: Iterable[float] = (), more: int = 0) -> str:
    """Return a log ratio as a signed relative change, ``"+8.2 %"``.

    ``bounds`` are log ratios too; ``more`` is the number of further places.
    """
    if log_ratio is None:
        return NOT_RECORDED
    decimals = more + (1 if abs(round_decimal(_change(log_ratio), 1)) < 100 else 0)
    return f"{guarded(log_ratio, _change, decimals, signed=True, bounds=bounds)} %"


def ratio(log_ratio: float | None, *, bounds: Iterable[float] = ()) -> str:
    """Return a log ratio as ``"x 1.08 (+8.2 %)"``."""
    if log_ratio is None:
        return NOT_RECORDED
    return f"x {significant(math.exp(log_ratio))} ({relative(log_ratio, bounds=bounds)})"


def time_unit(values: Iterable[float]) -> tuple[Decimal, str]:
    """Return the seconds in, with the name of, the unit that suits the largest of some times."""
    largest = max((abs(to_decimal(value)) for value in values), default=Decimal(0))
    # Rounded first: 0.9996 s is 1.00 s, not 1000 ms.
    rounded = round_decimal(largest, decimal_places(largest, 3))
    if not rounded:
        return _TIME_UNITS[0]
    return next((unit for unit in _TIME_UNITS if rounded >= unit[0]), _TIME_UNITS[-1])


def measures(
    values: Sequence[float], unit: str, *, signed: bool, bounds: Iterable[float] = (), more: int = 0
) -> list[str]:
    """Return values of one unit written alike: as many places as show three digits of the largest."""
    size, name = time_unit(values) if unit == "s" else (Decimal(1), unit)

    def shown(value: float) -> Decimal:
        return to_decimal(value) / size

    places = more + decimal_places(max(abs(shown(value)) for value in values), 3)
    return [f"{guarded(value, shown, places, signed=signed, bounds=bounds)} {name}" for value in values]


def seconds(value_s: float | None, *, signed: bool = False) -> str:
    """Return a time with three significant digits in s, ms, µs or ns: ``"1.20 ms"``."""
    if value_s is None:
        return NOT_RECORDED
    return measures([value_s], "s", signed=signed)[0]


def duration(value_s: float | None) -> str:
    """Return how long something takes, for people: ``"2 h 05 min"``, ``"3 min 20 s"``, ``"1.20 s"``."""
    if value_s is None:
        return NOT_RECORDED
    if value_s < 59.95:
        return seconds(value_s)
    whole = int(round_decimal(to_decimal(value_s), 0))
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = int(round_decimal(to_decimal(value_s / 60), 0))
    return f"{minutes // 60} h {minutes % 60:02d} min"


def p_text(p: float, alpha: float) -> str:
    """Return a p-value with four places, or as many more as keep its text on its side of ``alpha``."""
    if p < min(_SMALLEST_P, alpha):
        return f"below {_SMALLEST_P}"
    for places in range(4, _MOST_P_PLACES + 1):
        text = half_up(p, places)
        if (float(text) <= alpha) == (p <= alpha):
            return f"= {text}"
    return f"just {'below' if p <= alpha else 'above'} {alpha}"


def confidence(level: float) -> str:
    """Return a confidence level without idle zeros: ``"95 %"``, ``"97.5 %"``."""
    return f"{trimmed(written(round_decimal(_hundredfold(level), 4), signed=False))} %"


def quantity(value: float | None, unit: str, *, signed: bool = True, bounds: Iterable[float] = ()) -> str:
    """Return a value in the unit of its record.

    Parameters
    ----------
    value : float or None
        None is printed as ``"not recorded"``.
    unit : str
        ``proportion``, ``log_ratio``, ``s``; any other unit follows its number as it is named.
    signed : bool
        True for a contrast of the arms, False for one arm's own value.
    bounds : iterable of float
        See :func:`points`.
    """
    if value is None:
        return NOT_RECORDED
    if unit == "proportion":
        return points(value, bounds=bounds) if signed else percent(value, bounds=bounds)
    if unit == "log_ratio":
        return ratio(value, bounds=bounds)
    return measures([value], unit, signed=signed, bounds=bounds)[0]


def margin(value: float, unit: str, *, sign: str = "") -> str:
    """Return a margin in display units without idle zeros, ``"5 pp"``; ``sign`` is ``""`` or ``"±"``.

    With an empty sign a negative ``value`` keeps its own, and a positive one carries none.
    """
    exact, suffix = to_decimal(value), unit
    if unit == "proportion":
        exact, suffix = _hundredfold(value), "pp"
    elif unit == "log_ratio":
        exact, suffix = _change(value), "%"
    elif unit == "s":
        size, suffix = time_unit([value])
        exact /= size
    places = max(4, decimal_places(exact, 3))
    return f"{sign}{trimmed(written(round_decimal(exact, places), signed=False))} {suffix}"
