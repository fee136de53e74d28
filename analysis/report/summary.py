"""The short table that a finished run prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from analysis import formatting
from analysis.report import wording
from analysis.results import Estimate, Results
from study.records import ARMS

_MEANINGS = {
    2: "usage or input error",
    3: "void",
    4: "inconclusive",
    130: "interrupted; the run can be resumed",
}

LINES = 15
"""No summary is longer."""

_LABEL = 12
_EMPTY: Mapping[str, str] = MappingProxyType({})


def render_summary(results: Results, *, exit_code: int, paths: Mapping[str, str] = _EMPTY) -> str:
    """Return verdict, sentence, primary endpoints, hard fails, exit code and paths.

    Parameters
    ----------
    results : Results
        The record that is told.
    exit_code : int
        The code that the command is about to exit with.
    paths : mapping of str to str
        Label -> path; the first ones that fit are printed. A path is never broken or shortened: one that
        would not fit beside its label stands on a line of its own.

    Returns
    -------
    str
        At most 15 lines of at most 100 columns (but for a longer path), with a final newline.
    """
    lines = [
        *_row("verdict", wording.headline(results).removeprefix("Verdict: "), most=1),
        *_row("", wording.sentence(results), most=3),
        *(_row("floors", floors, most=1) if (floors := wording.floor_warning(results)) else []),
        *(_row("run", repeated, most=1) if (repeated := wording.repeated_run(results)) else []),
        *_primary(results),
        *_row("hard fails", "; ".join(_hard_fails(results, arm) for arm in ARMS), most=1),
        *(_row("", named, most=2) if (named := _first_hard_fail(results)) else []),
        *_row("exit code", f"{exit_code}: {meaning(exit_code, results)}", most=1),
    ]
    for label, path in paths.items():
        entry = _path(label, path)
        if len(lines) + len(entry) <= LINES:
            lines += entry
    return "\n".join(lines) + "\n"


def meaning(exit_code: int, results: Results) -> str:
    """Return what an exit code says of these results."""
    if exit_code in _MEANINGS:
        return _MEANINGS[exit_code]
    if exit_code == 0:
        return "claim met" if wording.verdict_met(results) else "finished (this code does not tell the claim)"
    return f"claim not met ({wording.verdict_words(results)})"


def _row(label: str, text: str, *, most: int) -> list[str]:
    lead = f"{label:<{_LABEL}}"
    lines = formatting.wrap(text, formatting.WIDTH - _LABEL)
    if len(lines) > most:
        cut = formatting.wrap(lines[most - 1], formatting.WIDTH - _LABEL - 4)[0]
        lines = [*lines[: most - 1], f"{cut} ..."]
    return [(lead if n == 0 else " " * _LABEL) + line for n, line in enumerate(lines)]


def _primary(results: Results) -> Iterator[str]:
    primary = [estimate for estimate in results.endpoints if estimate.role == "primary"]
    if not primary:
        yield from _row("primary", "no primary endpoint was estimated", most=1)
    shown = primary if len(primary) <= 2 else primary[:1]
    for estimate in shown:
        yield from _row("primary", _primary_text(results, estimate), most=2)
    if len(shown) < len(primary):
        yield from _row("", f"and {len(primary) - len(shown)} more primary endpoints in the report", most=1)


def _primary_text(results: Results, estimate: Estimate) -> str:
    counts = formatting.counts(estimate.n_tasks, estimate.n_pairs)
    if wording.is_pilot(results):
        return f"{estimate.label}: {counts} (pilot: counts only)"
    numbers = f"{wording.contrast(estimate)} {wording.decision_interval(estimate)}"
    claim = f"claim {wording.claim(estimate)}: {formatting.outcome(estimate.outcome)}"
    return f"{estimate.label} {numbers}, {counts}; {claim}"


def _hard_fails(results: Results, arm: str) -> str:
    fails = results.hard_fails.get(arm)
    if fails is None:
        return f"{arm} {formatting.NOT_RECORDED}"
    return f"{arm} {fails.count} in {formatting.counted(fails.trials, 'trial')}"


def _first_hard_fail(results: Results) -> str:
    """Return where the first hard fail of the candidate was, and what; empty without one."""
    fails = results.hard_fails.get("candidate")
    if fails is None or not fails.where:
        return ""
    first = fails.where[0]
    return f"candidate, case {first.case_id}, repetition {first.repetition}: {first.text}"


def _path(label: str, path: str) -> list[str]:
    lead = f"{label:<{_LABEL}}"
    beside = f"{lead}{path}"
    return [beside] if formatting.display_width(beside) <= formatting.WIDTH else [label, path]
