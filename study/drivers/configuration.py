"""Configuration of a driver: JSON data, checked key by key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from study.digest import JSON, is_list, is_object
from study.errors import DriverError


def json_table(table: Mapping[Any, Any], path: str, where: str) -> dict[str, Any]:
    """Copy a configuration table that must be JSON.

    Parameters
    ----------
    table : mapping
    path : str
        What the table is called, for errors: ``config``.
    where : str
        Where the table is, for errors.

    Returns
    -------
    dict
        New JSON data.

    Raises
    ------
    DriverError
        For a key that is no text and a value that is not JSON, naming the key.
    """
    plain: dict[str, Any] = {}
    for key, value in table.items():
        if not isinstance(key, str):
            raise DriverError(f"{path} has the key {key!r}", where=where, allowed="keys that are text")
        plain[key] = _json_value(value, f"{path}.{key}", where)
    return plain


def _json_value(value: Any, path: str, where: str) -> JSON:
    if is_object(value):
        return json_table(value, path, where)
    if is_list(value):
        return [_json_value(item, f"{path}[{n}]", where) for n, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise DriverError(
        f"{path} is {value!r} ({type(value).__name__}), which is not JSON",
        where=where,
        allowed="text, finite numbers, true, false, null, lists, tables",
    )
