"""``study compare``: the statistics of a run on a table from elsewhere."""

from __future__ import annotations

import click


@click.command("compare")
@click.argument("table", type=click.Path(dir_okay=False))
@click.option("--baseline", required=True, help="Name of the baseline in the column arm.")
@click.option("--candidate", required=True, help="Name of the candidate in the column arm.")
@click.option("--margin", help='Claim non-inferiority within, e.g. "5 pp"; without it superiority.')
@click.option("--scores", is_flag=True, help="Outcomes are partial credit: numbers from 0 to 1.")
@click.option("--format", "form", default="text", show_default=True, help="text, md or json.")
@click.option("--fail-on-claim", is_flag=True, help="Exit as `study report`: 1 not met, 4 inconclusive.")
def command(
    table: str,
    baseline: str,
    candidate: str,
    margin: str | None,
    scores: bool,
    form: str,
    fail_on_claim: bool,
) -> int:
    """Compare two arms in TABLE, one row a trial; exploratory, for nothing was locked.

    TABLE is CSV, Parquet or JSON lines (.csv, .parquet, .jsonl) with the columns task_id, arm, repetition
    and outcome (0, 1, true or false); optional are cluster (what is resampled as a whole) and latency_s.
    docs/statistics.md says which method is used and what becomes of odd tables.

    Exits 0 when it was compared, whatever came of it; with --fail-on-claim as `study report` does.
    """
    from analysis.comparison import compare
    from analysis.report.comparison import check_format, render_comparison
    from analysis.tidy import read_table
    from study.cli.telling import exit_code

    check_format(form)
    found = compare(read_table(table, baseline=baseline, candidate=candidate, margin=margin, scores=scores))
    click.echo(render_comparison(found, form), nl=False)
    return exit_code(found) if fail_on_claim else 0
