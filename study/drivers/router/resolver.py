"""The resolver: a terse command or an English request into a plan, and the plan into a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import structs

from study.driver import Context, LoopResult
from study.drivers.router.binding import RefusalError, achievers
from study.drivers.router.execution import execute, refused
from study.drivers.router.foreign import foreign_topic
from study.drivers.router.frames import TOPICS, Topic
from study.drivers.router.phrases import rephrased
from study.drivers.router.planner import plan
from study.drivers.router.plans import Plan
from study.drivers.router.reading import Reader, Step
from study.drivers.router.scanning import Scanned, scan
from study.drivers.router.vetoes import orders_something

STAMP = "resolver-0.8.0"
MAX_LENGTH = 800
"""Longer requests are refused unread: the fragment has nothing that takes so many characters."""

_TERSE = re.compile(r"\s*(\S+)(?:\s+(\S+))?\s*")


class Parsed:
    """A request as it was read.

    Attributes
    ----------
    scanned : Scanned
    reader : Reader
    plan : Plan or None
        None for a request outside the fragment.
    source : str
        ``terse command``, ``english``, or ``order`` for a request that orders something and is not read.
    """

    def __init__(self, scanned: Scanned, reader: Reader, found: Plan | None, source: str) -> None:
        self.scanned = scanned
        self.reader = reader
        self.plan = found
        self.source = source


def parse(request: str, tools: Sequence[str], ctx: Context) -> Parsed:
    """Read a request with the declared tools; nothing is called.

    Parameters
    ----------
    request : str
    tools : sequence of str
    ctx : Context
        Tells what is the name of something, and which terse commands there are.
    """

    def known(word: str) -> bool:
        resolutions = (ctx.resolve(word), ctx.resolve_memory_term(word))
        return any(found.label is not None or found.tied for found in resolutions)

    scanned = scan(request[:MAX_LENGTH], known)
    ordered = orders_something(scanned.line)
    scanned = structs.replace(scanned, line=rephrased(scanned.line))
    reader = Reader(scanned, extra_topics(tools, ctx), achievers(tools, ctx).keys())
    terse = _terse(request, ctx)
    if terse is not None:
        return Parsed(scanned, reader, terse, "terse command")
    if ordered:
        return Parsed(scanned, reader, None, "order")
    found = plan(scanned.line, reader) if len(request) <= MAX_LENGTH else None
    return Parsed(scanned, reader, found, "english")


def extra_topics(tools: Sequence[str], ctx: Context) -> dict[str, Topic]:
    """Return the topics of the declared tools that the fragment does not know by itself."""
    found: dict[str, Topic] = {}
    for tool in tools:
        capability = ctx.capability(tool)
        for topic in capability.topics if capability else ():
            if capability is not None and topic not in TOPICS:
                about = bool(capability.required or capability.parameters)
                found[topic] = _foreign(topic, capability.label, capability.question, about)
    return found


@lru_cache(maxsize=1024)
def _foreign(topic: str, label: str, question: str, about: bool) -> Topic:
    return foreign_topic(topic, label, question, about=about)


def resolve(parsed: Parsed, tools: Sequence[str], ctx: Context) -> LoopResult:
    """Carry out what was read, or refuse."""
    if parsed.plan is None:
        return refused(RefusalError("the request is outside the fragment of English"), STAMP)
    return execute(parsed.plan, tools, ctx, stamp=STAMP)


def _terse(request: str, ctx: Context) -> Plan | None:
    """Read ``verb`` or ``verb argument`` of the toolset's command table."""
    match = _TERSE.fullmatch(request)
    command = ctx.commands.get(match[1]) if match else None
    if match is None or command is None:
        return None
    capability = ctx.capability(command[0])
    if capability is None or not capability.topics or (match[2] and command[1] is None):
        return None
    topic, term = capability.topics[0], match[2]
    about = {e.get("param") for e in capability.effects["add"] if e.get("topic") == topic}
    named = {p.arg: p.name for p in capability.parameters}
    if term is None or command[1] is None:
        step = Step(topic=topic)
    elif named.get(command[1]) in about:
        step = Step(topic=topic, term=term)
    else:
        step = Step(topic=topic, values={named.get(command[1], command[1]): term})
    return Plan(method="terse command", steps=(step,))
