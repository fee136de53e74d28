"""All results of a run as one record, and its comparison with a stored one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import polars as pl

from analysis import diagnostics
from analysis.arms import hard_fails, repeatability
from analysis.checkup import diagnose
from analysis.estimates import estimate
from analysis.multiplicity import fixed_sequence
from analysis.results import Estimate, Results, Verdict
from analysis.rungs import rung_rows
from analysis.study_latency import TableTimes, study_latency
from analysis.table import RunTable
from analysis.usage import summarise_usage
from analysis.verdicts import claim_met, decide
from study.digest import JSON, canonical, is_list, is_object, read_json
from study.environment import toolkit_version
from study.protocol import Protocol, parse_ceiling
from study.records import ARMS

TOLERANCE = 1e-9
"""Relative difference up to which a re-derived number agrees."""

PROSE = ("sentence", "reasons", "threshold", "notes", "diagnostics")
"""Keys of sentences for people; the records below ``diagnostics`` of the whole study are no sentences."""

ADDED = frozenset(
    {
        "toolkit",
        "diagnostics",
        "latency_contrasts",
        "shift",
        "reliability",
        "adjusted_p_value",
        "estimand",
        "k",
        "p_value",
        "strata",
        "icc",
        "icc_bound",
        "n_effective",
        "cap_s",
        "distribution",
        "quantiles",
        "restricted_mean_s",
        "restricted_mean_interval",
        "hard_failed",
        "pinned_results",
        "weighting",
        "weights",
        "multiplicity",
        "fallback_weights",
        "where",
    }
)
"""Keys that results may lack which were sealed before the version was written into them."""

_LOCKED = ("schedule_digest", "grader_version", "supersedes")
_DESIGN = ("repetitions", "seed", "order")


def summarise(
    table: RunTable,
    *,
    deviations: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    void_reasons: Sequence[str] = (),
    provenance: Mapping[str, Any] = MappingProxyType({}),
    toolkit: str | None = None,
) -> Results:
    """Compute everything that a report tells of a run.

    Parameters
    ----------
    table : RunTable
    deviations : sequence of mapping
        The lines of ``deviations.jsonl``.
    notes : sequence of str
        What a report must print beside the verdict.
    void_reasons : sequence of str
        What broke the run; any makes the verdict void.
    provenance : mapping
        Further entries of ``design``: ``lock_commit``, ``run_number``, ``runs_known``.
    toolkit : str, optional
        The version that ran the study, as its environment record has it.

    Returns
    -------
    Results
        All numbers are finite; what could not be computed is None with a status.
    """
    found_times = TableTimes(table)
    estimates = estimate(table, found_times)
    fails, times = hard_fails(table), study_latency(table, found_times)
    verdict = decide(table, estimates, fails, void_reasons=void_reasons)
    return Results(
        schema=1,
        study=table.protocol.id,
        question=table.protocol.question,
        lock_digest=table.lock_digest,
        declared=True,
        evidence_level=diagnostics.evidence_level(table),
        verdict=verdict,
        arms={arm: dict(table.lock["arms"][arm]) for arm in ARMS},
        design={**_design(table), **provenance},
        outcomes=diagnostics.outcome_counts(table.frame),
        hard_fails=fails,
        endpoints=_behind_gates(estimates, verdict),
        latency=times.arms,
        latency_contrasts=times.contrasts,
        shift=times.shift,
        ladder=rung_rows(table),
        usage={arm: summarise_usage(table.frame.filter(pl.col("arm") == arm)) for arm in ARMS},
        order_effect=diagnostics.order_effect(table),
        diagnostics=diagnose(table),
        missing=_missing(table, estimates),
        deviations=tuple(dict(deviation) for deviation in deviations),
        notes=tuple(notes),
        reliability=repeatability(table),
        toolkit=toolkit,
    )


def results_to_json(results: Results) -> dict[str, JSON]:
    """Return the results as JSON data, as ``results.json`` holds them.

    Raises
    ------
    ValueError
        For a number that is not finite: it has no place in results.
    """
    return read_json(canonical(msgspec.to_builtins(results)), "results")


def verify_results(stored: JSON, recomputed: Results, *, version: str | None = None) -> list[str]:
    """Compare stored results with recomputed ones.

    Parameters
    ----------
    stored : JSON
        The content of ``results.json``.
    recomputed : Results
    version : str, optional
        The version of the toolkit that recomputed them; by default the installed one.

    Returns
    -------
    list of str
        One ``path: stored -> recomputed`` line per difference: floats beyond 1e-9 relative; whole numbers,
        text and outcomes exactly; keys that only one side has.

    Notes
    -----
    Results that another version sealed (their ``toolkit`` says so, or they have none, being older than that
    key) must be derived again as well: every number, name, status and outcome that is stored, and no
    stored key may be unknown. Two things are then no difference. Keys that only the recomputed results
    have, for a later version tells more; without a recorded version these are the keys of :data:`ADDED`
    alone. And sentences for people (:data:`PROSE`), which a later version may word otherwise: what they
    are made of is compared, and the bytes are under the manifest. Of a run of the same version a missing
    key and a changed sentence are differences.
    """
    sealed_by = stored.get("toolkit", _ABSENT) if is_object(stored) else None
    rule = _Rule(lacks=frozenset(), prose=True)
    if sealed_by is _ABSENT:
        rule = _Rule(lacks=ADDED, prose=False)
    elif sealed_by is not None and sealed_by != (version or toolkit_version()):
        rule = _Rule(lacks=None, prose=False)
    return list(_differences(stored, results_to_json(recomputed), "", rule))


def _behind_gates(estimates: Sequence[Estimate], verdict: Verdict) -> tuple[Estimate, ...]:
    """Mark secondary claims descriptive when a gate in front of them did not hold."""
    primary = next(e for e in estimates if e.role == "primary")
    if claim_met(verdict, primary.claim or ""):
        return tuple(estimates)
    return tuple(fixed_sequence(estimates, stopped_at=f"the verdict ({verdict.outcome})"))


def _design(table: RunTable) -> dict[str, Any]:
    protocol, frame = table.protocol, table.frame
    declared = {name: getattr(protocol.design, name) for name in _DESIGN}
    if protocol.design.conditions is not None:
        declared["conditions"] = msgspec.to_builtins(protocol.design.conditions)
    return {
        "tasks": frame["task_id"].n_unique(),
        "families": frame["template_family"].n_unique(),
        "cases": frame["case_id"].n_unique(),
        **({} if table.pinned_results is None else {"pinned_results": table.pinned_results}),
        "pairs": frame["pair"].n_unique(),
        "trials": len(frame),
        "suites": list(protocol.workload.suites),
        "split": protocol.workload.split,
        "rungs": sorted(frame["rung"].unique().to_list()),
        **{name: value for name, value in declared.items() if value is not None},
        "trial_timeout_s": protocol.limits.trial_timeout_s,
        **_declared_budgets(protocol),
        "resamples": protocol.analysis.resamples,
        "analysis_seed": protocol.analysis.seed,
        **_declared_weights(table),
        **({} if protocol.analysis.multiplicity == "fixed-sequence" else _several_claims(protocol)),
        **{key: table.lock[key] for key in _LOCKED if key in table.lock},
    }


def _declared_budgets(protocol: Protocol) -> dict[str, Any]:
    """Return the budgets, the rate and the retries that are declared."""
    names = ("max_wall_s", "max_tokens", "max_calls", "trials_per_minute")
    limits = {name: getattr(protocol.limits, name) for name in names}
    found = {name: limit for name, limit in limits.items() if limit is not None}
    if protocol.retries is not None:
        found["retries"] = msgspec.to_builtins(protocol.retries)
    return found


def _declared_weights(table: RunTable) -> dict[str, Any]:
    workload = table.protocol.workload
    if workload.weights is None:
        return {}
    return {"weighting": workload.weighting, "weights": dict(workload.weights)}


def _several_claims(protocol: Protocol) -> dict[str, Any]:
    weights = {e.label: e.weight for e in protocol.endpoints if e.weight is not None}
    rule = {"multiplicity": protocol.analysis.multiplicity}
    return {**rule, **({"fallback_weights": weights} if weights else {})}


def _missing(table: RunTable, estimates: Sequence[Estimate]) -> dict[str, Any]:
    frame = table.frame
    void = frame.filter("void_pair")
    planned, lost = frame["pair"].n_unique(), void["pair"].n_unique()
    primary = next(e for e in estimates if e.role == "primary")
    worst = best = None
    if primary.unit == "proportion":
        level = 1 - 2 * (primary.alpha or 0.025)
        cases = diagnostics.void_cases(table, primary.name, level, primary.k)
        worst = primary.estimate if cases is None else cases.worst.estimate
        best = primary.estimate if cases is None else cases.best.estimate
    return {
        "planned_pairs": planned,
        "void_pairs": lost,
        "void_share": lost / planned,
        "ceiling": parse_ceiling(table.protocol.missing.max_void_pairs, "protocol:missing.max_void_pairs"),
        "split_pairs": frame.filter("split_pair")["pair"].n_unique(),
        "lost_tasks": frame["task_id"].n_unique() - frame.filter(~pl.col("void_pair"))["task_id"].n_unique(),
        "worst_case": worst,
        "best_case": best,
    }


_ABSENT = object()


class _Rule(NamedTuple):
    """Which keys the stored side may lack (None: any), and whether sentences are compared."""

    lacks: frozenset[str] | None
    prose: bool

    def passes(self, key: str, stored: Any, fresh: Any) -> bool:
        """Return whether an entry need not agree."""
        if stored is _ABSENT:
            return self.lacks is None or key in self.lacks
        return not self.prose and key in PROSE and _is_prose(stored) and _is_prose(fresh)


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) or (is_list(value) and all(isinstance(line, str) for line in value))


def _differences(stored: Any, fresh: Any, path: str, rule: _Rule) -> Iterator[str]:
    if is_object(stored) and is_object(fresh):
        for key in sorted({*stored, *fresh}):
            left, right = stored.get(key, _ABSENT), fresh.get(key, _ABSENT)
            if not rule.passes(key, left, right):
                yield from _differences(left, right, f"{path}.{key}" if path else key, rule)
    elif is_list(stored) and is_list(fresh) and len(stored) == len(fresh):
        for n, (left, right) in enumerate(zip(stored, fresh, strict=True)):
            yield from _differences(left, right, f"{path}[{n}]", rule)
    elif not _agree(stored, fresh):
        yield f"{path}: {_shown(stored)} -> {_shown(fresh)}"


def _agree(stored: Any, fresh: Any) -> bool:
    numbers = all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in (stored, fresh)
    )
    if numbers and (isinstance(stored, float) or isinstance(fresh, float)):
        return math.isclose(stored, fresh, rel_tol=TOLERANCE, abs_tol=1e-15)
    return type(stored) is type(fresh) and stored == fresh


def _shown(value: Any) -> str:
    return "(absent)" if value is _ABSENT else f"{value!r:.80}"
