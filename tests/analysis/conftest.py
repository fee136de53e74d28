"""Hand-made results for everything that tells them."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from analysis.results import (
    ArmSummary,
    Estimate,
    HardFailedTask,
    HardFails,
    Interval,
    LatencySummary,
    OrderEffect,
    Results,
    RungRow,
    UsageSummary,
    Verdict,
)


def interval(low: float | None, high: float | None, method: str = "tilted", **changes: Any) -> Interval:
    """Build an interval at level 0.95."""
    return Interval(**{"low": low, "high": high, "level": 0.95, "method": method} | changes)


def proportion(**changes: Any) -> Estimate:
    """Build a primary endpoint on proportions: -1.3 pp [-4.1 pp, +2.0 pp], margin 5 pp."""
    fields: dict[str, Any] = {
        "name": "completion",
        "role": "primary",
        "claim": "non-inferior",
        "margin": 0.05,
        "margin_text": "5 pp",
        "unit": "proportion",
        "higher_is_better": True,
        "alpha": 0.025,
        "estimate": -0.0125,
        "interval": interval(-0.041, 0.02),
        "sensitivity": (interval(-0.038, 0.013, "percentile"), interval(-0.0387, 0.0137, "t")),
        "baseline": ArmSummary(estimate=0.95, interval=interval(0.88, 0.98), n_tasks=80, n_trials=160),
        "candidate": ArmSummary(estimate=0.9375, interval=interval(0.86, 0.97), n_tasks=80, n_trials=160),
        "n_tasks": 80,
        "n_families": 20,
        "n_pairs": 160,
        "status": "ok",
        "outcome": "non_inferior",
        "diagnostics": ("74 of 80 tasks are ties",),
    }
    return Estimate(**fields | changes)


def ratio(**changes: Any) -> Estimate:
    """Build a secondary endpoint on ratios: x 1.08 [+1.2 %, +15.7 %], margin 10 %, lower is better."""
    fields: dict[str, Any] = {
        "name": "latency_gmr",
        "role": "secondary",
        "margin": math.log(1.1),
        "margin_text": "10 %",
        "unit": "log_ratio",
        "higher_is_better": False,
        "estimate": math.log(1.082),
        "interval": interval(math.log(1.012), math.log(1.157), "t"),
        "sensitivity": (),
        "baseline": ArmSummary(estimate=0.0012, interval=None, n_tasks=80, n_trials=160),
        "candidate": ArmSummary(estimate=0.0012984, interval=None, n_tasks=80, n_trials=160),
        "outcome": "inconclusive",
        "diagnostics": (),
    }
    return proportion(**fields | changes)


def refused(**changes: Any) -> Estimate:
    """Build an endpoint that has a point and no interval."""
    fields: dict[str, Any] = {
        "interval": interval(None, None, status="refused"),
        "sensitivity": (),
        "n_tasks": 4,
        "n_families": 4,
        "n_pairs": 8,
        "status": "refused",
        "outcome": "inconclusive",
        "diagnostics": (),
    }
    return proportion(**fields | changes)


def hard_fails(count: int = 0, **changes: Any) -> HardFails:
    """Build the hard fails of an arm of 160 trials."""
    fields: dict[str, Any] = {
        "count": count,
        "tasks": min(count, 80),
        "trials": 160,
        "n_tasks": 80,
        "by_code": {"unknown-tool": count} if count else {},
        "upper_bound": 0.037,
        "level": 0.95,
        "method": "task-level exact",
    }
    return HardFails(**fields | changes)


def results(**changes: Any) -> Results:
    """Build the results of a locked study that ended non-inferior."""
    latency = LatencySummary(
        n_tasks=80,
        n_trials=160,
        censored=1,
        p50_s=0.0012,
        p50_interval=interval(0.0011, 0.0014, "order statistic"),
        status="descriptive",
        method="order statistic",
    )
    full = {"known_subtotal": 1000, "missing_calls": 0, "total": 1000}
    partial = {"known_subtotal": 900, "missing_calls": 3, "total": None}
    fields: dict[str, Any] = {
        "schema": 1,
        "study": "goal-vs-resolver",
        "question": "May the goal driver replace the resolver?",
        "lock_digest": "ab" * 32,
        "declared": True,
        "evidence_level": "comparative",
        "verdict": Verdict(
            outcome="non_inferior",
            reasons=("the lock holds", "no hard fail of the candidate", "L = -4.1 pp lies above -5 pp"),
            sentence="The candidate loses at most 4.1 pp of completion, less than the margin of 5 pp.",
        ),
        "arms": {
            "baseline": {
                "driver": "study.drivers.resolver:drive",
                "stamp": "resolver-1",
                "floor": False,
                "config": {"depth": 2, "router": {"beam": 1}},
            },
            "candidate": {
                "driver": "study.drivers.goal:drive",
                "stamp": "goal-1",
                "floor": False,
                "config": {"depth": 2, "router": {"beam": 3}, "goal": True},
            },
        },
        "design": {
            "tasks": 80,
            "cases": 80,
            "repetitions": 2,
            "pairs": 160,
            "trials": 320,
            "families": 20,
            "split": "held-out",
            "suites": ["cases/click"],
            "rungs": ["TOOL-0", "TOOL-1"],
            "seed": 20261130,
            "schedule_digest": "cd" * 32,
            "grader_version": "1",
            "order": "randomized-within-pair",
            "conditions": {"cache": "cold"},
            "lock_commit": {"committed": True, "commit": "0123abc", "reason": None},
            "run_number": 1,
            "runs_known": 2,
        },
        "outcomes": {
            "baseline": {"answered": 155, "refused": 4, "timeout": 1},
            "candidate": {"answered": 152, "refused": 6, "driver_error": 2},
        },
        "hard_fails": {"baseline": hard_fails(), "candidate": hard_fails()},
        "endpoints": (proportion(), ratio()),
        "latency": {"baseline": latency, "candidate": latency},
        "ladder": (
            RungRow(
                arm="baseline",
                rung="TOOL-0",
                total=40,
                passed=38,
                completed=39,
                result_completed=39,
                hallucinated=0,
                gate_pass=True,
            ),
            RungRow(
                arm="candidate",
                rung="TOOL-0",
                total=40,
                passed=30,
                completed=31,
                result_completed=31,
                hallucinated=1,
                gate_pass=False,
            ),
        ),
        "usage": {
            "baseline": UsageSummary(fields={"input": full, "output": partial}),
            "candidate": UsageSummary(fields=None),
        },
        "order_effect": OrderEffect(
            first_position=0.945,
            second_position=0.9425,
            n_pairs_baseline_first=80,
            n_pairs_candidate_first=80,
        ),
        "missing": {
            "void_pairs": 1,
            "planned_pairs": 161,
            "void_share": 1 / 161,
            "ceiling": 0.02,
            "worst_case": -0.025,
            "best_case": 0.0001,
        },
        "deviations": ({"at": "2026-11-30T10:00:00Z", "text": "the machine was restarted"},),
        "notes": ("run 1 of 2 known for this lock",),
    }
    return Results(**fields | changes)


def _verdict(outcome: str, *reasons: str, sentence: str = "") -> Verdict:
    return msgspec.convert(
        {"outcome": outcome, "reasons": reasons, "sentence": sentence or f"Sentence of {outcome}."}, Verdict
    )


def _scenarios() -> dict[str, Callable[[], Results]]:
    base = results()
    floors = {arm: {**entry, "floor": True} for arm, entry in base.arms.items()}
    shown = proportion(estimate=0.05, interval=interval(0.0004, 0.1), outcome="superior")
    open_ = proportion(interval=interval(-0.09, 0.02), outcome="inconclusive")
    return {
        "non_inferior": lambda: base,
        "superior": lambda: results(verdict=_verdict("superior"), endpoints=(shown, ratio())),
        "inconclusive": lambda: results(verdict=_verdict("inconclusive"), endpoints=(open_, ratio())),
        "hard_fail": lambda: results(
            verdict=_verdict("hard_fail", "the candidate has 3 hard fails"),
            hard_fails={"baseline": hard_fails(), "candidate": hard_fails(3, upper_bound=0.06)},
        ),
        "void": lambda: results(verdict=_verdict("void", "the void share is above its ceiling")),
        "below_floor": lambda: results(verdict=_verdict("below_floor")),
        "pilot": lambda: results(
            verdict=_verdict(
                "inconclusive",
                "one trial a cell is a pilot",
                "non-inferiority is not decided",
                sentence="Inconclusive: a pilot can show neither superiority nor non-inferiority.",
            ),
            evidence_level="pilot",
        ),
        "floors": lambda: results(arms=floors),
        "one_floor": lambda: results(arms={**base.arms, "baseline": floors["baseline"]}),
        "exploratory": lambda: results(declared="exploratory", lock_digest=None, notes=()),
        "refused": lambda: results(verdict=_verdict("inconclusive"), endpoints=(refused(),)),
    }


@pytest.fixture
def make_results() -> Callable[..., Results]:
    """Return the builder of a non-inferior study; keywords replace fields."""
    return results


@pytest.fixture
def make_proportion() -> Callable[..., Estimate]:
    """Return the builder of an endpoint on proportions."""
    return proportion


@pytest.fixture
def make_ratio() -> Callable[..., Estimate]:
    """Return the builder of an endpoint on ratios."""
    return ratio


@pytest.fixture
def make_refused() -> Callable[..., Estimate]:
    """Return the builder of an endpoint without an interval."""
    return refused


@pytest.fixture
def make_interval() -> Callable[..., Interval]:
    """Return the builder of an interval."""
    return interval


@pytest.fixture
def scenario() -> Callable[[str], Results]:
    """Return hand-made results by name."""
    return lambda name: _scenarios()[name]()


@pytest.fixture
def with_where() -> Callable[..., Results]:
    """Return a function that names one task among the hard fails of the candidate."""

    def named(found: Results, text: str = 'unknown-tool at calls[0]: no tool "teleport"') -> Results:
        task = HardFailedTask(
            task_id="t-07",
            count=2,
            trials=2,
            codes=("unknown-tool",),
            case_id="t-07-b",
            repetition=2,
            text=text,
        )
        fails = msgspec.structs.replace(found.hard_fails["candidate"], where=(task,))
        return msgspec.structs.replace(found, hard_fails={**found.hard_fails, "candidate": fails})

    return named
