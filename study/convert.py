"""Decoded JSON or TOML into closed records, with errors that name file, place and value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from study.digest import JSON, is_list, is_object
from study.errors import StudyError, did_you_mean, listed
from study.records import Record

AnyRecord = TypeVar("AnyRecord", bound=Record)

_UNKNOWN = re.compile(r"unknown field `(?P<key>.+?)`")
_MISSING = re.compile(r"missing required field `(?P<key>.+?)`")
_PLACE = re.compile(r" - at `\$\.?(?P<path>.*)`$")


def convert(
    data: JSON,
    kind: type[AnyRecord],
    where: str,
    error: type[StudyError] = StudyError,
    next_step: str | None = None,
    examples: Mapping[str, str] = MappingProxyType({}),
) -> AnyRecord:
    """Turn decoded JSON or TOML into a closed record, with an error that names file, place and value.

    Parameters
    ----------
    data : JSON
        What a strict reader returned.
    kind : type
        The record to build.
    where : str
        The file; the place inside it is added.
    error : type
        The error to raise.
    next_step : str, optional
        For the error.
    examples : mapping
        Key -> what is allowed there, for keys whose type does not say it.

    Raises
    ------
    StudyError
        Of the given type: for unknown or missing keys, wrong types, NaN and infinities.
    """
    _refuse_non_finite(data, where, error)
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as failure:
        text = str(failure)
    place = _PLACE.search(text)
    path = place["path"] if place else ""
    at = f"{where}:{path}" if path else where
    problem = _PLACE.sub("", text)
    allowed = ""
    unknown, missing = _UNKNOWN.search(text), _MISSING.search(text)
    if unknown:
        keys = _keys_at(kind, path)
        problem = f"unknown key {unknown['key']!r}{did_you_mean(unknown['key'], keys)}"
        raise error(problem, where=at, allowed=listed(keys) or None, next_step=next_step)
    if missing:
        problem = f"the key {missing['key']!r} is missing"
    else:
        allowed = listed(repr(choice) for choice in _choices_at(kind, path))
        allowed = allowed or examples.get(path.rpartition(".")[2], "")
        for jargon, word in _WORDS:
            problem = problem.replace(f"`{jargon}`", word)
        value = _value_at(data, path)
        problem = f"{problem[:1].lower()}{problem[1:]}" + (
            "" if value is _NOTHING else f" (found {value!r:.80})"
        )
    raise error(problem, where=at, allowed=allowed, next_step=next_step)


_NOTHING = object()
_WORDS = (
    ("str | null", "text"),
    ("float | null", "a number"),
    ("int | null", "a whole number"),
    ("str", "text"),
    ("int", "a whole number"),
    ("float", "a number"),
    ("bool", "true or false"),
    ("array", "a list"),
    ("object", "an object"),
)


def _steps(path: str) -> list[str | int]:
    parts = re.findall(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)", path)
    return [int(i) if i.isdigit() else (i or name) for i, name in parts]


def _value_at(data: JSON, path: str) -> Any:
    for step in _steps(path):
        if is_object(data) and step in data:
            data = data[str(step)]
        elif is_list(data) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return _NOTHING
    return _NOTHING if is_object(data) or is_list(data) else data


def _choices_at(kind: Any, path: str) -> list[Any]:
    """Return the values of the closed list that lies at a path inside a record type, if it is one."""
    found = _type_at(kind, path)
    options = [found, *get_args(found)] if _is_optional(found) else [found]
    return [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]


def _keys_at(kind: Any, path: str) -> list[str]:
    """Return the accepted keys of the record that lies at a path inside a record type."""
    kind = _type_at(kind, path)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [f.encode_name for f in msgspec.structs.fields(kind)]
    return []


def _type_at(kind: Any, path: str) -> Any:
    """Return the type that lies at a path inside a record type."""
    for step in _steps(path):
        if not isinstance(step, int) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            fields = {f.encode_name: f.type for f in msgspec.structs.fields(kind)}
            kind = fields.get(step)
        else:
            kind = _inner(kind)
        while kind is not None and not isinstance(kind, type) and _is_optional(kind):
            kind = _inner(kind)
    return kind


def _is_optional(kind: Any) -> bool:
    return type(None) in getattr(kind, "__args__", ())


def _inner(kind: Any) -> Any:
    inner = [a for a in getattr(kind, "__args__", ()) if a not in (type(None), str, Ellipsis)]
    return inner[0] if inner else None


def _refuse_non_finite(data: JSON, where: str, error: type[StudyError], path: str = "") -> None:
    if isinstance(data, float) and not math.isfinite(data):
        raise error(f"{data} is not a finite number", where=f"{where}:{path}" if path else where)
    if is_object(data):
        for key, value in data.items():
            _refuse_non_finite(value, where, error, f"{path}.{key}" if path else key)
    elif is_list(data):
        for n, value in enumerate(data):
            _refuse_non_finite(value, where, error, f"{path}[{n}]")
