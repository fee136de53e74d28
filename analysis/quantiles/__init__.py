"""Quantiles of latency and its distribution function, with tasks as the sample."""

from __future__ import annotations

from analysis.quantiles.bands import banded, distribution
from analysis.quantiles.drawing import (
    CENSORED_LEVEL,
    DECILES,
    FEWEST_BEYOND,
    REPORTED,
    ArmQuantile,
    QuantileDraws,
    draw_quantiles,
)

__all__ = [
    "CENSORED_LEVEL",
    "DECILES",
    "FEWEST_BEYOND",
    "REPORTED",
    "ArmQuantile",
    "QuantileDraws",
    "banded",
    "distribution",
    "draw_quantiles",
]
