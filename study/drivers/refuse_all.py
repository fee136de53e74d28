"""The anchor that refuses every request."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import Context, LoopResult
from study.drivers.floor import floor_driver, refusal

STAMP = "refuse-all"


@floor_driver(STAMP)
def drive(request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
    """Refuse, whatever is asked."""
    return refusal(STAMP, "refuses everything")
