"""Every number, unit or table of a report as text."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.results import Interval

WIDTH = 100
"""Columns of everything that is printed as plain text."""

NOT_RECORDED = "not recorded"

_ABSENCES = {
    "few_tasks": "refused: few tasks",
    "refused": "refused",
    "not_identified": "not identified: the trials that end at the time limit may reach it",
}

NEVER_DECIDES = "few tasks: printed, never decides"

_TASKS_FOR_AN_INTERVAL = 5
_EXTRA_DIGITS = 6
_SMALLEST_P = 0.0001
_MOST_P_PLACES = 12
_STEADY = Context(prec=12, rounding=ROUND_HALF_UP)
_WIDE = Context(prec=400, rounding=ROUND_HALF_UP)
_TIME_UNITS = ((Decimal(1), "s"), (Decimal("1e-3"), "ms"), (Decimal("1e-6"), "µs"), (Decimal("1e-9"), "ns"))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value!r} has no place in a report: a missing number is None with a status")
    return float(value)


def _decimal(value: float) -> Decimal:
    return Decimal(repr(_finite(value)))


def _rounded(value: Decimal, decimals: int) -> Decimal:
    # Float noise such as 0.30000000000000004 lies beyond the twelfth digit and must not turn a tie.
    coarse = -decimals > value.adjusted() - _STEADY.prec + 1
    return (_STEADY.plus(value) if coarse else value).quantize(Decimal(1).scaleb(-decimals), context=_WIDE)


def _number(rounded: Decimal, *, signed: bool) -> str:
    if not rounded:
        return format(abs(rounded), "f")
    return format(rounded, "+f" if signed else "f")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _guarded(
    value: float,
    shown: Callable[[float], Decimal],
    decimals: int,
    *,
    signed: bool,
    bounds: Iterable[float] = (),
) -> str:
    """Round for display, with as many more digits as keep the text on the value's side of every bound."""
    edges = [(_STEADY.plus(shown(bound)), bound) for bound in bounds if bound != value]
    for extra in range(_EXTRA_DIGITS + 1):
        rounded = _rounded(shown(value), decimals + extra)
        if all(rounded > edge if value > bound else rounded < edge for edge, bound in edges):
            return _number(rounded, signed=signed)
    edge, bound = min(edges, key=lambda pair: abs(value - pair[1]))
    near = _trimmed(_number(_rounded(edge, decimals + _EXTRA_DIGITS), signed=signed))
    return f"just {'above' if value > bound else 'below'} {near}"


def half_up(value: float, decimals: int) -> str:
    """Round to ``decimals`` places, ties away from zero, so that swapping the arms mirrors the text.

    Raises
    ------
    ValueError
        For NaN and infinities.
    """
    return _number(_rounded(_decimal(value), decimals), signed=False)


def _places(value: Decimal, digits: int) -> int:
    """Decimal places that show ``digits`` significant digits; digits before the point are never dropped."""
    if not value:
        return 0
    places = max(0, digits - 1 - value.adjusted())
    carried = _rounded(value, places).adjusted() > value.adjusted()
    return max(0, places - 1) if carried else places


