"""What a protocol selects from its suites: the cases of one split and of the declared rungs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from study.cases import Case, Suite
from study.errors import ProtocolError, listed
from study.protocol import Protocol, Workload
from study.records import RUNGS, Record

MOST_TRIALS = 1_000_000


class SuiteSelection(Record):
    """The selected cases of one suite, in file order; ``name`` is the suite as the protocol names it."""

    name: str
    suite: Suite
    cases: tuple[Case, ...]


class Selection(Record):
    """All selected cases, suite by suite.

    ``strata`` holds the stratum of each task where the protocol declares weights; else it is empty.
    """

    suites: tuple[SuiteSelection, ...]
    strata: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each selected (task id, case id)."""
        return [(part.suite.task_of[case.id], case.id) for part in self.suites for case in part.cases]

    @property
    def cases(self) -> dict[str, tuple[Case, SuiteSelection]]:
        """Case id -> the case and the suite that it comes from."""
        return {case.id: (case, part) for part in self.suites for case in part.cases}

    @property
    def tasks(self) -> dict[str, list[Case]]:
        """Task id -> its selected cases."""
        tasks: dict[str, list[Case]] = {}
        for part in self.suites:
            task_of = part.suite.task_of
            for case in part.cases:
                tasks.setdefault(task_of[case.id], []).append(case)
        return tasks


def select(protocol: Protocol, suites: Sequence[Suite], where: str) -> Selection:
    """Select the cases of the protocol's split and rungs.

    Parameters
    ----------
    protocol : Protocol
    suites : sequence of Suite
        In the order of ``protocol.workload.suites``.
    where : str
        The protocol file, for errors.

    Raises
    ------
    ProtocolError
        When nothing is selected, a suite adds nothing, two suites share a task or a case id, or the
        number of tasks is not the declared one; with declared weights, when a task lies in two strata or a
        stratum has no weight or no task.
    """
    workload = protocol.workload
    parts = tuple(
        _select_one(name, suite, workload.split, workload.rungs, where)
        for name, suite in zip(workload.suites, suites, strict=True)
    )
    _refuse_shared(parts, where)
    selection = Selection(suites=parts, strata=_strata(parts, workload, where))
    n_trials = 2 * len(selection.pairs) * protocol.design.repetitions
    if n_trials > MOST_TRIALS:
        raise ProtocolError(
            f"{n_trials} trials",
            where=f"{where}:design.repetitions",
            allowed=f"at most {MOST_TRIALS} in a study",
        )
    n_tasks = len(selection.tasks)
    if n_tasks != protocol.design.tasks:
        raise ProtocolError(
            f"design.tasks = {protocol.design.tasks}, but the selection has {n_tasks} tasks",
            where=f"{where}:design.tasks",
            allowed=f"{n_tasks} (split {workload.split!r}, rungs {', '.join(workload.rungs or ('all',))})",
        )
    return selection


def _select_one(
    name: str, suite: Suite, split: str, rungs: tuple[str, ...] | None, where: str
) -> SuiteSelection:
    in_split = {c for entry in suite.file.tasks.values() if entry.split == split for c in entry.cases}
    wanted = set(rungs or RUNGS)
    cases = tuple(case for case in suite.cases if case.id in in_split and case.rung in wanted)
    if not cases:
        present = sorted({case.rung for case in suite.cases if case.id in in_split})
        raise ProtocolError(
            f"the suite {name!r} has no case in split {split!r} on the declared rungs",
            where=f"{where}:workload",
            allowed=f"rungs with cases in that split: {', '.join(present) or 'none'}",
        )
    return SuiteSelection(name=name, suite=suite, cases=cases)


def stratum_sizes(selection: Selection) -> dict[str, int]:
    """Return how many tasks each stratum has; empty without declared weights."""
    return dict(sorted(Counter(selection.strata.values()).items()))


def _strata(parts: Iterable[SuiteSelection], workload: Workload, where: str) -> dict[str, str]:
    if workload.weighting == "equal-tasks":
        return {}
    weights, place = workload.weights or {}, f"{where}:workload.weights"
    found: dict[str, str] = {}
    for part in parts:
        task_of = part.suite.task_of
        for case in part.cases:
            task, stratum = task_of[case.id], part.name if workload.weighting == "suites" else case.rung
            if found.setdefault(task, stratum) != stratum:
                raise ProtocolError(
                    f"the task {task!r} has cases on {found[task]!r} and on {stratum!r}",
                    where=place,
                    allowed="tasks that lie on one rung each, where rungs have weights",
                )
    for stratum in sorted({*found.values()} - {*weights}):
        raise ProtocolError(
            f"{stratum!r} has no weight", where=place, allowed=listed(sorted({*found.values()}))
        )
    for stratum in weights:
        if stratum not in found.values():
            raise ProtocolError(
                f"{stratum!r} has a weight, but no task",
                where=place,
                allowed=listed(sorted({*found.values()})),
            )
    return found


def _refuse_shared(parts: Iterable[SuiteSelection], where: str) -> None:
    owner: dict[tuple[str, str], str] = {}
    for part in parts:
        task_of = part.suite.task_of
        names = {("task", task_of[case.id]) for case in part.cases} | {
            ("case", case.id) for case in part.cases
        }
        for kind, name in sorted(names):
            if (kind, name) in owner:
                raise ProtocolError(
                    f"the {kind} {name!r} is in {owner[kind, name]!r} and in {part.name!r}",
                    where=f"{where}:workload.suites",
                    allowed="task and case ids that are unique over the suites of a study",
                )
            owner[kind, name] = part.name
