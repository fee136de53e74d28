"""What commands share: arguments and small pieces of output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from study.cases import Suite

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

protocol_argument = click.argument("protocol")
run_argument = click.argument("run", type=click.Path(file_okay=False))


def shell_quoted(path: object) -> str:
    """Return a path as a shell takes it."""
    import shlex

    return shlex.quote(str(path))


def refuse_faulty_cases(cases: str | None, suites: Sequence[Suite], *, with_tools: bool) -> None:
    """Lint what the user named; bundled suites are linted by the tests of this project.

    Parameters
    ----------
    cases : str or None
        As it was named (see :func:`study.ladder.case_source`).
    suites : sequence of Suite
        What it stands for.
    with_tools : bool
        Whether to load the toolset, which knows the labels of its graph.

    Raises
    ------
    SuiteError
        With every finding that is no warning.
    """
    from study.bundled import PREFIX
    from study.declare import lint
    from study.toolsets import load_toolset

    if cases is None or cases.startswith(PREFIX):
        return
    for suite in suites:
        toolset = load_toolset(suite.file.toolset, suite, search=Path.cwd()) if with_tools else None
        lint(suite, toolset, bare=Path(cases).is_file())


def say(text: str) -> None:
    """Print to the error stream what a run can do without: a stream that is closed or full stops nothing."""
    from contextlib import suppress

    with suppress(OSError, ValueError):
        click.echo(text, err=True)


def print_findings(lines: Iterable[str]) -> None:
    """Print one finding a line on the error stream."""
    for line in lines:
        click.echo(f"  {line}", err=True)
