"""One exception tree: every error carries a code, a place, what is allowed and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StudyError(Exception):
    """Something that the user can mend; the command line prints it without a traceback.

    Parameters
    ----------
    problem : str
        What is wrong, with the offending value.
    code : str, optional
        Stable identifier of the kind of error, for programs.
    where : str, optional
        ``file:path.to.the.place``, as exact as is known.
    allowed : str, optional
        What would have been accepted.
    next_step : str, optional
        The command or the edit that helps.
    """

    exit_code = 2
    default_code = "study-error"

    def __init__(
        self,
        problem: str,
        *,
        code: str | None = None,
        where: str | None = None,
        allowed: str | None = None,
        next_step: str | None = None,
    ) -> None:
        self.problem = problem
        self.code = code or self.default_code
        self.where = where
        self.allowed = allowed
        self.next_step = next_step
        super().__init__(problem)

    def __str__(self) -> str:
        head = f"{self.where}: {self.problem}" if self.where else self.problem
        tail = [f"allowed: {self.allowed}"] if self.allowed else []
        tail += [f"next: {self.next_step}"] if self.next_step else []
        return "\n  ".join([head, *tail])


class InputError(StudyError):
    """A file or an argument that cannot be read as what it should be."""

    default_code = "input"


class ProtocolError(StudyError):
    """A protocol that contradicts itself, its suites or what its design can support."""

    default_code = "protocol"


class SuiteError(StudyError):
    """A suite, case file or registry with findings."""

    default_code = "suite"


class LockError(StudyError):
    """A lock that is missing, or that differs from what would be run."""

    default_code = "lock"


class DriverError(StudyError):
    """A driver or a toolset that cannot be loaded or named."""

    default_code = "driver"


class RunError(StudyError):
    """A run folder that cannot be used as asked."""

    default_code = "run"


class IntegrityError(StudyError):
    """Files of a run that contradict each other; whatever they say is void."""

    exit_code = 3
    default_code = "integrity"


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the closest known name, or an empty string."""
    close = difflib.get_close_matches(value, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Join names for the *allowed* part of an error."""
    return ", ".join(names)
