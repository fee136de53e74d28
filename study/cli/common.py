"""What commands share: arguments and small pieces of output."""

from __future__ import annotations

from collections.abc import Iterable

import click

protocol_argument = click.argument("protocol")
run_argument = click.argument("run", type=click.Path(file_okay=False))


def shell_quoted(path: object) -> str:
    """Return a path as a shell takes it."""
    import shlex

    return shlex.quote(str(path))


def print_findings(lines: Iterable[str]) -> None:
    """Print one finding a line on the error stream."""
    for line in lines:
        click.echo(f"  {line}", err=True)
