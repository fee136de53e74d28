"""Notes of people on a run: appended to its deviations until the run is sealed."""

from __future__ import annotations

import errno
import fcntl
import os
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from study.digest import encode_json
from study.errors import InputError, RunError
from study.runs import RunFolder, writing

LONGEST_NOTE = 2_000
KIND = "note"

_NOT_TEXT = {"Cc": "control character", "Cs": "byte that is no UTF-8", "Zl": "line break", "Zp": "line break"}


def add_note(folder: RunFolder, text: str) -> dict[str, str]:
    """Append a note to the deviations of a run that is not sealed, with the time in UTC.

    Parameters
    ----------
    folder : RunFolder
        Another process may be writing its journal meanwhile.
    text : str
        One line of at most 2,000 characters.

    Returns
    -------
    dict
        What was appended: ``kind``, ``text`` and ``at`` (ISO 8601).

    Raises
    ------
    InputError
        For a text that is empty, too long or not one line of text.
    RunError
        When the run is sealed, when its report is being written, or when the file cannot be written.
    """
    entry = {"kind": KIND, "text": _checked(text), "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    with _claimed(folder, fcntl.LOCK_SH | fcntl.LOCK_NB):
        if folder.sealed:
            raise _sealed(folder)
        append_line(folder, encode_json(entry) + b"\n")
    return entry


@contextmanager
def closing(folder: RunFolder) -> Generator[None]:
    """Keep notes out while results are written: what they list must be what the manifest seals.

    Raises
    ------
    RunError
        When another process sealed the run in the meantime.
    """
    with _claimed(folder, fcntl.LOCK_EX):
        if folder.sealed:
            raise RunError(
                "another process has sealed this run in the meantime",
                where=str(folder.path),
                next_step="`study report RUN` prints its report",
            )
        yield


def _checked(text: str) -> str:
    text = text.strip()
    if not text:
        raise InputError("the note is empty", where="TEXT", allowed="one line of text")
    if len(text) > LONGEST_NOTE:
        raise InputError(
            f"the note has {len(text)} characters",
            where="TEXT",
            allowed=f"at most {LONGEST_NOTE}",
            next_step="write a document elsewhere and note where it is",
        )
    for place, char in enumerate(text, 1):
        name = _NOT_TEXT.get(unicodedata.category(char))
        if name is not None:
            raise InputError(
                f"character {place} of the note is a {name} (U+{ord(char):04X})",
                where="TEXT",
                allowed="one line of text",
            )
    return text


@contextmanager
def _claimed(folder: RunFolder, how: int) -> Generator[None]:
    """Hold a claim on a run's end: shared by notes, exclusive while results are written."""
    with writing(folder.lock, again=""):
        stream = folder.lock.open("rb")
    with stream:
        try:
            fcntl.flock(stream, how)
        except BlockingIOError:
            raise RunError(
                "the report of this run is being written; the note would come too late for it",
                where=str(folder.path),
                next_step="keep the note beside the folder of the run, e.g. beside the protocol",
            ) from None
        yield


def _sealed(folder: RunFolder) -> RunError:
    return RunError(
        "this run is sealed: its report is written, and its files are never changed again",
        code="sealed",
        where=str(folder.path),
        next_step="keep the note beside the folder of the run, or note it in a run of `study run PROTOCOL`",
    )


def append_line(folder: RunFolder, line: bytes) -> None:
    """Append a line to the deviations of a run; those of several processes never mix.

    Raises
    ------
    RunError
        When the file cannot be written.
    """
    with writing(folder.deviations, again=""):
        descriptor = os.open(folder.deviations, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, "no space left for the whole note", str(folder.deviations))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
