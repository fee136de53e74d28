"""Figures as files, the same bytes for the same figure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from analysis.figures import style
from study.errors import InputError, listed

FORMATS = ("svg", "png")
_DOTS_PER_INCH = 200
# No date and no version: they would make every file differ.
_NO_METADATA: dict[str, str | None] = {"Date": None, "Creator": None, "Format": None, "Type": None}


def to_svg(figure: Figure) -> str:
    """Return a figure as an SVG document; the same figure gives the same text in every run.

    The label of the figure becomes the title of the document, which screen readers say.
    """
    stream = io.BytesIO()
    label = str(figure.get_label())
    with style.applied():
        FigureCanvasSVG(figure).print_svg(stream, metadata=_NO_METADATA | ({"Title": label} if label else {}))
    return stream.getvalue().decode("utf-8")


def _to_png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    with style.applied():
        figure.set_dpi(_DOTS_PER_INCH)
        FigureCanvasAgg(figure).print_png(stream, metadata={"Software": None})
    return stream.getvalue()


def save(figure: Figure, path_without_suffix: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure once per format; folders on the way are made.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path_without_suffix : str or Path
        ``.svg`` or ``.png`` is appended to it.
    formats : sequence of str
        ``svg``, ``png`` (200 dots an inch) or both.

    Returns
    -------
    list of Path
        The written files, in the order of ``formats``.

    Raises
    ------
    InputError
        For a format that does not exist, or a place that cannot be written.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise InputError(f"no figure format {unknown[0]!r}", code="format", allowed=listed(FORMATS))
    base = Path(path_without_suffix)
    written: list[Path] = []
    for name in formats:
        path = base.with_name(f"{base.name}.{name}")
        data = to_svg(figure).encode("utf-8") if name == "svg" else _to_png(figure)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"cannot write the figure: {reason}", code="write", where=str(path)) from None
        written.append(path)
    return written
