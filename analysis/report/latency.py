"""How long the trials took: quantiles of each arm, the candidate against the baseline, deciles."""

from __future__ import annotations

from collections.abc import Iterator

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Heading, Paragraph, Table
from analysis.results import (
    DecileShift,
    Interval,
    LatencySummary,
    QuantileContrast,
    QuantileSummary,
    Results,
)
from study.records import ARMS

_DESCRIBES = "describes; may not decide"


def latency(results: Results) -> Iterator[Block]:
    """Yield the latency of each arm, then both together; a pilot prints how many trials were timed."""
    yield Heading(text="Latency")
    pilot = wording.is_pilot(results)
    rows = [_arm_row(arm, results.latency.get(arm)) for arm in ARMS]
    headers = ("arm", "n tasks", "trials", "ended at the time limit", "median (level, method)")
    if pilot:
        headers, rows = headers[:4], [row[:4] for row in rows]
    yield Table(caption="Descriptive, per arm", headers=headers, rows=tuple(rows), right=(1, 2, 3))
    if not pilot:
        yield from _quantiles(results)
        yield from _contrasts(results)
        yield from _shift(results)
    condition = (results.design.get("conditions") or {}).get("cache")
    if condition is not None:
        yield Paragraph(
            text=f"Every trial ran with the cache {condition}, as declared; no others are mixed in."
        )


def _arm_row(arm: str, summary: LatencySummary | None) -> tuple[str, ...]:
    if summary is None:
        return arm, *[formatting.NOT_RECORDED] * 4
    counts = (str(summary.n_tasks), str(summary.n_trials), str(summary.censored))
    median = next((found for found in summary.quantiles if found.probability == 0.5), None)
    if median is not None:
        return arm, *counts, _value(median, summary)
    if summary.p50_s is None:
        return arm, *counts, formatting.absence(summary.status, summary.n_tasks)
    told = formatting.seconds(summary.p50_s)
    if summary.p50_interval is None:
        return arm, *counts, f"{told} ({summary.method})"
    limits = formatting.interval(summary.p50_interval, "s", signed=False, n_tasks=summary.n_tasks)
    return arm, *counts, f"{told} {limits}"


def _quantiles(results: Results) -> Iterator[Block]:
    known = {arm: found for arm in ARMS if (found := results.latency.get(arm)) and found.quantiles}
    if not known:
        return
    rows = [
        (_name(quantile.probability), arm, _value(quantile, summary))
        for quantile_rows in zip(*[[(q, a, s) for q in s.quantiles] for a, s in known.items()], strict=True)
        for quantile, arm, summary in quantile_rows
        if quantile.probability != 0.5
    ]
    rows += [
        ("mean" if summary.cap_s is None else "mean up to the limit", arm, _mean(summary))
        for arm, summary in known.items()
    ]
    yield Table(
        caption="Slow trials, per arm",
        headers=("quantile", "arm", "seconds (level, method)"),
        rows=tuple(rows),
    )


def _value(found: QuantileSummary, summary: LatencySummary) -> str:
    if found.value_s is None:
        return formatting.absence("refused") + ": too few tasks or trials"
    told = formatting.seconds(found.value_s)
    if found.status == "not_identified":
        lead = f">= {formatting.seconds(summary.cap_s or found.value_s)}" if found.at_cap else told
        return f"{lead} ({found.method}; {formatting.absence('not_identified')})"
    return f"{told} {formatting.interval(found.interval, 's', signed=False, n_tasks=summary.n_tasks)}"


def _mean(summary: LatencySummary) -> str:
    if summary.restricted_mean_s is None:
        return formatting.NOT_RECORDED
    limits = formatting.interval(
        summary.restricted_mean_interval, "s", signed=False, n_tasks=summary.n_tasks, status="refused"
    )
    return f"{formatting.seconds(summary.restricted_mean_s)} {limits}"


def _contrasts(results: Results) -> Iterator[Block]:
    if not results.latency_contrasts:
        return
    yield Table(
        caption="Quantiles of the candidate against the baseline, from the same resamples of tasks",
        headers=("quantile", "ratio (level, method)", "difference (level, method)", "standing"),
        rows=tuple(
            _contrast_row(found, claimed=not wording.is_exploratory(results))
            for found in results.latency_contrasts
        ),
    )


def _contrast_row(found: QuantileContrast, *, claimed: bool) -> tuple[str, ...]:
    name = _name(found.probability)
    if found.status != "ok":
        words = formatting.absence(found.status)
        return name, words, words, "decides nothing"
    ratio = _told(found.log_ratio, found.log_ratio_interval, "log_ratio")
    difference = _told(found.difference_s, found.difference_interval, "s")
    enough = "may decide where claimed" if claimed else "describes; nothing was claimed"
    return name, ratio, difference, enough if found.decides else _DESCRIBES


def _told(estimate: float | None, record: Interval | None, unit: str) -> str:
    if estimate is None:
        return formatting.absence("refused")
    point = formatting.quantity(estimate, unit, bounds=(0.0,))
    return f"{point} {formatting.interval(record, unit, bounds=(0.0,), status='refused')}"


def _shift(results: Results) -> Iterator[Block]:
    rows = [_shift_row(found) for found in results.shift if found.difference_s is not None]
    if rows:
        yield Table(
            caption="Shift function: candidate - baseline at the deciles; descriptive, each limit by itself",
            headers=("decile", "baseline", "candidate", "difference (level, method)"),
            rows=tuple(rows),
            right=(1, 2),
        )


def _shift_row(found: DecileShift) -> tuple[str, ...]:
    sides = (formatting.seconds(found.baseline_s), formatting.seconds(found.candidate_s))
    return _name(found.probability), *sides, _told(found.difference_s, found.interval, "s")


def _name(probability: float) -> str:
    return f"p{round(100 * probability)}"
