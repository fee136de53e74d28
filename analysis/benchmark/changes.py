"""One report against the previous one: counts, flips, and changes of what a number means."""

from __future__ import annotations

from study.records import Record


class Tally(Record, rename="camel"):
    """Counts of cases."""

    total: int
    passed: int
    completed: int
    result_completed: int


class Flip(Record, rename="camel"):
    """One unchanged case whose outcome changed."""

    case_id: str
    before: str
    after: str


class DriverChange(Record, rename="camel"):
    """One driver that both reports measured.

    Attributes
    ----------
    name, version_before, version_after : str
    code_before, code_after : str or None
        Digests of the driver's source files; None where none was recorded.
    before, after : Tally
        All cases of either report.
    unchanged_before, unchanged_after : Tally
        The cases that are the same in both.
    other_after : Tally
        The cases of this report that are new or changed.
    flips : tuple of Flip
    """

    name: str
    version_before: str
    version_after: str
    before: Tally
    after: Tally
    unchanged_before: Tally
    unchanged_after: Tally
    other_after: Tally
    flips: tuple[Flip, ...]
    code_before: str | None = None
    code_after: str | None = None

    @property
    def code_changed(self) -> bool:
        """Whether both reports recorded the driver's code, and not the same."""
        return None not in (self.code_before, self.code_after) and self.code_before != self.code_after

    @property
    def gained(self) -> int:
        """Unchanged cases that pass now and did not before."""
        return sum(_passes(flip.after) and not _passes(flip.before) for flip in self.flips)

    @property
    def lost(self) -> int:
        """Unchanged cases that passed before and do not now."""
        return sum(_passes(flip.before) and not _passes(flip.after) for flip in self.flips)


def _passes(label: str) -> bool:
    return label.startswith("pass")


class Meaning(Record, rename="camel"):
    """A named change of what a number means; ``code`` is stable, ``world`` says that it touches all cases."""

    code: str
    text: str
    world: bool = False


class Changes(Record, rename="camel"):
    """One report against the previous one.

    Attributes
    ----------
    previous_version, previous_digest : str
        Name and SHA-256 of the previous ``benchmark.json``.
    meanings : tuple of Meaning
    new_rungs, gone_rungs : tuple of str
    new_cases, gone_cases, changed_requests, changed_expectations : tuple of str
        Case ids.
    new_drivers, gone_drivers : tuple of str
    drivers : tuple of DriverChange
    """

    previous_version: str
    previous_digest: str
    meanings: tuple[Meaning, ...]
    new_rungs: tuple[str, ...]
    gone_rungs: tuple[str, ...]
    new_cases: tuple[str, ...]
    gone_cases: tuple[str, ...]
    changed_requests: tuple[str, ...]
    changed_expectations: tuple[str, ...]
    new_drivers: tuple[str, ...]
    gone_drivers: tuple[str, ...]
    drivers: tuple[DriverChange, ...]
