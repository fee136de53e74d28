"""Ladder rows: their form, and that each verdict follows from the row alone."""

from __future__ import annotations

import json

import pytest

from study.cases import Rules
from study.digest import read_json
from study.errors import InputError
from study.grading import compile_case
from study.grading.rows import build_row, produced_of, read_rows, regrade_rows, rows_bytes
from study.records import Produced

ATLAS = ("lib_borrowers", {"item": "Atlas-3"})


def row_of(world, case, produced, rules=None):
    grade = compile_case(case, rules or Rules(), world.registry)(produced)
    return build_row(case, produced, grade, stamp="s-1", version="0.1.0")


def back(row):
    """Write a row and read it again."""
    return read_json(rows_bytes([row]), "row")


@pytest.fixture(scope="module")
def trials(world):
    """Return cases with trials of every kind."""
    calls = {"calls": [world.call(*ATLAS)]}
    recover = {**calls, "recover": {"after": "lib_borrowers", "fallback": "lib_holds"}}
    candidates = [world.call(*ATLAS), world.call("lib_holds", {"item": "Atlas-3"})]
    trace = (world.call("lib_overdue"),)
    pinned = {**calls, "result": ["Ann"]}
    tied = {"refuse": True, "candidateResults": candidates}
    refused = world.dispatch(
        "lib_withdraw", {"item": "x"}, executed=False, ok=False, effects=True, error="no"
    )
    found = [
        (
            world.case({**calls, "result": ["Ann"]}),
            world.produced(ATLAS, composed=["Ann"], why="w", observed="o"),
        ),
        (world.case(pinned), world.produced(ATLAS)),
        (world.case(recover), world.produced(ATLAS, recovered=True)),
        (world.case(recover), world.produced(ATLAS)),
        (
            world.case(tied),
            world.refusal(candidateResults=candidates),
        ),
        (world.case({"refuse": True}), world.refusal()),
        (world.case({"inferredGoal": "g"}, trace=trace), world.produced(inferredGoal="g")),
        (world.case({"inferredGoal": "g"}, trace=trace), world.produced(inferredGoal=["g"])),
        (world.case({"refuse": True, "reject": True}, trace=trace), world.refusal(reject=True)),
        (
            world.case({"refuse": True, "ambiguousGoals": ["a", "b"]}, trace=trace),
            world.refusal(ambiguousGoals=["b", "a"]),
        ),
        (world.case(calls, floor_expect={"refuse": True}), world.refusal(driver="resolver-1")),
        (world.case(calls), world.produced(ATLAS, dispatches=())),
        (world.case(calls), world.produced(ATLAS, dispatches=[world.dispatch(*ATLAS), refused])),
        (world.case(calls), world.produced(ATLAS, dispatches=[world.dispatch(*ATLAS)] * 3)),
        (world.case(calls), world.produced(("lib_burn", {"x": 1}), calls="?", driver=7)),
        (world.case(calls), world.produced(ATLAS, calls=None, refused="yes", proof={"a": 1})),
    ]
    found += [
        (world.case(expect), Produced(outcome=outcome, report=report, dispatches=(refused,)))
        for outcome in ("timeout", "driver_error", "unparseable", "empty", "transport_error")
        for expect in (calls, {"refuse": True})
        for report in ({}, {"calls": [], "refused": True, "terminated": True, "proof": [], "driver": "d"})
    ]
    return found


def test_keys_and_their_order(world):
    case = world.case({"calls": [world.call(*ATLAS)]})
    row = row_of(world, case, world.produced(ATLAS))
    keys = "caseId rung request tools driver stamp version expect produced verdict"
    assert list(row) == keys.split()
    assert list(row["produced"]) == ["calls", "refused", "terminated", "proof", "dispatches"]
    assert list(row["verdict"]) == [
        "pass",
        "hallucinated",
        "completed",
        "resultCompleted",
        "reasons",
        "resultReasons",
    ]
    assert (row["driver"], row["stamp"], row["version"], row["caseId"]) == ("d-1", "s-1", "0.1.0", "c-1")


