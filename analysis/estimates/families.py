"""Claims that share one level: what the declared procedures make of each."""

from __future__ import annotations

import msgspec

from analysis import diagnostics, formatting
from analysis.claims import meets, p_text
from analysis.estimates.paired_shares import share_p, smallest_level
from analysis.estimates.plans import Plan
from analysis.estimates.records import agreeing
from analysis.estimates.single import estimated
from analysis.multiplicity import Share, fallback, holm, sequence
from analysis.results import Estimate, Status
from analysis.table import RunTable


def share_level(table: RunTable, plans: list[Plan], found: list[Estimate]) -> None:
    """Put what the declared procedures make of the claims in the place of each claim by itself."""
    rule = table.protocol.analysis.multiplicity
    claims = {
        role: [n for n, plan in enumerate(plans) if plan.spec.role == role and plan.alpha is not None]
        for role in ("primary", "secondary", "exploratory")
    }
    ordered = [*claims["primary"], *claims["secondary"]]
    if rule == "fixed-sequence":
        if len(ordered) > 1 and len({plans[n].alpha for n in ordered}) == 1:
            adjusted = sequence(
                [
                    agreeing(_family_p(table, plans[n], found[n]), plans[n].alpha, met=_is_met(found[n]))
                    for n in ordered
                ]
            )
            for n, value in zip(ordered, adjusted, strict=True):
                found[n] = msgspec.structs.replace(found[n], adjusted_p_value=value)
    else:
        gate = max((_family_p(table, plans[n], found[n]) for n in claims["primary"]), default=1.0)
        _share_in_family(table, plans, found, claims["secondary"], rule, gate)
    _share_in_family(table, plans, found, claims["exploratory"], "holm", 0.0)
    for n, plan in enumerate(plans):
        if plan.spec.role == "exploratory":
            status: Status = "descriptive" if found[n].status == "ok" else found[n].status
            found[n] = msgspec.structs.replace(found[n], status=status)


def _share_in_family(
    table: RunTable, plans: list[Plan], found: list[Estimate], family: list[int], rule: str, gate: float
) -> None:
    """Estimate the claims of a family again, each at the level that the procedure gives to it."""
    if not family:
        return
    alpha = plans[family[0]].spec.alpha or 0.0
    p_values = [_family_p(table, plans[n], found[n]) for n in family]
    weights = [plans[n].spec.weight or 0.0 for n in family]
    given = holm(p_values, alpha) if rule == "holm" else fallback(p_values, weights, alpha)
    for n, share in zip(family, given, strict=True):
        again = estimated(table, plans[n]._replace(level=1 - 2 * share.level, alpha=share.level))
        adjusted = max(gate, agreeing(share.adjusted, alpha, met=_is_met(again)))
        told = _family_note(plans[n], share._replace(adjusted=adjusted), rule, len(family))
        found[n] = msgspec.structs.replace(
            again, adjusted_p_value=adjusted, diagnostics=(told, *again.diagnostics)
        )


def _family_note(plan: Plan, share: Share, rule: str, size: int) -> str:
    how = "Holm" if rule == "holm" else f"fallback with weight {plan.spec.weight:g}"
    role = plan.spec.role
    told = f"{how} over {size} {role} {'claim' if size == 1 else 'claims'}"
    level = formatting.significant(share.level, 3)
    p = p_text(share.adjusted, plan.spec.alpha or 0.0)
    return f"{told}: tested at the one-sided level {level}, adjusted p-value {p}"


def _family_p(table: RunTable, plan: Plan, record: Estimate) -> float:
    """Return the smallest level at which a claim is borne out, whatever may refuse it; 1 where none is."""
    if record.p_value is None:
        return 1.0
    p = record.p_value
    if plan.entry.unit == "proportion":
        if plan.spec.margin is not None and plan.margin is not None:
            p = max(p, smallest_level(table, plan, record.n_tasks))
        worst = diagnostics.worst_shares(table, plan.spec.name, plan.spec.k)
        if worst is not None:
            p = max(p, share_p(worst, plan))
    return p


def _is_met(record: Estimate) -> bool:
    return meets(record.claim, record.outcome)
