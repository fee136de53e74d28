"""``study graph``: build a code graph from Python source."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("graph")
@click.argument("source", type=click.Path(file_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="File to write.")
@click.option("--history", type=click.Path(dir_okay=False), help="JSON lines: commit, date, files.")
@click.option("--name", help="Name of the graph; default: that of the folder.")
@click.option("--no-docs", is_flag=True, help="Leave first lines of docstrings out.")
def command(source: str, output: str, history: str | None, name: str | None, no_docs: bool) -> int:
    """Build the code graph of the Python source below SOURCE; the code is read, never imported."""
    from study.toolsets.codegraph import build_graph, write_graph

    _refuse_other_file(Path(output))
    commits = None if history is None else Path(history)
    graph = build_graph(Path(source), history=commits, name=name, docs=not no_docs)
    write_graph(graph, Path(output))
    kinds: dict[str, int] = {}
    for entity in graph.entities:
        kinds[entity.kind] = kinds.get(entity.kind, 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    click.echo(f"{output}: {len(graph.entities)} entities ({told})")
    for unparsed in graph.unparsed:
        click.echo(f"warning: {unparsed.path}: not parsed: {unparsed.reason}", err=True)
    left_out = list(graph.left_out)
    if left_out:
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        click.echo(f"left out: {left_out[0]}{more}", err=True)
    return 0


def _refuse_other_file(output: Path) -> None:
    """Refuse to replace a file that is no code graph."""
    from study.errors import InputError
    from study.toolsets.codegraph import load_graph

    if not output.exists():
        return
    try:
        load_graph(output)
    except InputError:
        raise InputError(
            "this file exists and is no code graph; it is not replaced",
            where=str(output),
            next_step="choose another -o",
        ) from None
