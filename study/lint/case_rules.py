"""The rules for one case: its form, its expectation, and that its own grader accepts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from study.binding import Binder, as_text, shown
from study.cases import Case, Rules, unknown_expect_keys
from study.digest import is_list, is_object
from study.errors import StudyError, SuiteError, did_you_mean
from study.grading.exemplar import accepted_answers
from study.grading.verdict import compile_case, declared_goals
from study.lint.findings import Finding, Level
from study.records import RUNGS, Record
from study.registry import Registry

Told = tuple[str, str] | tuple[str, str, Level]
"""Code and text of a finding, and its level where that is no error."""


class _Scene(Record):
    """A case with everything that its rules look at."""

    case: Case
    rules: Rules
    registry: Registry
    labels: frozenset[str] | None
    binder: Binder

    @property
    def expect(self) -> dict[str, Any]:
        return self.case.expect

    @property
    def refuse(self) -> bool:
        return self.case.expect.get("refuse") is True

    @property
    def recognition(self) -> bool:
        named = ("inferredGoal", "reject", "ambiguousGoals")
        return self.case.trace is not None or any(key in self.case.expect for key in named)


def lint_cases(
    cases: Iterable[Case],
    rules: Rules,
    registry: Registry,
    *,
    where: str,
    labels: frozenset[str] | None = None,
    self_check: bool = True,
) -> list[Finding]:
    """Lint the cases of a file.

    Parameters
    ----------
    cases : iterable of Case
    rules : Rules
    registry : Registry
    where : str
        The file, to name in findings.
    labels : frozenset of str, optional
        Labels of the graph: every label of an expected result must be one of them.
    self_check : bool
        Whether each well-formed case is also put before its own grader.
    """
    found: list[Finding] = []
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            text = f"the id {case.id!r} is used twice"
            found.append(Finding(where=f"{where}:{case.id}", code="duplicate-id", text=text))
        seen.add(case.id)
        found += lint_case(case, rules, registry, where=where, labels=labels, self_check=self_check)
    return found


def lint_case(
    case: Case,
    rules: Rules,
    registry: Registry,
    *,
    where: str,
    labels: frozenset[str] | None = None,
    self_check: bool = True,
) -> list[Finding]:
    """Lint one case (see :func:`lint_cases`); the self-check comes last, and only for a well-formed case."""
    place = f"{where}:{case.id}"
    try:
        binder = Binder(registry, case.tools)
    except SuiteError as error:
        return [Finding(where=place, code="schema", text=f"{error.where}: {error.problem}")]
    scene = _Scene(case=case, rules=rules, registry=registry, labels=labels, binder=binder)
    found = [_finding(place, told) for rule in _RULES for told in rule(scene)]
    if self_check and not any(finding.level == "error" for finding in found):
        found += (_finding(place, told) for told in _self_check(scene))
    return found


def _finding(where: str, told: Told) -> Finding:
    level: Level = told[2] if len(told) == 3 else "error"
    return Finding(where=where, code=told[0], text=told[1], level=level)


def _head(scene: _Scene) -> Iterator[Told]:
    case = scene.case
    if not case.id.strip():
        yield "id", "the id is blank"
    if case.rung not in RUNGS:
        yield "rung", f"rung {case.rung!r} is none of {RUNGS[0]} to {RUNGS[-1]}"
    if not case.request.strip():
        yield "request", "the request is blank"
    if not case.tools:
        yield "tools", "no tool is declared"
    for n, tool in enumerate(case.tools):
        if tool not in scene.registry:
            yield "tools", f"the tool {tool!r} is not registered{did_you_mean(tool, scene.registry)}"
        if tool in case.tools[:n]:
            yield "tools", f"the tool {tool!r} is declared twice"


def _flags(scene: _Scene) -> Iterator[Told]:
    expect = scene.expect
    for place, key, known in unknown_expect_keys(expect):
        yield "expect-key", f"unknown key {key!r} in {place}{did_you_mean(key, known)}"
    if not isinstance(expect.get("terminates"), bool):
        yield "terminates", "expect.terminates must be true or false"
    for key in ("refuse", "proof", "unordered"):
        if key in expect and not isinstance(expect[key], bool):
            yield "flag", f"expect.{key} must be true or false"


def _calls(scene: _Scene) -> Iterator[Told]:
    calls = scene.expect.get("calls")
    if scene.refuse or scene.recognition:
        if "calls" in scene.expect:
            kind = "a refuse case" if scene.refuse else "a recognition case"
            yield "calls-excluded", f"{kind} cannot have expect.calls"
        return
    if not is_list(calls) or not calls:
        yield "calls-missing", "expect.calls must be a list of at least one call"
        return
    yield from _call_problems(scene, "expect.calls", calls, "call-invalid")


def _call_problems(scene: _Scene, part: str, calls: list[Any], code: str) -> Iterator[Told]:
    """Check that each call is declared and binds, with the first accepted value of unpinned arguments."""
    for n, call in enumerate(calls):
        place = f"{part}[{n}]"
        if not is_object(call) or not isinstance(call.get("name"), str):
            yield code, f"{place} is {shown(call)}, which is no call"
            continue
        given: Any = call.get("input")
        accept = call.get("accept")
        if is_object(accept) and (given is None or is_object(given)):
            first = {arg: values[0] for arg, values in accept.items() if is_list(values) and values}
            given = {**first, **(given or {})}
        if given is not None and not is_object(given):
            yield code, f"{place}.input is {shown(given)}, which is no object"
            continue
        for problem in scene.binder.problems(call["name"], given):
            yield code, f"{place}: {problem['code']}: {problem['text']}"


def _recover(scene: _Scene) -> Iterator[Told]:
    recover = scene.expect.get("recover")
    if "recover" not in scene.expect:
        return
    if scene.refuse:
        yield "recover", "a refuse case cannot have expect.recover"
    if not scene.expect.get("calls"):
        yield "recover", "expect.recover needs expect.calls"
    if not is_object(recover) or set(recover) != {"after", "fallback"}:
        yield "recover", 'expect.recover must be {"after": TOOL, "fallback": TOOL}'
        return
    for key, tool in recover.items():
        if tool not in scene.case.tools:
            yield "recover", f"expect.recover.{key} is {shown(tool)}, which is not declared"


def _candidates(scene: _Scene) -> Iterator[Told]:
    if "candidateResults" not in scene.expect:
        return
    candidates = scene.expect["candidateResults"]
    if not scene.refuse:
        yield "candidates", "expect.candidateResults is for refuse cases only"
    if not is_list(candidates) or not candidates:
        yield "candidates", "expect.candidateResults must be a list of at least one call"
        return
    yield from _call_problems(scene, "expect.candidateResults", candidates, "candidates")


def _result(scene: _Scene) -> Iterator[Told]:
    if "result" not in scene.expect:
        return
    result = scene.expect["result"]
    if scene.refuse:
        yield "result", "a refuse case cannot have expect.result"
    if not is_list(result):
        yield "result", "expect.result must be a list of labels"
        return
    for label in result:
        if not isinstance(label, str) or not label.strip():
            yield "result", f"expect.result holds {shown(label)}, which is no label"
        elif scene.labels is not None and as_text(label) not in scene.labels:
            guess = did_you_mean(label, scene.labels)
            yield "stale-literal", f"expect.result names {shown(label)}, which is not in the graph{guess}"


def _floor(scene: _Scene) -> Iterator[Told]:
    floor = scene.case.floor_expect
    if floor is not None and (list(floor) != ["refuse"] or floor["refuse"] is not True):
        yield "floor-expect", f'floorExpect is {shown(floor)}; allowed: exactly {{"refuse": true}}'


def _trace(scene: _Scene) -> Iterator[Told]:
    trace = scene.case.trace
    if trace is not None:
        if not trace:
            yield "trace", "the trace is empty"
        yield from _call_problems(scene, "trace", list(trace), "trace")
    if "inferredGoal" in scene.expect:
        if trace is None:
            yield "goal", "expect.inferredGoal needs a trace"
        if scene.refuse:
            yield "goal", "expect.inferredGoal excludes expect.refuse"
        if not as_text(scene.expect["inferredGoal"]):
            yield "goal", "expect.inferredGoal is blank"
    elif scene.recognition and not scene.refuse:
        yield "goal", "a recognition case needs expect.inferredGoal or expect.refuse"


def _refused_goals(scene: _Scene) -> Iterator[Told]:
    expect = scene.expect
    if "reject" in expect:
        if expect["reject"] is not True:
            yield "reject", "expect.reject, if present, must be true"
        if not scene.refuse:
            yield "reject", "expect.reject is for refuse cases only"
    if "ambiguousGoals" in expect:
        tied = expect["ambiguousGoals"]
        if not scene.refuse:
            yield "ambiguous-goals", "expect.ambiguousGoals is for refuse cases only"
        if not is_list(tied) or len({as_text(goal) for goal in tied}) < 2:
            yield "ambiguous-goals", "expect.ambiguousGoals must list at least two goals"
        if "reject" in expect:
            yield "ambiguous-goals", "expect.ambiguousGoals excludes expect.reject"


def _goals_declared(scene: _Scene) -> Iterator[Told]:
    """Look for goal ids that the suite does not declare; a suite without a list of goals gets a warning."""
    tied = scene.expect.get("ambiguousGoals")
    named = [scene.expect.get("inferredGoal"), *(tied if is_list(tied) else [])]
    declared = declared_goals(
        Case(id="", rung="", request="", tools=scene.case.tools, expect={}), scene.rules, scene.registry
    )
    for goal in named:
        if isinstance(goal, str) and goal not in declared:
            if scene.rules.goals:
                yield "goal", f"the goal {goal!r} is not declared{did_you_mean(goal, declared)}"
            else:
                text = f"the goal {goal!r} is named, but the suite lists no goals"
                yield "goals-missing", text, "warning"


def _self_check(scene: _Scene) -> Iterator[Told]:
    """Grade every answer that the case says it accepts: each must pass."""
    try:
        grader = compile_case(scene.case, scene.rules, scene.registry)
        answers = accepted_answers(scene.case, scene.rules, scene.registry)
    except StudyError as error:
        yield "expect", f"{error.where}: {error.problem}" if error.where else error.problem
        return
    for what, trial in answers:
        grade = grader(trial)
        if not (grade.passed and grade.completed and grade.result_completed):
            reasons = (*grade.reasons, *grade.result_reasons)
            why = "; ".join(f"{r['code']}: {r['text']}" for r in reasons)
            yield "self-check", f"{what} is not accepted by the case's own grader: {why}"


_RULES: tuple[Callable[[_Scene], Iterator[Told]], ...] = (
    _head,
    _flags,
    _calls,
    _recover,
    _candidates,
    _result,
    _floor,
    _trace,
    _refused_goals,
    _goals_declared,
)
