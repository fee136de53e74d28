"""Finished results as a report in one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from analysis.report import html_page, junit, markdown_page, page, plain_text
from analysis.report.blocks import Page
from analysis.results import Results
from study.digest import canonical
from study.errors import InputError, did_you_mean, listed

Format = Literal["text", "md", "html", "json", "junit"]

_PAGES: dict[str, Callable[[Page], str]] = {
    "text": plain_text.render,
    "md": markdown_page.render,
    "html": html_page.render,
}
_EMPTY: Mapping[str, str] = MappingProxyType({})


def render_report(
    results: Results,
    format: Format = "text",  # noqa: A002
    *,
    figures: Mapping[str, str] = _EMPTY,
    paths: Mapping[str, str] = _EMPTY,
) -> str:
    """Return finished results as a report; nothing is computed again.

    Parameters
    ----------
    results : Results
        The record that is told.
    format : str
        ``text`` (at most 100 columns), ``md``, ``html`` (one self-contained file), ``json`` (the canonical
        bytes of the record) or ``junit`` (fails exactly when the verdict does not satisfy the claim).
    figures : mapping of str to str
        Name -> SVG source, in the order of appearance; ``html`` holds them inline.
    paths : mapping of str to str
        Name -> path of a written file, listed under provenance. Where a name is that of a figure,
        ``text`` names the path beside it and ``md`` links it as an image.

    Returns
    -------
    str
        With exactly one newline at its end.

    Raises
    ------
    InputError
        For a format that does not exist, or a figure that is no static SVG document.
    """
    if format == "json":
        return canonical(msgspec.to_builtins(results)).decode("utf-8") + "\n"
    if format == "junit":
        return junit.render(results)
    if format not in _PAGES:
        allowed = [*_PAGES, "json", "junit"]
        raise InputError(
            f"no report format {format!r}{did_you_mean(str(format), allowed)}",
            code="format",
            allowed=listed(allowed),
            next_step="study report RUN --format text",
        )
    return _PAGES[format](page.build(results, figures, paths))
