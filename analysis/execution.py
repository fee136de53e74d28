"""What the order of execution may have done: the position in a pair, the order of the arms, drift."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from analysis import formatting
from analysis.arms import timed
from analysis.results import Diagnostic, Interval
from analysis.slopes import Slope, slope
from analysis.table import RunTable, score
from analysis.taskvalues import Floats
from study.records import ARMS

LEVEL = 0.99
"""Level of these intervals: eight stand in one report, and at 95 % every third would cry wolf."""

THRESHOLD = f"the {formatting.confidence(LEVEL)} interval excludes no change"

_ENDPOINT = "completion"
_UNITS = {"completion": "proportion", "latency": "log_ratio"}
_UNKNOWN = "the order in which the trials ran is not known"
_WHY = {
    "few_tasks": "fewer than 10 tasks carry no interval",
    "refused": "every task keeps to one course, so that there is no spread to measure",
}


def order_diagnostics(table: RunTable) -> list[Diagnostic]:
    """Return what the place in the pair did to completion; void pairs are left out.

    Returns
    -------
    list of Diagnostic
        ``position``: second position - first, averaged over the arms; half of what candidate - baseline
        gains when the baseline runs first. ``order``: mean completion of both arms in pairs that ran the
        baseline first - in pairs that ran the candidate first; it shows what one arm leaves to the other.
        Intervals by :func:`analysis.slopes.slope`.
    """
    if "position" not in table.frame.columns:
        return [_unknown(name, _ENDPOINT, "proportion") for name in ("position", "order")]
    pairs = _pairs(_completion(table))
    baseline_first = (pairs["first_arm"] == "baseline").to_numpy()
    place = np.where(baseline_first, 0.5, -0.5)
    left, right = (pairs[arm].to_numpy() for arm in ARMS)
    task = _task_numbers(pairs)
    gain = slope(place, (right - left) / 2, task, level=LEVEL)
    both = slope(place, (right + left) / 2, task, level=LEVEL)
    means = [
        formatting.points(float(part.mean())) if len(part) else formatting.NOT_RECORDED
        for part in ((right - left)[baseline_first], (right - left)[~baseline_first])
    ]
    seen = f"candidate - baseline is {means[0]} where the baseline ran first, {means[1]} where it ran second"
    return [
        _row("position", None, gain, "completion in the second position - in the first", seen),
        _row("order", None, both, "completion of both arms, baseline first - candidate first"),
    ]


def drift_diagnostics(table: RunTable) -> list[Diagnostic]:
    """Return how completion and latency changed from the first trial of the schedule to the last.

    Returns
    -------
    list of Diagnostic
        For completion (in points) and latency (as a ratio): baseline, candidate, and both pooled. Least
        squares on the place of a pair in the schedule, intervals by :func:`analysis.slopes.slope`. The
        schedule is random, so that drift adds noise to both arms alike and biases neither. Void pairs are
        left out, for latency split ones too; time-outs stand at the limit.
    """
    names = [(endpoint, arm) for endpoint in _UNITS for arm in (*ARMS, None)]
    if "trial" not in table.frame.columns:
        return [_unknown("drift", endpoint, _UNITS[endpoint], arm) for endpoint, arm in names]
    return [*_drift("completion", _pairs(_completion(table)), len(table.frame)), *_latency_drift(table)]


def _latency_drift(table: RunTable) -> list[Diagnostic]:
    kept = timed(table)
    if not len(kept) or kept["time_s"].null_count() or (kept["time_s"] <= 0).any():
        reason = "not every trial has a latency above 0 s"
        return [_unknown("drift", "latency", "log_ratio", arm, reason) for arm in (*ARMS, None)]
    return _drift("latency", _pairs(kept.with_columns(value=pl.col("time_s").log())), len(table.frame))


def _drift(endpoint: str, pairs: pl.DataFrame, n_trials: int) -> list[Diagnostic]:
    place = pairs["trial"].to_numpy() / max(n_trials - 1, 1)
    task = _task_numbers(pairs)
    values: dict[str | None, Floats] = {arm: pairs[arm].to_numpy() for arm in ARMS}
    values[None] = (values["baseline"] + values["candidate"]) / 2
    return [
        _row(
            "drift",
            arm,
            slope(place, y, task, level=LEVEL),
            f"{endpoint} of {'both arms' if arm is None else f'the {arm}'}, from the first trial to the last",
            endpoint=endpoint,
        )
        for arm, y in values.items()
    ]


def _completion(table: RunTable) -> pl.DataFrame:
    completed = score(table.protocol, _ENDPOINT).cast(pl.Float64)
    return table.frame.filter(~pl.col("void_pair")).with_columns(value=completed)


def _pairs(kept: pl.DataFrame) -> pl.DataFrame:
    """Return one row a pair that both arms ran: task, first trial, first arm, the value of each arm."""
    left, right = (
        kept.filter(pl.col("arm") == arm).select("pair", "task_id", "trial", pl.col("value").alias(arm))
        for arm in ARMS
    )
    both = left.join(right.drop("task_id"), on="pair", suffix="_right").drop_nulls()
    first = pl.when(pl.col("trial") < pl.col("trial_right")).then(pl.lit(ARMS[0])).otherwise(pl.lit(ARMS[1]))
    return both.with_columns(first_arm=first, trial=pl.min_horizontal("trial", "trial_right")).sort("trial")


def _task_numbers(pairs: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return (pairs["task_id"].rank("dense").cast(pl.Int64) - 1).to_numpy()


def _row(
    name: str, arm: str | None, found: Slope, what: str, seen: str = "", endpoint: str = _ENDPOINT
) -> Diagnostic:
    unit = _UNITS[endpoint]
    limits = _possible(found.interval, unit)
    if found.estimate is None or limits is None:
        return _unknown(name, endpoint, unit, arm, f"{what}: {_WHY[found.status]}", found.n_tasks)
    number = formatting.quantity(found.estimate, unit, bounds=(0.0,))
    noticed = _excludes_zero(limits)
    told = [f"{what}: {number}" + (", beyond what chance does" if noticed else ", within what chance does")]
    return Diagnostic(
        name=name,
        endpoint=endpoint,
        arm=arm,
        value=found.estimate,
        unit=unit,
        interval=limits,
        threshold=THRESHOLD,
        n_tasks=found.n_tasks,
        status="noticed" if noticed else "ok",
        sentence="; ".join([*told, seen] if seen else told),
    )


def _possible(limits: Interval | None, unit: str) -> Interval | None:
    """Return an interval without what no difference of shares can be."""
    if unit != "proportion" or limits is None or limits.low is None or limits.high is None:
        return limits
    low, high = (min(max(limit, -1.0), 1.0) for limit in (limits.low, limits.high))
    return msgspec.structs.replace(limits, low=low, high=high)


def _excludes_zero(limits: Interval) -> bool:
    return limits.low is not None and limits.high is not None and (limits.low > 0 or limits.high < 0)


def _unknown(
    name: str,
    endpoint: str,
    unit: str,
    arm: str | None = None,
    reason: str = _UNKNOWN,
    n_tasks: int = 0,
) -> Diagnostic:
    return Diagnostic(
        name=name,
        endpoint=endpoint,
        arm=arm,
        value=None,
        unit=unit,
        interval=None,
        threshold=THRESHOLD,
        n_tasks=n_tasks,
        status="not_computed",
        sentence=reason,
    )
