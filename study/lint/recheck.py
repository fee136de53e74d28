"""Looks at expectations a second time: are they what an independent oracle answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from study.binding import as_text, shown
from study.cases import Case, Rules
from study.lint.findings import Finding, Level
from study.lint.folds import GOALS, AnsweredCall, DiffersError, Plan, fold_of, named_by, recovery
from study.lint.oracle import Oracle
from study.registry import Registry

Told = tuple[str, str] | tuple[str, str, Level]
"""Code and text of a finding, and its level where that is no error."""

_NAME = re.compile(r"[\w./]+")
_RECOGNISED = ("inferredGoal", "ambiguousGoals", "reject")


def recheck_cases(
    cases: Iterable[Case], rules: Rules, registry: Registry, oracle: Oracle, *, where: str
) -> list[Finding]:
    """Look at the expectations of cases a second time.

    Parameters
    ----------
    cases : iterable of Case
        In which :func:`study.lint.lint_case` found no error.
    rules : Rules
    registry : Registry
    oracle : Oracle
    where : str
        The file, to name in findings.

    Returns
    -------
    list of Finding
        ``recheck-call``
            An expected call, or an accepted form of it, has no answer.
        ``recheck-alternative``
            An accepted form of a call is answered otherwise than the call itself, and a result is pinned.
        ``recheck-compose``
            ``compose`` (see :mod:`study.lint.folds`) names something that is not there.
        ``recheck-plan``
            The calls are not those that ``compose`` needs.
        ``recheck-recovery``
            A recovery fires that must not, or does not fire that must.
        ``recheck-result``
            The pinned result is not what the answers amount to.
        ``recheck-candidates``
            The candidates are not exactly the readings of a tied name that the tool takes.
        ``recheck-trace``
            The goal, the tie or the rejection is not that of the trace.
        ``not-rechecked``
            A warning: neither ``compose`` nor the oracle says enough.
    """
    return [
        Finding(where=f"{where}:{case.id}", code=told[0], text=told[1], level=_level(told))
        for case in cases
        for told in _told(case, rules, registry, oracle)
    ]


def _level(told: Told) -> Level:
    return told[2] if len(told) == 3 else "error"


def _told(case: Case, rules: Rules, registry: Registry, oracle: Oracle) -> Iterator[Told]:
    if case.trace is not None:
        yield from _trace(case, rules, registry)
    elif "candidateResults" in case.expect:
        yield from _candidates(case, oracle)
    elif "calls" in case.expect:
        yield from _calls(case, registry, oracle)


def _calls(case: Case, registry: Registry, oracle: Oracle) -> Iterator[Told]:
    """Ask for the answer to each expected call; go on with what they amount to if there are all."""
    calls: list[AnsweredCall] = []
    missed = False
    for n, written in enumerate(case.expect["calls"]):
        place, name = f"expect.calls[{n}]", written["name"]
        if oracle.takes(name) is None:
            yield "not-rechecked", f"{place}: {name} can be asked in no second way", "warning"
            return
        forms: list[AnsweredCall] = []
        misses: list[Told] = []
        for form in _forms(written):
            try:
                forms.append(AnsweredCall(name=name, input=form, answer=oracle.answer(name, form)))
            except LookupError as miss:
                misses.append(("recheck-call", f"{place} with {shown(form)} has no answer: {miss}"))
        if misses:
            missed = True
            yield from misses
            continue
        calls.append(forms[0])
        for other in forms[1:] if "result" in case.expect else ():
            if other.answer != forms[0].answer:
                text = f"{place} with {shown(other.input)} is as good, but answered otherwise"
                yield "recheck-alternative", text
    if not missed:
        yield from _composed(case, registry, oracle, calls)


def _forms(call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of an expected call, then its accepted forms, one change at a time."""
    accept: dict[str, list[Any]] = call.get("accept") or {}
    pinned: dict[str, Any] = call.get("input") or {}
    given = {arg: values[0] for arg, values in accept.items()} | pinned
    yield given
    for arg, values in accept.items():
        for value in values:
            yield {**given, arg: value}
    for arg in call.get("omit") or ():
        yield {key: value for key, value in given.items() if key != arg}


