"""``study report``: tell a run's results."""

from __future__ import annotations

from pathlib import Path

import click

from study.cli.common import run_argument


@click.command("report")
@run_argument
@click.option("--format", "form", default="text", help="text (default), md, html, json or junit.")
def command(run: str, form: str) -> int:
    """Print the report of RUN; write results, figures and reports first where `run` was told not to.

    Exits 0 when the claim is met, 1 when it is not, 3 when the run is void, 4 when it is inconclusive.
    """
    from analysis import figures
    from analysis.report import render_report
    from study.cli.telling import exit_code, stored_results, tell
    from study.declare import verify
    from study.errors import IntegrityError
    from study.runs import find_run

    folder = find_run(Path(run))
    if not folder.sealed:
        return tell(folder, Path.cwd())
    changed = verify(run)
    if changed:
        raise IntegrityError(changed[0], where=run, next_step="`study verify RUN` lists all changes")
    results = stored_results(folder)
    sheets = {"forest": figures.forest, "latency": figures.distributions} if form == "html" else {}
    drawn = {name: figures.to_svg(draw(results)) for name, draw in sheets.items()}
    click.echo(render_report(results, form, figures=drawn), nl=False)  # pyright: ignore[reportArgumentType]
    return exit_code(results)
