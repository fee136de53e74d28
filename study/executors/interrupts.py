"""Ctrl-C, SIGTERM and SIGHUP during a run: the first asks it to end, the second ends it at once."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _nothing() -> None:
    """Do nothing."""


class Interrupts:
    """Counts interrupts while it is entered; use it as a context manager.

    Parameters
    ----------
    grace_s : float
        How long running pairs may go on after the first interrupt; 0 makes the first one count as the second.

    Attributes
    ----------
    count : int
        Interrupts so far.
    act : callable
        Called without arguments inside the handler, after counting: what a trial in the main thread needs.

    Notes
    -----
    In another thread than the main one no handler can be set: then interrupts go where they went before.
    """

    def __init__(self, grace_s: float = 0.0) -> None:
        self.grace_s = grace_s
        self.count = 0
        self.act: Callable[[], None] = _nothing
        self._until = 0.0
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}

    def restore(self) -> None:
        """Set the handlers again: a driver may have replaced them."""
        for number in self._previous:
            signal.signal(number, self._handle)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            self._until = monotonic() + self.grace_s
        self.act()

    def abort(self) -> None:
        """End everything at once, as a second interrupt does."""
        self.count = max(self.count, 2)

    @property
    def asked(self) -> bool:
        """Whether no further pair may start."""
        return self.count > 0

    @property
    def left_s(self) -> float:
        """Seconds of grace that are left; infinite before the first interrupt, 0 after the second."""
        if self.count == 0:
            return math.inf
        return max(0.0, self._until - monotonic()) if self.count == 1 else 0.0

    @property
    def over(self) -> bool:
        """Whether nothing may go on."""
        return self.count > 0 and self.left_s == 0.0
