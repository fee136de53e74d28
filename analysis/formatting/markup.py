"""Text and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from analysis.formatting.layout import visible


def markdown(text: str) -> str:
    r"""Return text on one line in which Markdown and HTML find nothing to interpret.

    ``|`` is escaped too, so that the text may stand in a cell of a table.
    """
    line = visible(text).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([|*`~$])", r"\\\1", line)
    line = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)
    line = re.sub(r"\](?=[(\[:])", r"\\]", line)
    return re.sub(r"^(?=[#+=-](?:[ #+=-]|$))|^(\d+)(?=[.)] )", r"\1\\", line)


def markdown_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()
) -> str:
    """Return a Markdown table; every cell is escaped by :func:`markdown`."""
    rule = ["---:" if n in right else "---" for n in range(len(headers))]
    body = [[markdown(cell) for cell in row] for row in rows]
    lines = [[markdown(cell) for cell in headers], rule, *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
