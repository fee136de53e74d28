"""Which entry may follow which, and between which bounds its numbers lie."""

from __future__ import annotations

from typing import NoReturn

from study.errors import IntegrityError
from study.journal.entries import NEXT_STEP, Attempt, Entry, Header, Session, Stop

_OVER = 0


class Order:
    """The entries of one journal so far, as far as they decide about the next.

    A journal is a header of its lock, then sessions 1, 2, 3 ...; the attempts of a session stand behind it
    and name it. The attempts of a trial are numbered 1, 2, 3 ... and end with its final one. At most one
    stop follows a session, and no attempt follows the stop. Durations and counts are not negative.

    Parameters
    ----------
    lock_digest : str
        The lock that the header must name.
    """

    def __init__(self, lock_digest: str) -> None:
        self._lock_digest = lock_digest
        self._begun = False
        self._session = 0
        self._stopped = False
        self._next_attempts: dict[int, int] = {}

    def admit(self, entry: Entry, where: str) -> None:
        """Take the next entry.

        Raises
        ------
        IntegrityError
            When it may not stand at this place; ``where`` is named.
        """
        if isinstance(entry, Attempt):
            self._admit_attempt(entry, where)
        elif isinstance(entry, Session):
            self._admit_session(entry, where)
        elif isinstance(entry, Stop):
            self._admit_stop(entry, where)
        else:
            self._admit_header(entry, where)

    def _admit_header(self, header: Header, where: str) -> None:
        if self._begun:
            _refuse(where, "a second header", "one header, in the first line")
        if header.lock_digest != self._lock_digest:
            _refuse(where, f"the header names the lock {header.lock_digest!r:.80}", repr(self._lock_digest))
        self._begun = True

    def _admit_session(self, session: Session, where: str) -> None:
        if not self._begun:
            _refuse(where, "the journal has no header", "a header in the first line")
        expected = self._session + 1
        if session.session != expected:
            _refuse(where, f"session {session.session} follows session {self._session}", str(expected))
        if session.workers is not None and session.workers < 1:
            _refuse(where, f"workers {session.workers}", "1 or more")
        self._session = expected

    def _admit_attempt(self, attempt: Attempt, where: str) -> None:
        trial = attempt.trial
        if self._session == 0 or attempt.session != self._session:
            allowed = f"session {self._session}" if self._session else "a session before the first attempt"
            _refuse(where, f"an attempt of session {attempt.session}", allowed)
        if self._stopped:
            _refuse(where, f"an attempt of trial {trial} after the end of the run", "none after the stop")
        _check_numbers(attempt, where)
        expected = self._next_attempts.get(trial, 1)
        if expected == _OVER:
            _refuse(where, f"trial {trial} has an attempt after its final one", "one final attempt a trial")
        if attempt.attempt != expected:
            _refuse(where, f"attempt {attempt.attempt} of trial {trial}", f"attempt {expected}")
        self._next_attempts[trial] = _OVER if attempt.final else expected + 1

    def _admit_stop(self, stop: Stop, where: str) -> None:
        if self._session == 0 or self._stopped:
            found = "a second stop" if self._stopped else "a stop before the first session"
            _refuse(where, found, "at most one stop, after a session")
        for name in ("limit", "used"):
            if not getattr(stop, name) >= 0:
                _refuse(where, f"{name} {getattr(stop, name)}", "0 or more")
        self._stopped = True


def _check_numbers(attempt: Attempt, where: str) -> None:
    if attempt.trial < 0:
        _refuse(where, f"trial {attempt.trial}", "0 or more")
    if attempt.repetition < 1:
        _refuse(where, f"repetition {attempt.repetition}", "1 or more")
    if not attempt.latency_s >= 0:
        _refuse(where, f"latency_s {attempt.latency_s}", "0 or more seconds")
    if not attempt.waited_s >= 0:
        _refuse(where, f"waited_s {attempt.waited_s}", "0 or more seconds")
    if attempt.elapsed_s is not None and not attempt.elapsed_s >= 0:
        _refuse(where, f"elapsed_s {attempt.elapsed_s}", "0 or more seconds, or none")
    if attempt.produced.outcome != attempt.outcome:
        found = f"trial {attempt.trial} is {attempt.outcome!r}, what it produced {attempt.produced.outcome!r}"
        _refuse(where, found, "the same outcome in both places")


def _refuse(where: str, problem: str, allowed: str) -> NoReturn:
    raise IntegrityError(problem, code="journal-order", where=where, allowed=allowed, next_step=NEXT_STEP)
