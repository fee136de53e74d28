"""What a result did not show, said before anyone infers it."""

from __future__ import annotations

from collections.abc import Iterator

from analysis import formatting
from analysis.report import wording
from analysis.report.blocks import Block, Bullets, Heading
from analysis.results import DESCRIPTIVE, Estimate, Results
from study.records import ARMS


def unshown(results: Results) -> Iterator[Block]:
    """Yield one line for everything that the numbers leave open."""
    if results.verdict.outcome == "void":
        items = ["Nothing was shown: the run is void, and its numbers support no statement about the arms."]
    elif wording.is_pilot(results):
        items = ["Nothing was shown about either arm in relation to the other: this is a pilot."]
    else:
        items = [*_use(results), *[line for estimate in results.endpoints if (line := _endpoint(estimate))]]
    items += [*_hard_fails(results), *_fast_failures(results), *_results(results), *_reach(results)]
    yield Heading(text="What was not shown")
    yield Bullets(items=tuple(items))


def _use(results: Results) -> Iterator[str]:
    if results.verdict.outcome in {"hard_fail", "below_floor", "guardrail_failed"}:
        reason = formatting.outcome(results.verdict.outcome)
        yield f"That the candidate may be used was not shown ({reason}), whatever the endpoints came to."


def _endpoint(estimate: Estimate) -> str | None:
    name = f"{estimate.label} ({estimate.role})"
    claimed = formatting.claim(estimate.claim, estimate.margin, estimate.unit, estimate.margin_text)
    if estimate.claim is None:
        return f"{name}: nothing was claimed; its numbers describe, they decide nothing."
    if estimate.outcome is None:
        return f"{name}: the claim ({claimed}) was not decided."
    if not wording.is_met(estimate):
        stopped = next((note for note in estimate.diagnostics if note.startswith(DESCRIPTIVE)), None)
        if stopped is not None:
            why = stopped.removeprefix(DESCRIPTIVE)
            return f"{name}: the claim ({claimed}) was not tested, whatever its interval: {why}."
        return f"{name}: the claim ({claimed}) was not shown. {_instead(estimate.outcome)}"
    if estimate.outcome == "non_inferior":
        return f"{name}: that the candidate is superior was not shown; a loss within the margin is possible."
    if estimate.outcome == "equivalent":
        return f"{name}: that the arms are the same was not shown, only a difference within the margin."
    return None


def _instead(outcome: str) -> str:
    if outcome == "inconclusive":
        return "Nor was the opposite: no difference shown is not the same as no difference."
    return f"What was shown is: {formatting.outcome(outcome)}."


def _hard_fails(results: Results) -> Iterator[str]:
    for arm in ARMS:
        fails = results.hard_fails.get(arm)
        if fails is None:
            yield f"Hard fails of the {arm}: not recorded, so nothing is known of them."
        elif fails.count == 0:
            seen = f"none in {formatting.counted(fails.trials, 'trial')}"
            yield f"Hard fails of the {arm}: {seen}; that their rate is zero was not shown."


def _results(results: Results) -> Iterator[str]:
    """Say that results were compared with nothing, where cases expect some and no endpoint reads them."""
    pinned = results.design.get("pinned_results")
    if not pinned or any(estimate.name == "result_completion" for estimate in results.endpoints):
        return
    shares = " / ".join(_result_share(results, arm) for arm in ARMS)
    told = f"; result completion was {shares} ({' / '.join(ARMS)})" if results.ladder else ""
    yield (
        f"Nothing about results: completion compares calls, not results, and no endpoint is result_completion"
        f"{told}. {pinned} of {results.design.get('cases')} cases expect a result."
    )


def _result_share(results: Results, arm: str) -> str:
    rows = [row for row in results.ladder if row.arm == arm]
    count, total = sum(row.result_completed for row in rows), sum(row.total for row in rows)
    if wording.is_pilot(results) or not total:
        return f"{count} of {formatting.counted(total, 'trial')}"
    return formatting.percent(count / total)


def _fast_failures(results: Results) -> Iterator[str]:
    """Say how many errors stand among the times that latency endpoints compare."""
    if not any(estimate.name.startswith("latency_") for estimate in results.endpoints):
        return
    for arm in ARMS:
        counts = results.outcomes.get(arm, {})
        errors = sum(counts.get(outcome, 0) for outcome in ("driver_error", "transport_error"))
        if errors:
            trials = formatting.counted(sum(counts.values()), "trial")
            yield (
                f"How fast the {arm} answers: {errors} of {trials} ended in errors and count with the time "
                "that these took; what fails at once looks fast."
            )


def _reach(results: Results) -> Iterator[str]:
    yield "Nothing about tasks unlike the selected ones, or about other versions and settings of the drivers."
    if results.design.get("repetitions") == 1:
        yield "Nothing about how much one task varies from run to run: there is one repetition."
    for arm in ARMS:
        usage = results.usage.get(arm)
        if usage is None or usage.fields is None:
            yield f"Nothing about the token use of the {arm}: it was not recorded."
        elif incomplete := sorted(name for name, field in usage.fields.items() if field.get("total") is None):
            yield f"Nothing about the full token use of the {arm}: {', '.join(incomplete)} is incomplete."
