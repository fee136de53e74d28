"""``study check``: lint everything and show what would be frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from study.cli.common import protocol_argument, shell_quoted

if TYPE_CHECKING:
    from study.declare import Declared
    from study.forecast import Forecast, LastRun
    from study.sections import Conditions


@click.command("check")
@protocol_argument
@click.option("--seal", is_flag=True, help="Append the ids of new cases to the suites' sealed lists.")
def command(protocol: str, seal: bool) -> int:
    """Lint PROTOCOL, its suites and its drivers; show what would be frozen, the trials and the time."""
    from study.declare import declare, refuse_unsupported

    declared = declare(protocol)
    if seal:
        _seal(declared)
        declared = declare(protocol)
    _warn(declared)
    _show(declared)
    refuse_unsupported(declared)
    click.echo(f"\nok; next: {_next(declared, shell_quoted(protocol))}")
    return 0


def _next(declared: Declared, name: str) -> str:
    """Return the command that comes next; a lock that differs is replaced on purpose only."""
    from study.declare import current_lock
    from study.lock import differences, lock_path, read_lock

    place = lock_path(declared.path)
    if not place.exists():
        return f"study freeze {name}"
    stored = read_lock(place)
    if differences(stored, current_lock(declared, stored.get("supersedes"))):
        return f"study freeze {name} --replace (the lock that is there is of another plan)"
    return f"study run {name} (it is frozen as it is)"


def _warn(declared: Declared) -> None:
    """Print the warnings, those of one kind together."""
    by_code: dict[str, list[str]] = {}
    for warning in declared.warnings:
        by_code.setdefault(warning.code, []).append(f"{warning.where}: {warning.text}")
    for code, lines in by_code.items():
        more = f" (and {len(lines) - 1} more of this kind: {code})" if len(lines) > 1 else ""
        click.echo(f"warning: {lines[0]}{more}", err=True)


def _seal(declared: Declared) -> None:
    from study.lint import seal

    for suite in declared.suites:
        added = seal(suite.folder)
        click.echo(f"{suite.folder / 'suite.toml'}: sealed {added} new case(s)")


def _show(declared: Declared) -> None:
    from analysis.formatting import text_table
    from study.declare import current_lock
    from study.lock import lock_digest

    protocol, lock = declared.protocol, current_lock(declared)
    arms = [f"{arm}: {entry['driver']} ({entry['stamp']})" for arm, entry in lock["arms"].items()]
    rows = [
        ["study", protocol.id],
        ["question", protocol.question],
        *[["arm", arm] for arm in arms],
        ["selection", f"split {protocol.workload.split}, suites {', '.join(protocol.workload.suites)}"],
        [
            "size",
            f"{lock['n_tasks']} tasks ({lock['n_families']} template families), {lock['n_cases']} cases, "
            f"{lock['n_pairs']} pairs, {lock['n_trials']} trials",
        ],
        *[["time", text] for text in _time(declared, lock["n_pairs"])],
        *[["conduct", text] for text in _conduct(declared)],
        *[["endpoint", text] for text in _endpoints(declared)],
        *[["resolution", text] for text in _resolution(declared)],
        ["lock digest", lock_digest(lock)],
    ]
    click.echo(text_table(["what", "would be frozen"], rows))


def _time(declared: Declared, n_pairs: int) -> list[str]:
    """Say how long the run takes at most and at least, and what the last one lets expect."""
    from study.bundled import runs_root
    from study.declare import current_lock
    from study.forecast import forecast, last_run

    limits, plan = declared.protocol.limits, forecast(declared.protocol, n_pairs)
    lines = [
        f"at most {limits.trial_timeout_s:g} s a trial, {plan.trials_s / 3600:.1f} h if every trial timed out"
    ]
    if plan.retries_s:
        lines.append(f"retries: at most {_about(plan.retries_s)} more, if every attempt ended at the limit")
    if plan.warm_up:
        lines.append(
            f"warm-up: {plan.warm_up} requests a worker, at most {_about(plan.warm_up_s)} if all timed out"
        )
    if plan.cool_down_s:
        lines.append(f"cool-down: {_about(plan.cool_down_s)} on one worker")
    if limits.trials_per_minute is not None:
        lines.append(f"rate limit: at least {_about(plan.paced_s)}, with any number of workers")
    if limits.max_wall_s is not None:
        late = plan.paced_s > limits.max_wall_s
        lines.append(
            f"budget: no pair starts after {limits.max_wall_s:,g} s"
            + (", and the rate limit lets the last one start later than that" if late else "")
        )
    last = last_run(runs_root(declared.path) / declared.protocol.id, current_lock(declared)["arms"])
    return lines if last is None else [*lines, _expectation(plan, last)]


def _expectation(plan: Forecast, last: LastRun) -> str:
    from analysis.formatting import seconds

    usual, average = _about(plan.expected_s(last.median_s)), _about(plan.expected_s(last.mean_s))
    text = f"about {usual} on one worker, from the last run's median of {seconds(last.median_s)} a trial"
    return text if usual == average else f"{text} ({average} from its mean of {seconds(last.mean_s)})"


def _about(duration_s: float) -> str:
    if duration_s < 90:
        return f"{duration_s:.0f} s" if duration_s >= 1 else "less than 1 s"
    return f"{duration_s / 60:.0f} min" if duration_s < 5400 else f"{duration_s / 3600:.1f} h"


def _conduct(declared: Declared) -> list[str]:
    """Say what is declared of conditions, limits, retries and the journal; what is not, is off."""
    protocol = declared.protocol
    limits, retries, journal = protocol.limits, protocol.retries, protocol.journal
    budgets = {"s": limits.max_wall_s, "known tokens": limits.max_tokens, "model calls": limits.max_calls}
    lines = [f"conditions: {text}" for text in _conditions(protocol.design.conditions)]
    if limits.trials_per_minute is not None:
        lines.append(f"rate limit: at most {limits.trials_per_minute:g} trials start in a minute")
    if _either(budgets):
        lines.append(f"budgets: the run is over after {_either(budgets)}")
    if retries is not None:
        lines.append(
            f"retries: after {' or '.join(retries.outcomes)}, {retries.attempts} attempts a trial at most, "
            f"{retries.wait_s:g} s apart"
        )
    group = {} if journal is None else {"records": journal.fsync_trials, "s": journal.fsync_s}
    if _either(group):
        lines.append(f"group commit: the journal is forced onto the disk after {_either(group)}")
    if "grace_s" in declared.written["limits"]:
        lines.append(f"interrupt: running pairs may go on for {limits.grace_s:g} s")
    return lines


def _either(limits: Mapping[str, float | None]) -> str:
    """Join the limits that are declared; nothing when none is."""
    return " or ".join(f"{most:.15g} {unit}" for unit, most in limits.items() if most is not None)


def _conditions(conditions: Conditions | None) -> list[str]:
    if conditions is None:
        return []
    told = {
        f"{conditions.cache} cache": conditions.cache is not None,
        f"each worker warms up with {conditions.warm_up} requests an arm": conditions.warm_up > 0,
        f"each worker pauses for {conditions.cool_down_s:g} s between pairs": conditions.cool_down_s > 0,
        f"up to {conditions.concurrency} pairs beside each other on a worker": conditions.concurrency > 1,
    }
    return [text for text, declared in told.items() if declared]


def _endpoints(declared: Declared) -> list[str]:
    lines: list[str] = []
    for endpoint in declared.protocol.endpoints:
        claim = endpoint.claim or "no claim"
        margin = f" within {endpoint.margin}" if endpoint.margin else ""
        alpha = f", one-sided alpha {endpoint.alpha:g}" if endpoint.alpha else ""
        lines.append(f"{endpoint.role}: {endpoint.label}, {claim}{margin}{alpha}")
    weights, rule = declared.protocol.workload.weights, declared.protocol.analysis.multiplicity
    if weights is not None:
        lines.append("weights of shares: " + ", ".join(f"{name} = {w:g}" for name, w in weights.items()))
    if rule != "fixed-sequence":
        lines.append(f"several claims: {rule}")
    return lines


def _resolution(declared: Declared) -> list[str]:
    """Say how much the design leaves open in the best case, per declared level."""
    from analysis.formatting import points
    from analysis.paired import interval, stratified_interval
    from study.selection import stratum_sizes

    n_tasks, sizes = len(declared.selection.tasks), stratum_sizes(declared.selection)
    weights = declared.protocol.workload.weights
    alphas = sorted({e.alpha for e in declared.protocol.endpoints if e.alpha is not None})
    lines: list[str] = []
    for alpha in alphas:
        tied = [[0.0]] * n_tasks
        best = interval(tied, tied, level=1 - 2 * alpha)
        if weights is not None:
            ties = [([[0.0]] * n, [[0.0]] * n) for n in sizes.values()]
            best = stratified_interval(ties, [weights[name] for name in sizes], level=1 - 2 * alpha)
        if best.low is not None:
            told = points(best.low), points(best.high)
            lines.append(
                f"if all {n_tasks} tasks tie, the interval is [{told[0]}, {told[1]}]; never narrower"
            )
    return lines
