"""What belongs beside an estimate: ties, skew, order, evidence level."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from analysis import formatting, shares
from analysis.intervals import FEWEST_TASKS
from analysis.results import Interval, OrderEffect
from analysis.table import RunTable, score
from analysis.taskvalues import Floats
from study.endpoints import ENDPOINTS
from study.records import ARMS


def evidence_level(table: RunTable) -> Literal["pilot", "comparative"]:
    """Return ``pilot`` for a study that claims nothing, fewer than 5 tasks or an arm with a single trial.

    Everything else is ``comparative``. Void pairs carry no evidence and are not counted.
    """
    if all(endpoint.claim is None for endpoint in table.protocol.endpoints):
        return "pilot"
    kept = table.frame.filter(~pl.col("void_pair"))
    trials = min(len(kept.filter(pl.col("arm") == arm)) for arm in ARMS)
    return "pilot" if kept["task_id"].n_unique() < FEWEST_TASKS or trials < 2 else "comparative"


def spread_notes(differences: Floats) -> list[str]:
    """Return remarks on the task differences: how many are tied, and how skewed the rest makes them."""
    tied = int(np.sum(differences == 0))
    if tied == len(differences):
        return ["all tasks are tied: the width comes from the two half pseudo tasks alone"]
    notes = [f"tied tasks: {formatting.share(tied, len(differences))}"] if tied else []
    skew = skewness(differences)
    if skew is not None:
        notes.append(f"skewness of the task differences: {formatting.significant(skew, 2, signed=True)}")
    return notes


def skewness(values: Floats) -> float | None:
    """Return the moment coefficient of skewness, None without any spread."""
    centred = values - math.fsum(values) / len(values)
    variance = float(np.mean(centred**2))
    if variance < 1e-24:
        return None
    return float(np.mean(centred**3)) / variance**1.5


def repetition_notes(frame: pl.DataFrame) -> list[str]:
    """Return a remark when all repetitions of every case agree in both arms (column ``score``)."""
    cells = frame.group_by("arm", "case_id").agg(
        pl.len().alias("n"), (pl.col("score").min() == pl.col("score").max()).alias("alike")
    )
    if int(cells["n"].min() or 0) < 2 or not cells["alike"].all():  # pyright: ignore[reportArgumentType]
        return []
    return ["all repetitions of every case agree: the interval speaks of the choice of tasks alone"]


def order_effect(table: RunTable) -> OrderEffect:
    """Return completion by position in the pair, both arms pooled, without void pairs."""
    kept = table.frame.filter(~pl.col("void_pair"))
    rates = [
        kept.filter(pl.col("position") == position).select(score(table.protocol, "completion").mean()).item()
        for position in (0, 1)
    ]
    first = kept.filter(pl.col("position") == 0)["arm"]
    return OrderEffect(
        first_position=rates[0],
        second_position=rates[1],
        n_pairs_baseline_first=int((first == "baseline").sum()),
        n_pairs_candidate_first=int((first == "candidate").sum()),
    )


def outcome_counts(frame: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Return, per arm, how many planned trials came to each outcome."""
    counts = frame.group_by("arm", "outcome").len().sort("outcome")
    return {
        arm: {row["outcome"]: row["len"] for row in counts.iter_rows(named=True) if row["arm"] == arm}
        for arm in ARMS
    }


class VoidCase(NamedTuple):
    """The contrast of a share when every void pair went one way."""

    estimate: float
    interval: Interval


class VoidCases(NamedTuple):
    """Every void pair lost by the candidate, and every one won; over all planned tasks."""

    worst: VoidCase
    best: VoidCase
    n_tasks: int


def void_cases(table: RunTable, endpoint_name: str, level: float, k: int | None = None) -> VoidCases | None:
    """Return what the void pairs of a run could change.

    Parameters
    ----------
    table : RunTable
    endpoint_name : str
        An endpoint with unit ``proportion``.
    level : float
        Of the intervals.
    k : int, optional
        Of ``pass_hat_k`` and ``pass_at_k``.

    Returns
    -------
    VoidCases or None
        None without void pairs.
    """
    if not table.frame["void_pair"].any():
        return None
    gains = "candidate" if ENDPOINTS[endpoint_name].higher_is_better else "baseline"
    wins = pl.col("arm") == gains
    cases = [shares.shares(table, table.frame, endpoint_name, k, fill=fill) for fill in (~wins, wins)]
    worst, best = (VoidCase(shares.contrast(case), shares.interval(case, level)) for case in cases)
    return VoidCases(worst, best, table.frame["task_id"].n_unique())


def worst_shares(table: RunTable, endpoint_name: str, k: int | None = None) -> shares.Shares | None:
    """Return the values of a share with every void pair lost by the candidate; None without void pairs."""
    if not table.frame["void_pair"].any():
        return None
    gains = "candidate" if ENDPOINTS[endpoint_name].higher_is_better else "baseline"
    return shares.shares(table, table.frame, endpoint_name, k, fill=pl.col("arm") != gains)


def void_notes(
    table: RunTable, endpoint_name: str, level: float, bounds: tuple[float, ...], k: int | None = None
) -> list[str]:
    """Return remarks on the void pairs, with the estimate when all were lost, and when all were won."""
    cases = void_cases(table, endpoint_name, level, k)
    if cases is None:
        return []
    void, kept = (table.frame.filter(part) for part in (pl.col("void_pair"), ~pl.col("void_pair")))
    told = [
        f"{words} {formatting.points(case.estimate, bounds=bounds)} "
        + formatting.interval(case.interval, "proportion", bounds=bounds, n_tasks=cases.n_tasks)
        for words, case in (("all lost by the candidate:", cases.worst), ("all won:", cases.best))
    ]
    pairs = formatting.share(void["pair"].n_unique(), table.frame["pair"].n_unique())
    lost = cases.n_tasks - kept["task_id"].n_unique()
    return [
        f"void pairs: {pairs}; {'; '.join(told)}",
        *([f"tasks without any pair left: {lost}"] if lost else []),
    ]
