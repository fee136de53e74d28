"""What each arm did, told by itself: hard fails, outcomes, rungs, latency, usage, order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Heading, Paragraph, Table
from analysis.results import HardFails, LatencySummary, Results, RungRow
from study.records import ARMS, OUTCOMES


def hard_fails(results: Results) -> Iterator[Block]:
    """Yield the hard fails of both arms, counted before anything is averaged."""
    yield Heading(text="Hard fails")
    pilot = wording.is_pilot(results)
    headers = ("arm", "events", "trials", "tasks with one", "by code", "upper bound of the rate per trial")
    rows = [_hard_fail_row(arm, results.hard_fails.get(arm), pilot=pilot) for arm in ARMS]
    caption = "No average pays for a hard fail"
    if pilot:
        yield Table(caption=caption, headers=headers[:5], rows=tuple(row[:5] for row in rows), right=(1, 2))
    else:
        yield Table(caption=caption, headers=headers, rows=tuple(rows), right=(1, 2))


def _hard_fail_row(arm: str, fails: HardFails | None, *, pilot: bool) -> tuple[str, ...]:
    if fails is None:
        return arm, *[formatting.NOT_RECORDED] * 5
    codes = ", ".join(f"{code}: {count}" for code, count in fails.by_code.items()) or "none"
    bound = "" if pilot else _upper_bound(fails)
    return arm, str(fails.count), str(fails.trials), f"{fails.tasks} of {fails.n_tasks}", codes, bound


def _upper_bound(fails: HardFails) -> str:
    how = f"({formatting.confidence(fails.level)} one-sided, {fails.method})"
    if fails.upper_bound is None:
        return f"{formatting.absence('refused', fails.n_tasks)} {how}"
    return f"{formatting.percent(fails.upper_bound)} {how}"


def outcomes(results: Results) -> Iterator[Block]:
    """Yield how the trials of each arm ended, all nine outcomes."""
    yield Heading(text="How the trials ended")
    tallies = [results.outcomes.get(arm) for arm in ARMS]
    others = sorted({name for tally in tallies if tally for name in tally} - set(OUTCOMES))
    rows = [
        (formatting.outcome(name), *[_tally(tally, name) for tally in tallies])
        for name in (*OUTCOMES, *others)
    ]
    yield Table(caption="Trials by outcome", headers=("outcome", *ARMS), rows=tuple(rows), right=(1, 2))


def _tally(tally: dict[str, int] | None, name: str) -> str:
    # Within a recorded tally an outcome that is not named did not occur.
    return formatting.NOT_RECORDED if tally is None else str(tally.get(name, 0))


def ladder(results: Results) -> Iterator[Block]:
    """Yield the rungs of both arms, with their gates."""
    yield Heading(text="Ladder")
    if not results.ladder:
        yield Paragraph(text="No ladder rows were recorded.")
        return
    yield Table(
        caption="One row a rung and arm; no gate passes with a hard fail, hallucinated or other",
        headers=("rung", "arm", "n", "passed", "completion", "result completion", "hallucination", "gate"),
        rows=tuple(_rung_row(row, pilot=wording.is_pilot(results)) for row in results.ladder),
        right=(2, 3),
    )
    yield Paragraph(text="Every rung is read by itself: the overall line is never an acceptance.")


def _rung_row(row: RungRow, *, pilot: bool) -> tuple[str, ...]:
    counts = [row.completed, row.result_completed, row.hallucinated]
    shares = [f"{n} of {row.total}" if pilot else formatting.share(n, row.total) for n in counts]
    return row.rung, row.arm, str(row.total), str(row.passed), *shares, "pass" if row.gate_pass else "fail"


def latency(results: Results) -> Iterator[Block]:
    """Yield the latency of each arm; a pilot prints how many trials were timed."""
    yield Heading(text="Latency")
    pilot = wording.is_pilot(results)
    rows = [_latency_row(arm, results.latency.get(arm)) for arm in ARMS]
    headers = ("arm", "n tasks", "trials", "ended at the time limit", "median (level, method)")
    if pilot:
        headers, rows = headers[:4], [row[:4] for row in rows]
    yield Table(caption="Descriptive, per arm", headers=headers, rows=tuple(rows), right=(1, 2, 3))


def _latency_row(arm: str, summary: LatencySummary | None) -> tuple[str, ...]:
    if summary is None:
        return arm, *[formatting.NOT_RECORDED] * 4
    counts = (str(summary.n_tasks), str(summary.n_trials), str(summary.censored))
    if summary.p50_s is None:
        return arm, *counts, formatting.absence(summary.status, summary.n_tasks)
    median = formatting.seconds(summary.p50_s)
    if summary.p50_interval is None:
        return arm, *counts, f"{median} ({summary.method})"
    limits = formatting.interval(summary.p50_interval, "s", signed=False, n_tasks=summary.n_tasks)
    return arm, *counts, f"{median} {limits}"


def usage(results: Results) -> Iterator[Block]:
    """Yield the token use of each arm; what is unknown is never a zero."""
    yield Heading(text="Token use")
    rows = [row for arm in ARMS for row in _usage_rows(results, arm)]
    headers = ("arm", "tokens", "known subtotal", "calls without a count", "total")
    yield Table(caption="As reported by the drivers", headers=headers, rows=tuple(rows), right=(2, 3, 4))


def _usage_rows(results: Results, arm: str) -> Iterator[tuple[str, ...]]:
    summary = results.usage.get(arm)
    if summary is None or not summary.fields:
        yield arm, *[formatting.NOT_RECORDED] * 4
        return
    for name, field in summary.fields.items():
        total = field.get("total")
        words = "unknown" if total is None else str(total)
        yield arm, name, _count(field.get("known_subtotal")), _count(field.get("missing_calls")), words


def _count(number: Any) -> str:
    return formatting.NOT_RECORDED if number is None else str(number)


def order_effect(results: Results) -> Iterator[Block]:
    """Yield completion by position in the pair: a diagnostic of the design, not of the arms."""
    effect = results.order_effect
    yield Heading(text="Order in the pair (design diagnostic)")
    counts = (
        f"Pairs that ran the baseline first: {effect.n_pairs_baseline_first}; "
        f"the candidate first: {effect.n_pairs_candidate_first}."
    )
    if wording.is_pilot(results):
        yield Paragraph(text=counts)
        return
    first, second = formatting.percent(effect.first_position), formatting.percent(effect.second_position)
    yield Paragraph(
        text=f"Completion with both arms pooled: first position {first}, second {second}. {counts}"
    )
