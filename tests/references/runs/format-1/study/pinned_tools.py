"""Tools of a shop; one order breaks its tool, which is nobody's fault."""

from study.driver import ToolError

BROKEN = "order-13"
KNOWN = 40


def order_status(order):
    """Return whether an order is paid or sent."""
    number = order.removeprefix("order-")
    if not number.isdigit() or int(number) >= KNOWN:
        raise ToolError(f"no order {order!r}")
    if order == BROKEN:
        raise RuntimeError("the shop's database is away")
    return "paid" if int(number) % 2 else "sent"


def list_orders():
    """Return the first orders."""
    return [f"order-{n}" for n in range(3)]


TOOLS = {"order_status": order_status, "list_orders": list_orders}
