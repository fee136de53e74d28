"""The first screen: the verdict, what was asked of which arms, why it came out so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Box, Bullets, Facts, Heading, Paragraph, Table
from analysis.results import Results
from study.digest import canonical, is_object
from study.records import ARMS

_SHOWN_APART = {"driver", "stamp", "floor", "config"}
_OPTIONAL = {"pinned_results"}
_ABSENT = object()


def verdict(results: Results) -> Iterator[Block]:
    """Yield the box with the outcome, the sentence generated for it, and every flag that limits it."""
    lines = [wording.sentence(results)]
    if wording.is_exploratory(results):
        lines.append("EXPLORATORY: nothing was locked beforehand; this is no verdict to be quoted.")
    if wording.is_pilot(results):
        lines.append("PILOT: counts only. The arms are not compared.")
    if floors := wording.floor_warning(results):
        lines.append(f"FLOORS: {floors}")
    yield Box(title=wording.headline(results), lines=tuple(lines), tone=wording.tone(results))


def asked(results: Results) -> Iterator[Block]:
    """Yield the question, both arms, and everything in which they differ."""
    yield Heading(text="What was asked")
    yield Paragraph(text=results.question or "No question was recorded.")
    rows = [_arm_row(results, arm) for arm in ARMS]
    yield Table(caption="The arms", headers=("arm", "driver", "stamp", "kind"), rows=tuple(rows))
    differences = _differences(results)
    if differences:
        headers = ("what differs", *ARMS)
        yield Table(caption="The difference between the arms", headers=headers, rows=tuple(differences))
    elif all(arm in results.arms for arm in ARMS):
        yield Paragraph(text="The arms name the same driver with the same configuration.")


def _arm_row(results: Results, arm: str) -> tuple[str, str, str, str]:
    entry = results.arms.get(arm, {})
    stamp = wording.value(entry.get("stamp"))
    floor = entry.get("floor")
    role = formatting.NOT_RECORDED if floor is None else "floor (anchor only)" if floor else "driver"
    return arm, wording.driver_name(results, arm), stamp, role


def _differences(results: Results) -> list[tuple[str, str, str]]:
    baseline, candidate = (_flat(results.arms.get(arm, {})) for arm in ARMS)
    paths = [path for path in baseline | candidate if path not in {"stamp", "floor", "source_digest"}]
    pairs = [(path, baseline.get(path, _ABSENT), candidate.get(path, _ABSENT)) for path in paths]
    return [
        (path, _shown(left), _shown(right)) for path, left, right in pairs if _shown(left) != _shown(right)
    ]


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not is_object(value) or (path and not value):
        return {path: value}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{path}.{key}" if path else key)
    return flat


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    return value if isinstance(value, str) else canonical(value).decode("utf-8")


def design(results: Results) -> Iterator[Block]:
    """Yield how much was run on what: tasks and families first, for they carry the evidence."""
    plan = results.design
    labels = {
        "tasks": "tasks",
        "families": "template families",
        "cases": "cases",
        "pinned_results": "cases that expect a result",
        "repetitions": "repetitions",
        "pairs": "pairs",
        "trials": "trials",
        "suites": "suites",
        "split": "split",
        "rungs": "rungs",
        "order": "order in the pair",
        "conditions": "conditions",
        "seed": "seed",
    }
    rows = [(labels[key], _plain(plan.get(key))) for key in labels if key in plan or key not in _OPTIONAL]
    rows += [(key, _plain(plan[key])) for key in plan if key not in labels and key not in PROVENANCE]
    yield Heading(text="What was run")
    yield Facts(rows=tuple(rows))


PROVENANCE = ("lock_commit", "run_number", "runs_known", "schedule_digest", "grader_version")
"""Keys of ``Results.design`` that the section on provenance prints."""


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return wording.joined(value) if value else "none"
    if is_object(value):
        return ", ".join(f"{key} = {wording.value(item)}" for key, item in value.items()) or "none"
    return wording.value(value)


def why(results: Results) -> Iterator[Block]:
    """Yield the reason chain, in the order in which it was followed."""
    chain = wording.reasons(results)
    yield Heading(text="Why this verdict")
    if chain:
        yield Bullets(items=chain, ordered=True)
    else:
        yield Paragraph(text="No reason was recorded.")
