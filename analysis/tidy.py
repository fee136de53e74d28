"""A tidy table of trials from anywhere as the table that the estimators take; nothing was locked."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from analysis import formatting
from analysis.cells import read_cells
from analysis.table import MOST_MISSING, ROUNDING, RunTable
from analysis.trials import check_trials, unused_columns
from study.endpoints import parse_margin
from study.errors import InputError
from study.protocol import (
    AnalysisSpec,
    Arms,
    ArmSpec,
    Change,
    Design,
    EndpointSpec,
    Limits,
    Protocol,
    Workload,
)
from study.records import ARMS

ALPHA = 0.025
MOST_UNEVEN = 0.05
"""Difference between the arms' shares of missing trials above which no claim is decided."""

_ENDPOINT = "completion"
_CASE = ("task_id", "case_id")
_SHOWN = 5


class _Planned(NamedTuple):
    """Every trial that both arms should have, with the counts behind it.

    ``frame`` holds the trials of the table and, as void, those that it lacks; ``missing`` and ``expected``
    count trials an arm, ``lost`` lists the tasks that ran in one arm only, ``n_tasks`` counts all, and
    ``repetitions`` is the most that a case should have in an arm.
    """

    frame: pl.DataFrame
    missing: dict[str, int]
    expected: dict[str, int]
    lost: dict[str, list[str]]
    n_tasks: int
    repetitions: int


def read_table(
    source: Any, *, baseline: str, candidate: str, margin: str | None = None, scores: bool = False
) -> RunTable:
    """Read a tidy table of trials, for the same statistics as a run; what comes of it is exploratory.

    Parameters
    ----------
    source : str, Path, polars.DataFrame, polars.LazyFrame or pandas.DataFrame
        One row a trial. A path ends in ``.csv``, ``.parquet``, ``.jsonl`` or ``.ndjson``. Columns:
        ``task_id``; ``arm``; ``repetition``, a whole number; ``outcome``: 0, 1, true or false. Optional:
        ``cluster``, what is resampled as a whole (then it is the task, and ``task_id`` one of its cases);
        ``latency_s``, seconds, empty where none was recorded. Other columns are not used.
    baseline, candidate : str
        Names of the arms, as in the column ``arm``; the table holds these two.
    margin : str, optional
        Largest loss still called non-inferior, e.g. ``"5 pp"``: then non-inferiority is claimed, without it
        superiority.
    scores : bool
        Declares partial credit: an outcome may be any number in [0, 1].

    Returns
    -------
    RunTable
        ``lock`` is empty and ``lock_digest`` None. ``outcome`` becomes the endpoint ``completion``. The
        frame has the columns ``pair, task_id, case_id, template_family, repetition, arm, outcome,
        completed, latency_s, void_pair, split_pair``; every trial counts as answered. Trials that the table
        lacks stand in it as void, without values: those of a case that ran in one arm only, and, where
        repetitions are uneven, those up to the most that the task has in any case and arm. Where each
        arm has one number of repetitions throughout, none is lacking, and the two numbers need not agree.

    Raises
    ------
    InputError
        For a source that cannot be read, and a table with columns, arms, keys or values that are missing,
        doubled, contradictory or out of range; and when no task ran in both arms.
    ProtocolError
        For a margin that is no number of percentage points.

    Examples
    --------
    >>> import polars as pl
    >>> from analysis import estimate, read_table
    >>> rows = [(f"t{n}", arm, 1, 1) for n in range(20) for arm in ("old", "new")]
    >>> frame = pl.DataFrame(rows, schema=["task_id", "arm", "repetition", "outcome"], orient="row")
    >>> (found,) = estimate(read_table(frame, baseline="old", candidate="new"))
    >>> print(found.outcome, found.n_tasks, f"{found.interval.low:.4f} {found.interval.high:.4f}")
    inconclusive 20 -0.1614 0.1614
    """
    if margin is not None:
        parse_margin(margin, _ENDPOINT, "margin")
    cells = read_cells(source)
    trials = check_trials(cells, baseline=baseline, candidate=candidate, scores=scores)
    planned = _planned(cells.name, trials)
    timed = trials["latency_s"].is_not_null().any()
    unused = unused_columns(cells)
    return RunTable(
        frame=planned.frame,
        protocol=_settings(cells.name, baseline, candidate, margin, planned, timed=timed),
        lock={},
        lock_digest=None,
        refusals=tuple(_refusals(planned)),
        notes=(
            *_losses(planned),
            *([] if timed else ["latency: not recorded"]),
            *([f"columns that were not used: {_shown(unused)}"] if unused else []),
        ),
    )


