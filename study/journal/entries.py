"""What a journal is made of: its records, and the lines that chain them."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from study.errors import IntegrityError
from study.records import Arm, Outcome, Produced, Record

NEXT_STEP = "restore the file; a run whose journal was changed is void"

_HEAD, _MIDDLE, _TAIL = b'{"chain":"', b'","record":', b"}\n"
_RECORD_START = len(_HEAD) + 64 + len(_MIDDLE)


class Header(Record, tag_field="kind", tag="header"):
    """The first record: what the journal belongs to."""

    schema: Literal[1]
    study: str
    lock_digest: str


class Session(Record, tag_field="kind", tag="session", omit_defaults=True):
    """The start of a process that writes: at first, and at each resume.

    Attributes
    ----------
    session : int
        1, 2, 3 ... in the order of the journal.
    started_at_s : float
        Unix time, in seconds.
    environment_digest : str
        SHA-256 of ``environment.json``.
    executor : str or None
        Where its trials ran; None in journals that are older than this field.
    workers : int or None
        How many trials ran at a time; None in journals that are older than this field.
    unblinded : bool
        Whether counts per arm were shown while it went on.
    """

    session: int
    started_at_s: float
    environment_digest: str
    executor: str | None = None
    workers: int | None = None
    unblinded: bool = False


class AttemptSummary(Record):
    """One execution of one trial, without what it produced.

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
    usage : dict or None
        The usage ledger; None when the driver recorded no model call.
    error : dict or None
        ``{"type", "message"}`` of the exception behind ``driver_error`` or ``infrastructure``.
    started_at_s : float
        Unix time of the start, in seconds.
    latency_s : float
        Seconds from the call of the driver to its return, or to the time limit.
    retried : bool
        Whether another attempt follows because the protocol declares retries for this outcome.
    waited_s : float
        Seconds spent waiting for rate limits; they are no part of ``latency_s``.
    elapsed_s : float or None
        Seconds of a monotonic clock from the start of the session to the end of the attempt.
    worker : str or None
        Where it ran, told within the session; None in journals that are older than this field.
    """

    trial: int
    pair: str
    arm: Arm
    case_id: str
    repetition: int
    attempt: int
    session: int
    outcome: Outcome
    usage: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    started_at_s: float
    latency_s: float
    retried: bool = False
    waited_s: float = 0.0
    elapsed_s: float | None = None
    worker: str | None = None

    @property
    def final(self) -> bool:
        """Whether the trial is over: no attempt follows one that is neither cancelled nor retried."""
        return self.outcome != "cancelled" and not self.retried


class Attempt(AttemptSummary, tag_field="kind", tag="attempt", omit_defaults=True):
    """One execution of one trial, with what it produced.

    Attributes
    ----------
    produced : Produced
        What is graded. (While writing, its parts may be raw JSON.)
    """

    produced: Produced


class Stop(Record, tag_field="kind", tag="stop"):
    """The end of a run whose declared budget was used up: no attempt follows.

    Attributes
    ----------
    reason : str
        The limit of the protocol that was reached.
    limit : float
        Its declared value: seconds, tokens or calls.
    used : float
        What had been used by then, in the same unit.
    """

    reason: Literal["max_wall_s", "max_tokens", "max_calls"]
    limit: float
    used: float


Entry = Header | Session | Attempt | Stop

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode
_decode_produced = msgspec.json.Decoder(Produced).decode
_SUMMARY_FIELDS = AttemptSummary.__struct_fields__


def revived(data: bytes) -> Produced:
    """Return what an attempt produced from the JSON that its execution was kept as."""
    return _decode_produced(data)


def summarised(attempt: Attempt) -> AttemptSummary:
    """Return an attempt without what it produced."""
    return AttemptSummary(**{name: getattr(attempt, name) for name in _SUMMARY_FIELDS})


def first_link(lock_digest: str) -> bytes:
    """Return the link before the header: the digest of the lock."""
    return lock_digest.encode()


def chained(previous: bytes, record: bytes) -> bytes:
    """Return the next link: SHA-256 (hex) of the previous link and the record's bytes."""
    return hashlib.sha256(previous + record).hexdigest().encode()


def to_line(entry: Entry, previous: bytes) -> tuple[bytes, bytes]:
    """Return the line of an entry that follows the link ``previous``, and the link after it."""
    record = _encode(entry)
    link = chained(previous, record)
    return _HEAD + link + _MIDDLE + record + _TAIL, link


def from_line(line: bytes, previous: bytes, where: str) -> tuple[Entry, bytes]:
    """Return the entry of a whole line that must follow the link ``previous``, and the link after it.

    Raises
    ------
    IntegrityError
        When the line is not the one that was written after that link, or holds no record.
    """
    record = line[_RECORD_START : -len(_TAIL)]
    link = chained(previous, record)
    if line != _HEAD + link + _MIDDLE + record + _TAIL:
        raise _broken_chain(line, where)
    try:
        return _decode(record), link
    except msgspec.MsgspecError as error:
        problem = str(error)
    except RecursionError:
        problem = "nested too deeply"
    raise IntegrityError(
        f"not a journal record: {problem}",
        code="journal-record",
        where=where,
        allowed="records of the kinds header, session, attempt and stop",
        next_step=NEXT_STEP,
    )


def _broken_chain(line: bytes, where: str) -> IntegrityError:
    if b"\0" in line:
        number = int(where.rpartition(":")[2]) - 1
        return IntegrityError(
            "this line holds zero bytes: at a power cut the file system lost what was not yet on the disk",
            code="journal-chain",
            where=where,
            allowed="lines that continue the chain from the lock",
            next_step=f"keep a copy, cut the file after line {number} and resume: later trials run again",
        )
    return IntegrityError(
        "the journal was changed: this line does not continue the chain from the lock to here",
        code="journal-chain",
        where=where,
        allowed="lines as they were written, in their order, from the first on",
        next_step=NEXT_STEP,
    )
