"""The append-only trial journal: one flushed line an attempt, hash-chained to the lock."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from study.errors import IntegrityError, RunError
from study.records import Arm, Outcome, Produced, Record
from study.runs import writing

JOURNAL_SCHEMA = 1
_HEAD, _MIDDLE, _TAIL = b'{"chain":"', b'","record":', b"}\n"
_CHAIN_END = len(_HEAD) + 64
_RECORD_START = _CHAIN_END + len(_MIDDLE)


class Header(Record, tag_field="kind", tag="header"):
    """The first record: what the journal belongs to."""

    schema: Literal[1]
    study: str
    lock_digest: str


class Session(Record, tag_field="kind", tag="session"):
    """The start of a process that writes: at first, and at each resume."""

    session: int
    started_at_s: float
    environment_digest: str


class Attempt(Record, tag_field="kind", tag="attempt"):
    """One execution of one trial.

    Attributes
    ----------
    trial, pair, arm, case_id, repetition
        The assignment.
    attempt : int
        From 1, per trial.
    session : int
        The session that executed it.
    outcome : str
        One of :data:`study.records.OUTCOMES`.
    produced : Produced
        What is graded. (While writing, its parts may be raw JSON.)
    usage : dict or None
        The usage ledger; None when the driver recorded no model call.
    error : dict or None
        ``{"type", "message"}`` of the exception behind ``driver_error`` or ``infrastructure``.
    started_at_s : float
        Unix time of the start, in seconds.
    latency_s : float
        Seconds from the call of the driver to its return, or to the time limit.
    """

    trial: int
    pair: str
    arm: Arm
    case_id: str
    repetition: int
    attempt: int
    session: int
    outcome: Outcome
    produced: Produced
    usage: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    started_at_s: float
    latency_s: float

    @property
    def final(self) -> bool:
        """Whether the trial is over: only a cancelled attempt is run again."""
        return self.outcome != "cancelled"


Entry = Header | Session | Attempt
_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Entry)


_produced_decoder = msgspec.json.Decoder(Produced)


def revived(data: bytes) -> Produced:
    """Return what an attempt produced from the JSON that its execution was kept as."""
    return _produced_decoder.decode(data)


def chained(previous: bytes, record: bytes) -> bytes:
    """Return the next link: SHA-256 (hex) of the previous link and the record's bytes."""
    return hashlib.sha256(previous + record).hexdigest().encode()


def first_link(lock_digest: str) -> bytes:
    """Return the link before the header: the digest of the lock."""
    return lock_digest.encode()


class JournalState(Record):
    """What a journal holds: its entries, the last link, the intact length, and a torn tail if any."""

    header: Header
    sessions: tuple[Session, ...]
    attempts: tuple[Attempt, ...]
    link: bytes
    intact_bytes: int
    torn: bytes

    @property
    def finals(self) -> dict[int, Attempt]:
        """Trial -> its final attempt."""
        return {attempt.trial: attempt for attempt in self.attempts if attempt.final}

    @property
    def split_pairs(self) -> frozenset[str]:
        """Pairs whose two final attempts were made in different sessions."""
        sessions: dict[str, set[int]] = {}
        for attempt in self.finals.values():
            sessions.setdefault(attempt.pair, set()).add(attempt.session)
        return frozenset(pair for pair, seen in sessions.items() if len(seen) > 1)


def _lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    start = number = 0
    while (end := data.find(b"\n", start)) >= 0:
        number += 1
        yield number, end + 1, data[start : end + 1]
        start = end + 1


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
        For a line that does not continue the chain, that is no record, or a trial with two final attempts.
    """
    data = _read(path)
    link = first_link(lock_digest)
    entries: list[Entry] = []
    intact = 0
    for number, end, line in _lines(data):
        link = _check_line(line, link, f"{path}:{number}")
        entries.append(_decode(line[_RECORD_START : -len(_TAIL)], f"{path}:{number}"))
        intact = end
    if not entries or not isinstance(entries[0], Header):
        raise IntegrityError("the journal has no header", where=str(path))
    attempts = tuple(entry for entry in entries if isinstance(entry, Attempt))
    _refuse_doubles(attempts, path)
    return JournalState(
        header=entries[0],
        sessions=tuple(entry for entry in entries if isinstance(entry, Session)),
        attempts=attempts,
        link=link,
        intact_bytes=intact,
        torn=data[intact:],
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IntegrityError(f"cannot read the journal: {error.strerror}", where=str(path)) from None


def _check_line(line: bytes, link: bytes, where: str) -> bytes:
    record = line[_RECORD_START : -len(_TAIL)]
    expected = chained(link, record)
    if line != _HEAD + expected + _MIDDLE + record + _TAIL:
        raise IntegrityError(
            "the journal was changed: this line does not continue the chain from the lock to here",
            code="journal-chain",
            where=where,
            next_step="restore the file; a run whose journal was changed is void",
        )
    return expected


def _decode(record: bytes, where: str) -> Entry:
    try:
        return _decoder.decode(record)
    except msgspec.MsgspecError as error:
        raise IntegrityError(f"not a journal record: {error}", where=where) from None


def _refuse_doubles(attempts: tuple[Attempt, ...], path: Path) -> None:
    finals: set[int] = set()
    for attempt in attempts:
        if attempt.trial in finals:
            raise IntegrityError(f"trial {attempt.trial} has an attempt after its final one", where=str(path))
        if attempt.final:
            finals.add(attempt.trial)


class Journal:
    """An open journal that is appended to; each record is flushed to the system before the next starts.

    Parameters
    ----------
    path : Path
        A new file, or one whose state was read.
    link : bytes
        The last link (:func:`first_link` for a new file).
    keep_bytes : int
        The intact length; a torn tail behind it is cut off.
    """

    def __init__(self, path: Path, link: bytes, keep_bytes: int = 0) -> None:
        self._path = path
        self._link = link
        with writing(path):
            self._stream = path.open("ab", buffering=0)
            self._claim()
            if self._stream.tell() > keep_bytes:
                self._stream.truncate(keep_bytes)
                os.fsync(self._stream.fileno())

    def _claim(self) -> None:
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._stream.close()
            raise RunError(
                "another process is writing this run",
                where=str(self._path),
                next_step="wait for it to end, or stop it; its trials are kept",
            ) from None

    def append(self, entry: Entry) -> None:
        """Append one record; when this returns, the operating system has it.

        Raises
        ------
        RunError
            When the record cannot be written as a whole; what was written of it is a torn tail.
        """
        record = _encode(entry)
        link = chained(self._link, record)
        line = _HEAD + link + _MIDDLE + record + _TAIL
        try:
            written = self._stream.write(line)
        except OSError as error:
            self._fail(error.strerror or str(error))
        else:
            if written != len(line):
                self._fail("no space left for the whole record")
            self._link = link

    def _fail(self, reason: str) -> None:
        raise RunError(
            f"cannot write: {reason}",
            code="write",
            where=str(self._path),
            next_step="make room and repeat the command: every trial before this one is kept",
        )

    def close(self) -> None:
        """Make the journal durable and release it."""
        if not self._stream.closed:
            with writing(self._path):
                os.fsync(self._stream.fileno())
            self._stream.close()
