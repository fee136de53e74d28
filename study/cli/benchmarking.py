"""``study ladder --report``: several drivers on the same cases, told in one folder."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from analysis.benchmark import Benchmark, Check, Times
from analysis.formatting import paragraph, text_table
from analysis.ladder import build_envelope, case_entries, compare, driver_result, read_benchmark, suite_entry
from analysis.report.benchmark import decision, headline, render_benchmark, split_words
from analysis.report.benchmark_changes import delta
from analysis.report.benchmark_words import share
from study.digest import digest_file, encode_json, is_object, read_bytes
from study.environment import toolkit_version
from study.errors import InputError
from study.grading import GRADER_VERSION
from study.grading.rows import read_rows, rows_bytes
from study.ladder import LadderCases, Measured, measure
from study.ladderchecks import check_drivers, regrade, repeats, sealing
from study.runs import ELSEWHERE, next_in_series, series, write_file

if TYPE_CHECKING:
    from analysis.benchmark import DriverResult

BENCHMARK = "benchmark.json"
ENVELOPE = "envelope.json"
TITLE = "BENCHMARK_AGENT"
PREFERRED = "goal"
"""The driver that headline and envelope are about, where it is measured."""

_SHOWN_UNSEALED = 5


class Asked(NamedTuple):
    """What the command line asked for."""

    drivers: tuple[str, ...]
    parts: Sequence[LadderCases]
    split: str
    label: str
    selection: dict[str, Any]
    command: str
    out: Path | None
    concurrency: int
    previous: Path | None
    reds: Path | None
    check_identity: bool
    search: Path


class _Arm(NamedTuple):
    """A measured driver with what was found out about its rows."""

    name: str
    slug: str
    measured: Measured
    checks: list[Check]


def report(asked: Asked) -> bool:
    """Measure, analyse, write, and print where it stands.

    Returns
    -------
    bool
        Whether a gate of the subject failed.
    """
    slugs = check_drivers(asked.drivers, search=asked.search)
    reds = {} if asked.reds is None else _read_reds(asked.reds)
    folder = _folder(asked.out, asked.label)
    version = _version(folder, asked.label, asked.out)
    previous = _previous(asked, folder)
    run_started = _now()
    arms = [_measure(asked, name, slug, folder) for name, slug in slugs.items()]
    run_ended = _now()
    benchmark = _analyse(asked, arms, version, reds, run_started, run_ended)
    if previous is not None:
        changes = compare(previous[1], benchmark, digest=digest_file(previous[0]))
        benchmark = msgspec.structs.replace(benchmark, changes=changes)
    written = _write(benchmark, folder)
    _show(benchmark, written)
    return bool(benchmark.driver(benchmark.subject).ladder.gated_at)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _folder(out: Path | None, label: str) -> Path:
    """Return a folder that does not exist or is empty; name what an earlier report left unfinished there."""
    wanted = Path("runs") / "ladder" / label if out is None else out
    wanted = wanted if wanted.name not in ("", "..") else wanted.resolve()
    if wanted.is_dir() and not any(wanted.iterdir()):
        return wanted
    for earlier in series(wanted.parent, wanted.name)[-1:]:
        if (earlier / "drivers").is_dir() and not any(earlier.glob(f"{TITLE}_*.md")):
            click.echo(f"found an unfinished report in {earlier}; it is left as it is", err=True)
    return next_in_series(wanted.parent, wanted.name)


def _version(folder: Path, label: str, out: Path | None = None) -> str:
    """Return the label with the number that the folder has in its series, if it has one."""
    for stem in (label, *([out.name] if out is not None else [])):
        if re.fullmatch(rf"{re.escape(stem)}_\d{{3,}}", folder.name):
            return label + folder.name.removeprefix(stem)
    return label


def _known(path: Path) -> Benchmark:
    """Read a report; one whose folder got its number from whoever named it goes by that number."""
    found = read_benchmark(path)
    if found.version != found.stamp:
        return found
    return msgspec.structs.replace(found, version=_version(path.resolve().parent, found.stamp))


def _previous(asked: Asked, folder: Path) -> tuple[Path, Benchmark] | None:
    """Return the named previous report, else the latest beside ``folder`` that asked the same."""
    if asked.previous is not None:
        path = asked.previous / BENCHMARK if asked.previous.is_dir() else asked.previous
        return path, _known(path)
    beside: list[tuple[Path, Benchmark]] = []
    for path in sorted(folder.absolute().parent.glob(f"*/{BENCHMARK}")):
        try:
            found = _known(path)
        except InputError as error:
            click.echo(f"not compared with: {error}", err=True)
            continue
        if (found.split, found.selection) == (asked.split, asked.selection):
            beside.append((path, found))
    return max(beside, key=lambda pair: (pair[1].times.analysis_ended, pair[0]), default=None)


def _read_reds(path: Path) -> dict[str, dict[str, str]]:
    """Read the reds that are kept on purpose: a table for each driver, case id -> why."""
    try:
        data = tomllib.loads(read_bytes(path, "file of reds").decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"not valid TOML: {error}", where=str(path)) from None
    for driver, table in data.items():
        if not is_object(table) or not all(isinstance(why, str) and why.strip() for why in table.values()):
            raise InputError(
                f"{driver!r} is no table of texts",
                where=f"{path}:{driver}",
                allowed='a table for each driver: [goal], then "case-id" = "why it stays red"',
            )
    return data


def _measure(asked: Asked, name: str, slug: str, folder: Path) -> _Arm:
    measured = measure(
        name, asked.parts, stamp=asked.label, concurrency=asked.concurrency, search=asked.search
    )
    path = folder / "drivers" / slug / "product.jsonl"
    write_file(path, rows_bytes(measured.rows), again=ELSEWHERE)
    return _Arm(name, slug, measured, [*_row_checks(asked, name, measured, path)])


def _row_checks(asked: Asked, name: str, measured: Measured, path: Path) -> Iterator[Check]:
    total = len(measured.rows)
    bad, hard = measured.rollup.overall.hallucinated, measured.rollup.overall.hard_failed
    yield Check(name=f"{name}: no hallucination", held=not bad, text=f"{bad} of {total} rows hallucinate")
    text = f"{hard} of {total} rows have a hard fail, hallucinations included"
    yield Check(name=f"{name}: no hard fail", held=not hard, text=text)
    differing = regrade(read_rows(path), asked.parts)
    text = differing[0] if differing else f"{total} rows of the written file graded again"
    yield Check(name=f"{name}: every verdict can be derived again", held=not differing, text=text)
    if not asked.check_identity:
        text = "--check-identity runs it twice more and compares the bytes"
        yield Check(name=f"{name}: the same bytes again, at any concurrency", held=None, text=text)
        return
    for repeat in repeats(
        name,
        asked.parts,
        measured.rows,
        stamp=asked.label,
        concurrency=asked.concurrency,
        search=asked.search,
    ):
        first = repeat.first_difference
        text = f"{repeat.how}: {'identical' if first is None else f'differs, first at {first}'}"
        yield Check(name=f"{name}: the same bytes again", held=first is None, text=text)


def _case_checks(parts: Sequence[LadderCases]) -> Iterator[Check]:
    found = sealing(parts)
    total = found.sealed + len(found.changed) + len(found.unsealed)
    text = f"{found.sealed} of {total} cases carry their sealed digest"
    if found.changed:
        text += f"; changed: {', '.join(found.changed[:_SHOWN_UNSEALED])}"
    if found.unsealed:
        text += f"; {len(found.unsealed)} not sealed, first {found.unsealed[0]}"
    yield Check(name="the cases are as they were sealed", held=found.sealed == total, text=text)
    text = "this command does not look; the tests of the project do"
    yield Check(name="direction of imports, tests", held=None, text=text)


def _analyse(
    asked: Asked,
    arms: Sequence[_Arm],
    version: str,
    reds: dict[str, dict[str, str]],
    run_started: str,
    run_ended: str,
) -> Benchmark:
    analysis_started = _now()
    cases = tuple(entry for part in asked.parts for entry in case_entries(part.suite, part.cases))
    drivers = tuple(
        driver_result(
            arm.name,
            arm.measured.rows,
            arm.measured.rollup,
            cases,
            slug=arm.slug,
            floor=arm.measured.floor,
            code_digest=arm.measured.code_digest,
        )
        for arm in arms
    )
    return Benchmark(
        schema=1,
        version=version,
        stamp=asked.label,
        grader=GRADER_VERSION,
        toolkit=toolkit_version(),
        split=asked.split,
        selection=asked.selection,
        command=asked.command,
        times=Times(
            run_started=run_started,
            run_ended=run_ended,
            analysis_started=analysis_started,
            analysis_ended=_now(),
        ),
        suites={part.suite.file.id: suite_entry(part.suite) for part in asked.parts},
        cases=cases,
        drivers=drivers,
        subject=_subject(drivers),
        checks=(*(check for arm in arms for check in arm.checks), *_case_checks(asked.parts)),
        reds=reds,
    )


def _subject(drivers: Sequence[DriverResult]) -> str:
    """Return the driver to speak of first: goal, else the first that is no floor, else the first."""
    ranked = sorted(drivers, key=lambda result: (result.name != PREFERRED, result.floor))
    return ranked[0].name


def _write(benchmark: Benchmark, folder: Path) -> dict[str, Path]:
    from analysis import figures

    openly = "" if benchmark.split == "held-out" else " (open cases)"
    setting = f"{benchmark.split} split{openly} · label {benchmark.stamp}"
    drawn: dict[str, str] = {}
    written: dict[str, Path] = {}
    for result in benchmark.drivers:
        drawn[result.name] = f"figures/ladder-{result.slug}.svg"
        figure = figures.ladder(result, setting)
        write_file(folder / drawn[result.name], figures.to_svg(figure).encode("utf-8"), again=ELSEWHERE)
        written[f"figure of {result.name}"] = folder / drawn[result.name]
    envelope = build_envelope(
        benchmark.driver(benchmark.subject),
        benchmark.cases,
        stamp=benchmark.stamp,
        split=benchmark.split,
        grader=benchmark.grader,
    )
    page = render_benchmark(benchmark, envelope, figures=drawn)
    for what, name, data in (
        ("envelope", ENVELOPE, _readable(envelope)),
        ("data", BENCHMARK, _readable(benchmark)),
        ("report", f"{TITLE}_{benchmark.version}.md", page.encode("utf-8")),
    ):
        write_file(folder / name, data, again=ELSEWHERE)
        written[what] = folder / name
    return written


def _readable(record: Benchmark | Any) -> bytes:
    """Return a record as indented JSON, its keys in their own order."""
    data = encode_json(msgspec.to_builtins(record))
    return msgspec.json.format(data, indent=1) + b"\n"


def _show(benchmark: Benchmark, written: dict[str, Path]) -> None:
    click.echo(f"BENCHMARK_AGENT {benchmark.version}; {split_words(benchmark.split)}")
    click.echo(paragraph(headline(benchmark)))
    click.echo(paragraph(delta(benchmark)))
    rows = [_row(result) for result in benchmark.drivers]
    header = (
        "driver",
        "cases",
        "pass",
        "plan completion",
        "result completion",
        "hallucination",
        "hard fails",
        "ladder",
    )
    click.echo(text_table(header, rows, right=(1, 2, 3, 4, 5, 6)))
    for result in benchmark.drivers:
        click.echo(paragraph(f"decision on {result.name}: {decision(benchmark, result)}", rest="  "))
    for check in benchmark.checks:
        if check.held is False:
            click.echo(paragraph(f"NOT held: {check.name}: {check.text}", rest="  "))
    for what, path in written.items():
        click.echo(f"{what}: {path}")


def _row(result: DriverResult) -> tuple[str, ...]:
    score = result.overall.score
    counts = (
        score.passed,
        score.completed,
        score.result_completed,
        score.hallucinated,
        score.hard_failed,
    )
    name = f"{result.name} (floor)" if result.floor else result.name
    return name, str(score.total), *(share(count, score.total) for count in counts), result.standing
