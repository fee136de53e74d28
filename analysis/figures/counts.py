"""The plain figure of a result that has nothing to compare: counts per arm."""

from __future__ import annotations

from matplotlib.figure import Figure

from analysis import formatting
from analysis.figures import style
from analysis.figures.sheet import EDGE, Sheet, head_height
from analysis.results import Results
from study.records import ARMS

_ROW = 0.2
_COLUMNS = (EDGE, 3.6, 5.2)


def counts(results: Results, title: str, subtitle: str) -> Figure:
    """Draw a table of counts: trials by outcome, then hard fails; nothing is derived from them."""
    rows = _rows(results)
    head = head_height(title)
    sheet = Sheet(head + _ROW * (len(rows) + 1) + EDGE)
    sheet.head(title, subtitle)
    y = head + _ROW / 2
    _write(sheet, y, ("counts", *ARMS), bold=True)
    for n, row in enumerate(rows, 1):
        _write(sheet, y + _ROW * n, row, bold=False)
    return sheet.figure


def _write(sheet: Sheet, y: float, row: tuple[str, ...], *, bold: bool) -> None:
    sheet.text(_COLUMNS[0], y, row[0], size=8, bold=bold, color=style.INK, room=2.3)
    for x, cell in zip(_COLUMNS[1:], row[1:], strict=True):
        sheet.text(x, y, cell, size=8, bold=bold, side="right", room=1.5)


def _rows(results: Results) -> list[tuple[str, ...]]:
    tallies = [results.outcomes.get(arm) for arm in ARMS]
    names = list(dict.fromkeys(name for tally in tallies if tally for name in tally))
    rows = [("trials", *[_count(None if t is None else sum(t.values())) for t in tallies])]
    for name in names:
        cells = [_count(None if tally is None else tally.get(name, 0)) for tally in tallies]
        rows.append((f"- {formatting.outcome(name)}", *cells))
    fails = [results.hard_fails.get(arm) for arm in ARMS]
    rows.append(("hard-fail events", *[_count(None if fail is None else fail.count) for fail in fails]))
    return rows


def _count(number: int | None) -> str:
    return formatting.NOT_RECORDED if number is None else str(number)
