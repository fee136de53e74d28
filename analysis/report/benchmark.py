"""AGENTBENCH as one page: ``BENCHMARK_AGENT_<version>.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from analysis import formatting
from analysis.benchmark import (
    RUNG_NAMES,
    Benchmark,
    DriverResult,
    Envelope,
    FailingRow,
    RequestClass,
    RungEvidence,
    RungResult,
    told_codes,
)
from analysis.report import benchmark_changes, markdown_page
from analysis.report.benchmark_words import cases_of, of_cases, over_tasks, rung_list, share
from analysis.report.blocks import Block, Box, Bullets, Facts, Figure, Heading, Page, Paragraph, Table, Tone
from study.grading.rollup import percent
from study.records import RUNGS

_CLASSES = (
    ("honest_miss", "Honest misses: no call was made"),
    ("wrong_answer", "Wrong answers: calls were made, but not all that was expected came of it"),
    ("hallucination", "Hallucinations: a call that names no declared tool, or does not bind"),
)


def render_benchmark(benchmark: Benchmark, envelope: Envelope, *, figures: Mapping[str, str]) -> str:
    """Return the report of a ladder run as Markdown; nothing is computed again.

    Parameters
    ----------
    benchmark : Benchmark
    envelope : Envelope
        Of the benchmark's subject.
    figures : mapping of str to str
        Driver -> path of its figure, relative to the report.
    """
    sections = (
        _headline(benchmark),
        _run(benchmark),
        benchmark_changes.changes(benchmark),
        *(_driver(benchmark, result, figures) for result in benchmark.drivers),
        _side_by_side(benchmark),
        *(_failing(result) for result in benchmark.drivers),
        _reds(benchmark),
        _envelope(envelope),
        _discipline(benchmark),
        _decision(benchmark),
    )
    page = Page(title=f"BENCHMARK_AGENT {benchmark.version}", blocks=tuple(chain.from_iterable(sections)))
    return markdown_page.render(page)


def headline(benchmark: Benchmark) -> str:
    """Return where the subject stands, in one line."""
    subject = benchmark.driver(benchmark.subject)
    score = subject.overall.score
    parts = [f"{of_cases(score.passed, score.total)} pass", f"{score.hallucinated} hallucinate"]
    if subject.hard_fails:
        parts.append(f"{score.hard_failed} with a hard fail ({told_codes(subject.hard_fails)})")
    if score.result_completed != score.completed:
        plan, result = (percent(n, score.total) for n in (score.completed, score.result_completed))
        parts.append(f"plan completion {plan} %, result completion {result} %")
    return f"{subject.name}: {', '.join(parts)}; {subject.standing}"


def _headline(benchmark: Benchmark) -> Iterator[Block]:
    lines = [benchmark_changes.delta(benchmark)]
    subject = benchmark.driver(benchmark.subject)
    if subject.floor:
        lines.append("FLOOR: this driver is an anchor, and no candidate for use.")
    yield Box(title=headline(benchmark), lines=tuple(lines), tone=_tone(subject))


def _tone(driver: DriverResult) -> Tone:
    return "not_met" if driver.ladder.gated_at else "open"


def _run(benchmark: Benchmark) -> Iterator[Block]:
    yield Heading(text="What was run")
    times, selection = benchmark.times, benchmark.selection
    tasks = {case.cluster for case in benchmark.cases}
    rungs = [rung for rung in RUNGS if any(case.rung == rung for case in benchmark.cases)]
    rows = [
        ("label of the rows", benchmark.stamp),
        ("split", split_words(benchmark.split)),
        ("cases", f"{cases_of(len(benchmark.cases))} in {len(tasks)} tasks; tasks are the sample"),
        ("rungs with cases", rung_list(rungs)),
        ("rungs without cases", rung_list([rung for rung in RUNGS if rung not in rungs])),
    ]
    rows += [(f"only {key}", str(selection[key])) for key in ("cases", "rung", "only") if selection.get(key)]
    for name, suite in benchmark.suites.items():
        digests = [f"registry {suite.registry[:12]}", f"rules {suite.rules[:12]}"]
        digests += [f"graph {suite.graph[:12]}"] if suite.graph else []
        rows.append((f"suite {name}", ", ".join(digests)))
    rows += [
        ("grader", benchmark.grader),
        ("driver-study", benchmark.toolkit),
        ("run", f"{times.run_started} to {times.run_ended}"),
        ("analysis", f"{times.analysis_started} to {times.analysis_ended}"),
        ("command", benchmark.command),
    ]
    yield Facts(rows=tuple(rows))


def split_words(split: str) -> str:
    """Return a split with what it means for the numbers."""
    if split == "held-out":
        return "held-out"
    return f"{split}: open cases, no evidence about unseen ones"


def _driver(benchmark: Benchmark, driver: DriverResult, figures: Mapping[str, str]) -> Iterator[Block]:
    yield Heading(text=f"Driver {driver.name}")
    if driver.floor:
        yield Paragraph(text="FLOOR: an anchor; what it reaches is a floor, and no baseline of a router.")
    if driver.name in figures:
        yield Figure(name=f"Ladder of {driver.name}", svg="", path=figures[driver.name])
    record = driver.overall.completion.interval
    trivial = tuple(driver.overall.trivial)
    yield Table(
        caption=(
            f"Version {driver.version}, {_code(driver)}stamps in the rows: {', '.join(driver.stamps)}. "
            "Percentages are of cases, half up; the gate reads them. Hard fails are hallucinated calls and "
            "calls told otherwise than they were seen. The mean over tasks has a "
            f"{formatting.confidence(record.level)} interval by the one-arm task bootstrap ({record.method})"
        ),
        headers=(
            "rung",
            "",
            "cases",
            "tasks",
            "pass",
            "plan completion",
            "mean over tasks",
            "result completion",
            "hallucination",
            "hard fails",
            "gate",
            *(f"{name} completes" for name in trivial),
        ),
        rows=tuple(_rung_row(result) for result in (*driver.rungs, driver.overall)),
        right=(2, 3, 4, 5, 7, 8, 9, *range(11, 11 + len(trivial))),
    )
    order, gated = driver.ladder.order, driver.ladder.gated_at
    yield Bullets(
        items=(
            f"Ladder: {' > '.join(order)}; gated at {gated or 'no rung'}; rung reached: "
            f"{driver.rung_reached or 'none'}.",
            *(f"{receipt.rung} is skipped: {receipt.reason}." for receipt in driver.ladder.receipts),
            *_overrides(benchmark, driver),
            "The overall row has no gate: it can look fine while the ladder is gated.",
        )
    )


def _code(driver: DriverResult) -> str:
    return f"code {driver.code_digest[:12]}, " if driver.code_digest else ""


def _overrides(benchmark: Benchmark, driver: DriverResult) -> Iterator[str]:
    applied = [case for case in benchmark.cases if driver.outcomes[case.id].floor_expect_applied]
    for rung in RUNGS:
        count = sum(case.rung == rung for case in applied)
        if count:
            yield (
                f"{rung}: {cases_of(count)} judged by an override, which expects no more than a refusal of "
                "this driver: passing those is no capability of the rung."
            )


def _rung_row(result: RungResult) -> tuple[str, ...]:
    score = result.score
    gate = "skipped" if result.receipt else "passed" if score.gate_pass else "FAILED"
    return (
        score.rung,
        RUNG_NAMES.get(score.rung, ""),
        str(score.total),
        str(result.completion.n_tasks),
        share(score.passed, score.total),
        share(score.completed, score.total),
        over_tasks(result.completion),
        share(score.result_completed, score.total),
        share(score.hallucinated, score.total),
        share(score.hard_failed, score.total),
        "-" if score.rung == "overall" else gate,
        *(share(count, score.total) for count in result.trivial.values()),
    )


def _side_by_side(benchmark: Benchmark) -> Iterator[Block]:
    if len(benchmark.drivers) < 2:
        return
    yield Heading(text="Drivers side by side")
    by_rung = {d.name: {r.score.rung: r for r in (*d.rungs, d.overall)} for d in benchmark.drivers}
    names = tuple(by_rung)
    rungs = list(by_rung[names[0]])
    yield Table(
        caption="Plan completion / result completion; a skipped rung is marked",
        headers=("rung", *names),
        rows=tuple((rung, *(_pair(by_rung[name][rung]) for name in names)) for rung in rungs),
        right=tuple(range(1, len(names) + 1)),
    )
    subject = benchmark.driver(benchmark.subject)
    rows = [_against(subject, other) for other in benchmark.drivers if other.name != subject.name]
    yield Table(
        caption=f"Cases that pass, {subject.name} against each other driver on the same cases",
        headers=("other driver", "both", f"{subject.name} only", "the other only", "neither"),
        rows=tuple(rows),
        right=(1, 2, 3, 4),
    )
    yield Paragraph(
        text="These are counts on the same cases. Whether one driver may replace another is the question of "
        "a declared study (study freeze, study run), with a margin and an interval of the difference."
    )


def _pair(result: RungResult) -> str:
    score = result.score
    text = f"{share(score.completed, score.total)} / {share(score.result_completed, score.total)}"
    return f"{text} (skipped)" if result.receipt else text


def _against(subject: DriverResult, other: DriverResult) -> tuple[str, ...]:
    pairs = [(subject.outcomes[case].passed, other.outcomes[case].passed) for case in subject.outcomes]
    kinds = ((True, True), (True, False), (False, True), (False, False))
    return other.name, *(str(pairs.count(kind)) for kind in kinds)


def _failing(driver: DriverResult) -> Iterator[Block]:
    yield Heading(text=f"Failing rows of {driver.name}")
    if not driver.failing and not driver.result_only:
        yield Paragraph(text="None: every case passes, with its result.")
    for failure, title in _CLASSES:
        rows = [row for row in driver.failing if row.failure == failure]
        if rows:
            yield _failing_table(f"{title} ({cases_of(len(rows))})", rows)
    if driver.result_only:
        title = f"Plan right, result wrong; these pass ({cases_of(len(driver.result_only))})"
        yield _failing_table(title, driver.result_only)


def _failing_table(caption: str, rows: tuple[FailingRow, ...] | list[FailingRow]) -> Table:
    return Table(
        caption=caption,
        headers=("case", "rung", "request", "reason"),
        rows=tuple((row.case_id, row.rung, row.request, "; ".join(row.reasons)) for row in rows),
    )


def _reds(benchmark: Benchmark) -> Iterator[Block]:
    yield Heading(text="Reds kept on purpose")
    items = [item for driver in benchmark.drivers for item in _red_items(benchmark, driver)]
    subject = benchmark.driver(benchmark.subject)
    kept = benchmark.reds.get(subject.name, {})
    rest = sum(row.case_id not in kept for row in subject.failing)
    if not benchmark.reds:
        items.append("None was declared (--reds FILE declares them).")
    items.append(f"Failing rows of {subject.name} that nobody declared: {rest}.")
    yield Bullets(items=tuple(items))


def _red_items(benchmark: Benchmark, driver: DriverResult) -> Iterator[str]:
    for case, why in benchmark.reds.get(driver.name, {}).items():
        outcome = driver.outcomes.get(case)
        if outcome is None:
            yield f"{driver.name}, {case}: not among the cases of this run ({why})"
        elif outcome.passed:
            yield f"{driver.name}, {case}: passes now, and is no red any more ({why})"
        else:
            yield f"{driver.name}, {case}: {outcome.label}; {why}"


def _envelope(envelope: Envelope) -> Iterator[Block]:
    routing = envelope.routing
    yield Heading(text=f"Envelope of {envelope.generated_from.driver}")
    yield Paragraph(text=f"May be routed on: {'yes' if routing.may_route else 'NO'}; {routing.why}.")
    yield Table(
        caption="Rungs: proven means an unbroken chain of passed gates, a lower limit not below the floor of "
        f"the gate, and at least {routing.minimum_tasks} tasks",
        headers=("rung", "proven", "cases", "tasks", "over tasks, without overrides", "why"),
        rows=tuple(_rung_evidence(rung) for rung in routing.rungs),
        right=(2, 3),
    )
    yield Table(
        caption="Classes of requests, shape by topics: in without a failure, with "
        f"at least {routing.minimum_tasks} tasks, on a proven rung; the interval is that of the rate of "
        "flawless cases over tasks",
        headers=("rung", "asks for", "topics", "in", "cases", "tasks", "failures", "interval", "why"),
        rows=tuple(_class_row(found) for found in routing.classes),
        right=(4, 5, 6),
    )


def _rung_evidence(rung: RungEvidence) -> tuple[str, ...]:
    limits = formatting.interval(rung.interval, "proportion", signed=False, n_tasks=rung.tasks)
    return rung.rung, "yes" if rung.in_envelope else "no", str(rung.cases), str(rung.tasks), limits, rung.why


def _class_row(found: RequestClass) -> tuple[str, ...]:
    topics = ", ".join(found.topics) or "none"
    return (
        f"{found.rung} {found.shape}",
        found.answer,
        f"all: {topics}" if found.level == "shape" and len(found.topics) > 1 else topics,
        "yes" if found.in_envelope else "no",
        str(found.cases),
        str(found.tasks),
        str(found.failures),
        formatting.interval(found.interval, "proportion", signed=False, n_tasks=found.tasks),
        found.why,
    )


def _discipline(benchmark: Benchmark) -> Iterator[Block]:
    yield Heading(text="Discipline")
    words = {True: "yes", False: "NO", None: "not checked in this run"}
    yield Table(
        caption="Checked by this command, unless it says otherwise",
        headers=("what", "held", "detail"),
        rows=tuple((check.name, words[check.held], check.text) for check in benchmark.checks),
    )
    yield Paragraph(
        text="No number here is a score of any model that this run did not measure: reference bands "
        "elsewhere are illustrations, and none is implied."
    )


def _decision(benchmark: Benchmark) -> Iterator[Block]:
    yield Heading(text="Decision")
    yield Bullets(
        items=tuple(f"{result.name}: {decision(benchmark, result)}" for result in benchmark.drivers)
    )


def decision(benchmark: Benchmark, driver: DriverResult) -> str:
    """Return what the ladder decides about a driver; a gated ladder is never a pass."""
    text = _decided(benchmark, driver)
    if driver.hard_fails:
        count = cases_of(driver.overall.score.hard_failed)
        text += f" HARD FAILS in {count} ({told_codes(driver.hard_fails)}): not to be relied on anywhere."
    return text


def _decided(benchmark: Benchmark, driver: DriverResult) -> str:
    if driver.floor:
        return f"nothing is decided about a floor; {driver.standing}."
    gated = driver.ladder.gated_at
    if gated:
        below = driver.rung_reached
        part = f"its gates passed up to {below}" if below else "no rung is accepted"
        return f"GATED at {gated}, not accepted from there on, whatever the overall row says; {part}."
    if driver.rung_reached is None:
        return f"no decision: {driver.standing}."
    missing = [rung for rung in RUNGS if rung not in driver.ladder.order]
    rest = f" Not shown: {rung_list(missing)} (no cases)." if missing else ""
    scope = (
        ""
        if benchmark.split == "held-out"
        else f" Only on the {benchmark.split} split, whose cases are open."
    )
    return f"no gate failed, reached {driver.rung_reached}.{rest}{scope}"
