"""``study note``: append a deviation that only a person knows of."""

from __future__ import annotations

from pathlib import Path

import click

from study.cli.common import run_argument


@click.command("note")
@run_argument
@click.argument("text")
def command(run: str, text: str) -> int:
    """Append TEXT to the deviations of RUN, which its report lists, with the time in UTC.

    TEXT is one line of at most 2,000 characters. A finished run is sealed and takes no more notes.
    """
    from study.notes import add_note
    from study.runs import find_run

    folder = find_run(Path(run))
    entry = add_note(folder, text)
    click.echo(f"{folder.deviations}: noted at {entry['at']}; the report will list it")
    return 0
