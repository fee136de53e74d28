"""The append-only trial journal: one line an attempt, durable, hash-chained to the lock, resumable."""

from study.journal.entries import (
    Attempt,
    AttemptSummary,
    Entry,
    Header,
    Session,
    Stop,
    first_link,
    revived,
)
from study.journal.reading import JournalState, Progress, read_entries, read_journal, read_progress
from study.journal.writing import Journal

__all__ = [
    "Attempt",
    "AttemptSummary",
    "Entry",
    "Header",
    "Journal",
    "JournalState",
    "Progress",
    "Session",
    "Stop",
    "first_link",
    "read_entries",
    "read_journal",
    "read_progress",
    "revived",
]