def test_bracketed_keys_appear_only_when_set(world):
    case = world.case({"calls": [world.call(*ATLAS)]}, floor_expect={"refuse": True})
    produced = world.produced(
        ATLAS,
        dispatches=[],
        driver="resolver-1",
        candidateResults=[],
        recovered=False,
        ambiguousGoals=[],
        reject=False,
        inferredGoal="g",
        observed="x" * 300,
        why="w",
        composed=[],
    )
    row = row_of(world, case, produced)
    assert list(row)[8:] == ["floorExpectApplied", "produced", "verdict"]
    assert list(row["produced"])[4:] == [
        "composed",
        "why",
        "observed",
        "inferredGoal",
        "reject",
        "ambiguousGoals",
        "recovered",
        "candidateResults",
    ]
    assert len(row["produced"]["observed"]) == 240
    assert list(row["verdict"])[6:] == ["hardFails", "failure"]


def test_a_timeout_is_recorded_as_no_calls_and_an_end_that_never_came(world):
    produced = Produced(outcome="timeout", report={})
    row = row_of(world, world.case({"refuse": True}), produced)
    assert row["driver"] == "timeout"
    told = {"calls": [], "refused": False, "terminated": False, "proof": [], "outcome": "timeout"}
    assert row["produced"] == told


def test_every_verdict_follows_from_its_row_alone(world, trials):
    for case, produced in trials:
        row = back(row_of(world, case, produced))
        assert regrade_rows([row], [case], world.registry, Rules()) == []
        assert back(row_of(world, case, produced_of(row))) == row


def test_nothing_private_or_accidental_is_in_a_row(world, trials):
    for case, produced in trials:
        assert b'"error"' not in rows_bytes([row_of(world, case, produced)])


def test_the_bytes_are_compact_utf8_with_a_final_newline(world):
    case = world.case({"refuse": True}, request="café")
    data = rows_bytes([row_of(world, case, world.refusal())] * 2)
    assert data.count(b"\n") == 2
    assert data.endswith(b"}\n")
    assert "café".encode() in data
    assert b'": ' not in data


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda r: r["verdict"].update({"pass": False}), "verdict.pass"),
        (lambda r: r["verdict"].update({"probes": 3}), "verdict.probes"),
        (lambda r: r["verdict"].pop("completed"), "verdict.completed"),
        (lambda r: r["produced"].update({"refused": True}), "verdict.pass"),
        (lambda r: r.update({"request": "another"}), "request"),
        (lambda r: r.update({"tools": []}), "tools"),
        (lambda r: r["expect"].update({"proof": True}), "expect"),
        (lambda r: r.update({"floorExpectApplied": True}), "floorExpectApplied"),
        (lambda r: r.update({"caseId": "c-2"}), "caseId"),
    ],
)
def test_a_change_is_found(world, change, field):
    case = world.case({"calls": [world.call(*ATLAS)]})
    row = back(row_of(world, case, world.produced(ATLAS)))
    change(row)
    found = regrade_rows([row], [case], world.registry, Rules())
    assert field in [difference.field for difference in found]
    assert all("row 1 (c-" in str(difference) for difference in found)


def test_reading_rows(world, trials, tmp_path):
    rows = [row_of(world, case, produced) for case, produced in trials]
    path = tmp_path / "product.jsonl"
    path.write_bytes(rows_bytes(rows))
    assert read_rows(path) == json.loads(json.dumps(rows))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "must be an object"),
        ('{"caseId":"c","produced":{},"verdict":{},"stmp":1}', "did you mean 'stamp'"),
        ('{"caseId":1,"produced":{},"verdict":{}}', "caseId is 1"),
        ('{"caseId":"c","verdict":{}}', "produced is null"),
        ('{"caseId":"c","produced":{},"verdict":[]}', "verdict is []"),
        ('{"caseId":"c","produced":{"outcome":"lost"},"verdict":{}}', 'outcome "lost"'),
        ('{"caseId":"c","produced":{"dispatches":[{}]},"verdict":{}}', "malformed dispatches"),
        ('{"caseId":"c","caseId":"d"}', "duplicate key"),
        ('{"caseId":"c"', "not valid JSON"),
    ],
)
def test_what_is_no_row(tmp_path, line, problem):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rows(path)
    assert problem in str(caught.value)
    assert f"{path}:2" in str(caught.value)
