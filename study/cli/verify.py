"""``study verify``: derive everything again from the files."""

from __future__ import annotations

import click

from study.cli.common import print_findings, run_argument


@click.command("verify")
@run_argument
def command(run: str) -> int:
    """Derive lock, schedule, grades and estimates of RUN from its files again; loads no driver.

    Exits 3 and names each file that is not as it was when the run was sealed.
    """
    from study.declare import verify
    from study.digest import read_json_file
    from study.lock import lock_digest

    found = verify(run)
    if not found:
        from study.cli.telling import verify_told

        found = verify_told(run)
    if found:
        click.echo(f"{run}: not intact", err=True)
        print_findings(found)
        return 3
    from pathlib import Path

    lock = read_json_file(Path(run) / "lock.json", "lock")
    click.echo(
        f"{run}: intact; lock {lock_digest(lock)[:12]}, schedule, {lock['n_trials']} trials, "
        "grades and estimates were derived again and agree"
    )
    return 0
