"""``study init``: write a small working study to edit."""

from __future__ import annotations

from pathlib import Path

import click

SCAFFOLD = Path(__file__).with_name("scaffold")


@click.command("init")
@click.argument("directory", type=click.Path(file_okay=False))
def command(directory: str) -> int:
    """Write a working study into DIRECTORY: two drivers, three tools, a suite, a protocol."""
    from study.cli.common import shell_quoted
    from study.errors import InputError
    from study.runs import ELSEWHERE, write_file

    target = Path(directory)
    files = {p: target / p.relative_to(SCAFFOLD) for p in sorted(SCAFFOLD.rglob("*")) if p.is_file()}
    files = {p: t.with_suffix("") if t.suffix == ".txt" else t for p, t in files.items()}
    taken = [t for t in files.values() if t.exists()]
    if taken:
        raise InputError(
            "this file exists already, and nothing is overwritten",
            where=str(taken[0]),
            next_step="choose an empty folder",
        )
    for source, place in files.items():
        write_file(place, source.read_bytes(), again=ELSEWHERE)
        click.echo(f"wrote {place}")
    click.echo(
        f"\nnext:\n  cd {shell_quoted(directory)}\n  study check comparison.toml\n"
        "  study freeze comparison.toml\n  study run comparison.toml\n"
        "then put your own agents into my_drivers.py, your tools into my_tools.py and orders/registry.json,\n"
        "your requests into orders/cases.jsonl and orders/suite.toml, and freeze again."
    )
    return 0
