"""Words that several sections share, with the rules for which of them a result has earned."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from analysis import formatting
from analysis.report.blocks import Tone
from analysis.results import Estimate, Results
from study.digest import canonical
from study.records import ARMS

_MEETS = {
    "non-inferior": {"non_inferior", "superior"},
    "superior": {"superior"},
    "equivalent": {"equivalent"},
}
_ANY_CLAIM = {"superior", "non_inferior", "equivalent"}
_WITHOUT_COMPARISON = {"void", "hard_fail", "below_floor", "inconclusive"}
_COMPARATIVE = re.compile(
    r"\b(?:better|worse|best|worst|superior|(?:non[-_ ]?)?inferior|equivalent|cheaper|dearer|faster|slower"
    r"|percentile|outperform\w*|improve\w*|regress\w*)(?:ity|ly|ence)?\b",
    re.IGNORECASE,
)


def is_pilot(results: Results) -> bool:
    """Whether the data carry counts only."""
    return results.evidence_level == "pilot"


def is_exploratory(results: Results) -> bool:
    """Whether nothing was locked before the results were seen."""
    return "EXPLORATORY" in kind(results)


def is_met(estimate: Estimate) -> bool:
    """Whether the outcome of an endpoint satisfies its own claim."""
    return estimate.claim is not None and estimate.outcome in _MEETS.get(estimate.claim, set())


def verdict_met(results: Results) -> bool:
    """Whether the verdict satisfies the claim of the primary endpoint; a pilot never does."""
    if is_pilot(results):
        return False
    claims = [estimate.claim for estimate in results.endpoints if estimate.role == "primary"]
    satisfying = [_MEETS.get(claim or "", _ANY_CLAIM) for claim in claims] or [_ANY_CLAIM]
    return all(results.verdict.outcome in outcomes for outcomes in satisfying)


def verdict_words(results: Results) -> str:
    """Return the outcome as it may be printed: a pilot has earned no comparative word."""
    name = results.verdict.outcome
    if is_pilot(results) and name not in _WITHOUT_COMPARISON:
        return "no verdict"
    return formatting.outcome(name)


def tone(results: Results) -> Tone:
    """Return how the verdict is coloured."""
    if results.verdict.outcome == "void":
        return "void"
    if is_pilot(results):
        return "pilot"
    if verdict_met(results):
        return "met"
    return "open" if results.verdict.outcome == "inconclusive" else "not_met"


def kind(results: Results) -> str:
    """Return ``"EXPLORATORY"``, ``"PILOT"``, both or an empty text."""
    return formatting.standing(results.declared, results.lock_digest, results.evidence_level)


def headline(results: Results) -> str:
    """Return the verdict in one line, its flags included."""
    flags = kind(results)
    return f"Verdict: {verdict_words(results).upper()}" + (f" ({flags})" if flags else "")


def sentence(results: Results) -> str:
    """Return the generated sentence; in a pilot one without any comparison."""
    if is_pilot(results) and compares(results.verdict.sentence):
        return "A pilot shows that the plumbing works: counts are printed, nothing is compared."
    return results.verdict.sentence


def reasons(results: Results) -> tuple[str, ...]:
    """Return the reason chain; in a pilot the steps that compare are withheld, with a line saying so."""
    if not is_pilot(results):
        return results.verdict.reasons
    kept = [reason for reason in results.verdict.reasons if not compares(reason)]
    held = len(results.verdict.reasons) - len(kept)
    note = [f"({held} of {held + len(kept)} reasons withheld: a pilot compares nothing)"] if held else []
    return (*kept, *note)


def compares(text: str) -> bool:
    """Whether text uses a word that ranks the arms."""
    return _COMPARATIVE.search(text) is not None


def floor_warning(results: Results) -> str | None:
    """Return what has to be said when an arm is a floor driver, an anchor of the ladder."""
    floors = [arm for arm in ARMS if results.arms.get(arm, {}).get("floor") is True]
    if len(floors) == len(ARMS):
        return "Both arms are floor drivers: anchors, and neither is a candidate for use."
    if not floors:
        return None
    name = driver_name(results, floors[0])
    return f"The {floors[0]} is a floor driver: an anchor, and no candidate for use ({name})."


def repeated_run(results: Results) -> str | None:
    """Return what has to be said of a plan that was run more than once: a second look is no first one."""
    number, known = (results.design.get(key) for key in ("run_number", "runs_known"))
    if not isinstance(number, int) or number < 2:
        return None
    return f"{number} of {known} known for this lock: the plan had been run before this result"


def driver_name(results: Results, arm: str) -> str:
    """Return the name of an arm's driver as it was written."""
    name = results.arms.get(arm, {}).get("driver")
    return formatting.NOT_RECORDED if name is None else str(name)


def claim(estimate: Estimate) -> str:
    """Return an endpoint's claim with its margin and, where less is better, that direction."""
    text = formatting.claim(estimate.claim, estimate.margin, estimate.unit, estimate.margin_text)
    return text if estimate.higher_is_better else f"{text}; lower is better"


def bounds(estimate: Estimate) -> tuple[float, ...]:
    """Return the values that a limit of this endpoint must not be rounded across: zero, both margins."""
    return (0.0,) if estimate.margin is None else (0.0, estimate.margin, -estimate.margin)


def contrast(estimate: Estimate) -> str:
    """Return the difference (or the ratio) of the arms."""
    if estimate.estimate is None:
        return formatting.absence(estimate.status, estimate.n_tasks)
    return formatting.quantity(estimate.estimate, estimate.unit)


def decision_interval(estimate: Estimate) -> str:
    """Return the interval that decides, or why there is none."""
    return formatting.interval(
        estimate.interval,
        estimate.unit,
        bounds=bounds(estimate),
        n_tasks=estimate.n_tasks,
        status=estimate.status,
    )


def arm_unit(estimate: Estimate) -> str:
    """Return the unit of one arm's own value: a ratio endpoint has arms in seconds, tokens or calls."""
    if estimate.unit != "log_ratio":
        return estimate.unit
    if estimate.name.startswith("latency"):
        return "s"
    return "tokens" if estimate.name.startswith("tokens") else "calls"


def value(item: Any) -> str:
    """Return a JSON value on one line; None is words, text stands bare."""
    if item is None:
        return formatting.NOT_RECORDED
    if isinstance(item, bool):
        return "yes" if item else "no"
    return item if isinstance(item, str) else canonical(item).decode("utf-8")


def joined(items: Iterable[Any]) -> str:
    """Return items separated by commas."""
    return ", ".join(value(item) for item in items)
