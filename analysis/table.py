"""A run as one polars frame, one row per planned trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.graded import ROW_SCHEMA, GradedRow, product_cells, read_rows
from analysis.taskvalues import Ragged
from study.digest import JSON, is_object
from study.errors import InputError, IntegrityError, RunError
from study.journal import AttemptSummary, read_progress
from study.lock import lock_digest
from study.product import FrozenRun, final_attempts, read_frozen, read_product
from study.protocol import Protocol
from study.records import ARMS, OUTCOMES, Record
from study.runs import check_manifest, find_run
from study.schedule import Assignment
from study.templates import masker
from study.usage import FIELDS, summed

_USAGE = tuple(
    (f"{field}_{part}", field, part) for field in FIELDS for part in ("known_subtotal", "missing_calls")
)

JOINED_SCHEMA: dict[str, Any] = {
    "latency_s": pl.Float64,
    "split_pair": pl.Boolean,
    "void_pair": pl.Boolean,
    "model_calls": pl.Int64,
    **{column: pl.Int64 for column, _, _ in _USAGE},
}
"""Columns from the journal and the protocol; null where nothing was recorded."""

SCORE_COLUMNS = {"completion": "completed", "pass": "passed", "result_completion": "result_completed"}

MOST_MISSING = 0.10
"""Share of void pairs, or of an arm's trials, above which no claim is decided, whatever was declared."""

ROUNDING = 1e-9
"""What a product of a share and a count may be off by."""


class RunTable(Record):
    """A run, or a table from elsewhere, ready for the estimators.

    Attributes
    ----------
    frame : polars.DataFrame
        One row per planned trial in schedule order; columns of :data:`analysis.graded.ROW_SCHEMA` and
        :data:`JOINED_SCHEMA`. ``void_pair`` marks both trials of a pair that the declared treatment of an
        outcome voids; ``split_pair`` those of a pair that an interruption split.
    protocol : Protocol
        As frozen: the only source of settings.
    lock : dict
        The lock; empty for a table from elsewhere.
    lock_digest : str or None
        None for a table from elsewhere (:func:`analysis.tidy.read_table`): nothing was locked, no hard
        fail, order or usage is known, and whatever comes of it is exploratory.
    refusals : tuple of str
        Why these rows decide no claim, whatever they show.
    notes : tuple of str
        What must be printed beside the results.
    templates : mapping of str to tuple of str
        Task id -> its requests with the names in them masked; empty where the requests are not known.
    pinned_results : int or None
        Selected cases that expect a result besides calls; None when the cases are not known.
    """

    frame: pl.DataFrame
    protocol: Protocol
    lock: dict[str, Any]
    lock_digest: str | None
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    templates: Mapping[str, tuple[str, ...]] = {}
    pinned_results: int | None = None


class Groups(Record):
    """One number per trial of an arm, grouped by task, and the ids of the tasks in the same order."""

    tasks: tuple[str, ...]
    values: Ragged


def read_run(folder: str | Path) -> RunTable:
    """Read a finished run folder, after checking it against its manifest and its lock.

    Parameters
    ----------
    folder : str or Path
        ``runs/<study>/<stamp>``.

    Returns
    -------
    RunTable

    Raises
    ------
    InputError
        When there is no run at that place.
    RunError
        When trials are still to be run.
    IntegrityError
        When files contradict the manifest, the lock, the schedule or each other.
    """
    place = find_run(Path(folder))
    changed = check_manifest(place) if place.sealed else []
    if changed:
        raise IntegrityError(
            changed[0], where=str(place.path), next_step="`study verify RUN` lists all changes"
        )
    frozen = read_frozen(place)
    state = read_progress(place.journal, frozen.lock_digest)
    finals = final_attempts(frozen, state, str(place.journal))
    if len(finals) < len(frozen.schedule) and state.stop is None:
        raise RunError(
            f"finished trials: {len(finals)} of {len(frozen.schedule)}",
            where=str(place.path),
            next_step="`study run PROTOCOL` goes on where it stopped",
        )
    rows = read_product(place)
    _compare_outcomes(rows, finals, str(place.product))
    pinned = sum("result" in case.expect for part in frozen.selection.suites for case in part.cases)
    table = build_table(
        rows,
        frozen.schedule,
        protocol=frozen.protocol,
        lock=frozen.lock,
        latencies={trial: attempt.latency_s for trial, attempt in finals.items()},
        usage=_usage(state.attempts),
        split_pairs=state.split_pairs,
        templates=_templates(frozen),
        where=str(place.product),
    )
    return msgspec.structs.replace(table, pinned_results=pinned)


