"""Declare, run and grade paired comparisons of two tool-calling drivers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from study.cases import Case, load_cases
    from study.declare import freeze, verify
    from study.driver import Call, Context, Driver, LoopResult, ToolError, ToolResult
    from study.errors import StudyError
    from study.protocol import load_protocol
    from study.registry import Capability, Registry
    from study.verbs import grade, run

_HOMES = {
    "Call": "study.driver",
    "Capability": "study.registry",
    "Case": "study.cases",
    "Context": "study.driver",
    "Driver": "study.driver",
    "LoopResult": "study.driver",
    "Registry": "study.registry",
    "StudyError": "study.errors",
    "ToolError": "study.driver",
    "ToolResult": "study.driver",
    "freeze": "study.declare",
    "grade": "study.verbs",
    "load_cases": "study.cases",
    "load_protocol": "study.protocol",
    "run": "study.verbs",
    "verify": "study.declare",
}

__all__ = [
    "Call",
    "Capability",
    "Case",
    "Context",
    "Driver",
    "LoopResult",
    "Registry",
    "StudyError",
    "ToolError",
    "ToolResult",
    "freeze",
    "grade",
    "load_cases",
    "load_protocol",
    "run",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'study' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
