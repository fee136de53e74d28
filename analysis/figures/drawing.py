"""The forest figure: one row an endpoint, with its interval and its margin."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import formatting
from analysis.figures import panels, style
from analysis.figures.counts import counts
from analysis.figures.panels import Panel
from analysis.figures.sheet import EDGE, WIDTH, Sheet, head_height
from analysis.results import Estimate, Interval, Results
from study.records import ARMS

_HEIGHT = 3.0
_SMALL = 6.5
_ROW = 0.52
_TALL_ROW = 0.8
_AXIS_FOOT = 0.5
_KEY = 0.22
_LEFT = 1.75
_RIGHT = 2.55
_GAP = 0.12
_PLOT = WIDTH - 2 * EDGE - _LEFT - _RIGHT - 2 * _GAP
_KEY_TEXT = (
    "bold: the interval that decides · thin grey: sensitivity, not for the decision · "
    "shaded: within the margin · hollow: decides nothing"
)


def forest(results: Results) -> Figure:
    """Draw the endpoints of finished results.

    Proportions share one axis in percentage points, ratios one in per cent, every other unit has its own.
    A pilot has no forest: its figure holds counts.

    Parameters
    ----------
    results : Results
        The record that is drawn; nothing is computed again.

    Returns
    -------
    matplotlib.figure.Figure
        8 inches wide, about 3 high for up to three rows; not registered with pyplot.
    """
    title = results.question or results.study
    with style.applied():
        if results.evidence_level == "pilot":
            return counts(results, title, _subtitle(results, "PILOT: counts only, the arms are not compared"))
        subtitle = _subtitle(results, f"Verdict: {formatting.outcome(results.verdict.outcome)}")
        if not results.endpoints:
            return counts(results, title, f"{subtitle} · no endpoint was estimated")
        return _forest(panels.arrange(results.endpoints), title, subtitle)


def _subtitle(results: Results, text: str) -> str:
    standing = formatting.standing(results.declared, results.lock_digest, results.evidence_level)
    parts = [text]
    if results.verdict.outcome == "void":
        parts.append("these numbers support no statement")
    if "EXPLORATORY" in standing:
        parts.append("EXPLORATORY: nothing was locked beforehand")
    floors = [arm for arm in ARMS if results.arms.get(arm, {}).get("floor") is True]
    if floors:
        parts.append(f"floor driver (anchor only): {' and '.join(floors)}")
    return " · ".join(parts)


def _forest(parts: tuple[Panel, ...], title: str, subtitle: str) -> Figure:
    head, rows = head_height(title), sum(len(panel.rows) for panel in parts)
    fixed = head + _AXIS_FOOT * len(parts) + _KEY + EDGE / 2
    row = min(_TALL_ROW, max(_ROW, (_HEIGHT - fixed) / rows))
    sheet = Sheet(fixed + row * rows)
    sheet.head(title, subtitle)
    top = head
    for panel in parts:
        _panel(sheet, panel, top, row)
        top += row * len(panel.rows) + _AXIS_FOOT
    sheet.text(EDGE, sheet.height - EDGE / 2 - _KEY / 2, _KEY_TEXT, size=_SMALL, color=style.QUIET)
    return sheet.figure


def _panel(sheet: Sheet, panel: Panel, top: float, row: float) -> None:
    left = EDGE + _LEFT + _GAP
    axes = sheet.axes(left, top, _PLOT, row * len(panel.rows))
    _frame(axes, panel)
    _bands(axes, panel)
    for n, estimate in enumerate(panel.rows):
        _marks(axes, estimate, -n)
        middle = top + (n + 0.5) * row
        _names(sheet, estimate, middle)
        _numbers(sheet, estimate, middle)
    foot = top + row * len(panel.rows) + 0.32
    sheet.text(
        left + _PLOT / 2, foot, panel.title, size=_SMALL, color=style.QUIET, side="center", room=_PLOT + 3.0
    )


def _frame(axes: Axes, panel: Panel) -> None:
    axes.set_xlim(panel.low, panel.high)
    axes.set_ylim(0.5 - len(panel.rows), 0.5)
    axes.set_yticks([])
    axes.set_xticks(
        [value for value, _ in panel.ticks], [label for _, label in panel.ticks], parse_math=False
    )
    axes.tick_params(axis="x", labelsize=7, length=3, color=style.QUIET, labelcolor=style.INK)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(style.QUIET)
    for n in range(1, len(panel.rows)):
        axes.axhline(0.5 - n, color=style.RULE, linewidth=0.6, zorder=0)
    axes.axvline(0, color=style.INK, linewidth=0.9, zorder=2)


def _bands(axes: Axes, panel: Panel) -> None:
    """Shade what each claim tolerates; a run of rows with the same margin is labelled once."""
    previous: tuple[float, float] | None = None
    for n, estimate in enumerate(panel.rows):
        band = panels.tolerated(estimate)
        if band is not None:
            axes.fill_betweenx(
                [-n - 0.5, 0.5 - n], *band, color=style.MARGIN, alpha=0.2, linewidth=0, zorder=1
            )
            for edge in band:
                if edge:
                    axes.vlines(edge, -n - 0.5, 0.5 - n, color=style.MARGIN_TEXT, lw=0.9, ls=(0, (4, 2)))
            if band != previous:
                _label_margin(axes, panel, estimate, n, band)
        previous = band


def _label_margin(axes: Axes, panel: Panel, estimate: Estimate, n: int, band: tuple[float, float]) -> None:
    label, properties = panels.margin_label(estimate), style.font(6)
    edge = band[0] or band[1]
    rightwards = _rightwards(panel, band, edge, style.width(label, properties) + 0.08)
    axes.annotate(
        label,
        (edge, 0.5 - n),
        xytext=(2.5 if rightwards else -2.5, -2),
        textcoords="offset points",
        fontproperties=properties,
        color=style.MARGIN_TEXT,
        ha="left" if rightwards else "right",
        va="top",
        parse_math=False,
        zorder=4,
        bbox={"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.8},
    )


def _rightwards(panel: Panel, band: tuple[float, float], edge: float, inches: float) -> bool:
    """Say on which side of its edge a label goes: inside the band, else outside, else where there is room."""
    scale = _PLOT / (panel.high - panel.low)
    inside = edge == band[0]
    outer = edge - panel.low if inside else panel.high - edge
    if (band[1] - band[0]) * scale >= inches:
        return inside
    if outer * scale >= inches:
        return not inside
    return edge < (panel.low + panel.high) / 2


def _decides(estimate: Estimate) -> bool:
    claimed = estimate.claim is not None and estimate.status == "ok"
    return claimed and estimate.interval is not None and estimate.interval.status == "ok"


def _marks(axes: Axes, estimate: Estimate, y: float) -> None:
    decides = _decides(estimate)
    drawn = [record for record in estimate.sensitivity if record.low is not None and record.high is not None]
    step = min(0.1, 0.24 / max(1, len(drawn)))
    for k, record in enumerate(drawn):
        _line(axes, record, y - 0.2 - k * step, color=style.SENSITIVITY, linewidth=0.9)
    if estimate.interval is not None and estimate.interval.low is not None:
        width = 2.8 if decides else 1.2
        _line(axes, estimate.interval, y, color=style.DECIDES, linewidth=width)
    if estimate.estimate is not None:
        face = style.DECIDES if decides else "white"
        edge = "white" if decides else style.DECIDES
        axes.plot(
            [estimate.estimate],
            [y],
            marker="o",
            markersize=_SMALL if decides else 5.5,
            markerfacecolor=face,
            markeredgecolor=edge,
            markeredgewidth=1.0,
            zorder=6,
            clip_on=False,
        )


def _line(axes: Axes, record: Interval, y: float, *, color: str, linewidth: float) -> None:
    if record.low is None or record.high is None:
        return
    axes.plot(
        [record.low, record.high], [y, y], color=color, linewidth=linewidth, solid_capstyle="butt", zorder=5
    )


def _names(sheet: Sheet, estimate: Estimate, middle: float) -> None:
    claim = estimate.claim or "descriptive"
    direction = "higher is better" if estimate.higher_is_better else "lower is better"
    _stack(sheet, EDGE, middle, _LEFT, estimate.label, [f"{estimate.role}: {claim}", direction])


def _numbers(sheet: Sheet, estimate: Estimate, middle: float) -> None:
    text, method = _contrast(estimate), ""
    record = estimate.interval
    if record is not None and record.low is not None and record.high is not None:
        bounds = (0.0,) if estimate.margin is None else (0.0, estimate.margin, -estimate.margin)
        text += f" {formatting.limits(record.low, record.high, estimate.unit, bounds=bounds)}"
        method = f"{formatting.confidence(record.level)}, {record.method}"
    elif estimate.estimate is not None:
        status = estimate.status if record is None else record.status
        method = f"no interval: {formatting.absence(status, estimate.n_tasks)}"
    lines = [" · ".join(filter(None, [formatting.counts(estimate.n_tasks), method])), _remark(estimate)]
    _stack(sheet, WIDTH - EDGE - _RIGHT, middle, _RIGHT, text, [line for line in lines if line])


def _contrast(estimate: Estimate) -> str:
    if estimate.estimate is None:
        return formatting.absence(estimate.status, estimate.n_tasks)
    if estimate.unit == "log_ratio":
        return formatting.relative(estimate.estimate)
    return formatting.quantity(estimate.estimate, estimate.unit)


def _remark(estimate: Estimate) -> str:
    """Join what fits; the methods of the grey lines come last and give way first, the report has them."""
    parts = list(_remarks(estimate))
    while len(parts) > 1 and style.width(" · ".join(parts), style.font(_SMALL)) > _RIGHT:
        parts.pop()
    return " · ".join(parts)


def _remarks(estimate: Estimate) -> Iterator[str]:
    if estimate.claim:
        yield formatting.outcome(estimate.outcome)
    if estimate.interval is not None and estimate.interval.status == "few_tasks":
        yield formatting.NEVER_DECIDES
    if estimate.sensitivity:
        yield f"grey: {', '.join(record.method for record in estimate.sensitivity)}"


def _stack(sheet: Sheet, x: float, middle: float, room: float, first: str, rest: list[str]) -> None:
    y = middle - 0.075 * len(rest)
    sheet.text(x, y, first, size=8, bold=True, room=room)
    for n, line in enumerate(rest, 1):
        sheet.text(x, y + 0.15 * n, line, size=_SMALL, color=style.QUIET, room=room)
