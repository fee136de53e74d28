"""The declared plan: a protocol file -> a closed record, with the rules that hold across its fields."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from study.convert import convert
from study.digest import JSON, is_object, read_bytes
from study.endpoints import ENDPOINTS, parse_margin
from study.errors import ProtocolError, did_you_mean, listed
from study.records import ARMS, RUNGS, Record

Claim = Literal["non-inferior", "superior", "equivalent"]
Role = Literal["primary", "secondary", "guardrail", "exploratory"]
Estimand = Literal["new-tasks", "fixed-tasks"]
Multiplicity = Literal["fixed-sequence", "holm", "fallback"]
Treatment = Literal["failure", "void-pair"]

LARGEST_CEILING = 10
"""Percent of pairs that may be void at most: beyond it no verdict is given, whatever was declared."""

FEWEST_TASKS = 10
"""Below this many tasks an interval is printed at most, and decides nothing."""

FEWEST_OF_STRATUM = 5
"""Below this many tasks in a stratum there is no interval over the strata."""

FEWEST_FIXED_TRIALS = 30
"""Trials of an arm below which there is no interval for these tasks only."""

REPEATABLE = ("completion", "pass", "result_completion", "timeouts")
"""Endpoints that may be declared for these tasks only (``estimand = "fixed-tasks"``)."""

_SUM = 1e-9


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
    """What is run: suites, split and, optionally, rungs; and how its tasks weigh.

    Attributes
    ----------
    suites : tuple of str
    split : {"development", "held-out"}
    rungs : tuple of str or None
        All rungs of the suites when left out.
    weighting : {"equal-tasks", "rungs", "suites"}
        ``rungs`` and ``suites`` divide the tasks into strata whose declared ``weights`` enter every share.
    weights : dict of str to float or None
        Stratum (a rung, or a suite as named here) -> positive weight; the sum is 1 and every stratum named.
    """

    suites: tuple[str, ...]
    split: Literal["development", "held-out"]
    rungs: tuple[str, ...] | None = None
    weighting: Literal["equal-tasks", "rungs", "suites"] = "equal-tasks"
    weights: dict[str, float] | None = None


class Design(Record):
    """How it is run: tasks, repetitions, order, seed, conditions."""

    tasks: int
    repetitions: int
    seed: int
    order: Literal["randomized-within-pair"] = "randomized-within-pair"
    conditions: dict[str, str] | None = None


class EndpointSpec(Record):
    """One declared endpoint.

    Attributes
    ----------
    name : str
        A name of :data:`study.endpoints.ENDPOINTS`.
    role : {"primary", "secondary", "guardrail", "exploratory"}
        ``exploratory`` endpoints never change what the others come to; their claims are one Holm family.
    claim : str or None
    margin : str or None
        Text with its unit.
    alpha : float or None
        One-sided level of the claim.
    k : int or None
        Of ``pass_hat_k`` and ``pass_at_k``: from 1 to the declared repetitions.
    estimand : {"new-tasks", "fixed-tasks"} or None
        ``fixed-tasks`` asks about these tasks only, were they repeated without end: a secondary endpoint
        without a claim, from 2 repetitions. Left out: the population that the tasks stand for.
    weight : float or None
        Share of the level in the fallback procedure.
    """

    name: str
    role: Role
    claim: Claim | None = None
    margin: str | None = None
    alpha: float | None = None
    k: int | None = None
    estimand: Estimand | None = None
    weight: float | None = None

    @property
    def label(self) -> str:
        """The name with whatever tells it from other endpoints of the same name."""
        return endpoint_label(self.name, self.k, self.estimand)


class Gates(Record):
    """What no average pays for: hard fails (always 0), and the floor of the candidate's completion.

    ``hard_fail_icc`` declares how alike hard fails of one task are (0 to 1), which allows a second, closer
    bound on their rate; it gates nothing.
    """

    hard_fails: Literal[0] = 0
    completion_floor: float | None = None
    hard_fail_icc: float | None = None


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
    """Settings of the resampling methods (the deciding interval has none), and of several claims.

    ``multiplicity`` says how the secondary claims share the level once the primary claim is met: in declared
    order up to the first that is not met, by Holm's procedure, or by the fallback procedure with declared
    weights.
    """

    resamples: int = 10_000
    seed: int = 0
    multiplicity: Multiplicity = "fixed-sequence"


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
    "weights": 'a table such as { "TOOL-1" = 0.4, "TOOL-2" = 0.6 }',
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


def all_ties_bound(weights: Sequence[float], n_tasks: Sequence[int], alpha: float = 0.025) -> float:
    r"""Return the smallest loss that tasks in weighted strata can rule out at all.

    Parameters
    ----------
    weights : sequence of float, shape (n_strata,)
        Positive.
    n_tasks : sequence of int, shape (n_strata,)
        Tasks of each stratum, at least 1.
    alpha : float
        One-sided level.

    Returns
    -------
    float
        :math:`\max \sum_h w_h q_h` over shares :math:`q_h` of tasks that break outright, all unseen with
        probability :math:`\prod_h (1 - q_h)^{T_h} \ge \alpha`; for one stratum ``1 - alpha**(1 / T)``. A
        margin below it cannot be shown, as one needs :func:`minimum_tasks` without strata.
    """
    # 1 - q_h = min(1, rate T_h / w_h): strata fill up in the order of w_h / T_h, the heaviest tasks first
    order = sorted(zip(weights, n_tasks, strict=True), key=lambda part: part[1] / part[0])
    filled, logs = 0, 0.0
    log_rate = 0.0
    for n, (weight, tasks) in enumerate(order):
        filled += tasks
        logs += tasks * math.log(tasks / weight)
        log_rate = (math.log(alpha) - logs) / filled
        if n + 1 == len(order) or log_rate + math.log(order[n + 1][1] / order[n + 1][0]) >= 0:
            break
    return math.fsum(-w * math.expm1(min(0.0, log_rate + math.log(t / w))) for w, t in order)


def endpoint_label(name: str, k: int | None, estimand: str | None) -> str:
    """Return an endpoint's name with its ``k`` or its estimand, where it has one that must be told."""
    if k is not None:
        return f"{name} (k = {k})"
    return f"{name} (these tasks only)" if estimand == "fixed-tasks" else name


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
