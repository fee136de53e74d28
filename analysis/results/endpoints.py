"""Declared endpoints, with both arms."""

from __future__ import annotations

from typing import Literal

from analysis.results.intervals import Interval, Status
from study.protocol import endpoint_label
from study.records import Record


class StratumEstimate(Record):
    """The contrast within one stratum that has a declared weight; it describes and decides nothing.

    ``status`` is that of the interval: ``refused`` with fewer than 5 tasks, ``few_tasks`` with fewer than 10.
    """

    name: str
    weight: float
    estimate: float
    interval: Interval
    n_tasks: int
    n_pairs: int
    status: Status


class ArmSummary(Record):
    """One arm of an endpoint: its estimate with an interval, and what it was computed from."""

    estimate: float | None
    interval: Interval | None
    n_tasks: int
    n_trials: int


DESCRIPTIVE = "descriptive: "
"""Starts the diagnostic of a claim that was not tested."""


class Estimate(Record):
    """One declared endpoint: the contrast candidate - baseline (or its ratio), and both arms.

    Attributes
    ----------
    name, role : str
        As declared; role is ``primary``, ``secondary``, ``guardrail`` or ``exploratory``.
    claim : str or None
        ``non-inferior``, ``superior``, ``equivalent``; None for a descriptive endpoint.
    margin : float or None
        In the unit of the estimate: 0.05 for ``"5 pp"``, the log of the factor for a ratio.
    margin_text : str or None
        As declared, e.g. ``"5 pp"``.
    unit : str
        ``proportion``, ``log_ratio``, ``s`` ...
    higher_is_better : bool
        Direction of benefit.
    alpha : float or None
        One-sided level of the claim.
    estimate : float or None
        The point estimate; None when nothing could be computed.
    interval : Interval or None
        The interval that decides.
    sensitivity : tuple of Interval
        Other methods, labelled; never for the decision.
    baseline, candidate : ArmSummary
    n_tasks, n_families, n_pairs : int
    status : str
    outcome : str or None
        What the endpoint's own claim came to (``superior``, ``non_inferior``, ``inferior``,
        ``equivalent``, ``inconclusive``); None when nothing was claimed.
    diagnostics : tuple of str
        Remarks that belong beside the number (ties, few tasks, skew, missing pairs).
    k : int or None
        Of ``pass_hat_k`` and ``pass_at_k``.
    estimand : str
        ``new-tasks`` (the population that the tasks stand for) or ``fixed-tasks`` (these tasks only).
    p_value : float or None
        One-sided p-value of the claim, by the method of the interval: at most (1 - level) / 2 exactly when
        the interval bears the claim out. None without a claim, where the claim was refused, and where the
        method gives none.
    adjusted_p_value : float or None
        The smallest level of the whole family at which its procedure shows this claim; None outside a
        family, and for a claim that was not tested.
    strata : tuple of StratumEstimate
        One a stratum, where the protocol declares weights.
    """

    name: str
    role: str
    claim: str | None
    margin: float | None
    margin_text: str | None
    unit: str
    higher_is_better: bool
    alpha: float | None
    estimate: float | None
    interval: Interval | None
    sensitivity: tuple[Interval, ...]
    baseline: ArmSummary
    candidate: ArmSummary
    n_tasks: int
    n_families: int
    n_pairs: int
    status: Status
    outcome: str | None
    diagnostics: tuple[str, ...] = ()
    k: int | None = None
    estimand: Literal["new-tasks", "fixed-tasks"] = "new-tasks"
    p_value: float | None = None
    adjusted_p_value: float | None = None
    strata: tuple[StratumEstimate, ...] = ()

    @property
    def label(self) -> str:
        """The name with whatever tells it from other endpoints of the same name."""
        return endpoint_label(self.name, self.k, self.estimand)
