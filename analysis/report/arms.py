"""What each arm did, told by itself: hard fails, outcomes, rungs, latency, usage, order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Heading, Paragraph, Table
from analysis.results import HardFails, Reliability, Results, RungRow
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
    yield from _hard_failed_tasks(results)


def _hard_failed_tasks(results: Results) -> Iterator[Block]:
    """Name the tasks with hard fails, each with what its first one was."""
    rows: list[tuple[str, ...]] = []
    for arm, fails in ((arm, results.hard_fails.get(arm)) for arm in ARMS):
        for task in fails.where if fails is not None else ():
            first = f"{task.case_id}, repetition {task.repetition}"
            rows.append((arm, task.task_id, f"{task.count} of {task.trials}", first, task.text))
        if fails is not None and fails.tasks > len(fails.where) > 0:
            rest = formatting.counted(fails.tasks - len(fails.where), "more task")
            rows.append((arm, f"and {rest}", "", "", "product.jsonl has each trial"))
    if rows:
        caption = "The tasks with hard fails, in the order of the schedule"
        headers = ("arm", "task", "trials with one", "first in", "what it was")
        yield Table(caption=caption, headers=headers, rows=tuple(rows), right=(2,))


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
    return f"{formatting.percent(fails.upper_bound)} {how}{_closer_bound(fails)}"


def _closer_bound(fails: HardFails) -> str:
    """Return the bound that a declared intraclass correlation allows, where one was declared."""
    if fails.icc is None or fails.n_effective is None:
        return ""
    declared = f"declared ICC {formatting.significant(fails.icc, 2)}"
    if fails.icc_bound is None:
        return f"; with events there is none by the {declared}"
    worth = formatting.significant(fails.n_effective, 3)
    return f"; {formatting.percent(fails.icc_bound)} if the {declared} holds ({worth} independent trials)"


def reliability(results: Results) -> Iterator[Block]:
    """Yield how outcomes vary from run to run and from task to task; a pilot prints counts only."""
    if not results.reliability or wording.is_pilot(results):
        return
    yield Heading(text="Reliability of repetitions")
    records = [(arm, results.reliability[arm]) for arm in ARMS if arm in results.reliability]
    yield Table(
        caption=f"Variance of '{records[0][1].outcome}' ({records[0][1].method})",
        headers=("arm", "within tasks", "between tasks", "ICC", "design effect", "n tasks", "trials"),
        rows=tuple(_variance_row(arm, record) for arm, record in records),
        right=(1, 2, 3, 4, 5, 6),
    )
    yield Table(
        caption="pass^k: the probability that k repetitions of a case all pass; tasks weigh as declared",
        headers=("arm", "k", "pass^k", "interval (level, method)", "n tasks"),
        rows=tuple(row for arm, record in records for row in _pass_rows(arm, record)),
        right=(1, 2, 4),
    )
    if any(record.repetitions == 1 for _, record in records):
        yield Paragraph(
            text="One repetition: chance from run to run is not identified, pass^k is known for k = 1 only."
        )


def _variance_row(arm: str, record: Reliability) -> tuple[str, ...]:
    numbers = (record.within, record.between, record.icc, record.design_effect)
    shown = ["not identified" if number is None else formatting.significant(number, 3) for number in numbers]
    return arm, *shown, str(record.n_tasks), str(record.n_trials)


def _pass_rows(arm: str, record: Reliability) -> Iterator[tuple[str, ...]]:
    for entry in record.pass_hat_k:
        limits = formatting.interval(entry.interval, "proportion", signed=False, n_tasks=record.n_tasks)
        yield arm, str(entry.k), formatting.percent(entry.estimate), limits, str(record.n_tasks)


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
