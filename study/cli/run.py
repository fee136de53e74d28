"""``study run``: execute or resume, grade, report."""

from __future__ import annotations

from pathlib import Path

import click

from study.cli.common import INTERRUPTED, protocol_argument, say, shell_quoted


@click.command("run")
@protocol_argument
@click.option("--stamp", help="Name of the run's folder; default: the start of the lock's digest.")
@click.option("--out", type=click.Path(file_okay=False), help="Replaces the folder runs/.")
@click.option(
    "--executor",
    default="inprocess",
    show_default=True,
    metavar="WHERE",
    help="Where trials run: inprocess, process (worker processes), dask, dask://HOST:PORT.",
)
@click.option("--workers", type=int, help="Pairs at a time; default 1, on a running cluster all it has.")
@click.option("--unblind", is_flag=True, help="Show counts per arm while it runs; that is a deviation.")
@click.option("--again", is_flag=True, help="Run once more what was run already; the report says so.")
@click.option("--no-report", is_flag=True, help="Stop after grading; `study report` does the rest.")
def command(
    protocol: str,
    stamp: str | None,
    out: str | None,
    executor: str,
    workers: int | None,
    unblind: bool,
    again: bool,
    no_report: bool,
) -> int:
    """Run the frozen PROTOCOL, or go on where an interrupted run stopped; then grade and report.

    Exits 0 when the claim is met, 1 when it is not, 3 when the run is void, 4 when it is inconclusive.
    """
    from study.cli.progress import Display
    from study.runner import Interrupted
    from study.verbs import run

    try:
        with Display(unblind=unblind) as display:
            folder = run(
                protocol,
                out=out,
                stamp=stamp,
                executor=executor,
                workers=workers,
                listener=display,
                unblinded=unblind,
                again=again,
            )
    except (Interrupted, KeyboardInterrupt) as stop:
        given = {"--out": out, "--stamp": stamp, "--workers": workers}
        given["--executor"] = None if executor == "inprocess" else executor
        options = ["--again"] if again else []
        options += [str(part) for name, value in given.items() if value for part in (name, value)]
        command_line = " ".join(["study", "run", shell_quoted(protocol), *map(shell_quoted, options)])
        kept = f"every finished trial is kept in {stop}" if str(stop) else "every finished trial is kept"
        say(f"interrupted; {kept}\n  next: {command_line}")
        return INTERRUPTED
    if folder.sealed:
        say(f"nothing was run: this plan was run already, in {folder.path}; --again runs it once more")
    elif no_report:
        click.echo(f"{folder.path}: {folder.product.name} is written; next: study report {folder.path}")
        return 0
    from study.cli.telling import tell

    return tell(folder, Path.cwd())
