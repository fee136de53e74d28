"""The one canonical byte form of JSON data, its strict reader and its SHA-256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard

from study.errors import InputError

JSON = Any
"""A JSON value: None, bool, int, float (finite), str, list or dict with text keys."""


def is_object(value: JSON) -> TypeGuard[dict[str, JSON]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: JSON) -> TypeGuard[list[JSON]]:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def _encoder(*, sort_keys: bool) -> Callable[[JSON], str]:
    """Return an encoder of compact, finite JSON.

    Where the interpreter has one in C, that is made once: ``JSONEncoder.encode`` makes it anew for each
    value, which costs more than most values. It looks for no cycles; they end as too deep.
    """
    plain = json.JSONEncoder(
        sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    text = json.encoder.encode_basestring
    core = make(None, plain.default, text, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(core(value, 0))


_encode = _encoder(sort_keys=False)
_encode_sorted = _encoder(sort_keys=True)


def encode_json(value: JSON) -> bytes:
    """Return compact bytes of a JSON value, keys in their own order.

    Raises
    ------
    ValueError
        For NaN, infinities, text that is not Unicode, and what is cyclic or nested too deeply.
    TypeError
        For anything that is not JSON.
    """
    return _bytes(_encode, value)


def canonical(value: JSON) -> bytes:
    """Return the canonical bytes of a JSON value: sorted keys, compact, UTF-8, finite numbers only.

    Raises
    ------
    ValueError
        For NaN and infinities, and for what is cyclic or nested too deeply.
    TypeError
        For anything that is not JSON.
    """
    return _bytes(_encode_sorted, value)


def _bytes(encode: Callable[[JSON], str], value: JSON) -> bytes:
    try:
        return encode(value).encode("utf-8")
    except RecursionError:
        raise ValueError("cyclic, or nested too deeply") from None


def pretty(value: JSON) -> bytes:
    """Return sorted, indented bytes with a final newline, for files that people read."""
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: JSON) -> str:
    """Return the SHA-256 of the canonical bytes of a JSON value."""
    return sha256(canonical(value))


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _refuse_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    seen: dict[str, JSON] = {}
    for key, value in pairs:
        if key in seen:
            raise _DuplicateKeyError(key)
        seen[key] = value
    return seen


class _DuplicateKeyError(ValueError):
    pass


class _NotFiniteError(ValueError):
    pass


def _refuse_constant(text: str) -> JSON:
    raise _NotFiniteError(text)


def _finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _NotFiniteError(text)
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant, parse_float=_finite_float
)


def read_json(text: str | bytes, where: str) -> JSON:
    """Read JSON strictly: duplicate keys, NaN, infinities and bad UTF-8 are errors.

    Parameters
    ----------
    text : str or bytes
        One JSON document.
    where : str
        The place to name in an error, usually ``file`` or ``file:line``.

    Raises
    ------
    InputError
        With the place and the reason.
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        value = _DECODER.decode(decoded.removeprefix("\ufeff"))
        if "\\ud" in decoded or "\\uD" in decoded:
            encode_json(value)
        return value
    except UnicodeEncodeError:
        problem = "half of a surrogate pair is no character"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte {error.start})"
    except _DuplicateKeyError as error:
        problem = f"duplicate key {str(error)!r}"
    except _NotFiniteError as error:
        problem = f"{error} is not a finite number"
    except RecursionError:
        problem = "nested too deeply"
    except ValueError as error:
        problem = f"not valid JSON: {error}"
    raise InputError(problem, code="json", where=where, allowed="JSON with unique keys and finite numbers")


def read_bytes(path: Path, what: str) -> bytes:
    """Read a file, with a clear error when that fails.

    Raises
    ------
    InputError
        When the file is missing, a folder, a pipe or a device, or not readable.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(
                f"the {what} is no regular file", code="read", where=str(path), allowed="a file, not a pipe"
            )
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot read the {what}: {reason}", code="read", where=str(path)) from None


def read_json_file(path: Path, what: str) -> JSON:
    """Read one strict JSON document from a file (see :func:`read_json`)."""
    return read_json(read_bytes(path, what), str(path))


def read_json_lines(path: Path, what: str) -> list[tuple[int, JSON]]:
    """Read strict JSON lines; return ``(line number from 1, value)`` for each line that is not blank."""
    lines = read_bytes(path, what).split(b"\n")
    return [(n, read_json(line, f"{path}:{n}")) for n, line in enumerate(lines, 1) if line.strip()]
