"""A page as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from analysis import formatting
from analysis.report.blocks import Block, Box, Bullets, Facts, Figure, Heading, Page, Paragraph, Table

_LABEL = 32


def render(page: Page) -> str:
    """Return the page in at most :data:`analysis.formatting.WIDTH` columns, with a final newline."""
    parts = [formatting.paragraph(page.title), *[_block(block) for block in page.blocks]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text=text):
            return f"{text}\n{'=' * formatting.display_width(text)}"
        case Paragraph(text=text):
            return formatting.paragraph(text)
        case Bullets():
            return _bullets(block)
        case Facts(rows=rows):
            return _facts(rows)
        case Table():
            return "\n\n".join([formatting.paragraph(block.caption), *_tables(block)])
        case Box():
            return _box(block)
        case Figure(name=name, path=path):
            return formatting.paragraph(f"Figure {name}: {path}") if path else ""


def _bullets(block: Bullets) -> str:
    marks = [f"{n}. " if block.ordered else "- " for n in range(1, len(block.items) + 1)]
    return "\n".join(
        formatting.paragraph(item, first=mark) for mark, item in zip(marks, block.items, strict=True)
    )


def _tables(block: Table) -> Iterator[str]:
    for columns in block.narrow or (range(len(block.headers)),):
        headers, *rows = [[row[n] for n in columns] for row in (block.headers, *block.rows)]
        right = [place for place, n in enumerate(columns) if n in block.right]
        yield formatting.text_table(headers, rows, right=right)


def _facts(rows: tuple[tuple[str, str], ...]) -> str:
    size = min(_LABEL, max(formatting.display_width(label) for label, _ in rows))
    lines: list[str] = []
    for label, value in rows:
        left = formatting.wrap(label, size)
        right = formatting.wrap(value, formatting.WIDTH - size - 2)
        for key, text in zip_longest(left, right, fillvalue=""):
            lines.append(f"{key}{' ' * (size - formatting.display_width(key))}  {text}".rstrip())
    return "\n".join(lines)


def _box(block: Box) -> str:
    inner = formatting.WIDTH - 4
    lines = [line for text in (block.title, *block.lines) for line in formatting.wrap(text, inner)]
    rule = f"+{'-' * (inner + 2)}+"
    body = [f"| {line}{' ' * (inner - formatting.display_width(line))} |" for line in lines]
    return "\n".join([rule, *body, rule])
