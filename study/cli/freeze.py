"""``study freeze``: write the lock."""

from __future__ import annotations

import click

from study.cli.common import protocol_argument, shell_quoted


@click.command("freeze")
@protocol_argument
@click.option("--replace", is_flag=True, help="Replace a lock that differs.")
def command(protocol: str, replace: bool) -> int:
    """Write the lock of PROTOCOL beside it; the same plan always gives the same bytes."""
    from study.declare import freeze
    from study.lock import lock_digest, read_lock

    place = freeze(protocol, replace=replace)
    lock = read_lock(place)
    click.echo(
        f"{place}: {lock['n_tasks']} tasks, {lock['n_trials']} trials, digest {lock_digest(lock)[:12]}"
    )
    if "supersedes" in lock:
        click.echo(f"it supersedes the lock {lock['supersedes'][:12]}, of which runs exist")
    click.echo(f"next: commit it, then study run {shell_quoted(protocol)}")
    return 0
