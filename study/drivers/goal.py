"""The driver that plans first, then deduces goals, and recognises the goal behind a trace."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import Context, LoopResult
from study.drivers.router.binding import RefusalError
from study.drivers.router.execution import refused
from study.drivers.router.goals import STAMP, reason
from study.drivers.router.recogniser import recognise
from study.drivers.router.resolver import parse, resolve
from study.drivers.router.wishes import read_wish


def drive(request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
    """Answer a request by its plan, else by the goal that it implies; a trace by the goal behind it."""
    if ctx.trace:
        return recognise(ctx.trace, tools, ctx)
    parsed = parse(request, tools, ctx)
    if parsed.plan is not None:
        return resolve(parsed, tools, ctx)
    wish = None if parsed.source == "order" else read_wish(parsed.scanned.line, parsed.reader)
    if wish is None:
        return refused(RefusalError("the request is outside the fragment of English"), STAMP)
    return reason(wish, tools, ctx)


vars(drive).update(stamp=STAMP, floor=False)
