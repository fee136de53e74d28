"""The rules that hold across the fields of a protocol."""

from __future__ import annotations

import math

import msgspec

from study.claims import check_claims
from study.conduct import check_conduct
from study.digest import JSON, is_object
from study.errors import ProtocolError, did_you_mean, listed
from study.records import ARMS, RUNGS
from study.sections import Protocol

LARGEST_CEILING = 10
"""Percent of pairs that may be void at most: beyond it no verdict is given, whatever was declared."""


def check_protocol(protocol: Protocol, where: str) -> None:
    """Apply the rules that hold across fields; raise :class:`ProtocolError` at the first broken one."""
    _check_names(protocol, where)
    _check_change(protocol, where)
    _check_numbers(protocol, where)
    check_conduct(protocol, where)
    check_claims(protocol, where)


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


def _check_numbers(protocol: Protocol, where: str) -> None:
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
    floor = protocol.gates.completion_floor
    if floor is not None and not 0 <= floor <= 1:
        raise ProtocolError(
            f"completion_floor = {floor}",
            where=f"{where}:gates.completion_floor",
            allowed="a share from 0 to 1",
        )
    icc = protocol.gates.hard_fail_icc
    if icc is not None and not 0 <= icc <= 1:
        raise ProtocolError(
            f"hard_fail_icc = {icc}", where=f"{where}:gates.hard_fail_icc", allowed="a number from 0 to 1"
        )
    ceiling, place = protocol.missing.max_void_pairs, f"{where}:missing.max_void_pairs"
    if parse_ceiling(ceiling, place) * 100 > LARGEST_CEILING:
        raise ProtocolError(
            f"max_void_pairs = {ceiling!r}", where=place, allowed=f'at most "{LARGEST_CEILING} %"'
        )


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
