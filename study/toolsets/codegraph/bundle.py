"""Everything that the graph says about one symbol, in pages."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import ToolError
from study.toolsets.codegraph.graph import Entity
from study.toolsets.codegraph.index import GraphIndex
from study.toolsets.codegraph.wording import description, sections

PAGE_LINES = 60


def context_lines(entity: Entity, index: GraphIndex) -> tuple[list[str], list[str]]:
    """Return the lines of a bundle, and the labels in it (sorted, without duplicates)."""
    lines = description(entity, index).splitlines()
    labels = {entity.label}
    for topic, found in sections(entity, index):
        if found:
            lines += [f"{topic}:", *(f"- {label}" for label in found)]
            labels.update(label for label in found if label in index.entities)
    return lines, sorted(labels)


def page(lines: Sequence[str], number: int) -> str:
    """Return one page of a bundle; the last line says how to go on.

    Raises
    ------
    ToolError
        For a page beyond the last one.
    """
    pages = max(1, -(-len(lines) // PAGE_LINES))
    if number > pages:
        raise ToolError(f"there is no page {number}; the bundle has {pages}")
    shown = list(lines[(number - 1) * PAGE_LINES : number * PAGE_LINES])
    if number < pages:
        shown.append(f"(page {number} of {pages}; tmct_context_more gives page {number + 1})")
    return "\n".join(shown)
