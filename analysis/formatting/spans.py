"""An interval as text, or the words for why there is none."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from analysis.formatting.rounding import EXTRA_DIGITS
from analysis.formatting.values import NOT_RECORDED, confidence, measures, percent, points, relative

if TYPE_CHECKING:
    from analysis.results import Interval

_ABSENCES = {
    "few_tasks": "refused: few tasks",
    "refused": "refused",
    "not_identified": "not identified: the trials that end at the time limit may reach it",
}

NEVER_DECIDES = "few tasks: printed, never decides"

_TASKS_FOR_AN_INTERVAL = 5


def limits(low: float, high: float, unit: str, *, signed: bool = True, bounds: Collection[float] = ()) -> str:
    """Return both limits of an interval in one unit: ``"[-4.1 pp, +2.0 pp]"``.

    A limit is never rounded onto or across one of ``bounds``, so the text cannot contradict a decision. Two
    limits have different texts, with up to six more places than usual; beyond that it says that they agree.
    """
    for more in range(EXTRA_DIGITS + 1):
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
    return measures(values, unit, signed=signed, bounds=bounds, more=more)


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
