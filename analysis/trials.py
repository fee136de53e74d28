"""The cells of a tidy table, checked: one row a trial, or an error that names the cell."""

from __future__ import annotations

import difflib
from collections import Counter

import polars as pl

from analysis import formatting
from analysis.cells import ROW, Cells
from study.errors import InputError, did_you_mean, listed

REQUIRED = ("task_id", "arm", "repetition", "outcome")
OPTIONAL = ("cluster", "latency_s")
SHORTEST_S, LONGEST_S = 1e-9, 1e9
"""Seconds that a trial can take: from a nanosecond to some thirty years."""

_BLANK = ("", "nan", "null", "none", "na", "n/a", "<na>")
_FAMILIES = ("family", "template_family")
_SHOWN = 10
_LARGEST_REPETITION = 2**53
_REPETITION, _SCORE, _TIME = ("a repetition", "a score", "a time")


def check_trials(cells: Cells, *, baseline: str, candidate: str, scores: bool) -> pl.DataFrame:
    """Return the trials of a tidy table.

    Parameters
    ----------
    cells : Cells
    baseline, candidate : str
        The arms as they are named in the column ``arm``.
    scores : bool
        Whether an outcome may be any number in [0, 1]; otherwise it is 0, 1, true or false.

    Returns
    -------
    polars.DataFrame
        ``task_id`` (the cluster where there is such a column), ``case_id`` (the task id of the table),
        ``arm`` (``baseline`` or ``candidate``), ``repetition``, ``completed`` (Boolean, or a number with
        ``scores``), ``latency_s`` (null where none is given); in the order of the table.

    Raises
    ------
    InputError
        For columns that are missing or doubled, empty cells, other arms than the two, values out of range,
        a second row of a trial, and a task in two clusters. Nothing is guessed, nothing left out.
    """
    _check_header(cells)
    names = {name: str(cells.columns.index(name)) for name in (*REQUIRED, *OPTIONAL) if name in cells.columns}
    table = cells.rows.select(ROW, **{name: pl.col(place) for name, place in names.items()})
    if not len(table):
        raise InputError("the table has no rows", code="table", where=cells.name, allowed="one row a trial")
    for column in ("task_id", "arm", "cluster"):
        if column in table.columns:
            _refuse_blank(cells.name, table, column)
    _check_arms(cells.name, table, baseline, candidate)
    table = _with_numbers(table)
    _check_numbers(cells.name, table, scores=scores)
    checked = table.select(
        ROW,
        "task_id",
        cluster=pl.col("cluster" if "cluster" in names else "task_id"),
        arm=pl.when(pl.col("arm") == baseline).then(pl.lit("baseline")).otherwise(pl.lit("candidate")),
        repetition=pl.col(_REPETITION).cast(pl.Int64),
        completed=pl.col(_SCORE) if scores else pl.col(_SCORE) == 1,
        latency_s=pl.col(_TIME) if "latency_s" in names else pl.lit(None, dtype=pl.Float64),
    )
    _refuse_duplicates(cells.name, checked, {"baseline": baseline, "candidate": candidate})
    if "cluster" in names:
        _refuse_split_tasks(cells.name, checked)
    return checked.select(
        pl.col("cluster").alias("task_id"),
        pl.col("task_id").alias("case_id"),
        "arm",
        "repetition",
        "completed",
        "latency_s",
    )


def unused_columns(cells: Cells) -> tuple[str, ...]:
    """Return the names of columns that no statistic looks at."""
    return tuple(name for name in cells.columns if name not in (*REQUIRED, *OPTIONAL))


def _check_header(cells: Cells) -> None:
    names, where = cells.columns, cells.name
    allowed = f"{listed(REQUIRED)}; optional: {listed(OPTIONAL)}"
    for name in REQUIRED:
        if name not in names:
            found = f"the table has: {_named(names)}"
            if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
                found = "separate the cells of a CSV file by commas"
            raise InputError(
                f"there is no column {name!r}{_alike(name, names)}",
                code="table",
                where=where,
                allowed=allowed,
                next_step=found,
            )
    doubled = [name for name, count in Counter(names).items() if count > 1 and name in (*REQUIRED, *OPTIONAL)]
    if doubled:
        raise InputError(f"two columns are named {doubled[0]!r}", code="table", where=where, allowed=allowed)
    if "cluster" not in names:
        for name in names:
            near = difflib.get_close_matches(name.casefold(), ("cluster",), n=1, cutoff=0.8)
            if near or name.casefold() in _FAMILIES:
                raise InputError(
                    f"the column {name!r} tells which rows belong together, and there is no column 'cluster'",
                    code="table",
                    where=where,
                    allowed="what is resampled as a whole stands in the column cluster",
                    next_step=f"rename {name!r} to 'cluster', or drop it if the tasks are independent",
                )


def _alike(name: str, names: tuple[str, ...]) -> str:
    folded = [other for other in names if other.strip().casefold() == name]
    return f" (did you mean {folded[0]!r}?)" if folded else did_you_mean(name, names)


