"""Finished results as figures."""

from analysis.figures.drawing import forest
from analysis.figures.saving import save, to_svg

__all__ = ["forest", "save", "to_svg"]
