"""A child and the wire to it, from its start to its end."""

from __future__ import annotations

import time

from study.drivers.process import lines
from study.drivers.process.child import Child
from study.drivers.process.command import Command
from study.drivers.process.messages import Hello, read_hello
from study.drivers.process.wire import Wire, WireClosedError, WireError, WireTimeoutError

_LAST_WORDS_S = 0.5
_GONE_S = 5.0
_LONGEST_PROBLEM = 700
_LONGEST_MESSAGE = 1900
"""A journal keeps 2000 characters of an error: what went wrong, then the end of stderr."""


class Link:
    """A child with which the conversation goes on.

    Attributes
    ----------
    child : Child
    idle : bool
        Whether the child owes nothing and may be given the next message. False from before the first byte of
        an exchange until after its last.
    """

    def __init__(self, command: Command) -> None:
        self.child = Child(command.words, command.folder)
        self.idle = False
        self._wire: Wire | None = None

    def greet(self, until: float) -> Hello:
        """Connect the pipes, and exchange the hello.

        Raises
        ------
        WireError
            When the program cannot be started, or says no proper hello in time.
        """
        try:
            pipes = self.child.pipes(until - time.monotonic())
        except (OSError, ValueError) as error:
            raise WireError(f"cannot be started: {error}") from None
        if pipes is None:
            raise WireTimeoutError("took too long to start")
        self._wire = Wire(*pipes, self.child.exited)
        self.send(lines.hello_line(), until)
        return read_hello(self.receive(until))

    def send(self, line: bytes, until: float | None) -> None:
        """Send one line (see :meth:`Wire.send`)."""
        self._connected().send(line, until)

    def receive(self, until: float | None) -> bytes:
        """Return the next line (see :meth:`Wire.receive`)."""
        return self._connected().receive(until)

    @property
    def pending(self) -> bytes:
        """The start of what the child sent beyond the lines that were received."""
        return b"" if self._wire is None else self._wire.pending

    def end(self, goodbye_s: float = 0.0) -> bool:
        """End the child, in peace when it is idle and there is time; return whether it is gone."""
        if self.idle and goodbye_s > 0:
            self.idle = False
            try:
                self.send(lines.goodbye_line(), time.monotonic() + goodbye_s)
                self._connected().end_input()
                self.child.exited(goodbye_s)
            except WireError:
                pass
        self.child.stop()
        return self.child.join(_GONE_S)

    def autopsy(self, error: WireError, when: str) -> str:
        """End the child after an error; return what is known about it, with the end of its stderr."""
        self.idle = False
        left = isinstance(error, WireClosedError) and self.child.exited(_LAST_WORDS_S)
        self.end()
        problem = f"the child process {_ended(self.child.exit_code) if left else error}"
        if self.pending:
            problem += f", having sent {self.pending!r}"
        problem = f"{problem[:_LONGEST_PROBLEM]}{when}"
        if self.child.stderr_tail:
            room = _LONGEST_MESSAGE - len(problem)
            problem += f"; the end of its stderr: {self.child.stderr_tail[-room:]}"
        return problem

    def _connected(self) -> Wire:
        if self._wire is None:
            raise WireClosedError("was not started")
        return self._wire


def _ended(code: int | None) -> str:
    if code is None:
        return "ended"
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
