"""Shows a run's pooled progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from study.runner import Event

PLAIN_EVERY_S = 10.0


class Display:
    """A listener for a run's events; use it as a context manager."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._said_at = time.monotonic()

    def __enter__(self) -> Display:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("trials"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[trouble]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if event.kind == "stuck":
            click.echo(f"error: {event.message}", err=True)
        elif self._bar is not None:
            self._show(event)
        elif event.kind == "trial":
            self._say_sometimes(event)
        else:
            self._say(event)

    def _show(self, event: Event) -> None:
        if self._task is None:
            self._task = self._bar.add_task("trials", total=event.total, completed=event.done, trouble="")
        self._bar.update(self._task, completed=event.done, trouble=_trouble(event))

    def _say_sometimes(self, event: Event) -> None:
        now = time.monotonic()
        if now - self._said_at >= PLAIN_EVERY_S:
            self._said_at = now
            self._say(event)

    def _say(self, event: Event) -> None:
        click.echo(f"{event.kind}: {event.done} of {event.total} trials {_trouble(event)}".rstrip(), err=True)


def _trouble(event: Event) -> str:
    parts = [(event.timeouts, "timeouts"), (event.errors, "driver errors")]
    return ", ".join(f"{count} {name}" for count, name in parts if count)
