"""What the values of the tasks look like: few, tied, skewed, repeated without variation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from analysis import formatting, paired, shares
from analysis.arms import timed
from analysis.diagnostics import skewness
from analysis.intervals import FEW_TASKS, FEWEST_TASKS
from analysis.results import Diagnostic
from analysis.table import RunTable, by_case, score
from analysis.taskvalues import Floats
from study.errors import InputError
from study.records import ARMS

MANY_TASKS = 20
"""From this many tasks on, the number of tasks is not remarked on."""

FEWEST_DIFFERING = 5
"""With fewer tasks that differ between the arms, the interval rests on single tasks."""

COCHRAN = 25
"""A mean of n values is near enough to normal where n > 25 G^2, G their skewness.

Cochran, Sampling Techniques, third edition 1977, section 2.15.
"""

_TILTED = "the tilted interval makes no such assumption"
_STUDENT = "read the percentile row beside it"
_ROUNDING = 1e-12
_GRADED = ("outcome", "passed", "completed", "result_completed", "failure", "n_calls")


def spread_diagnostics(table: RunTable) -> list[Diagnostic]:
    """Return how many tasks there are, and for each endpoint how many are tied and how skewed the rest is.

    Returns
    -------
    list of Diagnostic
        ``few_tasks`` once; ``ties`` for endpoints that are shares; ``skew`` for these and for the latency
        ratio. Void pairs are left out.
    """
    kept = table.frame.filter(~pl.col("void_pair"))
    found = [_few_tasks(kept["task_id"].n_unique())]
    for endpoint, share, differences in _differences(table, kept):
        if share:
            found.append(_ties(endpoint, differences))
        found.append(_skew(endpoint, differences, _TILTED if share else _STUDENT))
    return found


def repetition_diagnostics(table: RunTable) -> list[Diagnostic]:
    """Return, for each arm, for how many cases all repetitions ended alike in everything that is graded."""
    kept = table.frame.filter(~pl.col("void_pair"))
    graded = [name for name in _GRADED if name in kept.columns]
    alike = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).first()).all() for name in graded)
    cells = kept.group_by("arm", "task_id", "case_id").agg(pl.len().alias("n"), alike.alias("alike"))
    return [_repetitions(arm, cells.filter(pl.col("arm") == arm)) for arm in ARMS]


def _differences(table: RunTable, kept: pl.DataFrame) -> Iterator[tuple[str, bool, Floats]]:
    """Yield each declared endpoint that has task differences, whether it is a share, and these."""
    for name, k in dict.fromkeys((spec.name, spec.k) for spec in table.protocol.endpoints):
        if k is not None and len(kept):
            try:
                arms = shares.shares(table, kept, name, k).arms
            except InputError:  # too few repetitions or tasks left: the estimate is refused as well
                continue
            yield f"{name} (k = {k})", True, paired.task_differences(*(arms[arm] for arm in ARMS))
        elif name in shares.SHARES and len(kept):
            counted = score(table.protocol, name).cast(pl.Float64)
            yield name, True, _task_differences(kept.with_columns(value=counted))
        elif name == "latency_gmr":
            times = timed(table)
            if len(times) and not times["time_s"].null_count() and (times["time_s"] > 0).all():
                yield name, False, _task_differences(times.with_columns(value=pl.col("time_s").log()))


def _task_differences(frame: pl.DataFrame) -> Floats:
    """Return candidate - baseline of each task; cases weigh equally within it. Rounding is no difference."""
    tasks = by_case(frame, "value").group_by("arm", "task_id").agg(pl.col("value").mean())
    left, right = (tasks.filter(pl.col("arm") == arm).drop("arm") for arm in ARMS)
    values = left.join(right, on="task_id").sort("task_id").select(pl.col("value_right") - pl.col("value"))
    found = values.to_series().to_numpy()
    return np.where(np.abs(found) < _ROUNDING, 0.0, found)


def _few_tasks(n_tasks: int) -> Diagnostic:
    told = f"{formatting.counted(n_tasks, 'task')}: "
    if n_tasks < FEWEST_TASKS:
        told += "a point estimate only"
    elif n_tasks < FEW_TASKS:
        told += "an interval is printed, but decides nothing"
    elif n_tasks < MANY_TASKS:
        told += "intervals hold their level and are wide"
    else:
        told += "enough for the intervals to hold their level; how wide they are is printed beside them"
    return Diagnostic(
        name="few_tasks",
        endpoint=None,
        arm=None,
        value=float(n_tasks),
        unit="tasks",
        interval=None,
        threshold=f"fewer than {MANY_TASKS} tasks",
        n_tasks=n_tasks,
        status="noticed" if n_tasks < MANY_TASKS else "ok",
        sentence=told,
    )


def _ties(endpoint: str, differences: Floats) -> Diagnostic:
    n_tasks = len(differences)
    differing = int(np.count_nonzero(differences))
    noticed = differing < FEWEST_DIFFERING
    are = "is" if n_tasks == 1 else "are"
    told = f"{n_tasks - differing} of {formatting.counted(n_tasks, 'task')} {are} tied"
    return Diagnostic(
        name="ties",
        endpoint=endpoint,
        arm=None,
        value=(n_tasks - differing) / n_tasks,
        unit="share",
        interval=None,
        threshold=f"fewer than {FEWEST_DIFFERING} tasks differ",
        n_tasks=n_tasks,
        status="noticed" if noticed else "ok",
        sentence=f"{told}, so that the width comes from the number of tasks more than from their spread"
        if noticed
        else told,
    )


def _skew(endpoint: str, differences: Floats, advice: str) -> Diagnostic:
    n_tasks = len(differences)
    found = skewness(differences)
    needed = None if found is None else COCHRAN * found**2
    noticed = needed is not None and n_tasks <= needed
    if found is None:
        told = "all task differences are equal, so that there is no spread to be skewed"
    elif noticed:
        told = (
            f"skewness {formatting.significant(found, 2, signed=True)} of {n_tasks} task differences: "
            f"Student's t, which takes them for symmetric, errs to one side; {advice}"
        )
    else:
        told = f"skewness {formatting.significant(found, 2, signed=True)}, too little to matter"
    return Diagnostic(
        name="skew",
        endpoint=endpoint,
        arm=None,
        value=found,
        unit="skewness",
        interval=None,
        threshold=f"no more than {COCHRAN} x skewness^2 tasks",
        n_tasks=n_tasks,
        status="not_computed" if found is None else "noticed" if noticed else "ok",
        sentence=told,
    )


def _repetitions(arm: str, cells: pl.DataFrame) -> Diagnostic:
    repeated = cells.filter(pl.col("n") > 1)
    n_cases, alike = len(repeated), len(repeated.filter("alike"))
    noticed = n_cases > 0 and alike == n_cases
    counted = formatting.counted(n_cases, "case")
    if not n_cases:
        told = f"no case of the {arm} has a second repetition, so that nothing tells how it varies"
    elif noticed:
        told = (
            f"the repetitions of each of {counted} ended alike in the {arm}: they add nothing, and "
            f"{int(repeated['n'].sum())} trials tell as much as {n_cases}"
        )
    else:
        told = f"the repetitions of {alike} of {counted} ended alike in the {arm}"
    return Diagnostic(
        name="identical_repetitions",
        endpoint=None,
        arm=arm,
        value=alike / n_cases if n_cases else None,
        unit="share",
        interval=None,
        threshold="all repetitions of every case end alike",
        n_tasks=repeated["task_id"].n_unique(),
        status="noticed" if noticed else "ok" if n_cases else "not_computed",
        sentence=told,
    )
