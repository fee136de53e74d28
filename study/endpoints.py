"""The closed table of endpoints: unit, direction of benefit, unit of the margin."""

from __future__ import annotations

import math
import re
from typing import Literal

from study.errors import ProtocolError, did_you_mean, listed
from study.records import Record

Unit = Literal["proportion", "log_ratio", "s", "calls"]
MarginUnit = Literal["pp", "%", "s", "calls"]


class Endpoint(Record):
    """One endpoint that a protocol may declare.

    Attributes
    ----------
    unit : str
        Unit of the contrast candidate - baseline: ``proportion``, ``log_ratio``, ``s`` or ``calls``.
    higher_is_better : bool
        Direction of benefit.
    margin_unit : str
        The unit that a declared margin must carry.
    supported : bool
        Whether this version computes it.
    takes_k : bool
        Whether it is about ``k`` repetitions of a case.
    """

    unit: Unit
    higher_is_better: bool
    margin_unit: MarginUnit
    supported: bool = False
    takes_k: bool = False


def _share(*, higher: bool = True, supported: bool = False) -> Endpoint:
    return Endpoint(unit="proportion", higher_is_better=higher, margin_unit="pp", supported=supported)


def _repeated() -> Endpoint:
    return Endpoint(unit="proportion", higher_is_better=True, margin_unit="pp", supported=True, takes_k=True)


def _ratio(*, supported: bool = False) -> Endpoint:
    return Endpoint(unit="log_ratio", higher_is_better=False, margin_unit="%", supported=supported)


ENDPOINTS: dict[str, Endpoint] = {
    "completion": _share(supported=True),
    "pass": _share(supported=True),
    "result_completion": _share(supported=True),
    "pass_hat_k": _repeated(),
    "pass_at_k": _repeated(),
    "latency_gmr": _ratio(supported=True),
    "latency_p50": _ratio(supported=True),
    "latency_p90": _ratio(supported=True),
    "latency_p95": _ratio(supported=True),
    "latency_p99": _ratio(supported=True),
    "latency_restricted_mean": Endpoint(unit="s", higher_is_better=False, margin_unit="s", supported=True),
    "timeouts": _share(higher=False, supported=True),
    "tokens_input": _ratio(supported=True),
    "tokens_output": _ratio(supported=True),
    "tokens_total": _ratio(supported=True),
    "calls": Endpoint(unit="calls", higher_is_better=False, margin_unit="calls", supported=True),
}

SUPPORTED_ENDPOINTS: tuple[str, ...] = tuple(name for name, entry in ENDPOINTS.items() if entry.supported)

_MARGIN = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z%]*)")
_EXAMPLE: dict[MarginUnit, str] = {"pp": "5 pp", "%": "10 %", "s": "0.2 s", "calls": "0.5 calls"}


def find_endpoint(name: str, where: str) -> Endpoint:
    """Return a supported endpoint by name.

    Raises
    ------
    ProtocolError
        For a name outside the closed table, and for one that this version does not compute.
    """
    entry = ENDPOINTS.get(name)
    allowed = listed(SUPPORTED_ENDPOINTS)
    if entry is None:
        hint = did_you_mean(name, ENDPOINTS)
        raise ProtocolError(f"unknown endpoint {name!r}{hint}", where=where, allowed=allowed)
    if not entry.supported:
        raise ProtocolError(
            f"the endpoint {name!r} is not offered by this version", where=where, allowed=allowed
        )
    return entry


def parse_margin(text: str, endpoint_name: str, where: str) -> float:
    """Return a declared margin in the unit of the endpoint's contrast.

    Parameters
    ----------
    text : str
        A positive number with its unit: ``"5 pp"`` (percentage points) for a proportion, ``"10 %"`` for a
        ratio, ``"0.2 s"`` for seconds.
    endpoint_name : str
        A name of :data:`ENDPOINTS`.
    where : str
        The place to name in an error.

    Returns
    -------
    float
        0.05 for ``"5 pp"``, ``log(1.1)`` for ``"10 %"``, 0.2 for ``"0.2 s"``; always positive and finite.

    Raises
    ------
    ProtocolError
        For a number without a unit, a unit of another kind of endpoint, zero, a negative number, and 100
        percentage points or more.
    """
    unit = ENDPOINTS[endpoint_name].margin_unit
    allowed = f'a positive number in {unit}, e.g. "{_EXAMPLE[unit]}"'
    if unit == "pp":
        allowed += ", below 100 pp"
    match = _MARGIN.fullmatch(text.strip()) if isinstance(text, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if match is None:
        raise ProtocolError(f"margin {text!r} is not a number with a unit", where=where, allowed=allowed)
    if match["unit"] != unit:
        problem = f"has the unit {match['unit']!r}" if match["unit"] else "has no unit"
        raise ProtocolError(f"margin {text!r} of {endpoint_name} {problem}", where=where, allowed=allowed)
    number = float(match["number"])
    if not 0 < number < math.inf or (unit == "pp" and number >= 100):
        raise ProtocolError(f"margin {text!r} is out of range", where=where, allowed=allowed)
    if unit == "%":
        return math.log1p(number / 100)
    return number / 100 if unit == "pp" else number
