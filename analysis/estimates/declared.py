"""The declared endpoints in their order, from the first plan to the last gate."""

from __future__ import annotations

from analysis import diagnostics
from analysis.estimates.families import share_level
from analysis.estimates.plans import DESCRIPTIVE_LEVEL, Plan
from analysis.estimates.single import estimated
from analysis.multiplicity import fixed_sequence, gated
from analysis.results import Estimate
from analysis.study_latency import TableTimes
from analysis.table import RunTable
from study.endpoints import find_endpoint, parse_margin


def estimate(table: RunTable, times: TableTimes | None = None) -> tuple[Estimate, ...]:
    """Estimate every endpoint that the protocol declares.

    Parameters
    ----------
    table : RunTable
        Its protocol is the only source of settings.
    times : TableTimes, optional
        The latencies of this table, where they are needed elsewhere too: they are resampled once.

    Returns
    -------
    tuple of Estimate
        In declared order, the contrast being candidate - baseline (for a ratio: on the log scale).
        Secondary claims are descriptive unless the primary claim is met; then they share the level by the
        declared procedure (by default in declared order, up to the first that is not met). In Holm's and in
        the fallback procedure, interval and outcome are those at the level that the procedure gives.

    Raises
    ------
    ProtocolError
        For an endpoint that this version does not offer, and a margin without its unit.
    """
    plans: list[Plan] = []
    pilot = diagnostics.evidence_level(table) == "pilot"
    times = times or TableTimes(table)
    for n, spec in enumerate(table.protocol.endpoints):
        where = f"protocol:endpoints[{n}]"
        entry = find_endpoint(spec.name, f"{where}.name")
        margin = None if spec.margin is None else parse_margin(spec.margin, spec.name, f"{where}.margin")
        level = DESCRIPTIVE_LEVEL if spec.alpha is None else 1 - 2 * spec.alpha
        plans.append(Plan(spec, entry, margin, level, spec.alpha, pilot, times))
    found = [estimated(table, plan) for plan in plans]
    share_level(table, plans, found)
    in_sequence = table.protocol.analysis.multiplicity == "fixed-sequence"
    return tuple(fixed_sequence(found) if in_sequence else gated(found))
