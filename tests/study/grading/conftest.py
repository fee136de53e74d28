"""A lending library to grade in: its tools, cases and trials."""

from __future__ import annotations

from typing import Any

import pytest

from study.cases import Case, Rules
from study.grading import grade
from study.records import Dispatch, Grade, Produced
from study.registry import Capability, Parameter, Registry


def capability(name: str, *args: str, topic: str | None = None, **more: Any) -> Capability:
    parameters = tuple(
        Parameter(name=a.rstrip("?"), kind="any", arg=a.rstrip("?"), required=not a.endswith("?"))
        for a in args
    )
    effects = {"add": [{"kind": "knows", "topic": topic}] if topic else [], "del": []}
    return Capability(name=name, parameters=parameters, effects=effects, **more)


class World:
    """Builds cases, trials and grades over one registry."""

    registry = Registry(
        [
            capability("lib_describe", "item", topic="description"),
            capability("lib_borrowers", "item", topic="borrowers"),
            capability("lib_holds", "item", "limit?", topic="holds"),
            capability("lib_linked", "item", topic="linked"),
            capability("lib_overdue", topic="overdue"),
            capability(
                "lib_search",
                "query?",
                "kind?",
                preconditions=({"kind": "any-present", "args": ["query", "kind"]},),
            ),
            capability("lib_withdraw", "item", read_only=False),
        ]
    )
    declared = ("lib_describe", "lib_borrowers", "lib_holds", "lib_linked", "lib_overdue", "lib_search")

    def case(self, expect: dict[str, Any], **more: Any) -> Case:
        fields = {"id": "c-1", "rung": "TOOL-1", "request": "who has Atlas-3", "tools": self.declared}
        return Case(**{**fields, "expect": {"terminates": True, **expect}, **more})

    def calls_case(self, *calls: Any, **expect: Any) -> Case:
        return self.case({"calls": [self.call(*c) for c in calls], **expect})

    def call(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"name": name, "input": arguments or {}}

    def dispatch(self, name: Any, arguments: Any, **more: Any) -> Dispatch:
        return Dispatch(**{"name": name, "input": arguments, "executed": True, "ok": True, **more})

    def produced(
        self, *calls: Any, dispatches: Any = None, outcome: str = "answered", **report: Any
    ) -> Produced:
        """Return a trial that dispatched exactly what it reports, unless told otherwise."""
        made = [self.call(*c) for c in calls]
        told = {"calls": made, "refused": False, "terminated": True, "proof": [], "driver": "d-1", **report}
        if dispatches is None:
            dispatches = [self.dispatch(c["name"], c["input"]) for c in made]
        return Produced(outcome=outcome, report=told, dispatches=tuple(dispatches))

    def refusal(self, **report: Any) -> Produced:
        return self.produced(refused=True, outcome="refused", **report)

    def grade(self, case: Case, produced: Produced, goals: Any = None, **rules: Any) -> Grade:
        return grade(case, produced, Rules(**rules), self.registry, goals)


@pytest.fixture(scope="session")
def world() -> World:
    return World()
