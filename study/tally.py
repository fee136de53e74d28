"""What a run came to so far: counts of failures while it goes on, for those who look."""

from __future__ import annotations

from dataclasses import dataclass

from study.executors import Execution
from study.grading import compile_case
from study.journal import Attempt, Progress, read_entries, revived
from study.plan import Plan
from study.product import is_regression
from study.records import ARMS, Produced
from study.runs import RunFolder
from study.schedule import Assignment


@dataclass
class Counts:
    """Trials that are over, and how many of them went wrong in which way."""

    trials: int = 0
    failures: int = 0
    hard_fails: int = 0
    timeouts: int = 0
    errors: int = 0


class Tally:
    """Counts trials as they end; each is graded as it will be in the end.

    Parameters
    ----------
    plan : Plan
    folder : RunFolder
    state : Progress or None
        Of the journal, whose final attempts are counted first.
    watched : bool
        Whether anybody looks; otherwise nothing is graded before the end, and nothing counted.
    """

    def __init__(self, plan: Plan, folder: RunFolder, state: Progress | None, *, watched: bool) -> None:
        self._watched = watched
        self.by_arm = {str(arm): Counts() for arm in ARMS}
        self._graders = {
            case.id: compile_case(case, part.suite.rules, part.suite.registry)
            for part in plan.selection.suites
            for case in part.cases
        }
        self._pinned = {*plan.lock.get("pinned", ())}
        self._hallucinated: set[int] = set()
        if state is not None and watched:
            for entry in read_entries(folder.journal, plan.lock_digest):
                if isinstance(entry, Attempt) and entry.final:
                    self._count(entry.trial, entry.arm, entry.case_id, entry.produced)
                elif isinstance(entry, Attempt):
                    self._mark(entry.trial, entry.case_id, entry.produced)

    @property
    def pooled(self) -> Counts:
        """The counts of both arms together."""
        first, second = self.by_arm.values()
        return Counts(
            trials=first.trials + second.trials,
            failures=first.failures + second.failures,
            hard_fails=first.hard_fails + second.hard_fails,
            timeouts=first.timeouts + second.timeouts,
            errors=first.errors + second.errors,
        )

    def add(self, assignment: Assignment, execution: Execution) -> None:
        """Count a final attempt."""
        if self._watched:
            produced = revived(bytes(execution.produced))
            self._count(assignment.trial, assignment.arm, assignment.case_id, produced)

    def mark(self, assignment: Assignment, execution: Execution) -> None:
        """Keep in mind what an attempt hallucinated that is not the last: it counts for its trial."""
        if self._watched:
            self._mark(assignment.trial, assignment.case_id, revived(bytes(execution.produced)))

    def _mark(self, trial: int, case_id: str, produced: Produced) -> None:
        if self._graders[case_id](produced).hallucinated:
            self._hallucinated.add(trial)

    def _count(self, trial: int, arm: str, case_id: str, produced: Produced) -> None:
        counts = self.by_arm[arm]
        grade = self._graders[case_id](produced)
        passed = grade.passed and trial not in self._hallucinated
        pinned = arm == "candidate" and case_id in self._pinned
        counts.trials += 1
        counts.failures += not passed
        counts.hard_fails += (
            bool(grade.hard_fails)
            or trial in self._hallucinated
            or (pinned and is_regression(produced.outcome, passed=passed))
        )
        counts.timeouts += produced.outcome == "timeout"
        counts.errors += produced.outcome == "driver_error"
