"""What a child may say: closed records, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from msgspec import field

from study.convert import convert
from study.digest import JSON, is_object, read_json
from study.drivers.process.wire import WireError
from study.errors import StudyError, did_you_mean, listed
from study.records import Record

PROTOCOL = 1
"""The version of the conversation that this harness speaks."""

_EXCERPT = 160
_M = TypeVar("_M", bound=Record)


class Hello(Record):
    """The child's answer to the harness's hello.

    Attributes
    ----------
    protocol : int
        The version of the conversation that the child speaks.
    name, version : str
        Together the stamp of the driver.
    floor : bool
        Whether it is an anchor that is no candidate for use.
    setup, reset : bool
        Whether it wants these messages.
    defaults : dict
        The configuration that the driver declares itself.
    """

    kind: Literal["hello"]
    protocol: int
    name: str
    version: str
    floor: bool = False
    setup: bool = False
    reset: bool = False
    defaults: dict[str, Any] = field(default_factory=dict[str, Any])


class Ready(Record):
    """The child has done what ``setup`` or ``reset`` asked for."""

    kind: Literal["ready"]


class Dispatch(Record):
    """The child wants a tool to be run; anything may stand for name and input, the harness judges it."""

    kind: Literal["dispatch"]
    id: int
    name: Any
    input: Any = None


class Resolve(Record):
    """The child wants a term bound to an entity, or with ``memory`` to a term of the memory facts."""

    kind: Literal["resolve"]
    id: int
    term: str
    memory: bool = False


class Capability(Record):
    """The child wants a capability of the registry, declared or not."""

    kind: Literal["capability"]
    id: int
    name: str


class Problems(Record):
    """The child wants to know whether a call would bind, without an attempt."""

    kind: Literal["problems"]
    id: int
    name: str
    input: dict[str, Any] = field(default_factory=dict[str, Any])


class Sleep(Record):
    """The child wants to wait, for a rate limit or a retry of its own, outside of its latency."""

    kind: Literal["sleep"]
    id: int
    seconds: float


class Usage(Record):
    """The child tells what a model call took; it gets no answer."""

    kind: Literal["usage"]
    id: int
    calls: int = 1
    input: int | None = None
    output: int | None = None


class ReportedCall(Record):
    """One call of a report."""

    name: str
    input: dict[str, Any] = field(default_factory=dict[str, Any])


class Report(Record, rename="camel"):
    """A :class:`study.driver.LoopResult` as JSON."""

    calls: tuple[ReportedCall, ...] = ()
    refused: bool = False
    terminated: bool = True
    proof: tuple[dict[str, Any], ...] = ()
    driver: str | None = None
    outcome: Literal["unparseable", "empty", "transport_error"] | None = None
    composed: list[str] | None = None
    recovered: bool | None = None
    candidate_results: list[ReportedCall] | None = None
    inferred_goal: str | None = None
    reject: bool | None = None
    ambiguous_goals: list[str] | None = None
    why: str | None = None
    observed: str | None = None


class Result(Record):
    """The child has handled the request."""

    kind: Literal["result"]
    id: int
    result: Report


class Failure(Record):
    """The child could not handle the request, and is fit for the next one."""

    kind: Literal["error"]
    id: int
    message: str


Ask = Dispatch | Resolve | Capability | Problems | Sleep
Message = Ask | Usage | Result | Failure
_IN_A_TRIAL: dict[str, type[Message]] = {
    "dispatch": Dispatch,
    "resolve": Resolve,
    "capability": Capability,
    "problems": Problems,
    "sleep": Sleep,
    "usage": Usage,
    "result": Result,
    "error": Failure,
}


def read_hello(line: bytes) -> Hello:
    """Read the child's hello.

    Raises
    ------
    WireError
        For anything else, and for another version of the conversation.
    """
    data = _object(line)
    if data.get("kind") == "hello" and data.get("protocol", PROTOCOL) != PROTOCOL:
        raise WireError(f"speaks protocol {data['protocol']!r:.40} instead of {PROTOCOL}")
    hello = _read(line, data, {"hello": Hello})
    if not hello.name.strip() or not hello.version.strip():
        raise WireError("sent a hello whose name or version is blank")
    return hello


def read_ready(line: bytes) -> Ready:
    """Read the child's answer to ``setup`` and ``reset``.

    Raises
    ------
    WireError
        For anything else.
    """
    return _read(line, _object(line), {"ready": Ready})


def read_message(line: bytes, number: int) -> Message:
    """Read what a child says while it handles the request of that number.

    Raises
    ------
    WireError
        For a line that is no strict JSON, an unknown kind, another number and a wrong shape.
    """
    data = _object(line)
    message = _read(line, data, _IN_A_TRIAL)
    if message.id != number:
        raise WireError(f"sent {data['kind']!r} with id {message.id}, during the request with id {number}")
    return message


def _object(line: bytes) -> dict[str, JSON]:
    try:
        data = read_json(line, "line")
    except StudyError as error:
        raise WireError(f"sent a line that is {error.problem}: {_shown(line)}") from None
    if not is_object(data):
        raise WireError(f"sent a line that is no JSON object: {_shown(line)}")
    return data


def _read(line: bytes, data: dict[str, JSON], known: Mapping[str, type[_M]]) -> _M:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in known:
        hint = did_you_mean(kind, known) if isinstance(kind, str) else ""
        said = f"kind {kind!r:.60}" if "kind" in data else "no kind"
        raise WireError(f"sent {said}{hint}; allowed here: {listed(known)}; the line: {_shown(line)}")
    try:
        return convert(data, known[kind], kind)
    except RecursionError:
        raise WireError(f"sent {kind!r} that is nested too deeply") from None
    except StudyError as error:
        allowed = f"; allowed: {error.allowed}" if error.allowed else ""
        raise WireError(f"sent {kind!r} of a wrong shape: {error.where}: {error.problem}{allowed}") from None


def _shown(line: bytes) -> str:
    return repr(line[:_EXCERPT].decode("utf-8", "replace"))
