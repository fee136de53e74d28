"""A process driver in Python: looks up the status of the order that a request names.

It imports nothing but the standard library. Run it in a protocol as

    driver = "process:python3 process_driver.py"
"""

import json
import re
import sys

NAME, VERSION = "order-desk", "1"


def say(message):
    """Write one message as one line, at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def hear():
    """Return the next message; the harness went away when there is none."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def dispatch(asked, name, arguments):
    """Have the harness run a tool, and return its answer."""
    say({"kind": "dispatch", "id": asked["id"], "name": name, "input": arguments})
    return hear()


def handle(asked):
    """Handle one request, and return the report."""
    order = re.search(r"order-[0-9]+", asked["request"])
    tool = asked["config"].get("tool", "order_status")
    if order is None or tool not in asked["tools"]:
        return {"refused": True, "why": "no order, or no tool for it"}
    arguments = {"order": order[0]}
    answer = dispatch(asked, tool, arguments)
    if not answer["ok"]:
        return {"refused": True, "why": answer["error"]}
    return {"calls": [{"name": tool, "input": arguments}], "observed": answer["text"]}


def main():
    """Talk until the harness says goodbye."""
    while True:
        message = hear()
        if message["kind"] == "hello":
            say({"kind": "hello", "protocol": 1, "name": NAME, "version": VERSION})
        elif message["kind"] == "request":
            say({"kind": "result", "id": message["id"], "result": handle(message)})
        elif message["kind"] == "goodbye":
            return


main()
