"""The declared plan: a protocol file -> a closed record, with the rules that hold across its fields."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from study.convert import convert
from study.digest import JSON, is_object, read_bytes
from study.endpoints import ENDPOINTS, parse_margin
from study.errors import ProtocolError, did_you_mean, listed
from study.records import ARMS, RUNGS, Record

Claim = Literal["non-inferior", "superior", "equivalent"]
Role = Literal["primary", "secondary", "guardrail"]
Treatment = Literal["failure", "void-pair"]

LARGEST_CEILING = 10
"""Percent of pairs that may be void at most: beyond it no verdict is given, whatever was declared."""

FEWEST_TASKS = 10
"""Below this many tasks an interval is printed at most, and decides nothing."""


class ArmSpec(Record):
    """One arm: the driver by name, and its own settings."""

    driver: str
    config: dict[str, Any] | None = None


class Arms(Record):
    """The two arms of a study."""

    baseline: ArmSpec
    candidate: ArmSpec


class Change(Record):
    """The one mechanism that differs: dotted ``paths`` below ``arms.X``, and ``why``."""

    paths: tuple[str, ...]
    why: str


class Workload(Record):
    """What is run: suites, split and, optionally, rungs."""

    suites: tuple[str, ...]
    split: Literal["development", "held-out"]
    rungs: tuple[str, ...] | None = None
    weighting: Literal["equal-tasks"] = "equal-tasks"


class Design(Record):
    """How it is run: tasks, repetitions, order, seed, conditions."""

    tasks: int
    repetitions: int
    seed: int
    order: Literal["randomized-within-pair"] = "randomized-within-pair"
    conditions: dict[str, str] | None = None


class EndpointSpec(Record):
    """One declared endpoint; ``margin`` is text with a unit, ``alpha`` one-sided."""

    name: str
    role: Role
    claim: Claim | None = None
    margin: str | None = None
    alpha: float | None = None
    k: int | None = None


class Gates(Record):
    """What no average pays for: hard fails (always 0), and the floor of the candidate's completion."""

    hard_fails: Literal[0] = 0
    completion_floor: float | None = None


class Missing(Record):
    """The declared treatment of each outcome that is no answer."""

    timeout: Literal["failure"] = "failure"
    driver_error: Literal["failure"] = "failure"
    transport_error: Literal["failure"] = "failure"
    unparseable: Literal["failure"] = "failure"
    empty: Literal["failure"] = "failure"
    infrastructure: Treatment = "void-pair"
    cancelled: Treatment = "void-pair"
    max_void_pairs: str = "0 %"


class Limits(Record):
    """Wall-clock limit of one trial, in seconds."""

    trial_timeout_s: float


class AnalysisSpec(Record):
    """Settings of the resampling methods (the deciding interval has none)."""

    resamples: int = 10_000
    seed: int = 0


class Protocol(Record):
    """A protocol as declared. An absent section means off."""

    schema: Literal[1]
    id: str
    question: str
    arms: Arms
    change: Change
    workload: Workload
    design: Design
    endpoints: tuple[EndpointSpec, ...]
    gates: Gates = msgspec.field(default_factory=Gates)
    missing: Missing = msgspec.field(default_factory=Missing)
    limits: Limits
    analysis: AnalysisSpec = msgspec.field(default_factory=AnalysisSpec)


_EXAMPLES = {
    "margin": 'text with its unit: "5 pp" for shares, "10 %" for ratios',
    "max_void_pairs": 'a share of pairs with its unit, e.g. "2 %"',
    "alpha": "one-sided, e.g. 0.025",
    "tasks": "the number of tasks that the selection yields",
}


def read_protocol(path: Path) -> tuple[Protocol, dict[str, JSON]]:
    """Read a protocol file.

    Parameters
    ----------
    path : Path
        A TOML file.

    Returns
    -------
    (Protocol, dict)
        The checked record, and the data exactly as written (absent keys stay absent).

    Raises
    ------
    ProtocolError
        For TOML that does not parse, unknown keys, wrong types, and contradictions between fields.
    """
    return parse_protocol(read_bytes(path, "protocol"), str(path))


def load_protocol(path: str | Path) -> Protocol:
    """Read and check a protocol file; return the record (see :func:`read_protocol`)."""
    return read_protocol(Path(path))[0]


