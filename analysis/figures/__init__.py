"""Finished results as figures."""

from analysis.figures.drawing import forest
from analysis.figures.latency import distributions
from analysis.figures.rungs import ladder
from analysis.figures.saving import save, to_svg

__all__ = ["distributions", "forest", "ladder", "save", "to_svg"]
