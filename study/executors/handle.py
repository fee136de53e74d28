"""A worker process as the run sees it: started, talked to, ended with all that it started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import psutil

from study.executors.channel import (
    Channel,
    Close,
    Closed,
    ClosedError,
    LateError,
    Message,
    RubbishError,
)

STEP_S = 0.1
END_S = 1.0
"""How long a worker whose connection is gone may take to end."""

CLOSE_S = 20.0
TAIL_BYTES = 4096
TAIL_SHOWN_BYTES = 600
MARK = "DRIVER_STUDY_WORKER"
"""Environment variable that tells a worker, and whatever descends from it, from all other processes."""

KILL_ROUNDS = 10

_CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from study.executors.worker import main
main(int(sys.argv[1]))
"""


class StoppedError(Exception):
    """The run is being stopped."""


class Handle:
    """A running worker process.

    Parameters
    ----------
    stopping : callable
        Whether the run is being stopped; looked at while waiting.
    """

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._mark = uuid.uuid4().hex
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CODE, str(theirs.fileno()), json.dumps(sys.path)],
                env={**os.environ, MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self.channel = Channel(ours)
        self._tail = _Tail(self._process)

    @property
    def spoiled(self) -> bool:
        """Whether it ended, or said something, while it had nothing to do."""
        return self._process.poll() is not None or self.channel.pending

    def receive(self, deadline: float) -> Message:
        """Return the next message.

        Raises
        ------
        StoppedError
            When the run is being stopped.
        ClosedError, LateError, RubbishError
            A worker that ended is seen even where a child of it holds its connection open.
        """
        while True:
            if self._stopping():
                raise StoppedError
            ended = self._process.poll() is not None
            try:
                return self.channel.receive(min(deadline, time.monotonic() + STEP_S))
            except LateError:
                if ended:
                    raise ClosedError("the connection was left to another process") from None
                if time.monotonic() >= deadline:
                    raise

    def death(self, failure: Exception) -> dict[str, str]:
        """Tell how a worker ended, with the last that it printed, as the journal keeps errors."""
        status = self._process.poll()
        if isinstance(failure, ClosedError):
            with suppress(subprocess.TimeoutExpired):
                status = self._process.wait(timeout=END_S)
        how = str(failure) or "no answer"
        if status is not None and status < 0:
            how = f"the worker process was ended by {_signal_name(-status)}"
        elif isinstance(failure, ClosedError):
            ended = "goes on" if status is None else f"ended with code {status}"
            how = f"{how} without an answer; the worker process {ended}"
        said = self._tail.text()
        return {"type": "WorkerDied", "message": how + (f"; it said: {said}" if said else "")}

    def close(self) -> Sequence[str]:
        """Let the worker close its driver and toolsets, then end it; return what failed."""
        failures: Sequence[str] = ()
        try:
            self.channel.send(Close())
            message = self.channel.receive(time.monotonic() + CLOSE_S)
            if isinstance(message, Closed):
                failures = message.failures
        except (ClosedError, LateError, RubbishError) as failure:
            failures = [f"a worker process did not close: {str(failure) or 'no answer'}"]
        self.kill()
        return failures

    def kill(self) -> None:
        """End the worker and everything that descends from it, and wait for it."""
        self.channel.close()
        with suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        for _ in range(KILL_ROUNDS):
            family = list(self._family())
            if not family:
                break
            for member in family:
                with suppress(psutil.Error):
                    member.kill()
        self._process.kill()
        self._process.wait()

    def _family(self) -> Iterator[psutil.Process]:
        """Yield what descends from the worker and still runs, even where its parents are gone."""
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == self._mark:
                    yield process


class _Tail:
    """The last that a worker printed; what it prints is read all the time, so that it never blocks."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._data = b""
        threading.Thread(target=self._read, args=(process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as stream:
            while part := os.read(stream.fileno(), 2**16):
                self._data = (self._data + part)[-TAIL_BYTES:]

    def text(self) -> str:
        """Return the last lines as one line."""
        lines = self._data[-TAIL_SHOWN_BYTES:].decode("utf-8", "replace").split("\n")
        return " | ".join(line.strip() for line in lines if line.strip())


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
