"""The endpoints that a lock declares, estimated in declared order."""

from __future__ import annotations

from analysis.estimates.declared import estimate
from analysis.estimates.plans import REFUSED
from analysis.table import MOST_MISSING, ROUNDING
from study.endpoints import SUPPORTED_ENDPOINTS

__all__ = ["MOST_MISSING", "REFUSED", "ROUNDING", "SUPPORTED_ENDPOINTS", "estimate"]
