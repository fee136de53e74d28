"""What belongs beside the verdict and never decides: tasks, repetitions, order, drift."""

from __future__ import annotations

from collections.abc import Iterator

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Bullets, Heading, Paragraph, Table
from analysis.results import Diagnostic, Results

_LABELS = {
    "few_tasks": "number of tasks",
    "ties": "tied tasks",
    "skew": "skewness",
    "identical_repetitions": "cases whose repetitions end alike",
    "near_duplicate_tasks": "groups of near-duplicate tasks",
    "position": "second position - first",
    "order": "baseline first - candidate first",
    "drift": "last trial - first",
}
_HEADERS = ("diagnostic", "of", "value", "interval (level, method)", "n tasks", "noticed when", "status")
_COUNTED = ("few_tasks", "identical_repetitions", "near_duplicate_tasks")


def diagnostics(results: Results) -> Iterator[Block]:
    """Yield each diagnostic with its threshold, then in words what was noticed or could not be computed.

    A pilot prints those that are counts.
    """
    found = results.diagnostics
    yield Heading(text="Diagnostics (none decides)")
    if not found:
        yield Paragraph(text="None was recorded.")
        return
    if wording.is_pilot(results):
        yield Bullets(items=tuple(d.sentence for d in found if d.name in _COUNTED))
        return
    yield Table(
        caption="What to look at beside the numbers",
        headers=(
            "diagnostic",
            "of",
            "value",
            "interval (level, method)",
            "n tasks",
            "noticed when",
            "status",
        ),
        rows=tuple(_row(d) for d in found if d.status != "not_computed"),
        right=(4,),
        narrow=((0, 1, 2, 4, 6), (0, 1, 3, 5)),
    )
    remarks = [f"{_status(d)}: {d.sentence}." for d in found if d.status != "ok"]
    if remarks:
        yield Bullets(items=tuple(dict.fromkeys(remarks)))
    else:
        yield Paragraph(text="No threshold was crossed.")


def _row(found: Diagnostic) -> tuple[str, ...]:
    limits = ""
    if found.interval is not None:
        limits = formatting.interval(found.interval, found.unit, bounds=(0.0,), n_tasks=found.n_tasks)
    return (
        _LABELS.get(found.name, found.name),
        _subject(found),
        _value(found),
        limits,
        str(found.n_tasks),
        found.threshold,
        _status(found),
    )


def _subject(found: Diagnostic) -> str:
    if found.endpoint is None:
        return found.arm or "the study"
    if found.name == "drift":
        return f"{found.endpoint}, {found.arm or 'both arms'}"
    return found.endpoint


def _value(found: Diagnostic) -> str:
    if found.value is None:
        return formatting.NOT_RECORDED
    if found.unit in ("tasks", "groups"):
        return str(int(found.value))
    if found.unit == "share":
        return formatting.percent(found.value)
    if found.unit == "skewness":
        return formatting.significant(found.value, 2, signed=True)
    return formatting.quantity(found.value, found.unit, bounds=(0.0,))


def _status(found: Diagnostic) -> str:
    return found.status.replace("_", " ")