def _named(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return listed(repr(name) for name in names[:_SHOWN]) + more


def _check_arms(name: str, table: pl.DataFrame, baseline: str, candidate: str) -> None:
    if baseline == candidate:
        raise InputError(
            f"baseline and candidate are both {baseline!r}",
            code="table",
            where="candidate",
            allowed="two different arms",
        )
    held = table["arm"].unique().sort().to_list()
    for role, arm in (("baseline", baseline), ("candidate", candidate)):
        if arm not in held:
            only = "the table holds one arm only, and a comparison needs two" if len(held) == 1 else None
            raise InputError(
                f"there is no arm {arm!r} for the {role}{did_you_mean(arm, held)}",
                code="table",
                where=f"{name}: column arm",
                allowed=_named(held),
                next_step=only or f"name one of them as the {role}",
            )
    if len(held) > 2:
        others = [arm for arm in held if arm not in (baseline, candidate)]
        first = table.filter(pl.col("arm").is_in(others)).row(0, named=True)
        raise InputError(
            f"the arm {first['arm']!r}; the table holds {len(held)} arms",
            code="table",
            where=f"{name}: row {first[ROW]}, column arm",
            allowed=_named([baseline, candidate]),
            next_step=f"leave the rows of {_named(others)} out, and say so",
        )


def _with_numbers(table: pl.DataFrame) -> pl.DataFrame:
    """Add what the cells of numbers hold, null where that is no number."""
    word = pl.col("outcome").str.strip_chars().str.to_lowercase()
    truth = pl.when(word == "true").then(1.0).when(word == "false").then(0.0)
    numbers = {_REPETITION: _number("repetition"), _SCORE: truth.otherwise(_number("outcome"))}
    if "latency_s" in table.columns:
        numbers[_TIME] = _number("latency_s")
    return table.with_columns(**numbers)


def _check_numbers(name: str, table: pl.DataFrame, *, scores: bool) -> None:
    _refuse_blank(name, table, "repetition", _is_blank("repetition"))
    number = pl.col(_REPETITION)
    whole = (number == number.round()) & (number.abs() < _LARGEST_REPETITION)
    _refuse(
        name,
        table,
        "repetition",
        ~whole,
        "a whole number, the same for no two trials of a task and arm",
        None,
    )
    _refuse(
        name,
        table,
        "outcome",
        _is_blank("outcome"),
        "0, 1, true or false" + (", or a number between" if scores else ""),
        "decide how a trial without an outcome counts, usually as 0, and write that; none is left out",
    )
    score = pl.col(_SCORE)
    _refuse(
        name,
        table,
        "outcome",
        ~(score >= 0) | ~(score <= 1) | score.is_nan() if scores else ~score.is_in([0.0, 1.0]),
        "a number in [0, 1], true or false" if scores else "0, 1, true or false",
        None if scores else "--scores (in Python: scores=True) declares partial credit in [0, 1]",
    )
    if "latency_s" in table.columns:
        time = pl.col(_TIME)
        good = (time == 0) | ((time >= SHORTEST_S) & (time <= LONGEST_S))
        _refuse(
            name,
            table,
            "latency_s",
            ~good & pl.col("latency_s").is_not_null() & (pl.col("latency_s").str.strip_chars() != ""),
            f"seconds: 0, or {SHORTEST_S:g} to {LONGEST_S:g}, or an empty cell where nothing was recorded",
            "enter a time-out with its time limit, and leave an unknown time empty",
        )


def _number(column: str) -> pl.Expr:
    return pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)


def _is_blank(column: str) -> pl.Expr:
    return pl.col(column).is_null() | pl.col(column).str.strip_chars().str.to_lowercase().is_in(_BLANK)


def _refuse_blank(name: str, table: pl.DataFrame, column: str, blank: pl.Expr | None = None) -> None:
    if blank is None:
        blank = pl.col(column).is_null() | (pl.col(column).str.strip_chars() == "")
    _refuse(name, table, column, blank, "no empty cell", None)


def _refuse(
    name: str, table: pl.DataFrame, column: str, bad: pl.Expr, allowed: str, next_step: str | None
) -> None:
    """Raise for the first row for which ``bad`` is true, or null: a value that cannot be judged is bad."""
    found = table.filter(bad.fill_null(True))
    if not len(found):
        return
    first = found.row(0, named=True)
    cell = "is missing" if first[column] is None else f"is {first[column]!r:.80}"
    more = f" (and in {formatting.counted(len(found) - 1, 'more row')})" if len(found) > 1 else ""
    raise InputError(
        f"{column} {cell}{more}",
        code="table",
        where=f"{name}: row {first[ROW]}, column {column}",
        allowed=allowed,
        next_step=next_step,
    )


def _refuse_duplicates(name: str, table: pl.DataFrame, told: dict[str, str]) -> None:
    keys = ["task_id", "arm", "repetition"]
    twice = table.select(ROW, *keys).filter(pl.struct(keys).is_duplicated())
    if not len(twice):
        return
    first = twice.row(0, named=True)
    same = twice.filter(*(pl.col(key) == first[key] for key in keys))[ROW].to_list()
    raise InputError(
        f"task_id {first['task_id']!r}, arm {told[first['arm']]!r}, repetition {first['repetition']} "
        f"stands in rows {listed(str(row) for row in same[:_SHOWN])}; {len(twice)} rows are not unique",
        code="table",
        where=f"{name}: row {same[1]}",
        allowed="one row a trial: task_id, arm and repetition differ between rows",
        next_step="number the repetitions; with several cases of one task, name the case in task_id "
        "and the task in cluster",
    )


def _refuse_split_tasks(name: str, table: pl.DataFrame) -> None:
    homes = table.group_by("task_id", maintain_order=True).agg(pl.col("cluster").n_unique().alias("n"))
    split = homes.filter(pl.col("n") > 1)
    if not len(split):
        return
    rows = table.filter(pl.col("task_id") == split["task_id"][0])
    first = rows.row(0, named=True)
    other = rows.filter(pl.col("cluster") != first["cluster"]).row(0, named=True)
    raise InputError(
        f"task_id {first['task_id']!r} is in cluster {first['cluster']!r} (row {first[ROW]}) "
        f"and in cluster {other['cluster']!r}",
        code="table",
        where=f"{name}: row {other[ROW]}, column cluster",
        allowed="every task in one cluster, the same in both arms",
        next_step="name the tasks apart, or give them one cluster",
    )
