"""``study status``: where a run stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from study.cli.common import run_argument, shell_quoted

if TYPE_CHECKING:
    from study.status import Status

SHOWN_SESSIONS = 8


@click.command("status")
@run_argument
def command(run: str) -> int:
    """Show plan and use of RUN: trials used and left, outcomes of both arms together, what to do next.

    RUN is the folder of a run, while it goes on too, or of a study: then all its runs are listed.
    """
    from study.status import read_status, study_runs

    path = Path(run)
    runs = [] if (path / "lock.json").is_file() else study_runs(path)
    if runs:
        return _list(runs)
    status = read_status(path)
    _show(status)
    for line in _next_steps(status):
        click.echo(f"next: {line}")
    return 0


def _list(runs: list[Path]) -> int:
    """Print one line a run; return 2 when one of them is damaged."""
    from analysis.formatting import text_table
    from study.errors import StudyError
    from study.status import read_status

    rows: list[list[str]] = []
    errors: list[StudyError] = []
    for path in runs:
        try:
            status = read_status(path)
        except StudyError as error:
            errors.append(error)
            rows.append([path.name, "", "", "damaged", ""])
        else:
            trials = f"{status.used_trials:,} of {status.planned_trials:,}"
            rows.append([path.name, trials, _percent(status), status.state, _trouble(status)])
    click.echo(text_table(["run", "trials", "used", "state", "trouble"], rows, right={1, 2}))
    for error in errors:
        click.echo(f"error: {error}", err=True)
    return 2 if errors else 0


def _show(status: Status) -> None:
    from analysis.formatting import text_table

    left = status.planned_trials - status.used_trials
    attempts = ", ".join(f"{name} {count:,}" for name, count in status.outcomes.items())
    rows = [
        ["study", f"{status.study}, lock {status.lock_digest[:12]}"],
        ["evidence", status.evidence_level],
        ["split", f"{status.split}; run {status.run_number} of {status.runs_known} known for this lock"],
        [
            "trials",
            f"{status.used_trials:,} of {status.planned_trials:,} ({_percent(status)}); {left:,} left",
        ],
        ["pairs", f"{status.used_pairs:,} of {status.planned_pairs:,}; {status.split_pairs:,} split"],
        ["attempts", f"{attempts} (both arms together)" if attempts else "none yet"],
        ["run again", f"{status.interrupted:,} interrupted, {status.retried:,} retried"],
        *[["budget", _budget(*budget)] for budget in status.budgets],
        ["deviations", f"{status.deviations:,}"],
        *_session_rows(status),
        ["state", _state(status)],
        ["trouble", _trouble(status)],
    ]
    click.echo(text_table(["what", "plan and use"], rows))


def _budget(name: str, limit: float, amount: float) -> str:
    from analysis.formatting import percent

    told = f"{amount:,.3g}" if name == "max_wall_s" and amount < 100 else f"{amount:,.0f}"
    return f"{name}: {told} of {limit:,.15g} used ({percent(amount / limit, 0)})"


def _percent(status: Status) -> str:
    from analysis.formatting import percent

    return percent(status.used_trials / status.planned_trials, 0)


def _session_rows(status: Status) -> list[list[str]]:
    from datetime import UTC, datetime

    hidden = max(0, len(status.sessions) - SHOWN_SESSIONS)
    rows = [["sessions", f"{hidden} earlier ones are not shown"]] if hidden else []
    for use in status.sessions[hidden:]:
        began = f"{datetime.fromtimestamp(use.started_at_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
        rows.append([f"session {use.session}", f"began {began}, {use.trials:,} trials"])
    return rows


def _state(status: Status) -> str:
    parts = {
        "not graded": "finished, not graded",
        "not reported": "finished, not reported",
    }
    told = parts.get(status.state, status.state)
    if status.stopped:
        told += f"; ended by its budget ({status.stopped})"
    if status.torn_bytes:
        why = "a record is being written" if status.state == "running" else "it will be cut off"
        told += f"; torn tail of {status.torn_bytes:,} bytes ({why})"
    return told


def _trouble(status: Status) -> str:
    return "; ".join(status.trouble) or "ok"


def _next_steps(status: Status) -> list[str]:
    from study.status import resuming

    if status.state == "sealed":
        return [f"study report {shell_quoted(status.path)}"]
    if status.state == "not reported":
        return [f"study report {shell_quoted(status.path)}"]
    if status.state == "running":
        return []
    arguments = resuming(status)
    if arguments is None:
        return [
            f"study run PROTOCOL, with the protocol of {status.study} that has this lock; "
            f"the run is taken up again as {status.study}/{status.path.resolve().name} below --out DIR"
        ]
    return [" ".join(["study", *map(shell_quoted, arguments)])]
