"""``study grade``: grade again and compare."""

from __future__ import annotations

from pathlib import Path

import click

from study.cli.common import print_findings, refuse_faulty_cases


@click.command("grade")
@click.argument("run", type=click.Path())
@click.option(
    "--cases",
    type=click.Path(),
    help="Suite folder or case file of ladder rows; default: the bundled suites.",
)
@click.option("--registry", type=click.Path(dir_okay=False), help="Registry of that case file.")
def command(run: str, cases: str | None, registry: str | None) -> int:
    """Grade RUN again from its journal and frozen inputs, and compare with its product.jsonl.

    When RUN is a file, it holds ladder rows; --cases says of which suite.
    """
    from study.errors import InputError

    if cases is not None or Path(run).is_file():
        found, total = _ladder_rows(Path(run), cases, registry)
    elif registry is not None:
        raise InputError(
            "--registry belongs to a case file", where="--registry", next_step="add --cases FILE"
        )
    else:
        found, total = _run_folder(Path(run))
    if found:
        click.echo(f"{run}: {len(found)} of {total} rows differ from what regrading gives", err=True)
        print_findings(found[:20])
        return 3
    click.echo(f"{run}: {total} rows regraded, every verdict is the same")
    return 0


def _run_folder(path: Path) -> tuple[list[str], int]:
    from study.digest import read_bytes
    from study.product import product_differences
    from study.runs import find_run
    from study.verbs import grade

    folder = find_run(path)
    rows = grade(path)
    return product_differences(read_bytes(folder.product, "product"), rows), len(rows)


def _ladder_rows(rows: Path, cases: str | None, registry: str | None) -> tuple[list[str], int]:
    from study.ladder import case_source, regrade_file

    suites = case_source(cases, registry, None)
    refuse_faulty_cases(cases, suites, with_tools=False)
    return regrade_file(rows, suites)
