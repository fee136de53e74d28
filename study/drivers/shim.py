"""The floor driver for terse commands: a verb of the toolset's table with at most one argument."""

from __future__ import annotations

from collections.abc import Sequence

from study.driver import Context, LoopResult
from study.drivers.floor import call_once, floor_driver, refusal

STAMP = "shim-transport"


@floor_driver(STAMP)
def drive(request: str, tools: Sequence[str], ctx: Context, /) -> LoopResult:
    """Execute ``verb`` or ``verb argument`` as the command table says; refuse any other wording."""
    verb, *rest = request.split() or [""]
    command = ctx.commands.get(verb)
    if command is None or len(rest) > 1:
        return refusal(STAMP, "not a terse command")
    tool, key = command
    if rest and key is None:
        return refusal(STAMP, f"the command {verb!r} takes no argument")
    arguments = {key: rest[0]} if rest and key else {}
    return call_once(ctx, tool, arguments, stamp=STAMP, why=f"terse command {verb!r}")