def parse_protocol(data: bytes, where: str) -> tuple[Protocol, dict[str, JSON]]:
    """Parse the bytes of a protocol file (see :func:`read_protocol`)."""
    try:
        written = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ProtocolError(f"not UTF-8 (byte {error.start})", where=where) from None
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"not valid TOML: {error}", where=where) from None
    except RecursionError:
        raise ProtocolError("nested too deeply", where=where) from None
    next_step = "`study init DIR` writes a protocol to start from"
    protocol = convert(written, Protocol, where, ProtocolError, next_step, _EXAMPLES)
    check_protocol(protocol, where)
    return protocol, written


def minimum_tasks(margin: float, alpha: float = 0.025) -> int:
    """Return the fewest tasks that can show a loss smaller than ``margin``.

    Parameters
    ----------
    margin : float
        A proportion in (0, 1).
    alpha : float
        One-sided level.

    Returns
    -------
    int
        ``ceil(ln(alpha) / ln(1 - margin))``: below it, a share ``margin`` of tasks that break outright
        would be missed by all tasks with a probability above ``alpha``, whatever the repetitions.

    Raises
    ------
    ValueError
        For a margin or a level outside (0, 1).
    """
    if not 0 < margin < 1 or not 0 < alpha < 1:
        raise ValueError("margin and alpha must lie strictly between 0 and 1")
    return math.ceil(math.log(alpha) / math.log1p(-margin))


def parse_ceiling(text: str, where: str) -> float:
    """Return the share of pairs that may be void, from text such as ``"2 %"``."""
    number, _, unit = text.strip().partition(" ")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if unit.strip() != "%" or not 0 <= value < 100:
        raise ProtocolError(
            f"max_void_pairs = {text!r}", where=where, allowed='a share of pairs with its unit, e.g. "2 %"'
        )
    return value / 100


def arm_difference(protocol: Protocol) -> list[str]:
    """Return the dotted paths at which the two arms differ, sorted."""
    left, right = (msgspec.to_builtins(getattr(protocol.arms, arm)) for arm in ARMS)
    return sorted(_differing(left, right, ""))


def _differing(left: JSON, right: JSON, path: str) -> list[str]:
    if path in ("", "config"):
        left, right = left or {}, right or {}
    if is_object(left) and is_object(right):
        nested = (
            _differing(left.get(key), right.get(key), f"{path}.{key}" if path else key)
            for key in sorted({*left, *right})
        )
        return [found for part in nested for found in part]
    return [] if left == right and type(left) is type(right) else [path]


def check_protocol(protocol: Protocol, where: str) -> None:
    """Apply the rules that hold across fields; raise :class:`ProtocolError` at the first broken one."""
    _check_names(protocol, where)
    _check_change(protocol, where)
    _check_design(protocol, where)
    primaries = 0
    for n, endpoint in enumerate(protocol.endpoints):
        _check_endpoint(endpoint, f"{where}:endpoints[{n}]")
        primaries += endpoint.role == "primary"
    names = [(e.name, e.k) for e in protocol.endpoints]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise ProtocolError(
                f"the endpoint {name[0]!r} is declared twice", where=f"{where}:endpoints[{n}]"
            )
    if primaries != 1:
        raise ProtocolError(
            f"{primaries} primary endpoints",
            where=f"{where}:endpoints",
            allowed="exactly one primary endpoint",
        )


def _check_names(protocol: Protocol, where: str) -> None:
    safe = protocol.id.replace("-", "").replace("_", "").replace(".", "")
    named = safe.isalnum() and safe.isascii() and not protocol.id.startswith((".", "-"))
    if not named or len(protocol.id) > 100:
        raise ProtocolError(
            f"id = {protocol.id!r:.120}",
            where=f"{where}:id",
            allowed="letters, digits, dot, underscore, hyphen; at most 100",
        )
    if not protocol.question.strip():
        raise ProtocolError("the question is blank", where=f"{where}:question")
    suites = protocol.workload.suites
    if not suites or len(set(suites)) != len(suites):
        raise ProtocolError("name each suite once, and at least one", where=f"{where}:workload.suites")
    for rung in protocol.workload.rungs or ():
        if rung not in RUNGS:
            hint = did_you_mean(rung, RUNGS)
            raise ProtocolError(
                f"rung {rung!r}{hint}", where=f"{where}:workload.rungs", allowed=listed(RUNGS)
            )


