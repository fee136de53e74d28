"""Writes a journal: each record is with the operating system before the next, and on the disk when asked.

A record whose ``append`` has returned survives the end of the process, ``kill -9`` included. Whether it
survives a power cut is decided by ``fsync``: with group commit at most one group is lost, without it what
the operating system had not written yet. After a failed write or fsync nothing more is taken.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import nullcontext, suppress
from pathlib import Path
from time import monotonic

from study.errors import RunError
from study.journal.entries import Entry, to_line
from study.runs import advice, fsync_folder, writing


class Journal:
    """An open journal that is appended to, by one process at a time.

    Parameters
    ----------
    path : Path
        A new file, or one whose state was read.
    link : bytes
        The last link (:func:`study.journal.first_link` for a new file).
    keep_bytes : int
        The intact length; a torn tail behind it is cut off.
    fsync_trials : int, optional
        Group commit: fsync as soon as so many records wait for it.
    fsync_s : float, optional
        Group commit: fsync when the oldest record has waited so many seconds; looked at in
        :meth:`append` and :meth:`tick`. Without both, fsync comes with :meth:`close` alone.

    Raises
    ------
    RunError
        When another process writes the journal, or has written it since it was read; when the file
        cannot be written.
    """

    def __init__(
        self,
        path: Path,
        link: bytes,
        keep_bytes: int = 0,
        *,
        fsync_trials: int | None = None,
        fsync_s: float | None = None,
    ) -> None:
        self._path = path
        self._end = (keep_bytes, link)
        self._fsync_trials = fsync_trials
        self._fsync_s = fsync_s
        self._grouped = fsync_trials is not None or fsync_s is not None
        self._unsynced = 0
        self._oldest_s = 0.0
        self._failure: RunError | None = None
        self._lost = False
        with writing(path):
            self._stream = path.open("a+b", buffering=0)
            try:
                self._claim()
                self._cut_torn_tail()
                if keep_bytes == 0 and self._grouped:
                    fsync_folder(path.parent)
            except BaseException:
                self._stream.close()
                raise

    def _claim(self) -> None:
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                "another process is writing this run",
                where=str(self._path),
                next_step="wait for it to end, or stop it; its trials are kept",
            ) from None

    def _cut_torn_tail(self) -> None:
        """Cut off what is no whole line; whole lines behind the known ones are another process's."""
        keep_bytes, _ = self._end
        descriptor = self._stream.fileno()
        size = os.fstat(descriptor).st_size
        if size < keep_bytes or self._holds_a_line(keep_bytes):
            raise RunError(
                "another process wrote this journal after it was read here",
                where=str(self._path),
                next_step="repeat the command: it reads the journal again and goes on behind its last trial",
            )
        if size > keep_bytes:
            os.ftruncate(descriptor, keep_bytes)
            os.fsync(descriptor)

    def _holds_a_line(self, start: int) -> bool:
        self._stream.seek(start)
        return b"\n" in self._stream.read()

    def append(self, entry: Entry) -> None:
        """Append one record; when this returns, the operating system has it.

        An exception from outside, such as a ``KeyboardInterrupt``, leaves the record written as a whole or
        not at all, and more can be appended.

        Raises
        ------
        RunError
            When the record cannot be written as a whole, or the group not be made durable. What was written
            of the record is taken back; every earlier record stays; nothing more can be appended.
        """
        if self._failure is not None:
            raise self._failure
        length, previous = self._end
        line, link = to_line(entry, previous)
        try:
            written = self._stream.write(line)
            if written != len(line):
                self._write_rest(line[written:])
            self._end = (length + len(line), link)
        except OSError as error:
            self._take_back()
            self._fail(error)
        except BaseException:
            self._take_back()
            raise
        self._unsynced += 1
        if self._grouped:
            if self._unsynced == 1:
                self._oldest_s = monotonic()
            self.tick()

    def tick(self) -> None:
        """Make the group of waiting records durable when its number or its time is reached.

        Raises
        ------
        RunError
            When that fails.
        """
        if self._unsynced and self._failure is None and self._due():
            self._fsync()

    def _due(self) -> bool:
        if self._fsync_trials is not None and self._unsynced >= self._fsync_trials:
            return True
        return self._fsync_s is not None and monotonic() - self._oldest_s >= self._fsync_s

    def _write_rest(self, rest: bytes) -> None:
        """Go on behind a part of a line; the system says at the next part why it took no more."""
        while rest:
            written = self._stream.write(rest)
            if not written:
                raise OSError(errno.EIO, "the system took no byte of the record")
            rest = rest[written:]

    def _take_back(self) -> None:
        """Cut off a part of a record; where that fails it stays as a torn tail, which reading knows."""
        try:
            os.ftruncate(self._stream.fileno(), self._end[0])
        except OSError as error:
            self._failure = self._unwritable(error)

    def _fail(self, error: OSError) -> None:
        self._failure = self._unwritable(error)
        raise self._failure from None

    def _unwritable(self, error: OSError) -> RunError:
        return RunError(
            f"cannot write: {error.strerror or error}",
            code="write",
            where=str(self._path),
            next_step=f"{advice(error)} and repeat the command: every trial before this one is kept",
        )

    def _fsync(self) -> None:
        """Make all records durable; a second fsync after a failed one would tell nothing, so none is made."""
        try:
            os.fsync(self._stream.fileno())
        except OSError as error:
            self._lost = True
            self._failure = RunError(
                f"cannot make the journal durable: {error.strerror or error}; "
                f"the last {self._unsynced} records may be lost, though they can still be read now",
                code="fsync",
                where=str(self._path),
                next_step="check the disk and repeat the command: what is missing by then is run again",
            )
            raise self._failure from None
        self._unsynced = 0

    def close(self) -> None:
        """Make the journal durable and release it.

        Raises
        ------
        RunError
            When it cannot be made durable, unless a failure was told before.
        """
        if self._stream.closed:
            return
        told = self._failure is not None
        try:
            if not self._lost:
                with suppress(RunError) if told else nullcontext():
                    self._fsync()
        finally:
            # what was written is durable by now, or said not to be
            with suppress(OSError):
                self._stream.close()
