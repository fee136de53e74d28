"""Journals for tests: entries with plain defaults, written files, and forged lines that chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from study.journal import Attempt, Entry, Header, Journal, Session, first_link
from study.records import Produced

LOCK = "ab" * 32


def header(lock: str = LOCK) -> Header:
    return Header(schema=1, study="s", lock_digest=lock)


def session(number: int = 1, **more: Any) -> Session:
    return Session(session=number, started_at_s=0.5, environment_digest="e", **more)


def attempt(trial: int, *, number: int = 1, outcome: str = "answered", **more: Any) -> Attempt:
    report = more.pop("report", {"calls": [], "refused": True})
    fields = {
        "pair": f"case-{trial}#1",
        "arm": "baseline",
        "case_id": f"case-{trial}",
        "repetition": 1,
        "session": 1,
        "produced": Produced(outcome=outcome, report=report),
        "started_at_s": 1.0,
        "latency_s": 0.25,
    }
    return Attempt(trial=trial, attempt=number, outcome=outcome, **(fields | more))


def write_entries(path: Path, entries: Iterable[Entry], lock: str = LOCK) -> bytes:
    """Write a journal and return its bytes."""
    journal = Journal(path, first_link(lock))
    for entry in entries:
        journal.append(entry)
    journal.close()
    return path.read_bytes()


def write(path: Path, *attempts: Entry) -> bytes:
    """Write a journal of one session and return its bytes."""
    return write_entries(path, [header(), session(), *attempts])


def chain(records: Iterable[bytes], lock: str = LOCK) -> bytes:
    """Return the bytes of a journal whose links are right, whatever its records say.

    Follows the description of the format, not the code: link = SHA-256 of the link before and the record.
    """
    link, lines = lock, []
    for record in records:
        link = hashlib.sha256(link.encode() + record).hexdigest()
        lines.append(b'{"chain":"' + link.encode() + b'","record":' + record + b"}\n")
    return b"".join(lines)


def records_of(journal: bytes) -> list[bytes]:
    """Return the bytes of the record in each line."""
    return [line[len(b'{"chain":"","record":') + 64 : -1] for line in journal.splitlines()]


def forged(journal: bytes, line: int, **changes: Any) -> bytes:
    """Return a journal in which one record (line from 1) says something else and all links are right."""
    records = records_of(journal)
    records[line - 1] = json.dumps(json.loads(records[line - 1]) | changes).encode()
    return chain(records)
