"""Worlds that a router is asked in: a registry, a toolset, and how a report is written in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from study.binding import Binder
from study.driver import Context, LoopResult, Resolution, ToolError, ToolResult
from study.drivers import goal, resolver
from study.registry import Registry


class World:
    """A registry with a toolset; asks a driver and keeps the context of the last request."""

    def __init__(self, registry: Registry, toolset: Any) -> None:
        self.registry = registry
        self.toolset = toolset
        self.last: Context | None = None

    def ask(
        self,
        request: str,
        tools: Sequence[str] | None = None,
        *,
        driver: Callable[..., Any] = goal.drive,
        trace: Sequence[Mapping[str, Any]] = (),
    ) -> LoopResult:
        names = list(self.registry) if tools is None else list(tools)
        steps = tuple(dict(step) for step in trace)
        self.last = Context(self.registry, self.toolset, Binder(self.registry, names), trace=steps)
        return driver(request, names, self.last)

    def resolve(self, request: str, tools: Sequence[str] | None = None) -> LoopResult:
        return self.ask(request, tools, driver=resolver.drive)


def short(result: LoopResult) -> str:
    """Return a report as one line: calls without the prefix of the tools, candidates, recovery."""
    if result.refused:
        assert not result.calls
        found = [_call(call) for call in result.candidate_results or []]
        return " ".join(["REFUSE", *(["cand", *found] if found else [])])
    found = [_call(call) for call in result.calls]
    return " ".join(found + (["!rec"] if result.recovered else []))


def _call(call: Any) -> str:
    return f"{call.name.removeprefix('tmct_')}({','.join(str(v) for v in call.input.values())})"


class TableTools:
    """Answers from a table: tool -> entity (or nothing) -> labels; counts what was asked."""

    def __init__(
        self,
        answers: Mapping[str, Mapping[str, Sequence[str]]],
        kinds: Mapping[str, str],
        ties: Mapping[str, Sequence[str]] | None = None,
        commands: Mapping[str, tuple[str, str | None]] | None = None,
    ) -> None:
        self.answers = answers
        self.kinds = kinds
        self.ties = ties or {}
        self.commands = commands or {}
        self.asked: list[tuple[str, str]] = []

    @property
    def names(self) -> Sequence[str]:
        return list(self.answers)

    def resolve(self, term: str) -> Resolution:
        if term in self.ties:
            return Resolution(label=None, tied=tuple(self.ties[term]))
        kind = self.kinds.get(term)
        return Resolution(label=term if kind else None, kind=kind)

    def dispatch(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        about = str(next(iter(arguments.values()), ""))
        self.asked.append((name, about))
        table = self.answers[name]
        if about not in table:
            raise ToolError(f"{name} knows nothing of {about!r}")
        labels = list(table[about])
        return ToolResult(ok=True, text=", ".join(labels) or "none", resolved=about or None, result=labels)


def capability(
    name: str,
    topic: str,
    arg: str | None = None,
    *,
    question: str = "",
    read_only: bool = True,
    kind: str = "thing",
) -> dict[str, Any]:
    parameters = [{"name": arg, "kind": kind, "arg": arg, "required": True}] if arg else []
    conditions = [{"kind": "resolves", "param": arg, "class": kind}] if arg else []
    return {
        "name": name,
        "label": topic,
        "question": question,
        "readOnly": read_only,
        "parameters": parameters,
        "preconditions": [{"kind": "graph-loaded"}, *conditions],
        "effects": {"add": [{"kind": "knows", "topic": topic, "param": arg}], "del": []},
    }
