"""Numbers of a ladder run as the sections of its report write them."""

from __future__ import annotations

from collections.abc import Sequence

from analysis import formatting
from analysis.benchmark import TaskRate
from study.grading.rollup import COMPLETION_FLOOR, percent
from study.records import RUNGS


def of_cases(count: int, total: int) -> str:
    """Return ``"5 of 8 cases (63 %)"``."""
    return f"{count} of {cases_of(total)} ({percent(count, total)} %)"


def share(count: int, total: int) -> str:
    """Return ``"5 (63 %)"``: the percentage is whole, halves are rounded up."""
    return f"{count} ({percent(count, total)} %)"


def cases_of(count: int) -> str:
    """Return ``"1 case"``, ``"2 cases"``."""
    return f"{count} case{'' if count == 1 else 's'}"


def rung_list(rungs: Sequence[str]) -> str:
    """Return rungs with runs of three and more shortened: ``"TOOL-0, TOOL-3 to TOOL-9"``."""
    runs: list[list[str]] = []
    for rung in rungs:
        if runs and RUNGS.index(rung) == RUNGS.index(runs[-1][-1]) + 1:
            runs[-1].append(rung)
        else:
            runs.append([rung])
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs]
    return ", ".join(parts) or "none"


def over_tasks(found: TaskRate) -> str:
    """Return the mean over tasks with its interval, or why there is none."""
    mean = formatting.percent(found.estimate, bounds=(COMPLETION_FLOOR,))
    record = found.interval
    if record.low is None or record.high is None:
        return f"{mean}; interval {formatting.absence(record.status, found.n_tasks)}"
    limits = formatting.limits(
        record.low, record.high, "proportion", signed=False, bounds=(COMPLETION_FLOOR,)
    )
    remark = f"; {formatting.NEVER_DECIDES}" if record.status == "few_tasks" else ""
    return f"{mean} {limits}{remark}"
