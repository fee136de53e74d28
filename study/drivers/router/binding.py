"""A step bound to a call: topic to tool by backward chaining, name to entity by the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from study.driver import Call, Context, Resolution
from study.drivers.router.reading import Step
from study.records import Record
from study.registry import Capability, Parameter

MAX_READINGS = 4
"""The most readings of a tied name that are enumerated."""


class RefusalError(Exception):
    """Raised where a request must be refused.

    Parameters
    ----------
    why : str
    candidates : list of Call, optional
        The tied readings, each dispatched.
    """

    def __init__(self, why: str, candidates: Sequence[Call] = ()) -> None:
        super().__init__(why)
        self.why = why
        self.candidates = list(candidates)


class BoundStep(Record):
    """A step with its tool, ready to be called.

    Attributes
    ----------
    capability : Capability
    arguments : dict of str to str
    label, kind : str or None
        The entity that the term binds, where the oracle knows.
    """

    step: Step
    capability: Capability
    arguments: dict[str, Any]
    label: str | None = None
    kind: str | None = None


def achievers(tools: Sequence[str], ctx: Context) -> dict[str, Capability]:
    """Return topic -> the declared, read-only capability that makes it known."""
    found: dict[str, Capability] = {}
    for tool in tools:
        capability = ctx.capability(tool)
        if capability is not None and capability.read_only:
            for topic in capability.topics:
                found.setdefault(topic, capability)
    return found


def achiever(topic: str, known: dict[str, Capability]) -> Capability:
    """Return the capability for a topic.

    Raises
    ------
    RefusalError
        When no declared tool makes the topic known.
    """
    capability = known.get(topic)
    if capability is None:
        raise RefusalError(f"no declared tool makes {topic!r} known")
    return capability


def bind(step: Step, known: dict[str, Capability], ctx: Context, *, at_hand: str | None = None) -> BoundStep:
    """Bind a step to a call that passes the gate.

    Parameters
    ----------
    step : Step
    known : dict of str to Capability
        See :func:`achievers`.
    ctx : Context
    at_hand : str, optional
        The label for a step that is asked of each label of an answer.

    Raises
    ------
    RefusalError
        For an undeclared topic, an unknown or tied name, and a call with problems.
    """
    capability = achiever(step.topic, known)
    arguments: dict[str, Any] = {}
    named = {p.name: p.arg for p in capability.parameters}
    for name, value in step.values.items():
        if name not in named:
            raise RefusalError(f"{capability.name} has no parameter {name!r}")
        arguments[named[name]] = value
    term = at_hand if at_hand is not None else step.term
    resolution = Resolution(label=None)
    if term is not None:
        parameter = subject(capability, step.topic)
        if parameter is None:
            raise RefusalError(f"{capability.name} is about nothing in particular")
        arguments[parameter.arg] = term
        resolution = _resolved(term, parameter, capability, arguments, ctx)
    problems = ctx.problems(capability.name, arguments)
    if problems:
        raise RefusalError(problems[0]["text"])
    return BoundStep(
        step=step, capability=capability, arguments=arguments, label=resolution.label, kind=resolution.kind
    )


def subject(capability: Capability, topic: str) -> Parameter | None:
    """Return the parameter that a topic is about."""
    about = {e.get("param") for e in capability.effects["add"] if e.get("topic") == topic}
    for parameter in capability.parameters:
        if parameter.name in about or parameter.arg in about:
            return parameter
    required = [parameter for parameter in capability.parameters if parameter.required]
    return required[0] if required else None


def _is_entity(parameter: Parameter, capability: Capability) -> bool:
    """Whether a parameter names an entity of the graph: a precondition says so, or its kind is no text."""
    names = (parameter.name, parameter.arg)
    kinds = {c.get("kind") for c in capability.preconditions if c.get("param") in names}
    if "memory-facts" in kinds:
        return False  # whether the memory knows the term, its tool says
    return "resolves" in kinds or parameter.kind not in ("text", "any", "string")


def _resolved(
    term: str, parameter: Parameter, capability: Capability, arguments: dict[str, Any], ctx: Context
) -> Resolution:
    if not _is_entity(parameter, capability):
        return Resolution(label=None)
    resolution = ctx.resolve(term)
    if resolution.label is not None:
        return resolution
    if not resolution.tied:
        raise RefusalError(f"nothing is called {term!r}")
    why = f"{term!r} may be {' or '.join(resolution.tied[:MAX_READINGS])}"
    if len(resolution.tied) > MAX_READINGS:
        raise RefusalError(f"{why} or one of {len(resolution.tied) - MAX_READINGS} more")
    raise RefusalError(why, _readings(resolution.tied, parameter, capability, arguments, ctx))


def _readings(
    labels: Sequence[str],
    parameter: Parameter,
    capability: Capability,
    arguments: dict[str, Any],
    ctx: Context,
) -> list[Call]:
    """Dispatch the call once for each reading; those that the tool answers are the candidates."""
    calls: list[Call] = []
    for label in labels:
        given = arguments | {parameter.arg: label}
        if not ctx.problems(capability.name, given) and ctx.dispatch(capability.name, given).ok:
            calls.append(Call(capability.name, given))
    return calls if len(calls) > 1 else []
