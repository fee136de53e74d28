"""From estimates, gates and hard fails to one verdict with its reason chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis import arms, formatting
from analysis.claims import meets, toward_benefit
from analysis.estimates import REFUSED, ROUNDING, estimate
from analysis.results import Estimate, HardFails, Verdict, VerdictOutcome
from analysis.table import RunTable
from study.errors import InputError
from study.protocol import parse_ceiling
from study.records import ARMS

_UNSHOWN = {
    "non-inferior": "that the candidate loses less than the margin",
    "superior": "that the candidate is superior",
    "equivalent": "that the arms differ by less than the margin",
}
_DECISIVE: tuple[VerdictOutcome, ...] = ("superior", "non_inferior", "equivalent", "inferior")


def decide(
    table: RunTable,
    estimates: Sequence[Estimate] | None = None,
    hard_fails: Mapping[str, HardFails] | None = None,
    *,
    void_reasons: Sequence[str] = (),
) -> Verdict:
    """Return the verdict of a run: the first that applies of its cascade.

    Parameters
    ----------
    table : RunTable
    estimates : sequence of Estimate, optional
        As :func:`analysis.estimates.estimate` gives them; computed when left out.
    hard_fails : mapping of arm to HardFails, optional
        As :func:`analysis.arms.hard_fails` gives them; computed when left out. An arm without an entry has
        none recorded, as in a table from elsewhere.
    void_reasons : sequence of str
        What else broke the run (lock, pairing); any makes it void.

    Returns
    -------
    Verdict
        ``void`` (integrity, or more void pairs than declared) before ``hard_fail`` (of the candidate)
        before ``below_floor`` before ``guardrail_failed`` before what the primary endpoint shows. A
        guardrail that is not shown makes the primary's outcome ``inconclusive``; a refusal, too few
        tasks and a pilot do so as well.
    """
    found = tuple(estimate(table) if estimates is None else estimates)
    if hard_fails is None:
        hard_fails = {} if table.lock_digest is None else arms.hard_fails(table)
    reasons: list[str] = []
    outcome, sentence = (
        _void(table, void_reasons, reasons)
        or _hard_fail(hard_fails, reasons)
        or _below_floor(table, reasons)
        or _guardrails(found, reasons)
        or _primary(found, reasons)
    )
    return Verdict(outcome=outcome, reasons=tuple(reasons), sentence=sentence)


def claim_met(verdict: Verdict, claim: str) -> bool:
    """Return whether a verdict bears the primary claim out (``superior`` also bears out ``non-inferior``)."""
    return meets(claim, verdict.outcome)


Ending = tuple[VerdictOutcome, str]
"""An outcome and its sentence; each step appends what it looked at to the reasons."""


def _void(table: RunTable, void_reasons: Sequence[str], reasons: list[str]) -> Ending | None:
    ceiling = parse_ceiling(table.protocol.missing.max_void_pairs, "protocol:missing.max_void_pairs")
    reasons.extend(f"integrity: {reason}" for reason in void_reasons)
    if table.lock_digest is None and not void_reasons:
        reasons.append("nothing was locked: plan, order and ceiling were not declared (exploratory)")
        return None
    n_pairs = table.frame["pair"].n_unique()
    n_void = table.frame.filter("void_pair")["pair"].n_unique()
    counted = f"void pairs: {formatting.share(n_void, n_pairs)}, ceiling {formatting.percent(ceiling)}"
    reasons.append(counted)
    if void_reasons:
        return "void", f"The run is void ({void_reasons[0]}): nothing was shown about either arm."
    if n_void > ceiling * n_pairs + ROUNDING or n_void == n_pairs:
        reasons[-1] += ": above it"
        return "void", f"The run is void (too many void pairs: {n_void}): nothing was shown about either arm."
    return None


def _hard_fail(fails: Mapping[str, HardFails], reasons: list[str]) -> Ending | None:
    for arm in ARMS:
        record = fails.get(arm)
        if record is None:
            reasons.append(f"hard fails of the {arm}: {formatting.NOT_RECORDED}")
            continue
        codes = ", ".join(f"{code} in {n}" for code, n in record.by_code.items())
        trials = formatting.counted(record.trials, "trial")
        reasons.append(
            f"hard fails of the {arm}: {record.count} of {trials}, n tasks = {record.n_tasks}"
            + (f" ({codes})" if codes else "")
        )
    candidate = fails.get("candidate")
    if candidate is None or not candidate.count:
        return None
    reasons.append("a hard fail of the candidate is not paid for by any average")
    return "hard_fail", (
        f"The candidate had hard fails in {candidate.count} of "
        f"{formatting.counted(candidate.trials, 'trial')}; it is not "
        "accepted, whatever its averages, and no claim about an endpoint was decided."
    )


def _below_floor(table: RunTable, reasons: list[str]) -> Ending | None:
    floor = table.protocol.gates.completion_floor
    if floor is None:
        return None
    try:
        rate = arms.rates(table, "completion")["candidate"].estimate or 0.0
    except InputError as error:
        reasons.append(f"completion of the candidate: not estimated ({error.problem})")
        return None
    shown, least = formatting.percent(rate, bounds=(floor,)), formatting.percent(floor)
    reasons.append(f"completion of the candidate: {shown}, floor {least}")
    if rate >= floor - ROUNDING:
        return None
    reasons[-1] += ": below it"
    return "below_floor", (
        f"The candidate completes {shown}, below the declared floor of {least}; "
        "no claim about an endpoint was decided."
    )


def _guardrails(estimates: Sequence[Estimate], reasons: list[str]) -> Ending | None:
    guardrails = [e for e in estimates if e.role == "guardrail"]
    reasons.extend(told(e) for e in guardrails)
    failed = [e for e in guardrails if e.outcome == "inferior"]
    if failed:
        shown = "; ".join(f"{e.label}: {_numbers(e)}" for e in failed)
        return "guardrail_failed", (
            f"A guardrail was shown to be worse in the candidate ({shown}); "
            "the primary claim was not decided."
        )
    unshown = [e for e in guardrails if e.claim is not None and not meets(e.claim, e.outcome)]
    if unshown:
        names = ", ".join(e.label for e in unshown)
        refusals = _refusals(unshown)
        reasons.extend(refusals)
        if refusals:
            return "inconclusive", _refused(refusals)
        return "inconclusive", (
            f"Inconclusive: the guardrail {names} was neither shown to hold nor shown to fail, so the "
            "primary claim stays open."
        )
    return None


def _primary(estimates: Sequence[Estimate], reasons: list[str]) -> Ending:
    primary = next(e for e in estimates if e.role == "primary")
    reasons.append(told(primary))
    refusals = _refusals([primary])
    reasons.extend(refusals)
    if refusals:
        return "inconclusive", _refused(refusals)
    if primary.claim is None:
        return "inconclusive", (
            f"Inconclusive: no claim was declared for {primary.label}, so none was decided."
        )
    for outcome in _DECISIVE:
        if outcome == primary.outcome:
            return outcome, _sentence(primary, outcome)
    return "inconclusive", _sentence(primary, "inconclusive")


def _refusals(estimates: Sequence[Estimate]) -> list[str]:
    return [note for e in estimates for note in e.diagnostics if note.startswith(REFUSED)]


def _refused(refusals: Sequence[str]) -> str:
    return f"Inconclusive: {refusals[0].removeprefix(REFUSED)}. No claim was decided."


def told(record: Estimate) -> str:
    """Return one endpoint as a step of the reason chain: claim, numbers, outcome."""
    claim = formatting.claim(record.claim, record.margin, record.unit, record.margin_text)
    counts = formatting.counts(record.n_tasks, record.n_pairs)
    return (
        f"{record.role} {record.label} (claim: {claim}): {_numbers(record)}, {counts}: "
        f"{formatting.outcome(record.outcome)}"
    )


def _numbers(record: Estimate) -> str:
    bounds = (0.0,) if record.margin is None else (0.0, record.margin, -record.margin)
    value = formatting.quantity(record.estimate, record.unit, bounds=bounds)
    limits = formatting.interval(
        record.interval, record.unit, bounds=bounds, n_tasks=record.n_tasks, status=record.status
    )
    return (
        f"candidate - baseline {value} {limits}" if record.unit != "log_ratio" else f"ratio {value} {limits}"
    )


def _shown_sides(primary: Estimate) -> tuple[bool, bool]:
    """Return whether the interval shows the candidate to be worse, and to be better."""
    limits = primary.interval
    if limits is None or limits.low is None or limits.high is None:
        return False, False
    turned = toward_benefit(limits.low, limits.high, higher_is_better=primary.higher_is_better)
    return turned.high < 0, turned.low > 0


def _sentence(primary: Estimate, outcome: str) -> str:
    """Return what was shown and what was not, in one sentence."""
    name, margin = primary.label, primary.margin_text
    numbers = _numbers(primary)
    shown = {
        "superior": f"The candidate is superior in {name}: {numbers}",
        "non_inferior": f"The candidate is non-inferior in {name} at a margin of {margin}: {numbers}",
        "equivalent": f"The arms are equivalent in {name} at a margin of {margin}: {numbers}",
        "inferior": f"The candidate is inferior in {name}: {numbers}",
    }
    worse, better = _shown_sides(primary)
    unshown = {
        "superior": "by how much beyond the interval, or on other tasks, was not shown",
        "non_inferior": "that it is worse, by less than the margin, was shown"
        if worse
        else "that it is superior was not shown",
        "equivalent": "that they are the same was not shown",
        "inferior": f"{_UNSHOWN[primary.claim or 'superior']} was not shown, and its opposite was",
    }
    if outcome in shown:
        return f"{shown[outcome]}; {unshown[outcome]}."
    if worse or better:
        side = "worse" if worse else "better"
        return (
            f"Inconclusive in {name}: {numbers}; that the candidate is {side} was shown, but neither "
            f"{_UNSHOWN[primary.claim or 'superior']} nor the opposite."
        )
    return (
        f"Inconclusive in {name}: {numbers}; neither {_UNSHOWN[primary.claim or 'superior']} "
        "nor the opposite was shown, and no difference shown is not the same as no difference."
    )
