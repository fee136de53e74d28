"""Finished results as figures."""

from analysis.figures.drawing import forest
from analysis.figures.latency import distributions
from analysis.figures.saving import save, to_svg

__all__ = ["distributions", "forest", "save", "to_svg"]