def _check_change(protocol: Protocol, where: str) -> None:
    real, declared = arm_difference(protocol), protocol.change.paths
    place = f"{where}:change.paths"
    if not protocol.change.why.strip():
        raise ProtocolError("say why the change was made", where=f"{where}:change.why")
    uncovered = [p for p in real if not any(p == d or p.startswith(f"{d}.") for d in declared)]
    if uncovered:
        raise ProtocolError(
            f"the arms also differ in {uncovered[0]!r}, which is not declared",
            where=place,
            allowed="one mechanism changed at a time, and named",
            next_step=f"make the arms equal there, or add {uncovered[0]!r} to change.paths",
        )
    unreal = [d for d in declared if not any(p == d or p.startswith(f"{d}.") for p in real)]
    if unreal:
        raise ProtocolError(
            f"{unreal[0]!r} is declared as changed, but the arms are equal there",
            where=place,
            allowed=listed(real) or "no path: the arms are equal",
        )


def _check_design(protocol: Protocol, where: str) -> None:
    design = protocol.design
    for name, value, least, most in (
        ("design.tasks", design.tasks, 1, 1_000_000),
        ("design.repetitions", design.repetitions, 1, 10_000),
        ("design.seed", design.seed, 0, 2**63 - 1),
        ("analysis.resamples", protocol.analysis.resamples, 1000, 10_000_000),
        ("analysis.seed", protocol.analysis.seed, 0, 2**63 - 1),
    ):
        if not least <= value <= most:
            allowed = f"at least {least}, at most {most}"
            raise ProtocolError(f"{name} = {value}", where=f"{where}:{name}", allowed=allowed)
    for key, value in (design.conditions or {}).items():
        if key != "cache" or value not in ("cold", "warm"):
            raise ProtocolError(
                f"{key} = {value!r}", where=f"{where}:design.conditions", allowed='cache = "cold" or "warm"'
            )
    if not 0 < protocol.limits.trial_timeout_s <= 86_400:
        raise ProtocolError(
            f"trial_timeout_s = {protocol.limits.trial_timeout_s}",
            where=f"{where}:limits.trial_timeout_s",
            allowed="seconds, above 0 and at most 86400",
        )
    floor = protocol.gates.completion_floor
    if floor is not None and not 0 <= floor <= 1:
        raise ProtocolError(
            f"completion_floor = {floor}",
            where=f"{where}:gates.completion_floor",
            allowed="a share from 0 to 1",
        )
    ceiling, place = protocol.missing.max_void_pairs, f"{where}:missing.max_void_pairs"
    if parse_ceiling(ceiling, place) * 100 > LARGEST_CEILING:
        raise ProtocolError(
            f"max_void_pairs = {ceiling!r}", where=place, allowed=f'at most "{LARGEST_CEILING} %"'
        )


def _check_endpoint(endpoint: EndpointSpec, where: str) -> None:
    known = ENDPOINTS.get(endpoint.name)
    offered = [name for name, entry in ENDPOINTS.items() if entry.supported]
    if known is None:
        hint = did_you_mean(endpoint.name, ENDPOINTS)
        raise ProtocolError(
            f"endpoint {endpoint.name!r}{hint}", where=f"{where}.name", allowed=listed(offered)
        )
    if not known.supported:
        raise ProtocolError(
            f"the endpoint {endpoint.name!r} is not offered by this version",
            where=f"{where}.name",
            allowed=listed(offered),
        )
    if endpoint.k is not None:
        raise ProtocolError(f"{endpoint.name} takes no k", where=f"{where}.k")
    if endpoint.claim is None:
        if endpoint.margin is not None or endpoint.alpha is not None:
            raise ProtocolError(
                "a margin or an alpha without a claim",
                where=where,
                allowed="non-inferior, superior, equivalent",
            )
        return
    if endpoint.alpha is None or not 0 < endpoint.alpha <= 0.25:
        raise ProtocolError(
            f"alpha = {endpoint.alpha}", where=f"{where}.alpha", allowed="one-sided, above 0 and at most 0.25"
        )
    _check_margin(endpoint, where)


def _check_margin(endpoint: EndpointSpec, where: str) -> None:
    if endpoint.claim == "superior":
        if endpoint.margin is not None:
            raise ProtocolError(
                "a claim of superiority has no margin",
                where=f"{where}.margin",
                next_step='drop the margin, or claim "non-inferior"',
            )
        return
    if endpoint.margin is None:
        raise ProtocolError(
            f'the claim "{endpoint.claim}" needs a margin with a unit',
            where=f"{where}.margin",
            allowed='e.g. margin = "5 pp", or "10 %" for a ratio',
        )
    parse_margin(endpoint.margin, endpoint.name, f"{where}.margin")
