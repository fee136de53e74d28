"""A child process in a session of its own, looked after by a thread."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import cast

TAIL_BYTES = 2048
"""So much of the end of its stderr is kept."""

_CHUNK = 65_536
_REST_CHUNKS = 16
_JOIN_AT_EXIT_S = 3.0
_LOOK_AGAIN_S = 0.005


class _Kept:
    """What the thread and the handle share."""

    __slots__ = ("error", "popen", "started", "stopped", "tail", "wake")

    def __init__(self) -> None:
        self.popen: subprocess.Popen[bytes] | None = None
        self.error: Exception | None = None
        self.started = threading.Event()
        self.stopped = False
        self.wake: FileIO | None = None
        self.tail = bytearray()

    def stop(self) -> None:
        """Tell the thread to end the child."""
        self.stopped = True  # before the pipe is looked at: the thread looks in the opposite order
        if self.wake is not None:
            with contextlib.suppress(ValueError, OSError):  # the thread is through, and has closed it
                self.wake.write(b"x")


class Child:
    """A running child with its three pipes.

    Parameters
    ----------
    words : sequence of str
        Program and arguments; no shell reads them.
    folder : Path
        The working directory.

    Attributes
    ----------
    owner : int
        Id of the process that started it; a fork of that process must not use it.

    Notes
    -----
    A time limit may raise inside the caller between any two steps. Therefore a thread, which no signal
    reaches, starts the child, drains its stderr, and at the end kills its whole process group and waits for
    it. :meth:`stop` only writes to a pipe that the thread listens to, and may be repeated. The thread also
    ends the child when this object is collected and when the interpreter exits.
    """

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self.owner = os.getpid()
        self._kept = _Kept()
        self._thread = threading.Thread(
            target=_keep,
            args=(self._kept, list(words), folder),
            name=f"keeper of {words[0]}",
            daemon=True,
        )
        weakref.finalize(self, _end, self._kept, self._thread, self.owner)
        self._thread.start()

    def pipes(self, limit_s: float) -> tuple[FileIO, FileIO] | None:
        """Return the ends of the child's stdin and stdout, None when it is not started in time.

        Raises
        ------
        OSError, ValueError
            When the program cannot be started.
        """
        self._kept.started.wait(limit_s)
        if self._kept.error is not None:
            raise self._kept.error
        popen = self._kept.popen
        return None if popen is None else (cast("FileIO", popen.stdin), cast("FileIO", popen.stdout))

    def exited(self, limit_s: float = 0.0) -> bool:
        """Whether the child has ended, for which at most ``limit_s`` are waited."""
        until = time.monotonic() + limit_s
        while not self._has_exited():
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK_AGAIN_S)
        return True

    def stop(self) -> None:
        """Have the whole process group killed; returns at once. A fork of the owner changes nothing."""
        if os.getpid() == self.owner:
            self._kept.stop()

    def join(self, limit_s: float) -> bool:
        """Wait, after :meth:`stop`, until the child is gone; return whether it is."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    @property
    def exit_code(self) -> int | None:
        """The exit code (minus the signal that ended it), None before it is gone."""
        popen = self._kept.popen
        return None if popen is None else popen.returncode

    @property
    def stderr_tail(self) -> str:
        """The last two kibibytes of stderr so far, at most."""
        return bytes(self._kept.tail).decode("utf-8", "replace").strip()

    def _has_exited(self) -> bool:
        popen = self._kept.popen
        if popen is None or popen.returncode is not None:
            return popen is not None
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return popen.poll() is not None
        try:  # it must stay a zombie: as long as it is one, nothing else gets the number of its group
            return os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True


def _end(kept: _Kept, thread: threading.Thread, owner: int) -> None:
    if os.getpid() != owner:
        return
    kept.stop()
    if thread.ident is not None and thread is not threading.current_thread():
        thread.join(_JOIN_AT_EXIT_S)


def _keep(kept: _Kept, words: list[str], folder: Path) -> None:
    """Live as long as the child may live."""
    try:
        reading, writing = os.pipe()
        with (
            os.fdopen(reading, "rb", buffering=0) as listening,
            os.fdopen(writing, "wb", buffering=0) as wake,
        ):
            kept.wake = wake
            if not kept.stopped:
                _look_after(kept, words, folder, listening.fileno())
    except Exception as error:
        kept.error = error
    finally:
        kept.started.set()


def _look_after(kept: _Kept, words: list[str], folder: Path, listening: int) -> None:
    popen = kept.popen = subprocess.Popen(
        words,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    kept.started.set()
    stderr = cast("FileIO", popen.stderr)
    try:
        _drain(stderr.fileno(), kept.tail, listening)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a zombie gives no permission
            os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()
    _drain_rest(stderr.fileno(), kept.tail)
    for stream in (popen.stdin, popen.stdout, popen.stderr):
        if stream is not None:
            stream.close()


def _drain(stderr: int, tail: bytearray, listening: int) -> None:
    """Read stderr, keep its end, and return when something comes through ``listening``."""
    poller = select.poll()
    poller.register(listening, select.POLLIN)
    poller.register(stderr, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poller.poll()]
        if listening in ready:
            return
        if not _take(stderr, tail):
            poller.unregister(stderr)


def _drain_rest(stderr: int, tail: bytearray) -> None:
    """Read what a pipe still holds; one who left the group may hold it open, or go on writing."""
    os.set_blocking(stderr, False)
    for _ in range(_REST_CHUNKS):
        try:
            if not _take(stderr, tail):
                return
        except BlockingIOError:
            return


def _take(descriptor: int, tail: bytearray) -> bool:
    chunk = os.read(descriptor, _CHUNK)
    tail += chunk
    del tail[:-TAIL_BYTES]
    return bool(chunk)
