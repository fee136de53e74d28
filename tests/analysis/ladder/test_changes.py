"""One report against another: meaning apart from capability."""

from __future__ import annotations

import json

import msgspec
import pytest

from analysis.benchmark import Benchmark, SuiteEntry
from analysis.ladder import compare, read_benchmark
from study.errors import InputError
from tests.support.benchmarks import MISS, PASS, RESULT, WRONG, benchmark, driver, entries


def codes(changes):
    return [meaning.code for meaning in changes.meanings]


def test_the_same_twice_is_no_change():
    cases = entries("TOOL-0", 3)
    one = benchmark(cases)
    found = compare(one, one, digest="d")
    assert (codes(found), found.drivers[0].flips) == ([], ())
    assert found.drivers[0].unchanged_after.total == 3
    assert (found.previous_version, found.previous_digest) == ("0.1.0", "d")


def test_flips_on_unchanged_cases_are_gained_lost_or_neither():
    cases = entries("TOOL-0", 5)
    a, b, c, d, _ = (case.id for case in cases)
    then = benchmark(cases, driver(cases, {a: MISS, c: MISS}))
    now = benchmark(cases, driver(cases, {b: WRONG, c: WRONG, d: RESULT}))
    (change,) = compare(then, now, digest="").drivers
    assert [(f.case_id, f.before, f.after) for f in change.flips] == [
        (a, "honest miss", "pass"),
        (b, "pass", "wrong answer"),
        (c, "honest miss", "wrong answer"),
        (d, "pass", "pass, result wrong"),
    ]
    assert (change.gained, change.lost) == (1, 1)
    assert (change.unchanged_before.passed, change.unchanged_after.passed) == (3, 3)


def test_new_rungs_and_cases_are_not_read_as_capability():
    old, new = entries("TOOL-0", 4), entries("TOOL-7", 2)
    then = benchmark(old)
    cases = [*old, *new]
    now = benchmark(cases, driver(cases, {case.id: MISS for case in new}))
    found = compare(then, now, digest="")
    assert codes(found) == ["new-rung", "new-case"]
    assert found.new_rungs == ("TOOL-7",)
    (change,) = found.drivers
    assert (change.before.passed, change.before.total) == (4, 4)
    assert (change.after.passed, change.after.total) == (4, 6)
    assert (change.unchanged_after.passed, change.unchanged_after.total) == (4, 4)
    assert (change.other_after.passed, change.other_after.total) == (0, 2)
    back = compare(now, then, digest="")
    assert codes(back) == ["gone-rung", "gone-case"]
    assert back.gone_cases == tuple(case.id for case in new)


def test_changed_expectations_requests_and_overrides_leave_the_comparison():
    cases = entries("TOOL-0", 4)
    changed = [
        msgspec.structs.replace(cases[0], expect_digest="other"),
        msgspec.structs.replace(cases[1], request_digest="other"),
        msgspec.structs.replace(cases[2], expect_digest="other", floor_expect=True),
        cases[3],
    ]
    then = benchmark(cases, driver(cases, {case.id: MISS for case in cases[:3]}))
    found = compare(then, benchmark(changed, driver(changed)), digest="")
    assert codes(found) == ["changed-request", "changed-expectation", "override"]
    assert found.changed_expectations == (cases[0].id, cases[2].id)
    assert found.changed_requests == (cases[1].id,)
    (change,) = found.drivers
    assert change.flips == ()
    assert (change.unchanged_after.total, change.other_after.total) == (1, 3)


@pytest.mark.parametrize(
    "changes, code",
    [
        ({"grader": "1.1.0"}, "grader"),
        ({"split": "development"}, "split"),
        ({"stamp": "0.2.0"}, "stamp"),
        ({"suites": {"s": SuiteEntry(registry="x", graph="g" * 64, rules="u" * 64)}}, "registry"),
        ({"suites": {"s": SuiteEntry(registry="r" * 64, graph=None, rules="u" * 64)}}, "graph"),
        ({"suites": {"s": SuiteEntry(registry="r" * 64, graph="g" * 64, rules="x")}}, "rules"),
    ],
)
def test_a_change_of_the_world_is_named(changes, code):
    cases = entries("TOOL-0", 2)
    found = compare(benchmark(cases), benchmark(cases, **changes), digest="")
    assert codes(found) == [code]
    assert found.meanings[0].world


def test_drivers_come_and_go():
    cases = entries("TOOL-0", 2)
    then = benchmark(cases, driver(cases, name="goal"), driver(cases, name="stub"))
    now = benchmark(cases, driver(cases, name="goal"), driver(cases, name="shim"))
    found = compare(then, now, digest="")
    assert (found.new_drivers, found.gone_drivers) == (("shim",), ("stub",))
    assert [change.name for change in found.drivers] == ["goal"]


def test_a_benchmark_is_read_as_it_was_written(tmp_path):
    cases = entries("TOOL-0", 6, 2)
    one = benchmark(cases, driver(cases, {cases[0].id: MISS, cases[1].id: PASS}))
    full = msgspec.structs.replace(one, changes=compare(one, one, digest="d"))
    path = tmp_path / "benchmark.json"
    path.write_bytes(msgspec.json.encode(full))
    assert read_benchmark(path) == full
    assert isinstance(full, Benchmark)


@pytest.mark.parametrize(
    "edit, words",
    [
        (lambda data: data.update(schema=2), "schema"),
        (lambda data: data.update(more=1), "more"),
        (lambda data: data["drivers"][0]["outcomes"].clear(), "outcomes of other cases"),
    ],
)
def test_a_benchmark_that_contradicts_itself_is_refused(tmp_path, edit, words):
    data = json.loads(msgspec.json.encode(benchmark(entries("TOOL-0", 2))))
    edit(data)
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        read_benchmark(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
