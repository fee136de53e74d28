"""The command group: commands are imported when they are used, errors are told in one way."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from study.cli.common import INTERRUPTED

COMMANDS = {
    "init": ("initialise", "Write a small working study to edit: drivers, tools, cases, protocol."),
    "check": ("check", "Lint a protocol and its suites; show what would be frozen."),
    "freeze": ("freeze", "Write the lock of a protocol."),
    "run": ("run", "Run a frozen protocol, or resume it; then grade and report."),
    "status": ("status", "Say where a run stands: used, remaining, what to do next."),
    "note": ("note", "Append a note to a run's deviations."),
    "grade": ("grade", "Grade a run again from its journal and compare."),
    "verify": ("verify", "Derive everything in a run folder again and compare."),
    "report": ("report", "Tell a run's results."),
    "compare": ("compare", "Compare two arms in a table of trials from elsewhere."),
    "ladder": ("ladder", "Measure one driver on the rungs of AGENTBENCH."),
    "graph": ("graph", "Build a code graph from Python source."),
}


class _ReaderLeftError(Exception):
    """Raised when a reader such as ``head`` has left; click would end the process by itself."""


class _Group(click.Group):
    """A group that lists its commands without importing them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderLeftError from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"study.cli.{COMMANDS[cmd_name][0]}")
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from study.errors import did_you_mean

            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"there is no command {args[0]!r}{hint}; known: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 claim met, 1 not met, 2 bad input, 3 void, 4 inconclusive or a pilot.",
)
@click.version_option(package_name="driver-study", prog_name="study")
def group() -> None:
    """Compare two versions of a tool-calling agent so that the answer can be trusted.

    Declare the comparison (a protocol), freeze it, run it, read the verdict.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; every way out has a message and a documented exit code."""
    try:
        code = _run(arguments)
    except OSError:
        if os.environ.get("STUDY_DEBUG"):
            raise
        # the message itself could not be written: whoever called reads the exit code
        code = 2
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    from study.errors import StudyError

    previous = signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        code = group.main(args=arguments, prog_name="study", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except StudyError as error:
        click.echo(f"error: {error}", err=True)
        return error.exit_code
    except SystemExit as stop:
        click.echo(f"error: something that was called ended the process (exit code {stop.code})", err=True)
        return 2
    except _ReaderLeftError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if os.environ.get("STUDY_DEBUG"):
            raise
        _give_up_output()
        told = ": ".join(str(part) for part in (error.strerror or error, error.filename) if part)
        click.echo(f"error: cannot read or write: {told}", err=True)
        return 2
    except Exception as error:
        if os.environ.get("STUDY_DEBUG"):
            raise
        click.echo(
            f"error: internal: {type(error).__name__}: {error}\n"
            "  next: set STUDY_DEBUG=1 to see where, and report it; nothing that was written is lost",
            err=True,
        )
        return 2
    finally:
        signal.signal(signal.SIGTERM, previous)
    return code if isinstance(code, int) else 0


def _give_up_output() -> None:
    """Drop what can no longer be written, or the interpreter fails again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _as_interrupt(signum: int, frame: FrameType | None) -> None:
    # not by way of SIGINT, which is ignored in whatever a shell started in the background
    raise KeyboardInterrupt
