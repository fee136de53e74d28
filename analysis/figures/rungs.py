"""The ladder figure: one row a rung, with its metric pair, its gate and the two trivial drivers."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis import formatting
from analysis.benchmark import RUNG_NAMES, DriverResult, RungResult
from analysis.figures import style
from analysis.figures.sheet import EDGE, WIDTH, Sheet, head_height
from study.grading.rollup import COMPLETION_FLOOR, percent

_SMALL = 6.5
_ROW = 0.58
_LEFT = 1.3
_RIGHT = 3.1
_GAP = 0.14
_PLOT = WIDTH - 2 * EDGE - _LEFT - _RIGHT - 2 * _GAP
_GATE_LABEL = 0.16
_AXIS_FOOT = 0.5
_KEY_ROW = 0.2
_KEY_COLUMNS = (0.0, 2.7, 5.2)

# Heights in rows: a rung's row reaches from -0.5 to 0.5 around its own position.
_BAR = (-0.02, 0.34)
_RESULT = -0.16
_ALARM = (-0.36, -0.26)
_HATCH = 0.035
_AXIS_SPACE = 0.02


def ladder(driver: DriverResult, setting: str) -> Figure:
    """Draw the ladder of one measured driver.

    Parameters
    ----------
    driver : DriverResult
        The record that is drawn; nothing is computed again.
    setting : str
        What the cases are, for the subtitle, such as the split.

    Returns
    -------
    matplotlib.figure.Figure
        8 inches wide, higher with every rung; not registered with pyplot. A bar is the share of cases, which
        the gate reads; the line is the interval of the mean over tasks. Skipped rungs are grey and hatched.
    """
    with style.applied():
        title = f"Ladder of {driver.name}: {driver.standing}"
        top = head_height(title) + _GATE_LABEL
        height = _ROW * len(driver.rungs)
        sheet = Sheet(top + height + _AXIS_FOOT + 2 * _KEY_ROW + EDGE)
        sheet.head(title, _subtitle(driver, setting))
        axes = sheet.axes(EDGE + _LEFT + _GAP, top, _PLOT, height)
        _frame(axes, len(driver.rungs))
        for n, result in enumerate(driver.rungs):
            _marks(axes, result, -n)
            _names(sheet, result, top + (n + 0.5) * _ROW)
            _numbers(sheet, result, top + (n + 0.5) * _ROW)
        _labels(sheet, top, height)
        _key(sheet, driver, top + height + _AXIS_FOOT)
        return sheet.figure


def _subtitle(driver: DriverResult, setting: str) -> str:
    overall = driver.overall
    parts = ["FLOOR: an anchor, no candidate for use"] if driver.floor else []
    parts += [f"{overall.score.total} cases in {overall.completion.n_tasks} tasks", setting]
    return " · ".join(parts)


def _frame(axes: Axes, rows: int) -> None:
    axes.set_xlim(-_AXIS_SPACE, 1 + _AXIS_SPACE)
    axes.set_ylim(0.5 - rows, 0.5)
    axes.set_yticks([])
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    axes.set_xticks(ticks, [str(round(100 * tick)) for tick in ticks], parse_math=False)
    axes.tick_params(axis="x", labelsize=7, length=3, color=style.QUIET, labelcolor=style.INK)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(style.QUIET)
    for n in range(1, rows):
        axes.axhline(0.5 - n, color=style.RULE, linewidth=0.6, zorder=0)
    axes.axvline(0, color=style.QUIET, linewidth=0.6, zorder=1)
    axes.axvline(COMPLETION_FLOOR, color=style.MARGIN_TEXT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=4)


def _marks(axes: Axes, result: RungResult, y: float) -> None:
    score, skipped = result.score, result.receipt is not None
    color = style.GATED if skipped else style.DECIDES
    low, high = y + _BAR[0], y + _BAR[1]
    face = "white" if skipped else style.DECIDES
    axes.add_patch(
        Rectangle(
            (0, low),
            score.completion,
            high - low,
            facecolor=face,
            alpha=1 if skipped else 0.3,
            edgecolor="none",
            linewidth=0,
            zorder=2,
        )
    )
    if skipped:
        _hatch(axes, score.completion, low, high)
    _interval(axes, result, (low + high) / 2, style.SENSITIVITY if skipped else style.DECIDES)
    for line, count in zip(("-", (0, (1.2, 1))), result.trivial.values(), strict=False):
        place = count / score.total
        axes.vlines(place, low - 0.03, high + 0.07, color=style.INK, linewidth=1.3, linestyle=line, zorder=5)
    axes.plot(
        [score.result_completion],
        [y + _RESULT],
        marker="D",
        markersize=4.5,
        markerfacecolor=color if skipped else style.MARGIN,
        markeredgecolor="white",
        markeredgewidth=0.6,
        clip_on=False,
        zorder=6,
    )
    if score.hallucinated:
        bottom, top = y + _ALARM[0], y + _ALARM[1]
        alarm = Rectangle((0, bottom), score.hallucination_rate, top - bottom, linewidth=0, zorder=6)
        alarm.set_facecolor(style.ALARM)
        axes.add_patch(alarm)


def _interval(axes: Axes, result: RungResult, y: float, color: str) -> None:
    completion = result.completion
    decides = completion.interval.status == "ok"
    low, high = completion.interval.low, completion.interval.high
    if low is not None and high is not None:
        width = 2.4 if decides else 1.1
        axes.plot([low, high], [y, y], color=color, linewidth=width, solid_capstyle="butt", zorder=6)
    axes.plot(
        [completion.estimate],
        [y],
        marker="o",
        markersize=5.5,
        markerfacecolor=color if decides else "white",
        markeredgecolor="white" if decides else color,
        markeredgewidth=1.0,
        clip_on=False,
        zorder=7,
    )


def _hatch(axes: Axes, width: float, low: float, high: float) -> None:
    """Draw diagonal lines inside a bar: a pattern fill would be a reference, which a page refuses."""
    lean = (high - low) * _ROW / _PLOT * (1 + 2 * _AXIS_SPACE)
    steps = round((width + lean) / _HATCH)
    lines = [_clipped(-lean + n * _HATCH, lean, width, low, high) for n in range(1, steps + 1)]
    segments: Sequence[list[tuple[float, float]]] = [line for line in lines if line]
    axes.add_collection(LineCollection(segments, colors=style.GATED, linewidths=0.8, zorder=3))
    axes.add_patch(
        Rectangle((0, low), width, high - low, fill=False, edgecolor=style.GATED, linewidth=0.8, zorder=3)
    )


def _clipped(start: float, lean: float, width: float, low: float, high: float) -> list[tuple[float, float]]:
    """Return the part of a line from (start, low) to (start + lean, high) inside 0 to width."""
    left, right = max(start, 0.0), min(start + lean, width)
    if left >= right:
        return []
    slope = (high - low) / lean
    return [(left, low + (left - start) * slope), (right, low + (right - start) * slope)]


def _names(sheet: Sheet, result: RungResult, middle: float) -> None:
    score = result.score
    color = style.QUIET if result.receipt else style.INK
    sheet.text(EDGE, middle - 0.15, score.rung, size=8, bold=True, color=color, room=_LEFT)
    counts = f"{score.total} cases, {result.completion.n_tasks} tasks"
    for n, line in enumerate((RUNG_NAMES.get(score.rung, ""), counts)):
        sheet.text(EDGE, middle + 0.15 * n, line, size=_SMALL, color=style.QUIET, room=_LEFT)


def _numbers(sheet: Sheet, result: RungResult, middle: float) -> None:
    score = result.score
    x = WIDTH - EDGE - _RIGHT
    color = style.QUIET if result.receipt else style.INK
    lines = [
        f"{_share(score.completed, score.total)} of cases · {_over_tasks(result)}",
        f"result {_share(score.result_completed, score.total)} · "
        f"hallucination {_share(score.hallucinated, score.total)}",
    ]
    verdict, alarm = _gate(result)
    sheet.text(x, middle - 0.15, lines[0], size=7, bold=True, color=color, room=_RIGHT)
    sheet.text(x, middle, lines[1], size=_SMALL, color=style.QUIET, room=_RIGHT)
    sheet.text(
        x,
        middle + 0.15,
        verdict,
        size=_SMALL,
        bold=alarm,
        color=style.ALARM if alarm else style.QUIET,
        room=_RIGHT,
    )


def _share(count: int, total: int) -> str:
    return f"{percent(count, total)} %"


def _over_tasks(result: RungResult) -> str:
    record = result.completion.interval
    if record.low is None or record.high is None:
        return "no interval"
    return formatting.limits(record.low, record.high, "proportion", signed=False, bounds=(COMPLETION_FLOOR,))


def _gate(result: RungResult) -> tuple[str, bool]:
    if result.receipt:
        return f"skipped: {result.receipt}", False
    if not result.score.gate_pass:
        hard = result.score.hard_failed > result.score.hallucinated
        return f"gate FAILED{f' · {result.score.hard_failed} hard fails' if hard else ''}", True
    status = result.completion.interval.status
    if status == "ok":
        return "gate passed", False
    remark = formatting.NEVER_DECIDES if status == "few_tasks" else _refused(result)
    return f"gate passed · {remark}", False


def _refused(result: RungResult) -> str:
    return formatting.absence(result.completion.interval.status, result.completion.n_tasks)


def _labels(sheet: Sheet, top: float, height: float) -> None:
    left = EDGE + _LEFT + _GAP
    scale = _PLOT / (1 + 2 * _AXIS_SPACE)
    gate = left + (COMPLETION_FLOOR + _AXIS_SPACE) * scale
    text = f"gate {percent(round(COMPLETION_FLOOR * 100), 100)} %"
    sheet.text(gate, top - 0.08, text, size=_SMALL, color=style.MARGIN_TEXT, side="center")
    sheet.text(
        left + _PLOT / 2,
        top + height + 0.32,
        "% of cases",
        size=_SMALL,
        color=style.QUIET,
        side="center",
    )


def _key(sheet: Sheet, driver: DriverResult, top: float) -> None:
    """Explain every mark with the mark itself."""
    axes = sheet.axes(EDGE, top, WIDTH - 2 * EDGE, 2 * _KEY_ROW)
    axes.set_xlim(0, WIDTH - 2 * EDGE)
    axes.set_ylim(-2, 0)
    axes.axis("off")
    record = driver.overall.completion.interval
    texts = [
        "plan completion, share of cases",
        f"mean over tasks, {formatting.confidence(record.level)}, {record.method}",
        "result completion",
        "hallucination, share of cases",
        *[f"{name} completes" for name in driver.overall.trivial],
    ]
    for n, text in enumerate(texts):
        x, y = _KEY_COLUMNS[n % 3], -0.5 - n // 3
        _key_mark(axes, n, x, y)
        sheet.text(EDGE + x + 0.33, top - y * _KEY_ROW, text, size=_SMALL, color=style.QUIET, room=2.1)


def _key_mark(axes: Axes, n: int, x: float, y: float) -> None:
    middle = x + 0.13
    if n == 0:
        axes.add_patch(Rectangle((x, y - 0.25), 0.26, 0.5, facecolor=style.DECIDES, alpha=0.3, linewidth=0))
    elif n == 1:
        axes.plot([x, x + 0.26], [y, y], color=style.DECIDES, linewidth=2.4, solid_capstyle="butt")
        axes.plot([middle], [y], marker="o", markersize=5, color=style.DECIDES, markeredgecolor="white")
    elif n == 2:
        axes.plot([middle], [y], marker="D", markersize=4.5, color=style.MARGIN, markeredgecolor="white")
    elif n == 3:
        axes.add_patch(Rectangle((x, y - 0.15), 0.26, 0.3, facecolor=style.ALARM, linewidth=0))
    else:
        line = "-" if n == 4 else (0, (1.2, 1))
        axes.vlines(middle, y - 0.3, y + 0.3, color=style.INK, linewidth=1.3, linestyle=line)