def _templates(frozen: FrozenRun) -> dict[str, tuple[str, ...]]:
    """Return the masked requests of each task; the frozen inputs hold no graph, so its labels stay."""
    mask = masker()
    return {task: tuple(mask(case) for case in cases) for task, cases in frozen.selection.tasks.items()}


def _usage(attempts: Sequence[AttemptSummary]) -> dict[int, dict[str, Any] | None]:
    """Return what each trial used: over its final attempt and those that were repeated as declared."""
    ledgers: dict[int, list[dict[str, Any] | None]] = {}
    for attempt in attempts:
        if attempt.final or attempt.retried:
            ledgers.setdefault(attempt.trial, []).append(attempt.usage)
    return {trial: summed(told) for trial, told in ledgers.items()}


def _compare_outcomes(rows: Sequence[JSON], finals: Mapping[int, AttemptSummary], where: str) -> None:
    """Raise when a row tells another outcome than the journal; malformed rows are left to the reader."""
    for row in rows:
        trial = row.get("trial") if is_object(row) else None
        attempt = finals.get(trial) if isinstance(trial, int) else None
        if attempt is not None and row.get("outcome") != attempt.outcome:
            raise IntegrityError(
                f"trial {trial} is {row.get('outcome')!r} here and {attempt.outcome!r} in the journal",
                where=where,
                next_step="`study grade RUN` grades the journal again and compares",
            )


def build_table(
    rows: Sequence[JSON],
    schedule: Sequence[Assignment],
    *,
    protocol: Protocol,
    lock: dict[str, JSON],
    latencies: Mapping[int, float],
    usage: Mapping[int, dict[str, Any] | None],
    split_pairs: Collection[str],
    templates: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    where: str = "product",
) -> RunTable:
    """Join graded rows with the plan and the journal.

    Parameters
    ----------
    rows : sequence of JSON
        Product rows (:class:`analysis.graded.GradedRow`), in any order.
    schedule : sequence of Assignment
        Every planned trial.
    protocol, lock
        As frozen.
    latencies : mapping
        Trial -> seconds; a trial without an entry has no recorded latency.
    usage : mapping
        Trial -> usage ledger as JSON, None when the driver recorded no model call.
    split_pairs : collection of str
        Pairs that an interruption split; left out of latency.
    templates : mapping
        Task id -> its masked requests.
    where : str
        The file to name in errors.

    Raises
    ------
    IntegrityError
        For a planned trial without a row, a second row, a row that was not planned, or one that
        contradicts its assignment or holds an unknown key, outcome or code.
    """
    planned = {assignment.trial: assignment for assignment in schedule}
    found = read_rows(rows, planned, where)
    absent = sorted(set(planned) - set(found))
    if absent:
        raise IntegrityError(
            f"{len(absent)} planned trials have no row, the first is {absent[0]}", where=where
        )
    void = _void_pairs(found.values(), protocol)
    records = [
        product_cells(found[trial])
        | _usage_cells(usage.get(trial))
        | {
            "latency_s": latencies.get(trial),
            "split_pair": assignment.pair in split_pairs,
            "void_pair": assignment.pair in void,
        }
        for trial, assignment in sorted(planned.items())
    ]
    frame = pl.DataFrame(records, schema=ROW_SCHEMA | JOINED_SCHEMA)
    return RunTable(
        frame=frame, protocol=protocol, lock=lock, lock_digest=lock_digest(lock), templates=templates
    )


