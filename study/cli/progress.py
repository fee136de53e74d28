"""Shows a run's pooled progress: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from study.cli.common import say

if TYPE_CHECKING:
    from study.runner import Event
    from study.tally import Counts

PLAIN_EVERY_S = 10.0


class Display:
    """A listener for a run's events; use it as a context manager.

    Parameters
    ----------
    unblind : bool
        Whether to show counts per arm; otherwise those of both arms together.
    """

    def __init__(self, *, unblind: bool = False) -> None:
        self._unblind = unblind
        self._bar: Any = None
        self._task: Any = None
        self._said_at = self._began_at = time.monotonic()
        self._done_before = 0

    def __enter__(self) -> Display:
        if sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("pairs {task.fields[pairs]}"),
                BarColumn(),
                TextColumn("{task.percentage:.0f} %"),
                TextColumn("{task.fields[trouble]}"),
                TimeElapsedColumn(),
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
        if event.kind in ("started", "resumed"):
            self._began_at, self._done_before = time.monotonic(), event.done
        if event.kind == "stuck":
            say(f"error: {event.message}")
        elif event.kind in ("stopping", "budget"):
            say(event.message)
        elif self._bar is not None:
            self._show(event)
        elif event.kind in ("trial", "retry"):
            self._say_sometimes(event)
        else:
            self._say(event)

    def _show(self, event: Event) -> None:
        pairs = f"{event.done // 2} of {event.total // 2}"
        if self._task is None:
            self._task = self._bar.add_task("run", total=event.total, pairs=pairs, trouble="")
        self._bar.update(self._task, completed=event.done, pairs=pairs, trouble=self._trouble(event))

    def _say_sometimes(self, event: Event) -> None:
        now = time.monotonic()
        if now - self._said_at >= PLAIN_EVERY_S:
            self._said_at = now
            self._say(event)

    def _say(self, event: Event) -> None:
        parts = [f"{event.kind}: {event.done // 2} of {event.total // 2} pairs", self._trouble(event)]
        if event.kind == "trial":
            parts.append(self._time_left(event))
        say("; ".join(part for part in parts if part))

    def _time_left(self, event: Event) -> str:
        done = event.done - self._done_before
        if not done:
            return ""
        left_s = (time.monotonic() - self._began_at) / done * (event.total - event.done)
        return f"about {duration(left_s)} left"

    def _trouble(self, event: Event) -> str:
        if not self._unblind:
            return _counted(event.tally.pooled)
        told = ((arm, _counted(counts) or "no failures") for arm, counts in event.tally.by_arm.items())
        return "; ".join(f"{arm}: {counted}" for arm, counted in told)


def _counted(counts: Counts) -> str:
    """Return the counts that are not zero, in words."""
    parts = [
        (counts.failures, "failure"),
        (counts.hard_fails, "hard fail"),
        (counts.timeouts, "timeout"),
        (counts.errors, "driver error"),
    ]
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n)


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
