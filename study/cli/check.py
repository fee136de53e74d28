"""``study check``: lint everything and show what would be frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from study.cli.common import protocol_argument, shell_quoted

if TYPE_CHECKING:
    from study.declare import Declared


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
    click.echo(f"\nok; next: study freeze {shell_quoted(protocol)}")
    return 0


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
    limit = protocol.limits.trial_timeout_s
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
        [
            "time",
            f"at most {limit:g} s a trial, {limit * lock['n_trials'] / 3600:.1f} h if every trial timed out",
        ],
        *[["endpoint", text] for text in _endpoints(declared)],
        *[["resolution", text] for text in _resolution(declared)],
        ["lock digest", lock_digest(lock)],
    ]
    click.echo(text_table(["what", "would be frozen"], rows))


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
