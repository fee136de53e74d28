"""A comparison of a tidy table as one page: what a table can tell, and what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from analysis import formatting
from analysis.report import (
    arms,
    diagnostics,
    endpoints,
    latency,
    markdown_page,
    opening,
    plain_text,
    unshown,
    wording,
)
from analysis.report.blocks import Block, Bullets, Facts, Heading, Page, Table
from analysis.report.rendering import render_report
from analysis.results import Interval, Results
from study.digest import is_object
from study.errors import InputError, did_you_mean, listed
from study.records import ARMS

_PAGES: dict[str, Callable[[Page], str]] = {"text": plain_text.render, "md": markdown_page.render}
_LIMITS_UNKNOWN = "which trials ended at a time limit is not known: latencies count as they stand"
_TIMED_OUT = "ended at the time limit"
FORMATS = (*_PAGES, "json")


def render_comparison(results: Results, form: str = "text") -> str:
    """Return the results of a tidy table as text; nothing is computed again.

    Parameters
    ----------
    results : Results
        As :func:`analysis.comparison.compare` returns them.
    form : {"text", "md", "json"}
        ``text`` has at most 100 columns; ``json`` is the record in its canonical bytes.

    Raises
    ------
    InputError
        For another format.
    """
    check_format(form)
    return render_report(results, "json") if form == "json" else _PAGES[form](_page(results))


def check_format(form: str) -> None:
    """Raise :class:`InputError` for a format that :func:`render_comparison` does not know."""
    if form not in FORMATS:
        raise InputError(
            f"no format {form!r}{did_you_mean(form, FORMATS)}",
            code="format",
            where="--format",
            allowed=listed(FORMATS),
        )


def _page(results: Results) -> Page:
    sections = (
        opening.verdict(results),
        _compared(results),
        opening.why(results),
        unshown.unshown(results),
        _endpoints(results),
        _latency(results) if results.latency else (),
        diagnostics.diagnostics(results),
        arms.reliability(results),
        _missing(results),
        _notes(results),
    )
    names = [wording.driver_name(results, arm) for arm in ARMS]
    return Page(
        title=f"Comparison of {names[1]} with {names[0]}", blocks=tuple(chain.from_iterable(sections))
    )


def _compared(results: Results) -> Iterator[Block]:
    plan = results.design
    yield Heading(text="What was compared")
    yield Facts(
        rows=(
            ("table", results.study),
            *((arm, wording.driver_name(results, arm)) for arm in ARMS),
            ("tasks (what is resampled)", str(plan["tasks"])),
            ("cases", str(plan["cases"])),
            ("trials", str(plan["trials"])),
            ("repetitions a case", _repetitions(plan["repetitions"])),
            ("declared", "no (exploratory): nothing was locked before the results were seen"),
        )
    )


def _repetitions(found: Any) -> str:
    if not is_object(found):
        return str(found)
    told = {
        arm: str(fewest) if fewest == most else f"{fewest} to {most}" for arm, (fewest, most) in found.items()
    }
    return ", ".join(f"{arm} {text}" for arm, text in told.items()) + "; tasks weigh equally"


def _endpoints(results: Results) -> Iterator[Block]:
    """Yield the endpoints as a run's report does, without its line on template families: none is known."""
    for block in endpoints.endpoints(results, {}, {}):
        if isinstance(block, Bullets):
            kept = tuple(item for item in block.items if not item.endswith(" template families"))
            if kept:
                yield Bullets(items=kept)
        else:
            yield block


def _latency(results: Results) -> Iterator[Block]:
    """Yield the latency as a run's report does, without its count of time-outs: a table tells of none."""
    for block in latency.latency(results):
        if isinstance(block, Table) and _TIMED_OUT in block.headers:
            kept = [n for n, name in enumerate(block.headers) if name != _TIMED_OUT]
            yield Table(
                caption=block.caption,
                headers=tuple(block.headers[n] for n in kept),
                rows=tuple(tuple(row[n] for n in kept) for row in block.rows),
                right=(1, 2),
            )
        else:
            yield block


def _missing(results: Results) -> Iterator[Block]:
    record = results.missing
    rows: list[tuple[str, str]] = []
    for arm in ARMS:
        counts = record[arm]
        expected = counts["trials"] + counts["missing_trials"]
        rows += [
            (f"missing trials, {arm}", formatting.share(counts["missing_trials"], expected)),
            (f"tasks without a trial, {arm}", str(counts["lost_tasks"])),
        ]
    if any(record[arm]["missing_trials"] for arm in ARMS) and not wording.is_pilot(results):
        rows += [
            ("difference, worst case", _case(results, "worst_case", "against")),
            ("difference, best case", _case(results, "best_case", "for")),
        ]
    yield Heading(text="Missing trials")
    yield Facts(rows=tuple(rows))


def _case(results: Results, key: str, side: str) -> str:
    primary = next(found for found in results.endpoints if found.role == "primary")
    number, limits = results.missing[key], results.missing[f"{key}_interval"]
    if number is None:
        return formatting.NOT_RECORDED
    bounds = wording.bounds(primary)
    shown = limits if isinstance(limits, Interval) else None
    n_tasks = results.design["tasks"]
    told = formatting.interval(shown, primary.unit, bounds=bounds, n_tasks=n_tasks)
    point = formatting.points(number, bounds=bounds)
    counts = formatting.counts(n_tasks)
    return f"{point} {told}, {counts}: whatever is missing counted {side} the candidate"


def _notes(results: Results) -> Iterator[Block]:
    plan = results.design
    resampled = (
        f"percentile rows and quantiles: {plan['resamples']} resamples of tasks, "
        f"seed {plan['analysis_seed']}; the interval that decides uses none"
    )
    yield Heading(text="Notes")
    yield Bullets(
        items=(
            *results.notes,
            *([] if wording.is_pilot(results) else [*_arm_methods(results), resampled]),
            *([_LIMITS_UNKNOWN] if results.latency else []),
            "the order in which the trials ran is not known",
        )
    )


def _arm_methods(results: Results) -> Iterator[str]:
    """Yield the level and method of the limits that stand beside each arm's own value."""
    for found in results.endpoints:
        record = found.baseline.interval
        if record is not None and record.low is not None:
            told = f"{formatting.confidence(record.level)}, {record.method}"
            yield f"{found.name}: limits of a single arm: {told}, {formatting.counts(found.n_tasks)}"
