"""Any table, whatever it came from, as columns of text with the number of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from study.digest import is_list, is_object, read_bytes, read_json
from study.errors import InputError, listed
from study.records import Record

ROW = "row"
"""Column with the number of each row: from 1, below the header."""

_FROM_PYTHON = "pass a path, a polars DataFrame or a pandas DataFrame"


class Cells(Record):
    """A table as text.

    Attributes
    ----------
    name : str
        What to call the table in messages: its path, or ``table``.
    columns : tuple of str
        Names as they stand in the source, in its order; a name may occur twice.
    rows : polars.DataFrame
        :data:`ROW`, and one column of text a name (``0``, ``1`` ... in the same order); null where a cell
        is empty. Rows without any cell are left out.
    """

    name: str
    columns: tuple[str, ...]
    rows: pl.DataFrame


def read_cells(source: Any) -> Cells:
    """Read a table from anywhere, and judge nothing in it.

    Parameters
    ----------
    source : str, Path, polars.DataFrame, polars.LazyFrame or pandas.DataFrame
        A path ends in ``.csv`` (comma, UTF-8, a header), ``.parquet``, ``.jsonl`` or ``.ndjson``.

    Raises
    ------
    InputError
        For another kind of source, a file that cannot be read, and one that is not what its name says.
    """
    if isinstance(source, (str, Path)):
        return _read_file(Path(source))
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        return _from_frame("table", source)
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return _from_pandas(source)
    raise InputError(
        f"a {type(source).__name__} is no table", code="table", where="source", next_step=_FROM_PYTHON
    )


def _read_file(path: Path) -> Cells:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"no table is read from a file named {path.suffix!r}" if path.suffix else "a name without suffix",
            code="table",
            where=str(path),
            allowed=listed(_READERS),
            next_step="export it as CSV: comma, UTF-8, a header",
        )
    return reader(path)


def _read_csv(path: Path) -> Cells:
    data = read_bytes(path, "table")
    if not data.strip():
        raise _empty(str(path))
    try:
        raw = pl.read_csv(data, has_header=False, infer_schema=False)
    except PolarsError as error:
        raise _unreadable(path, "CSV", str(error)) from None
    names = tuple("" if name is None else str(name) for name in raw.row(0))
    return _numbered(str(path), names, raw[1:])


def _read_parquet(path: Path) -> Cells:
    data = read_bytes(path, "table")
    try:
        frame = pl.read_parquet(data)
    except (PolarsError, OSError, ValueError) as error:
        raise _unreadable(path, "Parquet", str(error)) from None
    return _from_frame(str(path), frame)


def _read_json_lines(path: Path) -> Cells:
    columns: dict[str, list[str | None]] = {}
    n_rows = 0
    for line, text in enumerate(read_bytes(path, "table").split(b"\n"), 1):
        if not text.strip():
            continue
        value = read_json(text, f"{path}:{line}")
        if not is_object(value):
            raise InputError("no object", code="table", where=f"{path}:{line}", allowed="one object a line")
        for name in value:
            if name not in columns:
                columns[name] = [None] * n_rows
        for name, cells in columns.items():
            cell = value.get(name)
            if is_object(cell) or is_list(cell):
                raise _no_cell(cell, f"{path}:{line}, column {name}")
            cells.append(_text(cell))
        n_rows += 1
    if not n_rows:
        raise _empty(str(path))
    return _from_lists(str(path), tuple(columns), columns.values())


_READERS: dict[str, Callable[[Path], Cells]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}


def _from_frame(name: str, frame: pl.DataFrame) -> Cells:
    texts: list[pl.Series] = []
    for series in frame.iter_columns():
        try:
            texts.append(series.cast(pl.String))
        except PolarsError:
            raise InputError(
                f"cells of type {series.dtype}",
                code="table",
                where=f"{name}: column {series.name}",
                allowed="text, numbers and true or false",
            ) from None
    raw = pl.DataFrame([text.alias(str(n)) for n, text in enumerate(texts)])
    return _numbered(name, tuple(frame.columns), raw)


def _from_pandas(frame: Any) -> Cells:
    names = tuple(str(name) for name in frame.columns)
    columns: list[list[str | None]] = []
    for n, name in enumerate(names):
        series = frame.iloc[:, n]
        known = series.notna().tolist()
        cells = series.astype(object).tolist()
        for k, cell in enumerate(cells, 1):
            if is_object(cell) or is_list(cell):
                raise _no_cell(cell, f"table: row {k}, column {name}")
        columns.append([_text(cell) if there else None for cell, there in zip(cells, known, strict=True)])
    return _from_lists("table", names, columns)


def _from_lists(name: str, names: tuple[str, ...], columns: Iterable[Sequence[str | None]]) -> Cells:
    raw = pl.DataFrame([pl.Series(str(n), cells, dtype=pl.String) for n, cells in enumerate(columns)])
    return _numbered(name, names, raw)


def _numbered(name: str, columns: tuple[str, ...], raw: pl.DataFrame) -> Cells:
    """Return the rows numbered, without those that have no cell, such as blank lines."""
    raw.columns = [str(n) for n in range(len(columns))]
    rows = raw.with_row_index(ROW, offset=1).filter(~pl.all_horizontal(pl.exclude(ROW).is_null()))
    return Cells(name=name, columns=columns, rows=rows)


def _text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def _no_cell(cell: Any, where: str) -> InputError:
    return InputError(
        f"the cell {cell!r:.80}", code="table", where=where, allowed="text, a number, true or false"
    )


def _empty(name: str) -> InputError:
    return InputError(
        "the table is empty", code="table", where=name, allowed="one row a trial, below a header of names"
    )


def _unreadable(path: Path, what: str, message: str) -> InputError:
    reason = next((line for line in message.splitlines() if line.strip()), "unknown reason")
    return InputError(
        f"not readable as {what}: {reason}",
        code="table",
        where=str(path),
        allowed="every row with as many cells as the header, UTF-8, closed quotes" if what == "CSV" else None,
        next_step=None if what == "CSV" else "write it again, or export it as CSV",
    )
