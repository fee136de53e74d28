"""Colours, fonts, settings: everything that would otherwise depend on someone's configuration."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import matplotlib
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import TextToPath

from analysis import formatting

# Okabe & Ito's palette: distinguishable with any of the common colour deficiencies, and in grey.
DECIDES = "#0072B2"
SENSITIVITY = "#8C8C8C"
MARGIN = "#E69F00"
MARGIN_TEXT = "#8A5A00"
ALARM = "#D55E00"
GATED = "#BFBFBF"
INK = "#1A1A1A"
QUIET = "#555555"
RULE = "#D9D9D9"

FAMILY = "DejaVu Sans"
"""The one font that comes with matplotlib, so that a figure is the same everywhere."""

# Fitting glyphs to the pixels of a raster image widens small text by about two per cent.
_HINTING = 1.03


@contextmanager
def applied() -> Generator[None]:
    """Draw and save with these settings and no others, then restore the caller's."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["font.family"] = FAMILY
        matplotlib.rcParams["axes.unicode_minus"] = False
        # Outlines instead of text: a viewer without the font would change widths, and text would overlap.
        matplotlib.rcParams["svg.fonttype"] = "path"
        matplotlib.rcParams["svg.hashsalt"] = "driver-study"
        yield


def font(size: float, *, bold: bool = False) -> FontProperties:
    """Return the font in a size in points."""
    return FontProperties(family=FAMILY, size=size, weight="bold" if bold else "normal")


def width(text: str, properties: FontProperties) -> float:
    """Return the width of text in inches, on the safe side."""
    points, _, _ = TextToPath().get_text_width_height_descent(text, properties, ismath=False)
    return float(points) / 72 * _HINTING


def drawable(text: str) -> str:
    """Return text on one line, characters that the font lacks replaced by its mark for them."""
    return "".join(
        char if _has_glyph(char) else "\N{REPLACEMENT CHARACTER}" for char in formatting.visible(text)
    )


@cache
def _has_glyph(char: str) -> bool:
    return bool(get_font(findfont(font(8))).get_char_index(ord(char)))


def fitted(text: str, properties: FontProperties, inches: float) -> str:
    """Return text that is at most so wide, shortened with an ellipsis where it must be."""
    line = drawable(text)
    if width(line, properties) <= inches:
        return line
    kept = bisect_right(range(1, len(line)), inches, key=lambda n: width(f"{line[:n]}…", properties))
    return f"{line[:kept].rstrip()}…"


def wrapped(text: str, properties: FontProperties, inches: float, most: int) -> list[str]:
    """Return at most ``most`` lines of at most so many inches; the last one is shortened if need be."""
    lines: list[str] = []
    words = drawable(text).split(" ")
    while words and len(lines) < most:
        taken = 1
        while taken < len(words) and width(" ".join(words[: taken + 1]), properties) <= inches:
            taken += 1
        if len(lines) == most - 1:
            taken = len(words)
        lines.append(fitted(" ".join(words[:taken]), properties, inches))
        words = words[taken:]
    return lines