def _planned(name: str, trials: pl.DataFrame) -> _Planned:
    """Add the trials that the table lacks, mark what cannot be paired as void, and number the pairs."""
    sizes = _sizes(trials)
    shared = sizes.filter(pl.min_horizontal(*ARMS) > 0)
    if not len(shared):
        raise InputError(
            "no task ran in both arms",
            code="table",
            where=name,
            allowed="the same task_id in both arms, at least once",
            next_step="only paired tables are compared: differences in difficulty would pass for an effect",
        )
    sizes = _with_expected(sizes, shared)
    lacking = pl.concat([_lacking(sizes, arm, trials["completed"].dtype) for arm in ARMS])
    lost_cases = sizes.filter(pl.min_horizontal(*ARMS) == 0).select(*_CASE, lost=pl.lit(True))
    number = pl.col("repetition").rank("ordinal").over(*_CASE, "arm").cast(pl.Int64)
    frame = (
        pl.concat([trials.with_columns(number=number, absent=pl.lit(False)), lacking], how="diagonal")
        .join(lost_cases, on=list(_CASE), how="left", maintain_order="left")
        .select(
            pl.concat_str(["case_id", "number"], separator="#").alias("pair"),
            *_CASE,
            pl.col("task_id").alias("template_family"),
            "repetition",
            "arm",
            pl.lit("answered").alias("outcome"),
            "completed",
            "latency_s",
            (pl.col("absent") | pl.col("lost").fill_null(False)).alias("void_pair"),
            pl.lit(False).alias("split_pair"),
        )
    )
    tasks = sizes.group_by("task_id").agg(pl.col(*ARMS).sum()).sort("task_id")
    return _Planned(
        frame=frame,
        missing={arm: len(lacking.filter(pl.col("arm") == arm)) for arm in ARMS},
        expected={arm: int((frame["arm"] == arm).sum()) for arm in ARMS},
        lost={arm: tasks.filter(pl.col(arm) == 0)["task_id"].to_list() for arm in ARMS},
        n_tasks=len(tasks),
        repetitions=int(sizes.select(pl.max_horizontal(*(f"{arm}_expected" for arm in ARMS)).max()).item()),
    )


def _sizes(trials: pl.DataFrame) -> pl.DataFrame:
    """Count the trials of each case in each arm."""
    counts = {arm: (pl.col("arm") == arm).sum().cast(pl.Int64) for arm in ARMS}
    return trials.group_by(*_CASE, maintain_order=True).agg(**counts)


def _with_expected(sizes: pl.DataFrame, shared: pl.DataFrame) -> pl.DataFrame:
    """Add how many trials each case should have in each arm.

    The same number for all cases of an arm is a design; uneven numbers are not known to be one, so that the
    most that a task has anywhere is expected of all its cases in both arms.
    """
    most = pl.max_horizontal(*ARMS).max().over("task_id")
    if all(shared[arm].n_unique() == 1 for arm in ARMS):
        expected = {f"{arm}_expected": pl.max_horizontal(pl.col(arm), shared[arm][0]) for arm in ARMS}
    else:
        expected = {f"{arm}_expected": most for arm in ARMS}
    return sizes.with_columns(**expected)


def _lacking(sizes: pl.DataFrame, arm: str, dtype: Any) -> pl.DataFrame:
    """Return one row for each trial that an arm lacks."""
    own, expected = pl.col(arm), pl.col(f"{arm}_expected")
    return (
        sizes.filter(own < expected)
        .select(*_CASE, arm=pl.lit(arm), number=pl.int_ranges(own + 1, expected + 1))
        .explode("number")
        .with_columns(absent=pl.lit(True), completed=pl.lit(None, dtype=dtype))
    )


def _refusals(planned: _Planned) -> list[str]:
    """Return why these rows decide no claim, whatever they show."""
    reasons: list[str] = []
    n_lost = sum(len(tasks) for tasks in planned.lost.values())
    if n_lost:
        reasons.append(f"{formatting.counted(n_lost, 'task')} ran in one arm only")
    shares = {arm: planned.missing[arm] / planned.expected[arm] for arm in ARMS}
    for arm in ARMS:
        if shares[arm] > MOST_MISSING + ROUNDING:
            seen = formatting.share(planned.missing[arm], planned.expected[arm])
            most = formatting.percent(MOST_MISSING, 0)
            reasons.append(f"{seen} of the trials of the {arm} are missing, more than {most}")
    if abs(shares["candidate"] - shares["baseline"]) > MOST_UNEVEN + ROUNDING:
        told = " and ".join(f"{formatting.percent(shares[arm])} ({arm})" for arm in ARMS)
        reasons.append(
            f"the shares of missing trials, {told}, differ by more than {round(100 * MOST_UNEVEN)} points"
        )
    return reasons


def _losses(planned: _Planned) -> list[str]:
    """Return which tasks were left out, as remarks."""
    return [
        f"tasks left out, because the {arm} has no trial of them: {len(tasks)} ({_shown(tasks)})"
        for arm, tasks in planned.lost.items()
        if tasks
    ]


def _shown(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _settings(
    name: str, baseline: str, candidate: str, margin: str | None, planned: _Planned, *, timed: bool
) -> Protocol:
    """Return what the estimators must know of a table, as a protocol that nobody declared or froze."""
    claim = "superior" if margin is None else "non-inferior"
    primary = EndpointSpec(name=_ENDPOINT, role="primary", claim=claim, margin=margin, alpha=ALPHA)
    latency = (EndpointSpec(name="latency_gmr", role="secondary"),) if timed else ()
    return Protocol(
        schema=1,
        id=name,
        question=f"How does {candidate} compare with {baseline}?",
        arms=Arms(baseline=ArmSpec(driver=baseline), candidate=ArmSpec(driver=candidate)),
        change=Change(paths=("driver",), why="not declared"),
        workload=Workload(suites=(), split="development"),
        design=Design(tasks=planned.n_tasks, repetitions=planned.repetitions, seed=0),
        endpoints=(primary, *latency),
        limits=Limits(trial_timeout_s=float("inf")),
        analysis=AnalysisSpec(),
    )
