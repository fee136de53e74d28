"""Reads a journal line by line: every link and every bound is checked before an entry is given out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from study.errors import IntegrityError
from study.journal.entries import (
    Attempt,
    AttemptSummary,
    Entry,
    Header,
    Session,
    Stop,
    first_link,
    from_line,
    summarised,
)
from study.journal.order import Order
from study.records import Record


class Progress(Record):
    """How far a journal is: all of it but what the attempts produced.

    Attributes
    ----------
    header : Header
    sessions : tuple of Session
    attempts : tuple of AttemptSummary
        In the order in which they were written.
    stop : Stop or None
        The end by a declared budget, if there was one.
    link : bytes
        The last link of the chain; the next entry continues it.
    intact_bytes : int
        The length of the whole lines.
    torn : bytes
        A torn tail behind them, if any.
    """

    header: Header
    sessions: tuple[Session, ...]
    attempts: tuple[AttemptSummary, ...]
    stop: Stop | None
    link: bytes
    intact_bytes: int
    torn: bytes

    @property
    def finals(self) -> Mapping[int, AttemptSummary]:
        """Trial -> its final attempt."""
        return {attempt.trial: attempt for attempt in self.attempts if attempt.final}

    @property
    def split_pairs(self) -> frozenset[str]:
        """Pairs whose two final attempts were made in different sessions."""
        first: dict[str, int] = {}
        return frozenset(
            attempt.pair
            for attempt in self.attempts
            if attempt.final and first.setdefault(attempt.pair, attempt.session) != attempt.session
        )


class JournalState(Progress):
    """What a journal holds: as :class:`Progress`, with what the attempts produced."""

    attempts: tuple[Attempt, ...]

    @property
    def finals(self) -> dict[int, Attempt]:
        """Trial -> its final attempt."""
        return {attempt.trial: attempt for attempt in self.attempts if attempt.final}


def read_journal(path: Path, lock_digest: str) -> JournalState:
    """Read a journal and check every link.

    Parameters
    ----------
    path : Path
    lock_digest : str
        The lock that the journal must belong to.

    Returns
    -------
    JournalState
        A last line without its newline is a torn tail: reported, and not part of the entries.

    Raises
    ------
    IntegrityError
        For a line that does not continue the chain, that is no record, or that may not stand at its place
        (see :class:`study.journal.order.Order`).
    """
    lines = _Lines(path, lock_digest)
    attempts = tuple(entry for entry in lines if isinstance(entry, Attempt))
    return JournalState(attempts=attempts, **lines.rest())


def read_progress(path: Path, lock_digest: str) -> Progress:
    """Read a journal as :func:`read_journal` does, and keep nothing of what the attempts produced.

    What they produced is checked all the same. It is the larger part of a journal: with 100,000 attempts
    of one call each, this keeps a third of the memory.
    """
    lines = _Lines(path, lock_digest)
    attempts = tuple(summarised(entry) for entry in lines if isinstance(entry, Attempt))
    return Progress(attempts=attempts, **lines.rest())


def read_entries(path: Path, lock_digest: str) -> Iterator[Entry]:
    """Give the entries of a journal one by one, each checked as :func:`read_journal` does; keep none."""
    return iter(_Lines(path, lock_digest))


class _Lines:
    """The entries of one journal; after the last one, what else there is to know about the file."""

    def __init__(self, path: Path, lock_digest: str) -> None:
        self._path = path
        self._lock_digest = lock_digest
        self._header: Header | None = None
        self._sessions: list[Session] = []
        self._stop: Stop | None = None
        self._link = first_link(lock_digest)
        self._intact_bytes = 0
        self._torn = b""

    def rest(self) -> dict[str, Any]:
        """Return the fields of :class:`Progress` beside the attempts; for after the last entry."""
        return {
            "header": self._header,
            "sessions": tuple(self._sessions),
            "stop": self._stop,
            "link": self._link,
            "intact_bytes": self._intact_bytes,
            "torn": self._torn,
        }

    def __iter__(self) -> Iterator[Entry]:
        order = Order(self._lock_digest)
        for number, line in enumerate(_lines(self._path), 1):
            if not line.endswith(b"\n"):
                self._torn = line
                break
            where = f"{self._path}:{number}"
            entry, self._link = from_line(line, self._link, where)
            order.admit(entry, where)
            self._intact_bytes += len(line)
            if isinstance(entry, Header):
                self._header = entry
            elif isinstance(entry, Session):
                self._sessions.append(entry)
            elif isinstance(entry, Stop):
                self._stop = entry
            yield entry
        if self._header is None:
            raise IntegrityError(
                "the journal has no header",
                where=str(self._path),
                allowed="a header in the first line",
                next_step="restore the file: without its first line nothing in it can be trusted",
            )


def _lines(path: Path) -> Iterator[bytes]:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise IntegrityError("the journal is no regular file", where=str(path), allowed="a file")
        with path.open("rb") as stream:
            yield from stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise IntegrityError(f"cannot read the journal: {reason}", where=str(path)) from None
