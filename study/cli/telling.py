"""From a graded run to its results, figures and reports; the manifest seals them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from study.cli.common import INTERRUPTED, say, shell_quoted
from study.digest import JSON, is_object, pretty, read_json_file, read_json_lines
from study.environment import Environment, read_environment
from study.errors import IntegrityError, RunError
from study.notes import closing
from study.runs import RunFolder, check_manifest, find_run, write_file, write_manifest, writing

if TYPE_CHECKING:
    from analysis.results import Results

FOREST = "forest"
LATENCY = "latency"
SHOWN_DEVIATIONS = 5


def compute(folder: RunFolder) -> Results:
    """Compute the results of a run from its files."""
    from analysis.summary import summarise
    from analysis.table import read_run

    environment = read_environment(folder.environment)
    deviations = _deviations(folder)
    provenance = {key: getattr(environment, key) for key in ("lock_commit", "run_number", "runs_known")}
    return summarise(
        read_run(folder.path),
        deviations=deviations,
        notes=_notes(environment, deviations) + _conduct(folder),
        provenance=provenance,
        toolkit=environment.toolkit,
    )


def _deviations(folder: RunFolder) -> list[dict[str, JSON]]:
    if not folder.deviations.exists():
        return []
    return [line for _, line in read_json_lines(folder.deviations, "deviations")]


def _notes(environment: Environment, deviations: list[dict[str, JSON]]) -> list[str]:
    revision = environment.revision
    notes = [
        f"driver-study {environment.toolkit}, {environment.python}, {environment.os}, "
        f"{environment.cpu or environment.machine}",
    ]
    if is_object(environment.sdks):
        used = [f"{name} {version}" for name, version in environment.sdks.items() if version]
        notes += [f"clients installed: {', '.join(used)}"] if used else []
    if revision["commit"]:
        dirty = " with uncommitted changes" if revision["dirty"] else ""
        notes.append(f"protocol's repository at {revision['commit'][:12]}{dirty} when the run began")
    if deviations:
        notes.append(f"{len(deviations)} deviation(s) from the plan are listed above")
    return notes


def _conduct(folder: RunFolder) -> list[str]:
    """Say where trials ran, how many attempts were repeated as declared, and what was waited."""
    from study.journal import read_progress
    from study.lock import lock_digest, read_lock
    from study.records import ARMS

    progress = read_progress(folder.journal, lock_digest(read_lock(folder.lock)))
    places = dict.fromkeys((s.executor, s.workers) for s in progress.sessions if s.executor is not None)
    notes = [
        f"trials ran on the executor {executor}, {'all its' if workers is None else workers} worker(s)"
        for executor, workers in places
    ]
    arms = [attempt.arm for attempt in progress.attempts if attempt.retried]
    if arms:
        counts = ", ".join(f"{arm} {arms.count(arm)}" for arm in ARMS)
        notes.append(
            f"{len(arms)} attempts were repeated as declared ({counts}); latency is that of the last one"
        )
    waited = {arm: sum(a.waited_s for a in progress.attempts if a.arm == arm) for arm in ARMS}
    if any(waited.values()):
        told = ", ".join(f"{arm} {seconds:.1f} s" for arm, seconds in waited.items())
        notes.append(f"waiting (rate limits, pauses, ctx.sleep) is no part of latency: {told}")
    return notes


def exit_code(results: Results) -> int:
    """Return 0 for a claim that is met, 1 not met, 3 void, 4 inconclusive (a study without a claim too)."""
    from analysis.verdicts import claim_met

    outcome = results.verdict.outcome
    if outcome == "void":
        return 3
    if outcome == "inconclusive":
        return 4
    primary = next(e for e in results.endpoints if e.role == "primary")
    return 0 if primary.claim and claim_met(results.verdict, primary.claim) else 1


def tell(folder: RunFolder, shown_from: Path) -> int:
    """Write results, figures, reports and the manifest; print the summary; return the exit code.

    Parameters
    ----------
    folder : RunFolder
        With journal and product complete; of a sealed one the stored results are printed.
    shown_from : Path
        Printed paths are relative to it where that is shorter.
    """
    if folder.sealed:
        return _tell_again(folder, shown_from)
    if not folder.product.exists():
        raise RunError(
            "the run is not finished: it has no product.jsonl",
            where=str(folder.path),
            next_step="`study status RUN` says where it stands, and the command that goes on",
        )
    try:
        with closing(folder):
            results = _write_all(folder)
    except KeyboardInterrupt:
        place = shell_quoted(_short(folder.path, shown_from))
        say(f"interrupted: the report is not whole, every trial is kept\n  next: study report {place}")
        return INTERRUPTED
    _print_summary(folder, results, shown_from)
    return exit_code(results)


def _tell_again(folder: RunFolder, shown_from: Path) -> int:
    changed = check_manifest(folder)
    if changed:
        raise IntegrityError(
            changed[0], where=str(folder.path), next_step="`study verify RUN` lists all changes"
        )
    results = stored_results(folder)
    _print_summary(folder, results, shown_from)
    return exit_code(results)


def _write_all(folder: RunFolder) -> Results:
    """Write results, figures, reports and, last, the manifest."""
    from analysis import figures
    from analysis.report import render_report
    from analysis.summary import results_to_json

    _refuse_missing_deviations(folder)
    results = compute(folder)
    write_file(folder.results, pretty(results_to_json(results)))
    sheets = {FOREST: figures.forest(results), LATENCY: figures.distributions(results)}
    with writing(folder.figures):
        folder.figures.mkdir(exist_ok=True)
        for name, sheet in sheets.items():
            figures.save(sheet, folder.figures / name)
    drawn = {name: (folder.figures / f"{name}.svg").read_text(encoding="utf-8") for name in sheets}
    inside = {name: f"figures/{name}.svg" for name in sheets}
    page = render_report(results, "html", figures=drawn, paths=inside)
    write_file(folder.report_html, page.encode("utf-8"))
    markdown = render_report(results, "md", figures=drawn, paths=inside)
    write_file(folder.report_md, markdown.encode("utf-8"))
    write_manifest(folder)
    return results


def _print_summary(folder: RunFolder, results: Results, shown_from: Path) -> None:
    from analysis.report import render_summary

    paths = {
        "report": _short(folder.report_md, shown_from),
        "page": _short(folder.report_html, shown_from),
        "figure": _short(folder.figures / f"{FOREST}.svg", shown_from),
    }
    try:
        click.echo(render_summary(results, exit_code=exit_code(results), paths=paths), nl=False)
    except BrokenPipeError:
        # a reader that left does not change the verdict, nor the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for deviation in results.deviations[:SHOWN_DEVIATIONS]:
        say(f"deviation: {deviation.get('kind')}: {_visible(deviation.get('text'))}")
    if len(results.deviations) > SHOWN_DEVIATIONS:
        more = len(results.deviations) - SHOWN_DEVIATIONS
        say(f"deviation: ... and {more} more in the report")


def _refuse_missing_deviations(folder: RunFolder) -> None:
    from study.declare import missing_deviations
    from study.journal import read_progress
    from study.product import read_frozen

    frozen = read_frozen(folder)
    lacking = missing_deviations(folder, frozen, read_progress(folder.journal, frozen.lock_digest))
    if lacking:
        raise IntegrityError(lacking[0], where=str(folder.path), next_step="restore deviations.jsonl")


def _visible(text: object) -> str:
    from analysis.formatting import visible

    return visible(str(text))


def _short(path: Path, base: Path) -> str:
    relative = os.path.relpath(path, base)
    return relative if len(relative) < len(str(path)) else str(path)


def stored_results(folder: RunFolder) -> Results:
    """Read the results of a sealed run."""
    from analysis.results import Results
    from study.convert import convert

    return convert(read_json_file(folder.results, "results"), Results, str(folder.results), IntegrityError)


def verify_told(run: str) -> list[str]:
    """Derive the estimates of a run again; return one line for each that differs from its results."""
    from analysis.summary import verify_results

    folder = find_run(Path(run))
    if not folder.results.exists():
        return ["results.json is missing"]
    stored = read_json_file(folder.results, "results")
    return [f"results.json: {line}" for line in verify_results(stored, compute(folder))]
