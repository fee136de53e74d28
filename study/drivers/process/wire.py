"""Lines over two pipes, in bounded memory and within a time."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from io import FileIO

LINE_LIMIT_BYTES = 16 * 2**20
"""No line of a child is longer, and no more than this of it waits unread."""

_CHUNK = 65_536
_SLICE_S = 0.1
_EXCERPT = 160


class WireError(Exception):
    """The conversation with a child cannot go on."""


class WireClosedError(WireError):
    """The child closed a pipe, or ended."""


class WireTimeoutError(WireError):
    """The child let the time run out."""


class Wire:
    """Two pipes to a child, of which neither is ever waited for alone.

    Parameters
    ----------
    stdin, stdout : FileIO
        Our ends of the child's stdin and stdout.
    gone : callable
        Whether the child has ended: what it left behind may hold its pipes open.
    """

    def __init__(self, stdin: FileIO, stdout: FileIO, gone: Callable[[], bool]) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._gone = gone
        self._pending = bytearray()
        self._searched = 0
        for stream in (stdin, stdout):
            os.set_blocking(stream.fileno(), False)
        self._reading = select.poll()
        self._reading.register(stdout.fileno(), select.POLLIN)
        self._both = select.poll()
        self._both.register(stdout.fileno(), select.POLLIN)
        self._both.register(stdin.fileno(), select.POLLOUT)

    @property
    def pending(self) -> bytes:
        """The start of what was read and belongs to no line yet that was asked for."""
        return bytes(self._pending[:_EXCERPT])

    def send(self, line: bytes, until: float | None) -> None:
        """Write one line, reading meanwhile what the child writes.

        Parameters
        ----------
        line : bytes
            With its newline.
        until : float or None
            ``time.monotonic()`` value.

        Raises
        ------
        WireError
            When the child closed its stdin, takes too long, or writes too much meanwhile.
        """
        left = memoryview(line)
        while left:
            try:
                left = left[os.write(self._stdin.fileno(), left) :]
            except BlockingIOError:
                self._wait(self._both, until)
            except BrokenPipeError:
                raise WireClosedError("closed its stdin") from None

    def receive(self, until: float | None) -> bytes:
        """Return the next line without its newline.

        Raises
        ------
        WireError
            When the child closed its stdout, ended, takes too long, or sends a line beyond the limit.
        """
        while True:
            end = self._pending.find(b"\n", self._searched)
            if end > LINE_LIMIT_BYTES or (end < 0 and len(self._pending) > LINE_LIMIT_BYTES):
                raise self._too_long()
            if end >= 0:
                line = bytes(self._pending[:end])
                del self._pending[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._pending)
            self._wait(self._reading, until)

    def end_input(self) -> None:
        """Close the child's stdin."""
        self._stdin.close()

    def _wait(self, poller: select.poll, until: float | None) -> None:
        """Wait until something can be read or written; read it."""
        left = _SLICE_S if until is None else min(_SLICE_S, until - time.monotonic())
        if left <= 0:
            raise WireTimeoutError("took too long")
        ready = [descriptor for descriptor, _ in poller.poll(left * 1000)]
        if self._stdout.fileno() in ready:
            self._read()
        elif not ready and self._gone():
            self._read(may_be_empty=True)

    def _read(self, *, may_be_empty: bool = False) -> None:
        try:
            chunk = os.read(self._stdout.fileno(), _CHUNK)
        except BlockingIOError:
            if not may_be_empty:
                return
            chunk = b""
        if not chunk:
            raise WireClosedError("closed its stdout")
        self._pending += chunk
        if len(self._pending) > LINE_LIMIT_BYTES + _CHUNK:
            raise self._too_long()

    def _too_long(self) -> WireError:
        start = bytes(self._pending[:40])
        self._pending.clear()
        return WireError(
            f"sent more than {LINE_LIMIT_BYTES} bytes that are no line, or unread (starts with {start!r})"
        )
