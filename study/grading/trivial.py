"""Two drivers that know nothing, as trials: what a rung gives away."""

from __future__ import annotations

import re
from typing import Any

from study.binding import Binder
from study.cases import Case, Rules
from study.records import Dispatch, Produced
from study.registry import Capability, Registry

REFUSE_ALL = "refuse-all"
FIRST_DECLARED = "first-declared"

_TOKEN = re.compile(r"[^\W\d]\w*(?:[./-]+\w+)*")


def refuse_all() -> Produced:
    """Return the trial of a driver that refuses whatever is asked."""
    return Produced(outcome="refused", report=_report(REFUSE_ALL, []))


def first_declared(case: Case, rules: Rules, registry: Registry) -> Produced:
    """Return the trial of a driver that calls the first declared tool.

    The first argument that the tool needs gets the last identifier-like token of the request; a tool that
    needs none is called without arguments. It refuses when the tool has effects or the call does not bind,
    so it never hallucinates. The tool is taken to have answered, and no result is composed.
    """
    capability = registry.get(case.tools[0]) if case.tools else None
    if capability is None or not capability.read_only:
        return Produced(outcome="refused", report=_report(FIRST_DECLARED, []))
    arguments = _primary_argument(capability, case.request)
    if Binder(registry, case.tools).problems(capability.name, arguments):
        return Produced(outcome="refused", report=_report(FIRST_DECLARED, []))
    call: dict[str, Any] = {"name": capability.name, "input": arguments}
    made = Dispatch(name=capability.name, input=arguments, executed=True, ok=True)
    dispatches = (made,) if rules.execution == "required" else ()
    return Produced(outcome="answered", report=_report(FIRST_DECLARED, [call]), dispatches=dispatches)


def _primary_argument(capability: Capability, request: str) -> dict[str, Any]:
    needed = [*capability.required, *(group[0] for group in capability.any_present if group)]
    tokens = _TOKEN.findall(request)
    return {needed[0]: tokens[-1]} if needed and tokens else {}


def _report(stamp: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    proof: list[dict[str, Any]] = [{"kind": "effect", "ok": True}] if calls else []
    return {"calls": calls, "refused": not calls, "terminated": True, "proof": proof, "driver": stamp}