def significant(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number with ``digits`` significant digits: 0.0123, 1.23, 12.3, 1234."""
    exact = _decimal(value)
    return _number(_rounded(exact, _places(exact, digits)), signed=signed)


def percent(proportion: float | None, decimals: int = 1, *, bounds: Iterable[float] = ()) -> str:
    """Return a proportion as ``"93.8 %"``; 0 % and 100 % are printed only when they are meant exactly."""
    if proportion is None:
        return NOT_RECORDED
    # A mean of ones that comes out as 0.9999999999999999 is 100 %.
    edges = [edge for edge in (0.0, 1.0) if _STEADY.plus(_decimal(proportion)) != edge]
    return f"{_guarded(proportion, _hundredfold, decimals, signed=False, bounds=(*edges, *bounds))} %"


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
    return f"{_guarded(difference, _hundredfold, decimals, signed=True, bounds=bounds)} pp"


def _hundredfold(value: float) -> Decimal:
    return _decimal(value) * 100


def _change(log_ratio: float) -> Decimal:
    return _decimal(math.expm1(_finite(log_ratio)) * 100)


def relative(log_ratio: float | None, *, bounds: Iterable[float] = (), more: int = 0) -> str:
    """Return a log ratio as a signed relative change, ``"+8.2 %"``.

    ``bounds`` are log ratios too; ``more`` is the number of further places.
    """
    if log_ratio is None:
        return NOT_RECORDED
    decimals = more + (1 if abs(_rounded(_change(log_ratio), 1)) < 100 else 0)
    return f"{_guarded(log_ratio, _change, decimals, signed=True, bounds=bounds)} %"


def ratio(log_ratio: float | None, *, bounds: Iterable[float] = ()) -> str:
    """Return a log ratio as ``"x 1.08 (+8.2 %)"``."""
    if log_ratio is None:
        return NOT_RECORDED
    return f"x {significant(math.exp(log_ratio))} ({relative(log_ratio, bounds=bounds)})"


def time_unit(values: Iterable[float]) -> tuple[Decimal, str]:
    """Return the seconds in, with the name of, the unit that suits the largest of some times."""
    largest = max((abs(_decimal(value)) for value in values), default=Decimal(0))
    # Rounded first: 0.9996 s is 1.00 s, not 1000 ms.
    rounded = _rounded(largest, _places(largest, 3))
    if not rounded:
        return _TIME_UNITS[0]
    return next((unit for unit in _TIME_UNITS if rounded >= unit[0]), _TIME_UNITS[-1])


def _measures(
    values: Sequence[float], unit: str, *, signed: bool, bounds: Iterable[float] = (), more: int = 0
) -> list[str]:
    """Format values of one unit alike: as many places as show three digits of the largest."""
    size, name = time_unit(values) if unit == "s" else (Decimal(1), unit)

    def shown(value: float) -> Decimal:
        return _decimal(value) / size

    places = more + _places(max(abs(shown(value)) for value in values), 3)
    return [f"{_guarded(value, shown, places, signed=signed, bounds=bounds)} {name}" for value in values]


def seconds(value_s: float | None, *, signed: bool = False) -> str:
    """Return a time with three significant digits in s, ms, µs or ns: ``"1.20 ms"``."""
    if value_s is None:
        return NOT_RECORDED
    return _measures([value_s], "s", signed=signed)[0]


def duration(value_s: float | None) -> str:
    """Return how long something takes, for people: ``"2 h 05 min"``, ``"3 min 20 s"``, ``"1.20 s"``."""
    if value_s is None:
        return NOT_RECORDED
    if value_s < 59.95:
        return seconds(value_s)
    whole = int(_rounded(_decimal(value_s), 0))
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = int(_rounded(_decimal(value_s / 60), 0))
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
    return f"{_trimmed(_number(_rounded(_hundredfold(level), 4), signed=False))} %"


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
    return _measures([value], unit, signed=signed, bounds=bounds)[0]


def margin(value: float, unit: str, *, sign: str = "") -> str:
    """Return a margin in display units without idle zeros, ``"5 pp"``; ``sign`` is ``""`` or ``"±"``.

    With an empty sign a negative ``value`` keeps its own, and a positive one carries none.
    """
    exact, suffix = _decimal(value), unit
    if unit == "proportion":
        exact, suffix = _hundredfold(value), "pp"
    elif unit == "log_ratio":
        exact, suffix = _change(value), "%"
    elif unit == "s":
        size, suffix = time_unit([value])
        exact /= size
    places = max(4, _places(exact, 3))
    return f"{sign}{_trimmed(_number(_rounded(exact, places), signed=False))} {suffix}"


def limits(low: float, high: float, unit: str, *, signed: bool = True, bounds: Collection[float] = ()) -> str:
    """Return both limits of an interval in one unit: ``"[-4.1 pp, +2.0 pp]"``.

    A limit is never rounded onto or across one of ``bounds``, so the text cannot contradict a decision. Two
    limits have different texts, with up to six more places than usual; beyond that it says that they agree.
    """
    for more in range(_EXTRA_DIGITS + 1):
        pair = _pair((low, high), unit, signed=signed, bounds=bounds, more=more)
        if pair[0] != pair[1]:
            return f"[{pair[0]}, {pair[1]}]"
    pair = _pair((low, high), unit, signed=signed, bounds=bounds, more=0)
    return f"[{pair[0]}, {pair[1]}; the limits are equal{'' if low == high else ' as far as is shown'}]"


def _pair(
    values: tuple[float, float], unit: str, *, signed: bool, bounds: Collection[float], more: int
) -> list[str]:
    if unit == "log_ratio":
        return [relative(value, bounds=bounds, more=more) for value in values]
    if unit == "proportion":
        shown = points if signed else percent
        return [shown(value, 1 + more, bounds=bounds) for value in values]
    return _measures(values, unit, signed=signed, bounds=bounds, more=more)


def absence(status: str, n_tasks: int | None = None) -> str:
    """Return the words for a number that is not there, by the status of its record."""
    if status == "refused" and n_tasks is not None and n_tasks < _TASKS_FOR_AN_INTERVAL:
        return f"refused: fewer than {_TASKS_FOR_AN_INTERVAL} tasks"
    return _ABSENCES.get(status, NOT_RECORDED)


def interval(
    record: Interval | None,
    unit: str,
    *,
    signed: bool = True,
    bounds: Collection[float] = (),
    n_tasks: int | None = None,
    status: str = "ok",
) -> str:
    """Return an interval with its level and method, or the words for why there is none.

    Parameters
    ----------
    record : Interval or None
        None is told by ``status``, the status of the estimate that has no interval.
    unit, signed, bounds
        See :func:`quantity` and :func:`limits`.
    n_tasks : int or None
        Names the reason of a refusal when that was too few tasks.
    """
    if record is None:
        return absence(status, n_tasks)
    if record.low is None or record.high is None:
        return absence("refused" if record.status == "ok" else record.status, n_tasks)
    text = limits(record.low, record.high, unit, signed=signed, bounds=bounds)
    remark = f"; {NEVER_DECIDES}" if record.status == "few_tasks" else ""
    return f"{text} ({confidence(record.level)}, {record.method}{remark})"


def counts(n_tasks: int, n_pairs: int | None = None) -> str:
    """Return ``"n tasks = 80, pairs = 160"``."""
    return f"n tasks = {n_tasks}" + ("" if n_pairs is None else f", pairs = {n_pairs}")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, ``"1 task"`` or ``"5 tasks"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def share(part: int, whole: int) -> str:
    """Return ``"12 of 15 (80.0 %)"``, and words instead of a rate when there is nothing to divide by."""
    return f"{part} of {whole} ({percent(part / whole)})" if whole else "none of 0 (no rate)"


def outcome(name: str | None) -> str:
    """Return an outcome as it is written: ``non_inferior`` is ``"non-inferior"``, None is no claim."""
    if name is None:
        return "no claim"
    return name.replace("non_inferior", "non-inferior").replace("_", " ")


def standing(declared: bool | str, lock_digest: str | None, evidence_level: str) -> str:
    """Return what limits a result as a whole: ``"EXPLORATORY"``, ``"PILOT"``, both or an empty text.

    Without a lock nothing is declared, whatever a record says of itself.
    """
    exploratory = declared is not True or lock_digest is None
    flags = (("EXPLORATORY", exploratory), ("PILOT", evidence_level == "pilot"))
    return ", ".join(flag for flag, holds in flags if holds)


def claim(name: str | None, allowed: float | None, unit: str, declared: str | None = None) -> str:
    """Return a claim with its margin, ``"non-inferior, margin 5 pp"``; the margin as declared if known."""
    if name is None:
        return "none (descriptive)"
    text = declared or (None if allowed is None else margin(allowed, unit))
    return f"{name}, margin {text}" if text else name


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


def markdown(text: str) -> str:
    r"""Return text on one line in which Markdown and HTML find nothing to interpret.

    ``|`` is escaped too, so that the text may stand in a cell of a table.
    """
    line = visible(text).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([|*`~$])", r"\\\1", line)
    line = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)
    line = re.sub(r"\](?=[(\[:])", r"\\]", line)
    return re.sub(r"^(?=[#+=-](?:[ #+=-]|$))|^(\d+)(?=[.)] )", r"\1\\", line)


def markdown_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()
) -> str:
    """Return a Markdown table; every cell is escaped by :func:`markdown`."""
    rule = ["---:" if n in right else "---" for n in range(len(headers))]
    body = [[markdown(cell) for cell in row] for row in rows]
    lines = [[markdown(cell) for cell in headers], rule, *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