def _composed(case: Case, registry: Registry, oracle: Oracle, calls: list[AnsweredCall]) -> Iterator[Told]:
    expect, compose = case.expect, case.compose or ""
    if not compose and "recover" in expect and len(calls) <= 2:
        compose = "recover"
    fold, named = fold_of(compose, len(calls))
    if fold is None:
        if "result" in expect or "recover" in expect:
            text = f"there are {len(calls)} calls, and compose is {shown(case.compose)}"
            yield "not-rechecked", f"{text}: what they amount to was not looked at", "warning"
        return
    recover = expect.get("recover")
    plan = Plan(calls=calls, named=named, recover=recover, registry=registry, oracle=oracle)
    try:
        result = fold(plan)
    except DiffersError as found:
        code, text = found.args
        yield code, text
        return
    if recover is not None and fold is not recovery:
        yield "recheck-recovery", f"compose is {shown(case.compose)}, which does not go with expect.recover"
    if "result" in expect:
        yield from _result({as_text(label) for label in expect["result"]}, result, compose)


def _result(written: Set[str], found: Set[str], compose: str) -> Iterator[Told]:
    parts = [("lacks", sorted(found - written)), ("must not hold", sorted(written - found))]
    wrong = " and ".join(f"{verb} {shown(labels)}" for verb, labels in parts if labels)
    if wrong:
        by = f"compose {shown(compose)}" if compose else "the answer to its call"
        yield "recheck-result", f"by {by}, expect.result {wrong}"


def _candidates(case: Case, oracle: Oracle) -> Iterator[Told]:
    """Look for a tied name in the request whose readings, as far as the tool takes them, are named."""
    candidates: list[dict[str, Any]] = case.expect["candidateResults"]
    tools = sorted({call["name"] for call in candidates})
    if len(tools) > 1:
        yield "recheck-candidates", f"the candidates are calls of several tools: {shown(tools)}"
        return
    takes = oracle.takes(tools[0])
    if not takes:
        yield "not-rechecked", f"it is not known what {tools[0]} takes", "warning"
        return
    written = sorted(named_by(call.get("input") or {}) for call in candidates)
    tied: dict[str, list[str]] = {}
    for word in (found.strip(".") for found in _NAME.findall(case.request)):
        readings = oracle.readings(word)
        if len(readings) > 1:
            tied[word] = sorted(label for label, kind in readings.items() if kind in takes)
    if len(written) > 1 and written in tied.values():
        return
    told = "; ".join(f"{word!r} may mean {shown(labels)}" for word, labels in tied.items())
    why = f"of what {tools[0]} takes, {told}" if tied else "no name in the request is tied"
    yield "recheck-candidates", f"the candidates are {shown(written)}, but {why}"


def _trace(case: Case, rules: Rules, registry: Registry) -> Iterator[Told]:
    """Fit the tools of a trace, in order, into the plans of the goals that the declared tools achieve."""
    strange = [goal for goal in rules.goals if goal not in GOALS and not goal.startswith("cap:")]
    if strange:
        yield "not-rechecked", f"the plan of the goal {strange[0]!r} is not known", "warning"
        return
    achievers = {topic: tool for tool in case.tools for topic in registry[tool].topics}
    plans = {f"cap:{topic}": [tool] for topic, tool in achievers.items()}
    for goal, topics in GOALS.items():
        if all(topic in achievers for topic in topics):
            plans[goal] = [achievers[topic] for topic in topics]
    observed = [call["name"] for call in case.trace or ()]
    fitting = sorted(goal for goal, plan in plans.items() if _is_ordered_part(observed, plan))
    wanted: dict[str, Any] = {"ambiguousGoals": fitting} if fitting else {"reject": True}
    if len(fitting) == 1:
        wanted = {"inferredGoal": fitting[0]}
    written = {key: case.expect[key] for key in _RECOGNISED if key in case.expect}
    if "ambiguousGoals" in written:
        written["ambiguousGoals"] = sorted(map(as_text, written["ambiguousGoals"]))
    if written != wanted:
        yield "recheck-trace", f"the trace makes it {shown(wanted)}; expected is {shown(written)}"


def _is_ordered_part(names: list[str], plan: list[str]) -> bool:
    rest = iter(plan)
    return all(name in rest for name in names)
