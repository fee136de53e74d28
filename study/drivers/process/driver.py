"""The driver whose work is done by a child process: what is said when, and what follows from a failure."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from study.driver import Context, LoopResult
from study.drivers.process import lines
from study.drivers.process.command import Command, files_digest
from study.drivers.process.link import Link
from study.drivers.process.messages import (
    PROTOCOL,
    Failure,
    Hello,
    Result,
    Usage,
    read_message,
    read_ready,
)
from study.drivers.process.wire import WireError
from study.errors import DriverError

HELLO_S = 10.0
READY_S = 600.0
GOODBYE_S = 2.0
GRACE_S = 0.5
"""What a child may be late before this module gives up; a run's own alarm comes first."""

_LONGEST_MESSAGE = 1900


class ChildError(DriverError):
    """A child process that did not keep to the conversation."""

    default_code = "driver-process"


class ProcessDriver:
    """A driver whose work is done by a child process.

    Parameters
    ----------
    command : Command
    where : str
        The place of the name, for errors.

    Attributes
    ----------
    hello : Hello
        What a first child, started for this alone, said of itself.

    Raises
    ------
    ChildError
        When the child says no proper hello in time.

    Notes
    -----
    Serves one trial at a time. ``link.idle`` is false from before the first byte of an exchange until after
    its last: whatever was broken off in between, by a time limit or an error, is never taken up again.
    """

    def __init__(self, command: Command, where: str) -> None:
        self._command = command
        self._where = where
        self._config: dict[str, Any] = {}
        self._number = 0
        self._link: Link | None = None
        link, self.hello = self._start(None)
        link.idle = True
        self.close()

    @property
    def stamp(self) -> str:
        """Name and version, as the child gave them."""
        return f"{self.hello.name}-{self.hello.version}"

    def setup(self, config: Mapping[str, Any]) -> None:
        """Start the child, and give it its configuration.

        Raises
        ------
        ChildError
            When it does not come up.
        """
        self._config = dict(config)
        self._drop()
        self._ready(None)

    def reset(self, condition: str) -> None:
        """Ask the child to start afresh, if its hello offered that; a new child is afresh.

        Raises
        ------
        ChildError
            When it does not do so.
        """
        link = self._ready(None)
        if self.hello.reset:
            self._expect_ready(link, lines.reset_line(condition), None)

    def close(self) -> None:
        """Say goodbye, wait shortly, and kill what is left.

        Raises
        ------
        ChildError
            When the child cannot be killed.
        """
        link = self._link
        if link is not None and not link.end(GOODBYE_S if link.child.owner == os.getpid() else 0.0):
            raise ChildError("the child process was killed and is not gone", where=self._where)
        self._link = None

    def __call__(self, request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
        """Have the child handle one request.

        Raises
        ------
        ChildError
            When the child fails, or breaks the rules of the conversation.
        """
        until = None if ctx.deadline is None else ctx.deadline + GRACE_S
        try:
            link = self._ready(until)
            try:
                return self._handle(link, request, tools, ctx, until)
            except WireError as error:
                raise ChildError(link.autopsy(error, "")) from None
        except BaseException:
            self._abandon()
            raise

    def _handle(
        self, link: Link, request: str, tools: Sequence[str], ctx: Context, until: float | None
    ) -> LoopResult:
        link.idle = False
        self._number += 1
        link.send(lines.request_line(self._number, request, tools, ctx), until)
        while True:
            message = read_message(link.receive(until), self._number)
            if isinstance(message, Usage):
                _record_usage(message, ctx)
            elif isinstance(message, Result | Failure):
                break
            else:
                link.send(lines.answer_line(message, ctx), until)
        if link.pending:
            raise WireError(f"went on after its {message.kind!r}")
        link.idle = True
        if isinstance(message, Failure):
            raise ChildError(f"the driver reported an error: {message.message[:_LONGEST_MESSAGE]}")
        return lines.loop_result(message.result, self.stamp)

    def _ready(self, until: float | None) -> Link:
        """Return a child that waits for a message, a new one when there is none."""
        link = self._link
        if link is not None and link.idle and link.child.owner == os.getpid():
            return link
        self._drop()
        if files_digest(self._command.files, self._where) != self._command.digest:
            raise ChildError(f"a file of {self._command.name!r} changed after the driver was loaded")
        link, hello = self._start(until)
        if hello != self.hello:
            error = WireError(f"says another hello than when it was loaded as {self.stamp!r}")
            raise ChildError(link.autopsy(error, ""))
        if self.hello.setup:
            self._expect_ready(link, lines.setup_line(self._config), until)
        link.idle = True
        return link

    def _start(self, until: float | None) -> tuple[Link, Hello]:
        """Start a child; return it with its hello."""
        self._link = link = Link(self._command)
        try:
            return link, link.greet(_earlier(HELLO_S, until))
        except WireError as error:
            problem = link.autopsy(error, " before its hello")
            raise ChildError(
                f"{self._command.name!r}: {problem}",
                where=self._where,
                allowed=f'a line such as {{"kind": "hello", "protocol": {PROTOCOL}, "name": "mine", '
                f'"version": "1"}} on stdout within {HELLO_S:g} s',
                next_step=f"run it by hand in {self._command.folder}; docs/process-drivers.md has the rules",
            ) from None

    def _expect_ready(self, link: Link, line: bytes, until: float | None) -> None:
        link.idle = False
        limit = _earlier(READY_S, until)
        try:
            link.send(line, limit)
            read_ready(link.receive(limit))
        except WireError as error:
            raise ChildError(link.autopsy(error, ' before it was "ready"')) from None
        link.idle = True

    def _abandon(self) -> None:
        """Have a child killed that is in the middle of something; never waits."""
        link = self._link
        if link is not None and not link.idle:
            link.child.stop()

    def _drop(self) -> None:
        link = self._link
        if link is not None:
            link.end()
            self._link = None


def _earlier(limit_s: float, until: float | None) -> float:
    limit = time.monotonic() + limit_s
    return limit if until is None else min(limit, until)


def _record_usage(message: Usage, ctx: Context) -> None:
    try:
        ctx.record_usage(calls=message.calls, input=message.input, output=message.output)
    except ValueError as error:
        raise WireError(f"sent 'usage' of a wrong shape: {error}") from None
