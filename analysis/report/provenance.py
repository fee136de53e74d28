"""Where the numbers come from: missing pairs, deviations, lock, notes, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Bullets, Facts, Heading, Paragraph
from analysis.results import Results
from study.digest import is_object


def missing(results: Results) -> Iterator[Block]:
    """Yield the pairs that were planned but give no comparison, and what they could change."""
    record = results.missing
    rows = [
        ("void pairs", wording.value(record.get("void_pairs"))),
        ("planned pairs", wording.value(record.get("planned_pairs"))),
    ]
    if not wording.is_pilot(results):
        rows += [
            ("share void", _share(record.get("void_share"))),
            ("ceiling", _share(record.get("ceiling"))),
            ("difference, worst case", _case(record.get("worst_case"), "lost")),
            ("difference, best case", _case(record.get("best_case"), "won")),
        ]
    yield Heading(text="Missing pairs")
    yield Facts(rows=tuple(rows))


def _share(number: Any) -> str:
    return formatting.percent(number) if isinstance(number, int | float) else wording.value(number)


def _case(number: Any, fate: str) -> str:
    if isinstance(number, int | float):
        return f"{formatting.points(number, bounds=(0.0,))} (every void pair {fate} by the candidate)"
    return wording.value(number)


def deviations(results: Results) -> Iterator[Block]:
    """Yield every deviation from the plan."""
    yield Heading(text="Deviations from the plan")
    if results.deviations:
        yield Bullets(items=tuple(_deviation(entry) for entry in results.deviations))
    else:
        yield Paragraph(text="None was recorded.")


def _deviation(entry: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{key} = {wording.value(item)}" for key, item in entry.items() if key != "text")
    text = entry.get("text")
    if text is None:
        return rest
    return f"{text} ({rest})" if rest else str(text)


def provenance(results: Results, paths: Mapping[str, str]) -> Iterator[Block]:
    """Yield what ties the page to its files: lock, commit, run number, notes as they were recorded."""
    plan = results.design
    rows = [
        ("lock digest", results.lock_digest or "none: nothing was locked"),
        ("lock committed before trial 1", _commit(plan.get("lock_commit"))),
        ("run", _run_number(plan.get("run_number"), plan.get("runs_known"))),
        ("schedule digest", wording.value(plan.get("schedule_digest"))),
        ("grader version", wording.value(plan.get("grader_version"))),
        ("evidence level", results.evidence_level),
        ("declared", "no (exploratory)" if wording.is_exploratory(results) else "yes"),
    ]
    yield Heading(text="Provenance")
    yield Facts(rows=(*rows, *[(f"file: {name}", path) for name, path in paths.items()]))
    if results.notes:
        yield Bullets(items=results.notes)


def _commit(record: Any) -> str:
    if not is_object(record) or record.get("committed") is None:
        return formatting.NOT_RECORDED
    reason = record.get("reason")
    if record["committed"] is True:
        commit = record.get("commit")
        text = "yes" if commit is None else f"yes, at commit {commit}"
    else:
        text = "NO"
    return f"{text} ({reason})" if reason else text


def _run_number(number: Any, known: Any) -> str:
    if number is None and known is None:
        return formatting.NOT_RECORDED
    return f"run {wording.value(number)} of {wording.value(known)} known for this lock"
