"""A report against the previous one: what the measure lost, gained or redefined, and what a driver did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from analysis.benchmark import (
    Benchmark,
    CaseEntry,
    CaseOutcome,
    Changes,
    DriverChange,
    DriverResult,
    Flip,
    Meaning,
    SuiteEntry,
    Tally,
)
from study.convert import convert
from study.digest import read_json_file
from study.errors import InputError
from study.records import RUNGS


def read_benchmark(path: Path) -> Benchmark:
    """Read a ``benchmark.json``.

    Raises
    ------
    InputError
        When it cannot be read, is no benchmark of this schema, or contradicts itself.
    """
    benchmark = convert(read_json_file(path, "benchmark"), Benchmark, str(path), InputError)
    ids = {case.id for case in benchmark.cases}
    for result in benchmark.drivers:
        if set(result.outcomes) != ids:
            raise InputError(
                f"the driver {result.name!r} has outcomes of other cases than those listed",
                where=f"{path}:drivers",
                allowed="a benchmark.json as `study ladder --report` wrote it",
            )
    return benchmark


def compare(previous: Benchmark, current: Benchmark, *, digest: str) -> Changes:
    """Return what changed from one report to the next.

    Parameters
    ----------
    previous, current : Benchmark
    digest : str
        SHA-256 of the previous report's file.

    Notes
    -----
    A case is unchanged when its rung, request, tools, trace and expectation are. Everything else that can
    move a number while every driver stays as it is has a name in ``meanings``.
    """
    old = {case.id: case for case in previous.cases}
    new = {case.id: case for case in current.cases}
    both = [case for case in old if case in new]
    requests = tuple(c for c in both if old[c].request_digest != new[c].request_digest)
    expectations = tuple(c for c in both if old[c].expect_digest != new[c].expect_digest)
    changed = {*requests, *expectations}
    unchanged = [case for case in both if case not in changed]
    names = {result.name for result in previous.drivers}
    shared = [result for result in current.drivers if result.name in names]
    new_rungs, gone_rungs = _only(new.values(), old.values()), _only(old.values(), new.values())
    changes = Changes(
        previous_version=previous.version,
        previous_digest=digest,
        meanings=(),
        new_rungs=new_rungs,
        gone_rungs=gone_rungs,
        new_cases=tuple(case for case in new if case not in old),
        gone_cases=tuple(case for case in old if case not in new),
        changed_requests=requests,
        changed_expectations=expectations,
        new_drivers=tuple(result.name for result in current.drivers if result.name not in names),
        gone_drivers=tuple(
            result.name
            for result in previous.drivers
            if result.name not in {now.name for now in current.drivers}
        ),
        drivers=tuple(_driver(previous.driver(now.name), now, unchanged) for now in shared),
    )
    overrides = [case for case in expectations if old[case].floor_expect != new[case].floor_expect]
    meanings = (*_world(previous, current), *_cases(changes, overrides))
    return msgspec.structs.replace(changes, meanings=meanings)


def _only(here: Iterable[CaseEntry], there: Iterable[CaseEntry]) -> tuple[str, ...]:
    found, known = {case.rung for case in here}, {case.rung for case in there}
    return tuple(rung for rung in RUNGS if rung in found - known)


def _world(previous: Benchmark, current: Benchmark) -> Iterator[Meaning]:
    """Yield what may move the outcome of a case that did not change."""
    for code, what, then, now in (
        ("split", "split", previous.split, current.split),
        ("grader", "grader", previous.grader, current.grader),
        ("stamp", "label, raised when rows change their meaning", previous.stamp, current.stamp),
    ):
        if then != now:
            yield Meaning(code=code, text=f"{what}: {then} before, {now} now", world=True)
    for suite in previous.suites:
        if suite in current.suites:
            yield from _suite(suite, previous.suites[suite], current.suites[suite])


def _suite(name: str, then: SuiteEntry, now: SuiteEntry) -> Iterator[Meaning]:
    for part in ("registry", "graph", "rules"):
        if getattr(then, part) != getattr(now, part):
            text = f"suite {name}: its {part} changed, so the same case may have another answer"
            yield Meaning(code=part, text=text, world=True)


def _cases(changes: Changes, overrides: Sequence[str]) -> Iterator[Meaning]:
    if changes.new_rungs:
        yield Meaning(code="new-rung", text=f"new rungs: {', '.join(changes.new_rungs)}")
    if changes.gone_rungs:
        yield Meaning(code="gone-rung", text=f"rungs no longer measured: {', '.join(changes.gone_rungs)}")
    if changes.new_cases:
        yield Meaning(code="new-case", text=f"new cases: {len(changes.new_cases)}")
    if changes.gone_cases:
        yield Meaning(code="gone-case", text=f"cases no longer measured: {len(changes.gone_cases)}")
    if changes.changed_requests:
        text = f"cases with another request, rung, tools or trace: {len(changes.changed_requests)}"
        yield Meaning(code="changed-request", text=text)
    if changes.changed_expectations:
        text = f"cases with another expectation: {len(changes.changed_expectations)}"
        yield Meaning(code="changed-expectation", text=text)
    if overrides:
        text = f"cases that gained or lost an override of their expectation: {len(overrides)}"
        yield Meaning(code="override", text=text)


def _driver(then: DriverResult, now: DriverResult, unchanged: Sequence[str]) -> DriverChange:
    other = [outcome for case, outcome in now.outcomes.items() if case not in set(unchanged)]
    pairs = [(case, then.outcomes[case].label, now.outcomes[case].label) for case in unchanged]
    return DriverChange(
        name=now.name,
        version_before=then.version,
        version_after=now.version,
        code_before=then.code_digest,
        code_after=now.code_digest,
        before=_tally(then.outcomes.values()),
        after=_tally(now.outcomes.values()),
        unchanged_before=_tally(_of(then.outcomes, unchanged)),
        unchanged_after=_tally(_of(now.outcomes, unchanged)),
        other_after=_tally(other),
        flips=tuple(Flip(case_id=case, before=a, after=b) for case, a, b in pairs if a != b),
    )


def _of(outcomes: Mapping[str, CaseOutcome], cases: Iterable[str]) -> list[CaseOutcome]:
    return [outcomes[case] for case in cases]


def _tally(outcomes: Iterable[CaseOutcome]) -> Tally:
    known = list(outcomes)
    return Tally(
        total=len(known),
        passed=sum(outcome.passed for outcome in known),
        completed=sum(outcome.completed for outcome in known),
        result_completed=sum(outcome.result_completed for outcome in known),
    )
