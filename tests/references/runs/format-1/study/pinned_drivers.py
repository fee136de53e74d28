"""Two drivers of a shop assistant, and what may go wrong with them."""

import re
import time

from study import Call, LoopResult

PACE_S = 0.02
BEYOND_THE_LIMIT_S = 5.0


def _order(request):
    return re.search(r"order-([0-9]+)", request)


def careful(request, tools, ctx):
    """Look the order up and say so; one order makes it fail."""
    time.sleep(PACE_S)
    found = _order(request)
    if found[1] == "5":
        raise ValueError("a bug of the driver")
    ctx.record_usage(input=len(request), output=None if found[1] == "6" else 7)
    arguments = {"order": found[0]}
    answer = ctx.dispatch("order_status", arguments)
    if not answer.ok:
        return LoopResult(refused=True, driver="careful-1")
    return LoopResult(calls=[Call("order_status", arguments)], terminated=True, driver="careful-1")


def hasty(request, tools, ctx):
    """Do the same, but too late, without an answer or with a tool that does not exist for some orders."""
    time.sleep(PACE_S)
    found = _order(request)
    ctx.record_usage(input=len(request), output=5)
    if found[1] == "7":
        time.sleep(BEYOND_THE_LIMIT_S)
    if found[1] == "9":
        return LoopResult(refused=True, driver="hasty-1")
    if found[1] == "11":
        return LoopResult(calls=[Call("cancel_order", {"order": found[0]})], driver="hasty-1")
    if found[1] == "15":
        ctx.dispatch("list_orders", {})
    arguments = {"order": found[0]}
    ctx.dispatch("order_status", arguments)
    return LoopResult(calls=[Call("order_status", arguments)], terminated=True, driver="hasty-1")


careful.stamp = "careful-1"
hasty.stamp = "hasty-1"
