"""``study ladder``: measure one driver rung by rung, or several and report on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from study.cases import Suite
    from study.grading.rollup import Rollup, RungScore
    from study.grading.rows import Row
    from study.ladder import LadderCases, Measured

SHOWN_FAILURES = 20
DRIVER = "stub"
REPORTED = "goal,resolver,stub,shim"
REPORT_ONLY = ("drivers", "previous", "reds", "check_identity")
EXPLAINED_SUITE = "bundled:toy"
"""Whose graph and tools --explain uses unless --cases names others."""


@click.command("ladder")
@click.option("--driver", help="As in a protocol: stub (default), module:attribute.")
@click.option("--cases", help="Suite folder, bundled:NAME or case file; default: all bundled suites.")
@click.option("--registry", type=click.Path(dir_okay=False), help="Registry of a case file.")
@click.option("--graph", type=click.Path(dir_okay=False), help="Code graph of a case file.")
@click.option("--held-out", is_flag=True, help="Use the held-out split instead of the development split.")
@click.option("--stamp", help="Label of the run; default: a pinned version.")
@click.option("--out", type=click.Path(file_okay=False), help="Default: runs/ladder/<stamp>, with _00N.")
@click.option("--rung", help="One rung only, e.g. TOOL-1.")
@click.option("--only", help="Case ids, separated by commas.")
@click.option("--ladder", "gated", is_flag=True, help="A rung that fails its gate gates the rungs above it.")
@click.option("--concurrency", type=int, default=1, show_default=True, help="Worker processes.")
@click.option("--report", is_flag=True, help="Measure several drivers; write a report folder.")
@click.option("--drivers", help=f"With --report: names, separated by commas; default: {REPORTED}.")
@click.option("--previous", type=click.Path(), help="With --report: the report to compare with.")
@click.option(
    "--reds", type=click.Path(dir_okay=False), help="With --report: failures kept on purpose (TOML)."
)
@click.option("--check-identity", is_flag=True, help="With --report: run twice more and compare the bytes.")
@click.option("--explain", metavar="REQUEST", help="Measure nothing; show how a request is read and proven.")
@click.option("--fail-on-gate", is_flag=True, help="Exit with 1 when a gate fails.")
@click.pass_context
def command(
    ctx: click.Context,
    driver: str | None,
    cases: str | None,
    registry: str | None,
    graph: str | None,
    held_out: bool,
    stamp: str | None,
    out: str | None,
    rung: str | None,
    only: str | None,
    gated: bool,
    concurrency: int,
    report: bool,
    drivers: str | None,
    previous: str | None,
    reds: str | None,
    check_identity: bool,
    explain: str | None,
    fail_on_gate: bool,
) -> int:
    """Measure a driver on AGENTBENCH cases; write one product.jsonl.

    With --report, measure several drivers on the same cases and write into one new folder their rows, a
    figure of each ladder, the envelope of the subject (goal, else the first that is no floor), and
    BENCHMARK_AGENT_<stamp>.md with what changed since the previous report: --previous, else the latest
    beside the folder that asked for the same cases.

    With --explain, print instead how the router reads one request with all tools of the suite: parse, plan
    and proof. The fragment of English is described in docs/english.md.

    Exits 0 when it was measured, whatever came of it; 1 for a failed gate (of the subject) with
    --fail-on-gate.
    """
    from study.cli.common import refuse_faulty_cases
    from study.errors import InputError
    from study.ladder import LADDER_STAMP, MOST_WORKERS, case_source, measure, select_cases
    from study.runs import check_stamp

    _check_options(ctx.params)
    if explain is not None:
        click.echo(_explained(explain, case_source(cases or EXPLAINED_SUITE, registry, graph)[0]))
        return 0
    if not 1 <= concurrency <= MOST_WORKERS:
        raise InputError(f"{concurrency} workers", where="--concurrency", allowed=f"1 to {MOST_WORKERS}")
    label = check_stamp(stamp or LADDER_STAMP)
    ids = [] if only is None else _named_ids(only)
    split = "held-out" if held_out else "development"
    suites = case_source(cases, registry, graph)
    refuse_faulty_cases(cases, suites, with_tools=True)
    parts = select_cases(suites, split=split, rung=rung, only=ids)
    if report:
        failed = _report(ctx, parts, split, label)
        return 1 if fail_on_gate and failed else 0
    measured = measure(driver or DRIVER, parts, stamp=label, concurrency=concurrency, search=Path.cwd())
    product = _write(measured, label, None if out is None else Path(out))
    _show(driver or DRIVER, label, measured, gated)
    click.echo(f"\nrows: {product}")
    failed = any(not score.gate_pass for score in measured.rollup.rungs)
    return 1 if fail_on_gate and failed else 0


def _check_options(given: dict[str, Any]) -> None:
    from study.errors import InputError

    for name, value in given.items():
        if name != "explain" and isinstance(value, str) and not value.strip():
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is empty", where=option, next_step="give it a value, or leave it out")
    if given["out"] is not None and Path.cwd().is_relative_to(Path(given["out"]).resolve()):
        raise InputError(
            "is the working folder, or holds it", where=f"--out {given['out']}", allowed="a folder of its own"
        )
    named = [f"--{name.replace('_', '-')}" for name in REPORT_ONLY if given[name]]
    if named and not given["report"]:
        raise InputError(f"{named[0]} belongs to a report", where=named[0], next_step="add --report")
    if given["report"] and given["explain"] is not None:
        raise InputError("--explain measures nothing to report on", where="--explain")
    if given["drivers"] and given["driver"]:
        raise InputError("--driver and --drivers were both given", where="--driver", allowed="one of them")


def _named_ids(only: str) -> list[str]:
    from study.errors import InputError

    ids = [part.strip() for part in only.split(",") if part.strip()]
    if not ids:
        raise InputError(f"{only!r} names no case", where="--only", allowed="case ids, separated by commas")
    return ids


def _report(ctx: click.Context, parts: Sequence[LadderCases], split: str, label: str) -> bool:
    from study.cli.benchmarking import Asked, report

    given = ctx.params
    names = given["driver"] or given["drivers"] or REPORTED
    drivers = [given["driver"]] if given["driver"] else [part.strip() for part in names.split(",")]
    asked = Asked(
        drivers=tuple(name for name in drivers if name),
        parts=parts,
        split=split,
        label=label,
        selection={key: given[key] for key in ("cases", "rung", "only")},
        command=_as_typed(ctx),
        out=_path(given["out"]),
        concurrency=given["concurrency"],
        previous=_path(given["previous"]),
        reds=_path(given["reds"]),
        check_identity=given["check_identity"],
        search=Path.cwd(),
    )
    return report(asked)


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


def _as_typed(ctx: click.Context) -> str:
    """Return the command line again from what was given on it."""
    from click.core import ParameterSource

    from study.cli.common import shell_quoted

    words = ["study ladder"]
    for option in ctx.command.params:
        name = str(option.name)
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words.append(option.opts[0])
            words += [] if ctx.params[name] is True else [shell_quoted(ctx.params[name])]
    return " ".join(words)


def _explained(request: str, suite: Suite) -> str:
    from study.binding import Binder
    from study.driver import Context
    from study.drivers.router.explain import explain
    from study.errors import InputError
    from study.toolsets import load_toolset

    if not request.strip():
        raise InputError("a request without words", where="--explain", allowed="a request in English")
    toolset = load_toolset(suite.file.toolset, suite, search=Path.cwd())
    tools = [name for name, capability in suite.registry.items() if capability.read_only]
    return explain(request, tools, Context(suite.registry, toolset, Binder(suite.registry, tools)))


def _write(measured: Measured, label: str, out: Path | None) -> Path:
    from study.errors import InputError
    from study.grading.rows import rows_bytes
    from study.runs import ELSEWHERE, next_in_series, write_file

    if out is None:
        out = next_in_series(Path("runs") / "ladder", label)
    product = out / "product.jsonl"
    if product.exists():
        raise InputError(
            "holds rows already, and nothing is overwritten", where=str(product), next_step="--out"
        )
    write_file(product, rows_bytes(measured.rows), again=ELSEWHERE)
    return product


def _show(driver: str, label: str, measured: Measured, gated: bool) -> None:
    from analysis.formatting import text_table

    click.echo(f"driver {driver}, stamps in the rows: {', '.join(measured.stamps)}; label {label}")
    if measured.floor:
        click.echo("FLOOR: this driver is an anchor, not a router; what it reaches is a floor, no baseline")
    rollup = measured.rollup
    header = [
        "rung",
        "n",
        "pass",
        "plan completion",
        "result completion",
        "hallucination",
        "hard fails",
        "gate",
    ]
    rows = [_rung_row(score, rollup, gated) for score in (*rollup.rungs, rollup.overall)]
    header += [f"{name} completes" for name in rollup.trivial]
    for row, score in zip(rows, (*rollup.rungs, rollup.overall), strict=True):
        row += [_trivial(scores, score.rung) for scores in rollup.trivial.values()]
    click.echo(text_table(header, rows))
    click.echo("the overall row accepts nothing: gates are read rung by rung")
    _show_failures(measured.rows)
    if gated:
        _show_ladder(rollup)


def _rung_row(score: RungScore, rollup: Rollup, gated: bool) -> list[str]:
    from study.grading.rollup import percent

    skipped = gated and any(receipt.rung == score.rung for receipt in rollup.ladder.receipts)
    gate = "skipped" if skipped else "pass" if score.gate_pass else "FAIL"
    shares = (score.completed, score.result_completed, score.hallucinated, score.hard_failed)
    return [
        score.rung,
        str(score.total),
        str(score.passed),
        *(f"{percent(count, score.total)} %" for count in shares),
        "-" if score.rung == "overall" else gate,
    ]


def _trivial(scores: tuple[RungScore, ...], rung: str) -> str:
    from study.grading.rollup import percent

    found = [score for score in scores if rung in ("overall", score.rung)]
    total = sum(score.total for score in found)
    return f"{percent(sum(score.completed for score in found), total)} %"


def _show_failures(rows: list[Row]) -> None:
    failed = [row for row in rows if not row["verdict"]["pass"]]
    for row in failed[:SHOWN_FAILURES]:
        verdict = row["verdict"]
        hard = "hard fail" if verdict.get("hardFails") else "fail"
        mark = "hallucination" if verdict["hallucinated"] else hard
        reasons = "; ".join(str(reason["text"]) for reason in verdict["reasons"])
        click.echo(f"  {mark:13} {row['caseId']}: {reasons}")
    if len(failed) > SHOWN_FAILURES:
        click.echo(f"  ... and {len(failed) - SHOWN_FAILURES} more failing rows in the file")
    for row in rows:
        verdict = row["verdict"]
        if verdict["completed"] and not verdict["resultCompleted"]:
            reasons = "; ".join(str(reason["text"]) for reason in verdict["resultReasons"])
            click.echo(f"  plan right, result wrong: {row['caseId']}: {reasons}")


def _show_ladder(rollup: Rollup) -> None:
    click.echo(f"ladder: {' > '.join(rollup.ladder.order)}; gated at {rollup.ladder.gated_at or 'no rung'}")
    for receipt in rollup.ladder.receipts:
        click.echo(f"  rung {receipt.rung} skipped: {receipt.reason}")
