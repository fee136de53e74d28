"""The rules for what a protocol claims: endpoints, margins, weights, and claims that share one level."""

from __future__ import annotations

import math
from collections.abc import Sequence

from study.endpoints import ENDPOINTS, parse_margin
from study.errors import ProtocolError, did_you_mean, listed
from study.records import RUNGS
from study.sections import EndpointSpec, Protocol, Workload

REPEATABLE = ("completion", "pass", "result_completion", "timeouts")
"""Endpoints that may be declared for these tasks only (``estimand = "fixed-tasks"``)."""

_SUM = 1e-9


def check_claims(protocol: Protocol, where: str) -> None:
    """Check the endpoints of a protocol and the weights that they use; raise at the first broken rule.

    Raises
    ------
    ProtocolError
        With the place below ``where``.
    """
    _check_weights(protocol.workload, where)
    primaries = 0
    for n, endpoint in enumerate(protocol.endpoints):
        _check_endpoint(
            endpoint,
            protocol.design.repetitions,
            f"{where}:endpoints[{n}]",
            weighted=protocol.workload.weighting != "equal-tasks",
        )
        primaries += endpoint.role == "primary"
    names = [e.label for e in protocol.endpoints]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise ProtocolError(f"the endpoint {name!r} is declared twice", where=f"{where}:endpoints[{n}]")
    if primaries != 1:
        raise ProtocolError(
            f"{primaries} primary endpoints",
            where=f"{where}:endpoints",
            allowed="exactly one primary endpoint",
        )
    _check_families(protocol, where)


def _check_weights(workload: Workload, where: str) -> None:
    kind, weights, place = workload.weighting, workload.weights, f"{where}:workload.weights"
    if kind == "equal-tasks":
        if weights is not None:
            raise ProtocolError(
                "weights beside equal task weights",
                where=place,
                next_step='declare weighting = "rungs" or "suites", or drop the weights',
            )
        return
    strata = workload.suites if kind == "suites" else workload.rungs or RUNGS
    sample = ", ".join(f'"{name}" = ...' for name in strata[:3])
    allowed = f"one positive number for each of the {kind}, with sum 1: {{ {sample} }}"
    if not weights:
        raise ProtocolError(f'weighting = "{kind}" without weights', where=place, allowed=allowed)
    for name, weight in weights.items():
        if name not in strata:
            raise ProtocolError(
                f"a weight for {name!r}{did_you_mean(name, strata)}", where=place, allowed=listed(strata)
            )
        if not 0 < weight <= 1:
            raise ProtocolError(f"{name} = {weight}", where=f"{place}.{name}", allowed=allowed)
    named = kind == "suites" or workload.rungs is not None
    lacking = [name for name in strata if name not in weights] if named else []
    if lacking:
        raise ProtocolError(f"{lacking[0]!r} has no weight", where=place, allowed=allowed)
    total = math.fsum(weights.values())
    if abs(total - 1) > _SUM:
        raise ProtocolError(f"the weights have the sum {total:.12g}", where=place, allowed=allowed)


def _check_endpoint(endpoint: EndpointSpec, repetitions: int, where: str, *, weighted: bool) -> None:
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
    _check_k(endpoint, takes_k=known.takes_k, repetitions=repetitions, where=where)
    if endpoint.estimand == "fixed-tasks":
        _check_fixed_tasks(endpoint, repetitions, where, weighted=weighted)
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


def _check_k(endpoint: EndpointSpec, *, takes_k: bool, repetitions: int, where: str) -> None:
    if not takes_k:
        if endpoint.k is not None:
            raise ProtocolError(f"{endpoint.name} takes no k", where=f"{where}.k")
        return
    if endpoint.k is None or not 1 <= endpoint.k <= repetitions:
        raise ProtocolError(
            f"{endpoint.name} without k" if endpoint.k is None else f"k = {endpoint.k}",
            where=f"{where}.k",
            allowed=f"k from 1 to the declared repetitions ({repetitions}): no more can be known of a case",
        )


def _check_fixed_tasks(endpoint: EndpointSpec, repetitions: int, where: str, *, weighted: bool) -> None:
    place = f"{where}.estimand"
    if endpoint.name not in REPEATABLE:
        raise ProtocolError(
            f'{endpoint.name} with estimand = "fixed-tasks"', where=place, allowed=listed(REPEATABLE)
        )
    if endpoint.role != "secondary" or endpoint.claim is not None:
        what = f"a {endpoint.role} endpoint" if endpoint.role != "secondary" else "a claim"
        raise ProtocolError(
            f'{what} with estimand = "fixed-tasks"',
            where=place,
            allowed="a secondary endpoint without a claim: these tasks say nothing about new ones",
        )
    if weighted:
        raise ProtocolError(
            'estimand = "fixed-tasks" with declared weights',
            where=place,
            allowed='workload.weighting = "equal-tasks": these tasks weigh equally',
        )
    if repetitions < 2:
        raise ProtocolError(
            f'estimand = "fixed-tasks" with {repetitions} repetition',
            where=place,
            allowed="design.repetitions of at least 2: chance is measured between repetitions",
        )


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


def _check_families(protocol: Protocol, where: str) -> None:
    """Check that the claims of a family can share one level."""
    rule = protocol.analysis.multiplicity
    sequence = [(n, e) for n, e in enumerate(protocol.endpoints) if e.claim and e.role == "secondary"]
    for n, endpoint in enumerate(protocol.endpoints):
        if endpoint.weight is not None and not (rule == "fallback" and (n, endpoint) in sequence):
            raise ProtocolError(
                f"{endpoint.label} has a weight",
                where=f"{where}:endpoints[{n}].weight",
                allowed='secondary claims, with analysis.multiplicity = "fallback"',
            )
    if rule != "fixed-sequence":
        if len(sequence) < 2:
            raise ProtocolError(
                f'multiplicity = "{rule}" with {len(sequence)} secondary claims',
                where=f"{where}:analysis.multiplicity",
                allowed="at least two secondary claims, or the default (fixed-sequence)",
            )
        primary = [(n, e) for n, e in enumerate(protocol.endpoints) if e.claim and e.role == "primary"]
        _check_one_level([*primary, *sequence], where)
    _check_one_level(
        [(n, e) for n, e in enumerate(protocol.endpoints) if e.claim and e.role == "exploratory"], where
    )
    if rule == "fallback":
        _check_fallback_weights(sequence, where)


def _check_one_level(family: Sequence[tuple[int, EndpointSpec]], where: str) -> None:
    for n, endpoint in family:
        if endpoint.alpha != family[0][1].alpha:
            raise ProtocolError(
                f"alpha = {endpoint.alpha}",
                where=f"{where}:endpoints[{n}].alpha",
                allowed=f"one alpha for all claims that share it ({family[0][1].alpha})",
            )


def _check_fallback_weights(family: Sequence[tuple[int, EndpointSpec]], where: str) -> None:
    allowed = "a positive number for each secondary claim, with sum 1"
    for n, endpoint in family:
        if endpoint.weight is None or not 0 < endpoint.weight <= 1:
            raise ProtocolError(
                f"weight = {endpoint.weight}", where=f"{where}:endpoints[{n}].weight", allowed=allowed
            )
    total = math.fsum(endpoint.weight or 0.0 for _, endpoint in family)
    if abs(total - 1) > _SUM:
        raise ProtocolError(
            f"the weights of the secondary claims have the sum {total:.12g}",
            where=f"{where}:endpoints",
            allowed=allowed,
        )
