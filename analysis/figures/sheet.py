"""A figure that is laid out in inches from its top left corner."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis import formatting
from analysis.figures import style

WIDTH = 8.0
"""Inches; every figure is that wide."""

EDGE = 0.15
_TITLE_SIZE = 10.0
_TITLE_LINES = 2
_SUBTITLE_SIZE = 8.5
_LINE = 0.19


class Sheet:
    """A figure with places in inches, measured from the top left corner.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    height : float
        In inches.
    """

    def __init__(self, height: float) -> None:
        self.height = height
        self.figure = Figure(figsize=(WIDTH, height), facecolor="white")
        FigureCanvasAgg(self.figure)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        bold: bool = False,
        color: str = style.INK,
        side: Literal["left", "center", "right"] = "left",
        room: float = WIDTH - 2 * EDGE,
    ) -> None:
        """Write one line, centred on ``y``, shortened to ``room`` inches."""
        properties = style.font(size, bold=bold)
        self.figure.text(
            x / WIDTH,
            1 - y / self.height,
            style.fitted(text, properties, room),
            fontproperties=properties,
            color=color,
            ha=side,
            va="center_baseline",
            parse_math=False,
        )

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return axes on a rectangle."""
        bottom = 1 - (top + height) / self.height
        return self.figure.add_axes((left / WIDTH, bottom, width / WIDTH, height / self.height))

    def head(self, title: str, subtitle: str) -> None:
        """Write the title, which is the figure's label too, and the line under it."""
        self.figure.set_label(formatting.visible(title))
        y = EDGE + _LINE / 2
        for line in _title_lines(title):
            self.text(EDGE, y, line, size=_TITLE_SIZE, bold=True)
            y += _LINE
        self.text(EDGE, y, subtitle, size=_SUBTITLE_SIZE, color=style.QUIET)


def _title_lines(title: str) -> list[str]:
    return style.wrapped(title, style.font(_TITLE_SIZE, bold=True), WIDTH - 2 * EDGE, _TITLE_LINES)


def head_height(title: str) -> float:
    """Return the inches that :meth:`Sheet.head` needs, the space below included."""
    return EDGE + _LINE * (len(_title_lines(title)) + 1) + 0.1
