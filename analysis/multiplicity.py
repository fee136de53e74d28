"""How several claims share one level: in a fixed sequence, by Holm's or by the fallback procedure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from analysis.claims import holm_adjusted, meets
from analysis.results import DESCRIPTIVE, Estimate


class Share(NamedTuple):
    """What a procedure gives to one claim.

    Attributes
    ----------
    level : float
        The one-sided level at which it is tested: shown exactly when its p-value is at most this.
    adjusted : float
        The smallest level of the whole family at which the procedure shows it.
    """

    level: float
    adjusted: float


def holm(p_values: Sequence[float], alpha: float) -> list[Share]:
    """Return the level and the adjusted p-value of each claim of a family by Holm's procedure.

    Parameters
    ----------
    p_values : sequence of float
        One-sided; 1 for a claim that cannot be shown.
    alpha : float
        Level of the family.

    Notes
    -----
    Holm 1979, Scandinavian Journal of Statistics 6:65-70: the claims in the order of their p-values, the
    j-th of m at ``alpha / (m - j + 1)``, up to the first that is not shown; all later ones stay at its level.
    Valid under any dependence.
    """
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    adjusted = holm_adjusted(p_values)
    shares: dict[int, Share] = {}
    level, stopped = alpha, False
    for rank, n in enumerate(order):
        if not stopped:
            level = alpha / (len(order) - rank)
            stopped = p_values[n] > level
        shares[n] = Share(level, adjusted[n])
    return [shares[n] for n in range(len(p_values))]


def fallback(p_values: Sequence[float], weights: Sequence[float], alpha: float) -> list[Share]:
    """Return the level and the adjusted p-value of each claim of a family by the fallback procedure.

    Parameters
    ----------
    p_values, alpha
        See :func:`holm`.
    weights : sequence of float
        Positive, sum 1, in declared order.

    Notes
    -----
    Wiens 2003, doi:10.1002/pst.64: a claim is tested at its own weight of ``alpha``, with all that the claim
    before it had if that was shown. Valid under any dependence.
    """
    shares: list[Share] = []
    carried = 0.0
    for n, p in enumerate(p_values):
        level = alpha * weights[n] + carried
        carried = level if p <= level else 0.0
        # shown at a level a of the family when, for some start, all claims from there on are shown and
        # their weights together give this one its p-value
        adjusted, before, weight = 1.0, 0.0, 0.0
        for start in range(n, -1, -1):
            weight += weights[start]
            adjusted = min(adjusted, max(before, p / weight))
            before = max(before, shares[start - 1].adjusted) if start else before
        shares.append(Share(level, adjusted))
    return shares


def sequence(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values of claims that are tested in this order, each at the full level."""
    adjusted: list[float] = []
    for p in p_values:
        adjusted.append(max(p, adjusted[-1]) if adjusted else p)
    return adjusted


def fixed_sequence(estimates: Iterable[Estimate], stopped_at: str | None = None) -> Iterator[Estimate]:
    """Yield the estimates with every secondary claim behind the first one not met marked descriptive.

    Parameters
    ----------
    estimates : iterable of Estimate
        In declared order. The primary claim stands before all secondary ones, wherever it was declared;
        guardrails are not part of the sequence.
    stopped_at : str, optional
        What has stopped the sequence already (a gate), if anything.

    Notes
    -----
    Testing in a declared order at the full level each, up to the first claim not met, keeps the
    familywise error at that level (Maurer, Hothorn and Lehmacher 1995; Westfall and Krishen 2001,
    doi:10.1016/S0378-3758(01)00077-5).
    """
    declared = list(estimates)
    if stopped_at is None:
        primary = next((e for e in declared if e.role == "primary"), None)
        stopped_at = primary.label if primary and not meets(primary.claim, primary.outcome) else None
    for estimate in declared:
        if estimate.role != "secondary" or estimate.claim is None:
            yield estimate
        elif stopped_at is not None:
            yield _descriptive(estimate, stopped_at)
        else:
            yield estimate
            if not meets(estimate.claim, estimate.outcome):
                stopped_at = estimate.label


def gated(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates with all secondary claims marked descriptive unless the primary claim is met."""
    primary = next((e for e in estimates if e.role == "primary"), None)
    if primary is None or meets(primary.claim, primary.outcome):
        return list(estimates)
    return list(fixed_sequence(estimates, stopped_at=primary.label))


def _descriptive(estimate: Estimate, stopped_at: str) -> Estimate:
    if any(note.startswith(DESCRIPTIVE) for note in estimate.diagnostics):
        return estimate
    note = f"{DESCRIPTIVE}the declared sequence of claims stopped at {stopped_at}"
    return msgspec.structs.replace(
        estimate,
        status="descriptive" if estimate.status == "ok" else estimate.status,
        outcome="inconclusive",
        adjusted_p_value=None,
        diagnostics=(note, *estimate.diagnostics),
    )
