"""The parts that a page is made of, before anyone decides how they look."""

from __future__ import annotations

from typing import Literal

from study.records import Record

Tone = Literal["met", "not_met", "open", "void", "pilot"]


class Heading(Record):
    """The title of a section."""

    text: str


class Paragraph(Record):
    """Running text."""

    text: str


class Bullets(Record):
    """A list; ``ordered`` where the order carries meaning."""

    items: tuple[str, ...]
    ordered: bool = False


class Facts(Record):
    """Labels, each with its value."""

    rows: tuple[tuple[str, str], ...]


class Table(Record):
    """A table.

    Attributes
    ----------
    caption : str
    headers, rows : tuple
        Cells as text; every row has as many as ``headers``.
    right : tuple of int
        Columns that are aligned to the right.
    narrow : tuple of tuple of int
        The columns of several tables to print instead where the page is too narrow for one.
    """

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    narrow: tuple[tuple[int, ...], ...] = ()


class Box(Record):
    """What has to be seen first: a title with the lines under it."""

    title: str
    lines: tuple[str, ...]
    tone: Tone


class Figure(Record):
    """A drawing: its SVG source, and the path of a file that holds it where one is known."""

    name: str
    svg: str
    path: str | None


Block = Heading | Paragraph | Bullets | Facts | Table | Box | Figure


class Page(Record):
    """A whole report: its title with the blocks in reading order."""

    title: str
    blocks: tuple[Block, ...]
