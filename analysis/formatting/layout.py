"""Plain text within a width: safe characters, wrapped lines, aligned tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

WIDTH = 100
"""Columns of everything that is printed as plain text."""


def visible(text: str) -> str:
    """Return text on one line in which no character can move a cursor, reorder text or hide."""
    line = " ".join(text.split())
    return "".join(
        char if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} else _escaped(char)
        for char in line
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def display_width(text: str) -> int:
    """Return the terminal columns of text: two for wide characters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


# A number stays on the line of its unit, and the sign of a ratio on the line of its number.
_BREAK = re.compile(r"(?<!^x)(?<! x) (?!(?:pp|%|s|ms|µs|ns)(?:[\s,;:.)\]]|$))")


def wrap(text: str, width: int) -> list[str]:
    """Break text into lines of at most ``width`` columns, at spaces where possible."""
    lines: list[str] = []
    line = ""
    for word in _BREAK.split(visible(text)):
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _pieces(word, width)
        lines += full
    return [*lines, line]


def _pieces(word: str, width: int) -> list[str]:
    pieces = [""]
    for char in word:
        if pieces[-1] and display_width(pieces[-1] + char) > width:
            pieces.append("")
        pieces[-1] += char
    return pieces


def paragraph(text: str, width: int = WIDTH, *, first: str = "", rest: str | None = None) -> str:
    """Return wrapped text whose first line starts with ``first``, the others with ``rest``."""
    hang = " " * display_width(first) if rest is None else rest
    lines = wrap(text, width - max(display_width(first), display_width(hang)))
    return "\n".join((first if n == 0 else hang) + line for n, line in enumerate(lines))


def _column_widths(cells: Sequence[Sequence[str]], available: int) -> list[int]:
    columns = list(zip(*cells, strict=True))
    widths = [max(map(display_width, column)) for column in columns]
    words = [max(display_width(word) for cell in column for word in _BREAK.split(cell)) for column in columns]
    for floors in (words, [4] * len(widths)):
        while sum(widths) > available:
            wide = [n for n, width in enumerate(widths) if width > floors[n]]
            if not wide:
                break
            widths[max(wide, key=lambda n: widths[n])] -= 1
    return widths


def text_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    width: int = WIDTH,
    indent: str = "",
) -> str:
    """Return an aligned plain-text table, its widest columns wrapped until it fits ``width``.

    Parameters
    ----------
    headers, rows
        Cells as text; every row has as many as ``headers``.
    right : collection of int
        Columns that are aligned to the right.
    """
    cells = [[visible(cell) for cell in row] for row in (headers, *rows)]
    widths = _column_widths(cells, width - len(indent) - 2 * (len(headers) - 1))
    rule = indent + "  ".join("-" * size for size in widths)
    lines: list[str] = []
    for n, row in enumerate(cells):
        wrapped = [wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
        for k in range(max(map(len, wrapped))):
            parts = [
                _padded(cell[k] if k < len(cell) else "", widths[c], right=c in right)
                for c, cell in enumerate(wrapped)
            ]
            lines.append((indent + "  ".join(parts)).rstrip())
        if n == 0:
            lines.append(rule)
    return "\n".join(lines)


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space
