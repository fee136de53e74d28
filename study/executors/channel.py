"""Messages between a run and its worker processes: length-prefixed JSON over a socket pair."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Annotated, Any

import msgspec

from study.records import Dispatch, Outcome, Record

_LENGTH = struct.Struct(">Q")
LONGEST = 2**27
"""Bytes of one message at most: a report and a record of dispatches at their limits, with room."""


Seconds = Annotated[float, msgspec.Meta(ge=0)]


class RawDispatch(Dispatch):
    """A dispatch whose arguments stay the bytes that they are: small, whatever they would unfold to."""

    input: msgspec.Raw


class ArmSetup(Record):
    """The driver of an arm by name, and its resolved settings."""

    driver: str
    config: dict[str, Any]


class SuiteSetup(Record):
    """A suite by folder, its toolset by name, and the selected cases."""

    folder: str
    toolset: str
    cases: tuple[str, ...]


class Setup(Record, tag_field="kind", tag="setup"):
    """All that a worker needs to build its bench: every name as the protocol has it."""

    search: str
    paths: tuple[str, ...]
    arms: dict[str, ArmSetup]
    suites: tuple[SuiteSetup, ...]
    timeout_s: float
    cold: bool


class Run(Record, tag_field="kind", tag="run"):
    """Execute one attempt; every message about it carries its ``number``."""

    number: int
    arm: str
    case_id: str
    seed: int


class Close(Record, tag_field="kind", tag="close"):
    """Close drivers and toolsets, and end."""


class Ready(Record, tag_field="kind", tag="ready"):
    """The bench stands; what it was built from, to be compared with the lock."""

    identity: dict[str, Any]


class Refused(Record, tag_field="kind", tag="refused"):
    """The bench could not be built."""

    problem: str
    where: str | None
    next_step: str | None


class Started(Record, tag_field="kind", tag="started"):
    """The driver is called now: its time counts."""

    number: int


class Ended(Record, tag_field="kind", tag="ended"):
    """The driver is over: its time does not count any more."""

    number: int


class Dispatched(Record, tag_field="kind", tag="dispatched"):
    """The driver dispatched something; kept in case that the worker dies."""

    number: int
    dispatch: RawDispatch


class Executed(Record, tag_field="kind", tag="executed"):
    """An attempt is over."""

    number: int
    outcome: Outcome
    produced: msgspec.Raw
    usage: dict[str, Any] | None
    error: dict[str, str] | None
    started_at_s: float
    latency_s: Seconds
    slept_s: Seconds
    rss_bytes: int


class Closed(Record, tag_field="kind", tag="closed"):
    """Everything is closed; one line for each thing that failed."""

    failures: tuple[str, ...]


Message = Setup | Run | Close | Ready | Refused | Started | Ended | Dispatched | Executed | Closed
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Message).decode


class ClosedError(Exception):
    """The other side is gone."""


class LateError(Exception):
    """Nothing came in time."""


class RubbishError(Exception):
    """What came is no message."""


class Channel:
    """One side of a socket pair.

    Parameters
    ----------
    side : socket

    Attributes
    ----------
    n_bytes : int
        Bytes received so far.
    """

    def __init__(self, side: socket.socket) -> None:
        self._side = side
        self._buffer = bytearray()
        self._sending = threading.Lock()
        self.n_bytes = 0

    def send(self, message: Message) -> None:
        """Send one message; from any thread, one after another.

        Raises
        ------
        ClosedError
            When the other side is gone.
        """
        data = _encode(message)
        try:
            with self._sending:
                self._side.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise ClosedError(str(error)) from None

    @property
    def pending(self) -> bool:
        """Whether something came, or the end, that was not received yet."""
        return bool(self._buffer) or self._comes_within(0.0)

    def receive(self, deadline: float | None = None) -> Message:
        """Return the next message; what came of an incomplete one is kept for the next call.

        Parameters
        ----------
        deadline : float, optional
            ``time.monotonic()`` value.

        Raises
        ------
        ClosedError, LateError, RubbishError
        """
        self._fill(_LENGTH.size, deadline)
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > LONGEST:
            raise RubbishError(f"what came from the worker is no message, or one of {length} bytes")
        end = _LENGTH.size + length
        self._fill(end, deadline)
        data = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        try:
            return _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RubbishError(f"what came from the worker is no message: {error}") from None

    def _fill(self, n_bytes: int, deadline: float | None) -> None:
        while len(self._buffer) < n_bytes:
            if deadline is not None and not self._comes_within(deadline - time.monotonic()):
                raise LateError
            try:
                part = self._side.recv(2**20)
            except OSError as error:
                raise ClosedError(str(error)) from None
            if not part:
                raise ClosedError("the connection was closed")
            self._buffer += part
            self.n_bytes += len(part)

    def _comes_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._side, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))

    def close(self) -> None:
        """Close this side; a reader of it in another thread sees the end."""
        with suppress(OSError):
            self._side.shutdown(socket.SHUT_RDWR)
        self._side.close()
