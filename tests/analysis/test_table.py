"""The frame of a run: planned trials are the denominator, and nothing is dropped in silence."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.graded import ROW_SCHEMA
from analysis.table import JOINED_SCHEMA, build_table, grouped, score
from study.errors import IntegrityError
from tests.support.tables import make_table, plan, product_row, written_protocol


def build(arrange):
    return make_table(tasks=6, repetitions=2, arrange=arrange)


def test_one_row_per_planned_trial_in_schedule_order():
    table = build(lambda rows: rows[::-1])
    assert table.frame["trial"].to_list() == list(range(24))
    assert table.frame.schema == pl.Schema(ROW_SCHEMA | JOINED_SCHEMA)
    assert table.frame.group_by("arm").len()["len"].to_list() == [12, 12]
    assert len(table.lock_digest) == 64


def test_a_planned_trial_without_a_row():
    with pytest.raises(IntegrityError, match="1 planned trials have no row, the first is 5"):
        build(lambda rows: rows[:5] + rows[6:])


def test_a_second_row():
    with pytest.raises(IntegrityError, match=r"trial 3\).*second row"):
        build(lambda rows: [*rows, rows[3]])


@pytest.mark.parametrize("trial", [24, -1, "3", None, [3], True])
def test_a_row_that_was_not_planned(trial):
    with pytest.raises(IntegrityError, match=r"product:25"):
        build(lambda rows: [*rows, rows[3] | {"trial": trial}])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("arm", "control"),
        ("task_id", "t005x"),
        ("case_id", "other"),
        ("pair", "p"),
        ("position", 2),
        ("repetition", 9),
        ("outcome", "fine"),
        ("hard_fails", ["oops"]),
        ("passed", "yes"),
        ("reasons", ["prose"]),
        ("hallucinated", [{"at": "calls[0]"}]),
        ("probes", 1.5),
    ],
)
def test_a_row_that_contradicts_the_plan(name, value):
    with pytest.raises(IntegrityError, match=r"product:5( \(trial 4\)|:[a-z_]+)"):
        build(lambda rows: [row | {name: value} if row["trial"] == 4 else row for row in rows])


@pytest.mark.parametrize("change", [{"comment": "x"}, {"passed": ...}])
def test_a_row_with_other_keys(change):
    def changed(rows):
        row = {key: value for key, value in (rows[0] | change).items() if value is not ...}
        return [row, *rows[1:]]

    with pytest.raises(IntegrityError, match=next(iter(change))):
        build(changed)


@pytest.mark.parametrize("row", [3, None, [], "row"])
def test_a_row_that_is_none(row):
    with pytest.raises(IntegrityError, match="product:1"):
        build(lambda rows: [row, *rows[1:]])


def test_void_pairs_follow_the_declared_treatment():
    def script(planned):
        return {"outcome": "infrastructure", "completed": False} if planned.trial == 6 else None

    table = make_table(script, tasks=6)
    (pair,) = table.frame.filter("void_pair")["pair"].unique()
    assert table.frame.filter(pl.col("pair") == pair)["void_pair"].to_list() == [True, True]
    kept = make_table(script, tasks=6, missing={"infrastructure": "failure"})
    assert not kept.frame["void_pair"].any()


@pytest.mark.parametrize("outcome", ["timeout", "driver_error", "transport_error", "unparseable", "empty"])
def test_a_declared_failure_never_scores(outcome):
    table = make_table(lambda planned: {"outcome": outcome} if planned.trial == 0 else None, tasks=6)
    counted = table.frame.select(
        **{
            name: score(table.protocol, name)
            for name in ("completion", "pass", "result_completion", "timeouts")
        }
    )
    assert counted.row(0) == (False, False, False, outcome == "timeout")
    assert counted.row(1) == (True, True, True, False)


def test_latency_usage_and_codes_are_joined():
    ledger = {
        "calls": 2,
        "input": {"known_subtotal": 10, "missing_calls": 0},
        "output": {"known_subtotal": 3, "missing_calls": 1},
    }
    table = make_table(
        lambda planned: (
            {
                "hallucinated": [{"code": "undeclared", "at": "calls[0]", "name": "x"}],
                "reasons": [{"code": "CALLS_MISMATCH", "text": "why"}],
            }
            if planned.trial == 1
            else None
        ),
        tasks=5,
        latency=lambda planned: None if planned.trial == 0 else 0.5,
        usage=lambda planned: ledger if planned.trial == 1 else None,
        split_pairs=["t000-c1#1"],
    )
    first, second = table.frame.head(2).to_dicts()
    assert (first["latency_s"], first["model_calls"], first["input_known_subtotal"]) == (None, None, None)
    assert (second["latency_s"], second["model_calls"], second["output_missing_calls"]) == (0.5, 2, 1)
    assert (second["hallucinated"], second["reasons"]) == (["undeclared"], ["CALLS_MISMATCH"])
    assert table.frame.filter("split_pair")["pair"].to_list() == ["t000-c1#1"] * 2


def test_groups_do_not_depend_on_the_order_of_rows():
    table = make_table(lambda planned: {"probes": planned.trial}, tasks=7, repetitions=2, cases=2)
    shuffled = table.frame.sample(fraction=1, shuffle=True, seed=3)
    for arm in ("baseline", "candidate"):
        one, other = grouped(table.frame, "probes")[arm], grouped(shuffled, "probes")[arm]
        assert one.tasks == other.tasks == tuple(f"t{n:03d}" for n in range(7))
        assert [v.tolist() for v in one.values] == [v.tolist() for v in other.values]
        assert all(len(v) == 4 for v in one.values)


def test_rows_are_checked_before_anything_is_built():
    protocol, schedule = plan(written_protocol(tasks=5))
    with pytest.raises(IntegrityError) as error:
        build_table(
            [product_row(schedule[0])],
            schedule,
            protocol=protocol,
            lock={},
            latencies={},
            usage={},
            split_pairs=(),
            where="runs/x/product.jsonl",
        )
    assert error.value.where == "runs/x/product.jsonl"
    assert error.value.exit_code == 3
