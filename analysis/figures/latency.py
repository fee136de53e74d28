"""The latency figure: the distribution function of both arms, each with its band."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from analysis import formatting
from analysis.figures import style
from analysis.figures.counts import counts
from analysis.figures.sheet import EDGE, WIDTH, Sheet, head_height
from analysis.results import Distribution, Results
from study.records import ARMS

_HEIGHT = 3.4
_LEFT, _RIGHT, _FOOT = 0.55, 1.75, 0.62
_SMALL = 6.5
_COLORS = {"baseline": style.INK, "candidate": style.DECIDES}
_DASHES = {"baseline": (0, (4, 2)), "candidate": "solid"}
_MANTISSAS = ((1, 2, 5), (1, 3), (1,))
_MOST_TICKS = 7


def distributions(results: Results) -> Figure:
    """Draw the share of trials that took at most so long, for both arms.

    The axis of time is logarithmic. What ended at the time limit stands there; the limit is marked where it
    lies within the figure.

    Parameters
    ----------
    results : Results
        The record that is drawn; nothing is computed again.

    Returns
    -------
    matplotlib.figure.Figure
        8 inches wide; counts where no distribution is known, and for a pilot, which compares nothing.
    """
    title = results.question or results.study
    known = {arm: found.distribution for arm in ARMS if (found := results.latency.get(arm)) is not None}
    drawn = {arm: found for arm, found in known.items() if found is not None and found.times_s[-1] > 0}
    with style.applied():
        if results.evidence_level == "pilot":
            return counts(results, title, "PILOT: counts only, the arms are not compared")
        if len(drawn) < len(ARMS):
            return counts(results, title, "no distribution of latency is known for both arms")
        caps = [found.cap_s for arm in ARMS if (found := results.latency.get(arm)) and found.cap_s]
        return _drawn(drawn, caps[0] if caps else None, title)


def _drawn(found: dict[str, Distribution], cap_s: float | None, title: str) -> Figure:
    one = found[ARMS[0]]
    head = head_height(title)
    sheet = Sheet(max(_HEIGHT, head + 2.4))
    sheet.head(title, "Latency: share of trials that took at most so long, tasks weighing equally")
    width = WIDTH - 2 * EDGE - _LEFT - _RIGHT
    axes = sheet.axes(EDGE + _LEFT, head + 0.05, width, sheet.height - head - _FOOT - 0.05)
    low, high = _reach(found)
    _frame(axes, low, high)
    for arm in ARMS:
        _curve(axes, found[arm], low, high, arm)
    if cap_s is not None and low < cap_s < high:
        axes.axvline(math.log10(cap_s), color=style.MARGIN_TEXT, linewidth=0.9, linestyle=(0, (1, 1.5)))
    _key(sheet, found, head, cap_s is not None and low < cap_s < high, cap_s)
    y = sheet.height - EDGE / 2 - 0.1
    told = f"shaded: {formatting.confidence(one.level)} band for the whole curve, {one.method}"
    sheet.text(EDGE, y, told, size=_SMALL, color=style.QUIET)
    sheet.text(
        EDGE + _LEFT + width / 2,
        sheet.height - 0.34,
        "latency (log scale)",
        size=_SMALL,
        color=style.QUIET,
        side="center",
    )
    return sheet.figure


def _reach(found: dict[str, Distribution]) -> tuple[float, float]:
    times = [time for record in found.values() for time in record.times_s if time > 0]
    low, high = min(times), max(times)
    return low / 1.15, high * 1.15


def _frame(axes: Axes, low: float, high: float) -> None:
    axes.set_xlim(math.log10(low), math.log10(high))
    axes.set_ylim(0, 1)
    ticks = _ticks(low, high)
    axes.xaxis.set_major_locator(FixedLocator([math.log10(tick) for tick in ticks]))
    axes.xaxis.set_major_formatter(FixedFormatter([_short(tick) for tick in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks([0, 0.25, 0.5, 0.75, 0.9, 1], ["0 %", "25 %", "50 %", "75 %", "90 %", "100 %"])
    axes.tick_params(labelsize=7, length=3, color=style.QUIET, labelcolor=style.INK)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("bottom", "left"))
        spine.set_color(style.QUIET)
    for share in (0.25, 0.5, 0.75, 0.9, 1):
        axes.axhline(share, color=style.RULE, linewidth=0.6, zorder=0)


def _ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for mantissas in _MANTISSAS:
        ticks = [m * 10.0**power for power in powers for m in mantissas if low <= m * 10.0**power <= high]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks[:: max(1, math.ceil(len(ticks) / _MOST_TICKS))]


def _short(seconds: float) -> str:
    size, unit = formatting.time_unit([seconds])
    return f"{seconds / float(size):g} {unit}"


def _curve(axes: Axes, record: Distribution, low: float, high: float, arm: str) -> None:
    times = [math.log10(max(time, low)) for time in record.times_s]
    ends = [math.log10(low), *times, math.log10(high)]
    color = _COLORS[arm]
    axes.fill_between(
        ends,
        [0.0, *record.low, record.low[-1]],
        [record.band, *record.high, 1.0],
        step="post",
        color=color,
        alpha=0.13,
        linewidth=0,
        zorder=1,
    )
    axes.step(
        ends,
        [0.0, *record.shares, 1.0],
        where="post",
        color=color,
        linewidth=1.5,
        linestyle=_DASHES[arm],
        zorder=3,
    )


def _key(
    sheet: Sheet, found: dict[str, Distribution], head: float, shows_cap: bool, cap_s: float | None
) -> None:
    x, y = WIDTH - EDGE - _RIGHT + 0.1, head + 0.2
    for arm in reversed(ARMS):
        record = found[arm]
        mark = "solid" if arm == "candidate" else "dashed"
        sheet.text(x, y, f"{arm} ({mark})", size=8, bold=True, color=_COLORS[arm], room=_RIGHT - 0.1)
        for n, line in enumerate(_lines(record), 1):
            sheet.text(x, y + 0.15 * n, line, size=_SMALL, color=style.QUIET, room=_RIGHT - 0.1)
        y += 0.15 * (len(_lines(record)) + 1) + 0.12
    if shows_cap and cap_s is not None:
        told = f"dotted: time limit, {formatting.seconds(cap_s)}"
        sheet.text(x, y, told, size=_SMALL, color=style.MARGIN_TEXT, room=_RIGHT - 0.1)


def _lines(record: Distribution) -> list[str]:
    return [
        f"n tasks = {record.n_tasks}, trials = {record.n_trials}",
        f"band ± {100 * record.band:.1f} points",
    ]
