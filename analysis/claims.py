"""What an interval says of a claim, and whether that bears the claim out."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.formatting import p_text as p_text
from study.records import Record

_MEETS = {
    "non-inferior": ("non_inferior", "superior"),
    "superior": ("superior",),
    "equivalent": ("equivalent",),
}


class Limits(Record):
    """Limits of candidate - baseline in the direction of benefit: more is better."""

    low: float
    high: float


def toward_benefit(low: float, high: float, *, higher_is_better: bool) -> Limits:
    """Turn the limits of a contrast so that more is better."""
    return Limits(low=low, high=high) if higher_is_better else Limits(low=-high, high=-low)


def claim_outcome(claim: str, limits: Limits, margin: float) -> str:
    """Return what an interval says of a claim.

    Parameters
    ----------
    claim : {"non-inferior", "superior", "equivalent"}
    limits : Limits
        In the direction of benefit.
    margin : float
        Positive; not used for superior.

    Returns
    -------
    str
        ``superior``, ``non_inferior``, ``equivalent``, ``inferior`` or ``inconclusive``.
    """
    low, high = limits.low, limits.high
    if claim == "superior":
        return "superior" if low > 0 else "inferior" if high < 0 else "inconclusive"
    if claim == "equivalent":
        if -margin < low and high < margin:
            return "equivalent"
        return "superior" if low > margin else "inferior" if high < -margin else "inconclusive"
    if low > 0:
        return "superior"
    return "non_inferior" if low >= -margin else "inferior" if high < -margin else "inconclusive"


def meets(claim: str | None, outcome: str | None) -> bool:
    """Return whether an outcome bears a claim out (``superior`` also bears out ``non-inferior``)."""
    return outcome in _MEETS.get(claim or "", ())


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down procedure: the k-th smallest times (n - k + 1).

    Holm 1979, Scandinavian Journal of Statistics 6:65-70. Valid under any dependence.
    """
    adjusted, most = [0.0] * len(p_values), 0.0
    for rank, n in enumerate(sorted(range(len(p_values)), key=lambda n: p_values[n])):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[n]))
        adjusted[n] = most
    return adjusted
