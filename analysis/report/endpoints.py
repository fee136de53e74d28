"""The declared endpoints as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Bullets, Figure, Heading, Paragraph, Table
from analysis.results import ArmSummary, Estimate, Results, StratumEstimate

SENSITIVITY = "sensitivity, not for the decision"


def endpoints(results: Results, figures: Mapping[str, str], paths: Mapping[str, str]) -> Iterator[Block]:
    """Yield the figures, the table of endpoints, their remarks, and the sensitivity rows."""
    yield Heading(text="Endpoints")
    if results.verdict.outcome == "void":
        yield Paragraph(
            text="The run is void: what follows is printed for diagnosis and supports no statement."
        )
    for name, svg in figures.items():
        yield Figure(name=name, svg=svg, path=paths.get(name))
    if not results.endpoints:
        yield Paragraph(text="No endpoint was estimated.")
    elif wording.is_pilot(results):
        yield _pilot_table(results)
    else:
        yield from _tables(results)


def _tables(results: Results) -> Iterator[Block]:
    yield Table(
        caption="Candidate against baseline; n is the number of tasks",
        headers=(
            "endpoint",
            "role",
            "claim",
            "baseline",
            "candidate",
            "difference or ratio",
            "interval (level, method)",
            "n tasks",
            "pairs",
            "outcome",
        ),
        rows=tuple(_row(estimate) for estimate in results.endpoints),
        right=(7, 8),
        narrow=((0, 1, 2, 7, 8, 9), (0, 3, 4, 5, 6)),
    )
    remarks = [
        f"{e.label}: {remark}" for e in results.endpoints for remark in (*_families(e), *e.diagnostics)
    ]
    if remarks:
        yield Bullets(items=tuple(remarks))
    rows = [row for estimate in results.endpoints for row in _sensitivity(estimate)]
    if rows:
        headers = ("endpoint", "interval (level, method)", "status")
        yield Table(caption=f"Other methods: {SENSITIVITY}", headers=headers, rows=tuple(rows))
    yield from _several_claims(results)
    yield from _strata(results)


def _several_claims(results: Results) -> Iterator[Block]:
    """Yield the p-values of claims that share a level, by themselves and adjusted."""
    rows = [
        (e.label, e.role, _p_cell(e.p_value, e.alpha), _p_cell(e.adjusted_p_value, e.alpha))
        for e in results.endpoints
        if e.adjusted_p_value is not None
    ]
    if rows:
        rule = wording.value(results.design.get("multiplicity", "fixed-sequence"))
        headers = ("endpoint", "role", "one-sided p-value", "adjusted p-value")
        caption = f"Several claims (secondary: {rule}; exploratory: holm)"
        yield Table(caption=caption, headers=headers, rows=tuple(rows), right=(2, 3))


def _p_cell(p: float | None, alpha: float | None) -> str:
    """Return a p-value as a cell."""
    return "none" if p is None else formatting.p_text(p, alpha or 0.0).removeprefix("= ")


def _strata(results: Results) -> Iterator[Block]:
    """Yield the contrast within each stratum that has a declared weight."""
    rows = [_stratum_row(e, stratum) for e in results.endpoints for stratum in e.strata]
    if rows:
        headers = (
            "endpoint",
            "stratum",
            "weight",
            "difference",
            "interval (level, method)",
            "n tasks",
            "pairs",
        )
        caption = "Strata with declared weights: descriptive, no claim is decided in one of them"
        yield Table(
            caption=caption,
            headers=headers,
            rows=tuple(rows),
            right=(2, 5, 6),
            narrow=((0, 1, 2, 5, 6), (0, 1, 3, 4)),
        )


def _stratum_row(estimate: Estimate, stratum: StratumEstimate) -> tuple[str, ...]:
    limits = formatting.interval(stratum.interval, estimate.unit, bounds=(0.0,), n_tasks=stratum.n_tasks)
    return (
        estimate.label,
        stratum.name,
        formatting.significant(stratum.weight, 3),
        formatting.quantity(stratum.estimate, estimate.unit),
        limits,
        str(stratum.n_tasks),
        str(stratum.n_pairs),
    )


def _row(estimate: Estimate) -> tuple[str, ...]:
    return (
        estimate.label,
        estimate.role,
        wording.claim(estimate),
        _arm(estimate, estimate.baseline),
        _arm(estimate, estimate.candidate),
        wording.contrast(estimate),
        wording.decision_interval(estimate),
        str(estimate.n_tasks),
        str(estimate.n_pairs),
        formatting.outcome(estimate.outcome),
    )


def _arm(estimate: Estimate, arm: ArmSummary) -> str:
    unit = wording.arm_unit(estimate)
    if arm.estimate is None:
        return formatting.absence(estimate.status, arm.n_tasks)
    text = formatting.quantity(arm.estimate, unit, signed=False)
    if arm.interval is None or arm.interval.low is None or arm.interval.high is None:
        return text
    return f"{text} {formatting.limits(arm.interval.low, arm.interval.high, unit, signed=False)}"


def _families(estimate: Estimate) -> tuple[str, ...]:
    """Return how many families the tasks form; where they share some, a remark of the estimate says it."""
    if any("template families" in remark for remark in estimate.diagnostics):
        return ()
    return (f"n tasks = {estimate.n_tasks} from {estimate.n_families} template families",)


def _sensitivity(estimate: Estimate) -> Iterator[tuple[str, str, str]]:
    for record in estimate.sensitivity:
        text = formatting.interval(
            record, estimate.unit, bounds=wording.bounds(estimate), n_tasks=estimate.n_tasks
        )
        if record.low is None:
            text = f"{text} ({formatting.confidence(record.level)}, {record.method})"
        yield estimate.label, text, SENSITIVITY


def _pilot_table(results: Results) -> Table:
    rows = [
        (e.label, str(e.n_tasks), str(e.n_pairs), str(e.baseline.n_trials), str(e.candidate.n_trials))
        for e in results.endpoints
    ]
    return Table(
        caption="Pilot: counts only",
        headers=("endpoint", "n tasks", "pairs", "baseline trials", "candidate trials"),
        rows=tuple(rows),
        right=(1, 2, 3, 4),
    )
