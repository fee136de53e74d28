"""The driver that reads English and terse commands, and plans; it deduces no goals."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import Context, LoopResult
from study.drivers.router.resolver import STAMP, parse, resolve


def drive(request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
    """Answer a request with the calls that its plan has, or refuse."""
    return resolve(parse(request, tools, ctx), tools, ctx)


vars(drive).update(stamp=STAMP, floor=False)
