"""The declared order of claims: a fixed sequence that stops at the first claim not met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from analysis.claims import meets
from analysis.results import Estimate

DESCRIPTIVE = "descriptive: "
"""Starts the diagnostic of a claim that was not tested."""


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
        stopped_at = primary.name if primary and not meets(primary.claim, primary.outcome) else None
    for estimate in declared:
        if estimate.role != "secondary" or estimate.claim is None:
            yield estimate
        elif stopped_at is not None:
            yield _descriptive(estimate, stopped_at)
        else:
            yield estimate
            if not meets(estimate.claim, estimate.outcome):
                stopped_at = estimate.name


def _descriptive(estimate: Estimate, stopped_at: str) -> Estimate:
    if any(note.startswith(DESCRIPTIVE) for note in estimate.diagnostics):
        return estimate
    note = f"{DESCRIPTIVE}the declared sequence of claims stopped at {stopped_at}"
    return msgspec.structs.replace(
        estimate,
        status="descriptive" if estimate.status == "ok" else estimate.status,
        outcome="inconclusive",
        diagnostics=(note, *estimate.diagnostics),
    )
