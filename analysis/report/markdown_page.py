"""A page as Markdown (GitHub's dialect)."""

from __future__ import annotations

from urllib.parse import quote

from analysis.formatting import markdown, markdown_table
from analysis.report.blocks import Block, Box, Bullets, Facts, Figure, Heading, Page, Paragraph, Table


def render(page: Page) -> str:
    """Return the page as Markdown with a final newline; text from outside is escaped."""
    parts = [f"# {markdown(page.title)}", *[_block(block) for block in page.blocks]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text=text):
            return f"## {markdown(text)}"
        case Paragraph(text=text):
            return markdown(text)
        case Bullets(items=items, ordered=ordered):
            marks = [f"{n}." if ordered else "-" for n in range(1, len(items) + 1)]
            return "\n".join(f"{mark} {markdown(item)}" for mark, item in zip(marks, items, strict=True))
        case Facts(rows=rows):
            return markdown_table(("what", "value"), rows)
        case Table():
            table = markdown_table(block.headers, block.rows, right=block.right)
            return f"{markdown(block.caption)}:\n\n{table}"
        case Box(title=title, lines=lines):
            return "\n>\n".join([f"> **{markdown(title)}**", *[f"> {markdown(line)}" for line in lines]])
        case Figure(name=name, path=path):
            return f"![{markdown(name)}]({quote(path)})" if path else ""
