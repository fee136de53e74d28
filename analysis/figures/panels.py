"""Endpoints as rows on axes: which share one, how far it reaches, where its ticks are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.ticker import MaxNLocator

from analysis import formatting
from analysis.results import Estimate
from study.records import Record

_ORDER = ("proportion", "log_ratio")
_TITLES = {
    "proportion": "candidate - baseline, percentage points",
    "log_ratio": "candidate / baseline, change in % (log scale)",
}
_MOST_TICKS = 6
_MANTISSAS = ((1.0, 1.5, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0,))
_LOG_SPAN_OF_EVEN_TICKS = 1.0


class Panel(Record):
    """Rows that share one unit, hence one axis.

    Attributes
    ----------
    unit : str
        Unit of every estimate in it.
    rows : tuple of Estimate
        In declared order.
    low, high : float
        Ends of the axis, in the unit of the estimates (log ratio for ratios).
    ticks : tuple of (float, str)
        Positions with their labels.
    title : str
        What the axis shows, and on which side the candidate gains if that is the same for all rows.
    """

    unit: str
    rows: tuple[Estimate, ...]
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    title: str


def arrange(endpoints: Sequence[Estimate]) -> tuple[Panel, ...]:
    """Group endpoints by unit: proportions, then ratios, then the rest as they come."""
    units = sorted(dict.fromkeys(e.unit for e in endpoints), key=_rank)
    return tuple(_panel(unit, tuple(e for e in endpoints if e.unit == unit)) for unit in units)


def _rank(unit: str) -> int:
    return _ORDER.index(unit) if unit in _ORDER else len(_ORDER)


def _panel(unit: str, rows: tuple[Estimate, ...]) -> Panel:
    low, high = _reach(rows)
    ticks, title = _ticks(unit, low, high), _title(unit, rows, low, high)
    return Panel(unit=unit, rows=rows, low=low, high=high, ticks=ticks, title=title)


def _title(unit: str, rows: tuple[Estimate, ...], low: float, high: float) -> str:
    shown = formatting.time_unit([low, high])[1] if unit == "s" else unit
    title = _TITLES.get(unit, f"candidate - baseline, {shown}")
    directions = {row.higher_is_better for row in rows}
    if len(directions) > 1:
        return title
    return f"{title} · candidate better →" if directions == {True} else f"← candidate better · {title}"


def tolerated(estimate: Estimate) -> tuple[float, float] | None:
    """Return the band of values that the claim tolerates beside a gain, None where there is no margin."""
    if estimate.margin is None:
        return None
    if estimate.claim == "equivalent":
        return -estimate.margin, estimate.margin
    return (-estimate.margin, 0.0) if estimate.higher_is_better else (0.0, estimate.margin)


def margin_label(estimate: Estimate) -> str:
    """Return ``"margin -5 pp"``, the margin with the sign of the loss."""
    margin = estimate.margin or 0.0
    if estimate.claim == "equivalent":
        return f"margin {formatting.margin(margin, estimate.unit, sign='±')}"
    if estimate.higher_is_better:
        return f"margin {formatting.margin(-margin, estimate.unit)}"
    return f"margin {formatting.margin(margin, estimate.unit, sign='+')}"


def _reach(rows: Iterable[Estimate]) -> tuple[float, float]:
    values = [0.0]
    for row in rows:
        values += [] if row.estimate is None else [row.estimate]
        values += tolerated(row) or ()
        for interval in (row.interval, *row.sensitivity):
            if interval is not None and interval.low is not None and interval.high is not None:
                values += [interval.low, interval.high]
    low, high = min(values), max(values)
    # With nothing but zeros any scale is right; this one says that a percentage point would be far away.
    space = 0.07 * (high - low) or 0.01
    return low - space, high + space


def _ticks(unit: str, low: float, high: float) -> tuple[tuple[float, str], ...]:
    if unit == "proportion":
        return tuple((value / 100, label) for value, label in _even(low * 100, high * 100))
    if unit == "s":
        size = float(formatting.time_unit([low, high])[0])
        return tuple((value * size, label) for value, label in _even(low / size, high / size))
    if unit != "log_ratio":
        return tuple(_even(low, high))
    if high - low <= _LOG_SPAN_OF_EVEN_TICKS:
        change = _even(math.expm1(low) * 100, math.expm1(high) * 100)
        return tuple((math.log1p(value / 100), label) for value, label in change)
    return tuple(_decades(low, high))


def _even(low: float, high: float) -> list[tuple[float, str]]:
    locator = MaxNLocator(nbins=_MOST_TICKS, steps=[1, 2, 2.5, 5, 10])
    values = [float(value) for value in locator.tick_values(low, high) if low <= value <= high]
    step = values[1] - values[0] if len(values) > 1 else high - low
    places = next((n for n in range(16) if all(abs(round(v, n) - v) < step * 1e-6 for v in values)), 16)
    return [(value, _signed(value, places)) for value in values]


def _signed(value: float, places: int) -> str:
    text = formatting.half_up(value, places)
    if text.strip("-0.") == "":
        return "0"
    return text if text.startswith("-") else f"+{text}"


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    powers = range(math.floor(low / math.log(10)) - 1, math.ceil(high / math.log(10)) + 1)
    stride = max(1, math.ceil(len(powers) / _MOST_TICKS))
    for mantissas in _MANTISSAS:
        ratios = [m * 10.0**power for power in powers for m in mantissas]
        inside = [ratio for ratio in ratios if low <= math.log(ratio) <= high]
        if len(inside) <= _MOST_TICKS:
            break
    else:
        inside = [
            10.0**power for power in powers if power % stride == 0 and low <= power * math.log(10) <= high
        ]
    return [(math.log(ratio), _change(ratio)) for ratio in inside]


def _change(ratio: float) -> str:
    change = (ratio - 1) * 100
    return "0" if change == 0 else formatting.significant(change, 2, signed=True)