def score(protocol: Protocol, endpoint_name: str) -> pl.Expr:
    """Return whether a trial counts for a share endpoint, under the declared treatment of its outcome.

    Parameters
    ----------
    protocol : Protocol
        An outcome that it declares a failure never counts for ``completion``, ``pass`` or
        ``result_completion``, whatever was graded.
    endpoint_name : str
        One of those three, or ``timeouts``.
    """
    if endpoint_name == "timeouts":
        return pl.col("outcome") == "timeout"
    failing = [name for name in OUTCOMES if getattr(protocol.missing, name, None) == "failure"]
    failed = pl.col("outcome").is_in(failing)
    return pl.when(failed).then(False).otherwise(pl.col(SCORE_COLUMNS[endpoint_name]))


def repeated_outcome(table: RunTable) -> str:
    """Return the grade by which repetitions are compared; a table from elsewhere has a single outcome."""
    return "completion" if table.lock_digest is None else "pass"


def refuse_unknown(table: RunTable, what: str) -> None:
    """Raise :class:`InputError` for a table from elsewhere, of which ``what`` is not known."""
    if table.lock_digest is None:
        raise InputError(
            f"a table from elsewhere carries no {what}",
            where="table",
            allowed="a run, as analysis.read_run returns it",
        )


def grouped(frame: pl.DataFrame, column: str) -> dict[str, Groups]:
    """Return a numeric column per arm, grouped by task; tasks in the order of their ids.

    The order of the rows does not matter: within a task, trials follow case and repetition.
    """
    tasks, task_of = _codes(frame["task_id"])
    alone = frame["case_id"].equals(frame["task_id"])
    cases, case_of = (tasks, task_of) if alone else _codes(frame["case_id"])
    repetitions, repetition_of = np.unique(frame["repetition"].to_numpy(), return_inverse=True)
    # sorting one column of whole numbers is many times faster than three of which two are text
    place = (task_of * len(cases) + case_of) * len(repetitions) + repetition_of
    values = frame[column].cast(pl.Float64).to_numpy()
    result: dict[str, Groups] = {}
    for arm in ARMS:
        rows = np.flatnonzero(frame["arm"] == arm)
        rows = rows[np.argsort(place[rows])]
        counts = np.bincount(task_of[rows], minlength=len(tasks))
        held = np.flatnonzero(counts)
        result[arm] = Groups(
            tasks=tuple(tasks.gather(held)), values=Ragged(values[rows], counts[held].astype(np.int64))
        )
    return result


def _codes(names: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """Return the different names in order, and the place of each name among them."""
    ordered = names.unique().sort()
    return ordered, names.cast(pl.Enum(ordered)).to_physical().to_numpy().astype(np.int64)


def by_case(frame: pl.DataFrame, column: str, *, geometric: bool = False) -> pl.DataFrame:
    """Return one row an arm and case where the cases of a task differ in their number of trials.

    A case then counts by its (geometric) mean, so that cases weigh equally within their task; where
    all cases of a task have as many trials, single trials do the same and ``frame`` is returned as it is.
    """
    if frame["case_id"].equals(frame["task_id"]):
        return frame
    sizes = frame.group_by("arm", "task_id", "case_id").len()
    if (sizes.group_by("arm", "task_id").agg(pl.col("len").n_unique())["len"] <= 1).all():
        return frame
    value = pl.col(column).log().mean().exp() if geometric else pl.col(column).mean()
    return frame.group_by("arm", "task_id", "case_id").agg(value.alias(column), pl.col("repetition").min())


def complete_pairs(frame: pl.DataFrame) -> int:
    """Return how many pairs have a row in both arms; a pair has at most one in each."""
    return len(frame) - frame["pair"].n_unique()


def _void_pairs(rows: Collection[GradedRow], protocol: Protocol) -> set[str]:
    voiding = {name for name in OUTCOMES if getattr(protocol.missing, name, None) == "void-pair"}
    return {row.pair for row in rows if row.outcome in voiding}


def _usage_cells(ledger: dict[str, Any] | None) -> dict[str, int | None]:
    if ledger is None:
        return dict.fromkeys(("model_calls", *(column for column, _, _ in _USAGE)))
    return {"model_calls": ledger["calls"], **{column: ledger[field][part] for column, field, part in _USAGE}}
