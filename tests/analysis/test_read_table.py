"""A tidy table from anywhere: what it becomes, and what is refused with which words."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import analysis
from analysis import paired
from analysis.claims import p_text
from analysis.comparison import compare
from analysis.latency import gmr
from analysis.reliability import variance_components
from analysis.report.comparison import render_comparison
from analysis.tidy import read_table
from study.errors import InputError, ProtocolError, StudyError
from tests.support.tables import failing as run_failing
from tests.support.tables import first, make_table
from tests.support.tidy import (
    BASELINE,
    CANDIDATE,
    HEADER,
    MIXED,
    NASTY,
    PLAIN,
    failing,
    rows,
    uneven,
    write_csv,
    write_json_lines,
)


def frame(data, header=HEADER):
    return pl.DataFrame({name: [row[n] for row in data] for n, name in enumerate(header)}, strict=False)


def read(data, header=HEADER, **options):
    return read_table(frame(data, header), **{"baseline": "old", "candidate": "new"} | options)


def one(data, header=HEADER, **options):
    return analysis.estimate(read(data, header, **options))[0]


def refused(call, *words, error=InputError):
    """Check that a call is refused with all of the words in its message."""
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))


# --- every source gives the same --------------------------------------------------------------------


def sources(folder, data, header):
    made = frame(data, header)
    made.write_parquet(folder / "t.parquet")
    return {
        "csv": write_csv(folder / "t.csv", data, header),
        "text": str(write_csv(folder / "u.csv", data, header)),
        "jsonl": write_json_lines(folder / "t.jsonl", data, header),
        "ndjson": write_json_lines(folder / "t.ndjson", data, header),
        "parquet": folder / "t.parquet",
        "polars": made,
        "lazy": made.lazy(),
        "pandas": pd.DataFrame({name: made[name].to_list() for name in made.columns}),
    }


def test_all_sources_give_the_same_frame(tmp_path):
    header = (*HEADER, "latency_s", "note")
    data = [(*row[:3], bool(row[3]), None if n % 3 == 0 else 0.1 + n, "x") for n, row in enumerate(MIXED)]
    tables = {
        name: read_table(source, baseline="old", candidate="new")
        for name, source in sources(tmp_path, data, header).items()
    }
    expected = tables["polars"]
    assert expected.frame["latency_s"].null_count() == len(data) // 3
    for name, table in tables.items():
        assert table.frame.equals(expected.frame), name
        assert table.notes == expected.notes, name
    assert "columns that were not used: note" in expected.notes


@pytest.mark.parametrize("text", ["1", "1.0", "true", "True", "TRUE", " 1 "])
def test_spellings_of_a_pass(text):
    told = [(*row[:3], text if row[3] else "false") for row in rows(12, 1, failing("old", 0))]
    assert one(told).estimate == 1 / 12


def test_the_frame_tells_tasks_pairs_and_arms():
    table = read(rows(12, 2, failing("new", 3)))
    assert table.lock_digest is None
    assert table.frame.columns == [
        "pair",
        "task_id",
        "case_id",
        "template_family",
        "repetition",
        "arm",
        "outcome",
        "completed",
        "latency_s",
        "void_pair",
        "split_pair",
    ]
    assert len(table.frame) == 48
    assert table.frame["pair"].n_unique() == 24
    assert set(table.frame["arm"]) == {"baseline", "candidate"}
    assert not table.frame["void_pair"].any()
    assert analysis.rates(table)["candidate"].estimate == 11 / 12


def test_the_estimates_are_those_of_the_arrays():
    arms = {
        arm: [
            [row[3] for row in MIXED if row[0] == task and row[1] == arm]
            for task in sorted({r[0] for r in MIXED})
        ]
        for arm in ("old", "new")
    }
    found = one(MIXED, margin="10 pp")
    assert found.interval == paired.interval(arms["old"], arms["new"])
    assert [i.method for i in found.sensitivity] == ["percentile", "t"]
    assert found.baseline.n_trials == 120


def test_a_run_with_the_same_outcomes_gives_the_same_statistics():
    run = analysis.estimate(make_table(run_failing("candidate", first(3)), tasks=40, repetitions=2))[0]
    found = one(rows(40, 2, failing("new", 0, 1, 2)), margin="10 pp")
    for field in ("estimate", "interval", "baseline", "candidate", "n_tasks", "n_pairs", "outcome"):
        assert getattr(found, field) == getattr(run, field), field
    assert found.diagnostics == run.diagnostics
    assert found.sensitivity[1] == run.sensitivity[1]


def test_row_order_and_names_change_nothing():
    told = [(f"other-{row[0]}", *row[1:]) for row in reversed(rows(40, 3, failing("old", 1, 5)))]
    left, right = one(told), one(rows(40, 3, failing("old", 1, 5)))
    assert left == right


def test_swapping_the_arms_mirrors_the_interval():
    data = rows(30, 2, failing("old", 1, 5))
    there, back = one(data), one(data, baseline="new", candidate="old")
    assert (there.estimate, there.interval.low) == (-back.estimate, -back.interval.high)


# --- unequal repetitions and missing trials ----------------------------------------------------------


def test_unequal_repetitions_keep_equal_task_weights():
    found = one(uneven())
    arms = [[[int(c) for c in task] for task in told] for told in (BASELINE, CANDIDATE)]
    assert found.interval == paired.interval(*arms)
    # golden values of ragged data: lattice 1/12, limits to five digits
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.31913, 0.28681), abs=2e-5)
    assert (found.baseline.n_trials, found.candidate.n_trials, found.n_pairs) == (24, 24, 23)


@pytest.mark.parametrize("arm", ["old", "new"])
def test_a_task_that_ran_in_one_arm_leaves_the_analysis_and_the_verdict_is_refused(arm):
    def rule(task, which, n):
        return None if task == 3 and which != arm else int(which == "new" or task % 2)

    data = rows(60, 3, rule)
    found = one(data)
    assert (found.n_tasks, found.n_pairs, found.outcome) == (59, 177, "inconclusive")
    assert found.interval.low > 0
    assert "verdict refused: 1 task ran in one arm only" in found.diagnostics
    assert not any("p-value" in note for note in found.diagnostics)
    results = compare(read(data))
    # d = -1 for the missing task in the worst case, +1 in the best
    kept = [0 if task % 2 else 1 for task in range(60) if task != 3]
    for key, end in (("worst_case", -1), ("best_case", 1)):
        assert results.missing[key] == pytest.approx((sum(kept) + end) / 60, abs=1e-12)
        alone = paired.interval([[0.5 - d / 2] for d in [*kept, end]], [[0.5 + d / 2] for d in [*kept, end]])
        limits = results.missing[f"{key}_interval"]
        assert (limits.low, limits.high) == pytest.approx((alone.low, alone.high), abs=1e-9)
    lost = {"baseline": "old", "candidate": "new"}
    assert {a: results.missing[a]["lost_tasks"] for a in lost} == {a: int(lost[a] != arm) for a in lost}
    assert any("t003" in note for note in results.notes)


def test_few_missing_trials_are_counted_and_a_claim_must_hold_at_worst():
    def without(*tasks):
        return rows(40, 2, lambda task, arm, n: None if arm == "new" and n == 2 and task in tasks else 1)

    kept = one(without(3), margin="10 pp")
    assert (kept.outcome, kept.n_pairs, kept.candidate.n_trials) == ("non_inferior", 79, 79)
    # three trials lost at worst: -3.75 pp with a lower limit below -10 pp
    lost = one(without(3, 4, 5), margin="10 pp")
    assert lost.interval.low > -0.1
    assert lost.outcome == "inconclusive"
    assert any("if the candidate lost every void pair" in note for note in lost.diagnostics)
    assert not any("p-value" in note for note in lost.diagnostics)


@pytest.mark.parametrize(
    ("fewer", "words"),
    [
        ({"old": 9, "new": 9}, ["18 of 160 (11.3 %) of the pairs are void"]),
        ({"new": 20}, ["20 of 160 (12.5 %) of the trials of the candidate are missing, more than 10 %"]),
        ({"new": 9}, ["0.0 % (baseline) and 5.6 % (candidate), differ by more than 5 points"]),
    ],
)
def test_too_many_missing_trials_refuse_the_verdict(fewer, words):
    # of 80 tasks x 2, the first tasks of one arm and the last of the other lack their second repetition
    def rule(task, arm, n):
        place = task if arm == "new" else 79 - task
        return None if n == 2 and place < fewer.get(arm, 0) else 1

    found = one(rows(80, 2, rule), margin="50 pp")
    assert found.outcome == "inconclusive"
    for word in words:
        assert any(note.startswith("verdict refused: ") and word in note for note in found.diagnostics)


def test_another_number_of_repetitions_in_each_arm_is_a_design_and_nothing_is_missing():
    table = read(NASTY()["five-against-three"].rows)
    assert not table.frame["void_pair"].any()
    (found,) = analysis.estimate(table)
    assert (found.baseline.n_trials, found.candidate.n_trials, found.n_pairs) == (200, 120, 120)
    assert found.outcome == "superior"


def test_repetitions_need_no_common_numbers():
    shifted = [(*row[:2], row[2] + (10 if row[1] == "new" else -1), row[3]) for row in MIXED]
    assert one(shifted) == one(MIXED)


# --- clusters ---------------------------------------------------------------------------------------


def families(sizes, rule):
    """Return rows with a cluster: family f has ``sizes[f]`` = (repetitions of each case)."""
    return [
        (f"f{f}-c{c}", arm, n, rule(f, c, arm), f"f{f}")
        for f, repetitions in enumerate(sizes)
        for c, most in enumerate(repetitions)
        for arm in ("old", "new")
        for n in range(most)
    ]


def test_a_cluster_is_the_task():
    data = families([(2, 2, 2)] * 12, lambda f, c, arm: int(arm == "old" or (f + c) % 4 > 0))
    found = one(data, (*HEADER, "cluster"))
    assert (found.n_tasks, found.n_pairs, found.baseline.n_trials) == (12, 72, 72)
    assert one([row[:4] for row in data]).n_tasks == 36
    table = read(data, (*HEADER, "cluster"))
    assert table.frame["case_id"].n_unique() == 36


def test_cases_weigh_equally_within_their_cluster():
    # the candidate fails the one case that is repeated most: case means first, then the mean of the family
    data = families([(1, 1, 4)] * 12, lambda f, c, arm: int(arm == "old" or c < 2))
    found = one(data, (*HEADER, "cluster"))
    assert found.estimate == pytest.approx(-1 / 3, abs=1e-12)
    assert found.candidate.estimate == pytest.approx(2 / 3, abs=1e-12)
    assert found.candidate.n_trials == 72


def test_cases_weigh_equally_in_the_latency_ratio_too():
    data = [
        (*row, 1.0 if row[1] == "old" else 2.0 if row[0].endswith("c0") else 1.0 + int(row[0][1]) / 10)
        for row in families([(1, 3)] * 10, lambda f, c, arm: 1)
    ]
    ratio = analysis.estimate(read(data, (*HEADER, "cluster", "latency_s")))[1]
    logs = [(math.log(2) + math.log(1 + f / 10)) / 2 for f in range(10)]
    assert ratio.estimate == pytest.approx(sum(logs) / 10, abs=1e-12)
    assert ratio.baseline.n_trials == 40


def test_a_case_that_ran_in_one_arm_leaves_its_cluster_in_both():
    data = families([(2, 2)] * 40, lambda f, c, arm: 1)
    data = [row for row in data if row[:2] != ("f3-c1", "new")]
    table = read(data, (*HEADER, "cluster"), margin="10 pp")
    (found,) = analysis.estimate(table)
    assert (found.n_tasks, found.n_pairs, found.baseline.n_trials) == (40, 158, 158)
    assert any("void pairs: 2 of 160" in note for note in found.diagnostics)


@pytest.mark.parametrize("name", ["clusters", "Cluster", "cluster_id", "family", "template_family"])
def test_a_column_that_looks_like_a_cluster_is_not_overlooked(name):
    data = [(*row, "c") for row in PLAIN]
    refused(lambda: read(data, (*HEADER, name)), repr(name), "no column 'cluster'", "rename")


# --- latency and partial credit ---------------------------------------------------------------------


def test_latency_is_the_geometric_mean_ratio_of_runs():
    rng = np.random.default_rng(3)
    times = rng.lognormal(0, 0.5, (30, 2, 3))
    header = (*HEADER, "latency_s")
    data = [
        (f"t{t:02d}", arm, n, 1, float(times[t, a, n]))
        for t in range(30)
        for a, arm in enumerate(("old", "new"))
        for n in range(3)
    ]
    results = compare(read(data, header))
    completion, ratio = results.endpoints
    assert (ratio.name, ratio.role, ratio.claim, ratio.status) == (
        "latency_gmr",
        "secondary",
        None,
        "descriptive",
    )
    # closed form: Student on the task differences of mean logs
    logs = np.log(times).mean(axis=2)
    differences = logs[:, 1] - logs[:, 0]
    assert ratio.estimate == pytest.approx(differences.mean(), abs=1e-12)
    assert ratio.interval == gmr(times[:, 0], times[:, 1])
    assert results.latency["baseline"].n_trials == 90
    told = render_comparison(results)
    assert "Harrell-Davis" in told
    assert "ended at the time limit" not in told
    assert "which trials ended at a time limit is not known" in told
    # no limit is known, and nothing was claimed
    assert "up to the limit" not in told
    assert re.search(r"^mean +baseline +[0-9.]+ s ", told, re.MULTILINE)
    assert "where claimed" not in told
    assert "nothing was claimed" in " ".join(told.split())
    assert completion.outcome == "inconclusive"


@pytest.mark.parametrize("cell", [None, ""])
def test_latency_that_was_recorded_nowhere_is_no_endpoint(cell):
    data = [(*row, cell) for row in PLAIN]
    table = read(data, (*HEADER, "latency_s"))
    assert [e.name for e in analysis.estimate(table)] == ["completion"]
    assert "latency: not recorded" in table.notes


def test_partial_credit_is_taken_only_when_it_is_declared():
    scores = [0.12, -0.05, 0.33, 0, 0, -0.41, 0.07, 0.02, -0.11, 0.25, 0, 0.04]
    data = [
        (f"t{n}", arm, 1, 0.5 + (d if arm == "new" else 0))
        for n, d in enumerate(scores)
        for arm in ("old", "new")
    ]
    refused(lambda: read(data), "column outcome", "0, 1, true or false", "--scores")
    found = one(data, scores=True)
    assert found.estimate == pytest.approx(sum(scores) / 12, abs=1e-12)
    # golden values of continuous differences: binned, limits to four digits
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.2313, 0.2585), abs=1e-4)


def test_partial_credit_with_a_missing_task_has_its_bounds():
    def rule(task, arm, n):
        return None if task == 0 and arm == "new" else 0.25 + (0.5 if arm == "new" else 0)

    results = compare(read(rows(20, 2, rule), scores=True))
    assert results.missing["worst_case"] == pytest.approx((19 * 0.5 - 1) / 20, abs=1e-12)
    assert results.missing["best_case"] == pytest.approx((19 * 0.5 + 1) / 20, abs=1e-12)


@pytest.mark.parametrize("score", [1.01, -0.01, "inf", "-inf", "x"])
def test_scores_outside_their_range_are_never_clipped(score):
    data = [*PLAIN[:5], (*PLAIN[5][:3], score), *PLAIN[6:]]
    text = [tuple(str(cell) for cell in row) for row in data]
    refused(lambda: read(text, scores=True), "row 6", str(score), "[0, 1]")


# --- tables that are explained, not guessed ----------------------------------------------------------


@pytest.mark.parametrize("name", HEADER)
def test_a_missing_column_is_named_with_what_there_is(name):
    place = HEADER.index(name)
    header = tuple(f"{h}s" if h == name else h for h in HEADER)
    refused(
        lambda: read(PLAIN, header),
        f"no column {name!r}",
        f"did you mean '{name}s'",
        "optional: cluster, latency_s",
        repr(header[place]),
    )
    upper = tuple(h.upper() if h == name else h for h in HEADER)
    refused(lambda: read(PLAIN, upper), f"did you mean {name.upper()!r}")


def test_cells_that_are_not_separated_by_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("task_id;arm;repetition;outcome\nt1;old;1;1\n")
    refused(lambda: read_table(path, baseline="old", candidate="new"), str(path), "by commas")


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("task_id,arm,repetition,outcome,outcome\nt1,old,1,1,0\n")
    refused(lambda: read_table(path, baseline="old", candidate="new"), "two columns are named 'outcome'")
    doubled = pd.DataFrame([["t1", "old", 1, 1, 0]], columns=[*HEADER, "outcome"])
    refused(lambda: read_table(doubled, baseline="old", candidate="new"), "two columns are named 'outcome'")


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        (0, None, ["task_id is missing", "no empty cell"]),
        (0, "  ", ["task_id is '  '"]),
        (1, None, ["arm is missing"]),
        (2, None, ["repetition is missing"]),
        (2, "nan", ["repetition is 'nan'"]),
        (2, "1.5", ["repetition is '1.5'", "a whole number"]),
        (2, "first", ["repetition is 'first'"]),
        (2, "inf", ["repetition is 'inf'"]),
        (2, "true", ["repetition is 'true'"]),
        (3, None, ["outcome is missing", "usually as 0"]),
        (3, "", ["outcome is ''"]),
        (3, "NaN", ["outcome is 'NaN'", "0, 1, true or false", "none is left out"]),
        (3, "null", ["outcome is 'null'"]),
        (3, "2", ["outcome is '2'"]),
        (3, "passed", ["outcome is 'passed'"]),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(column, cell, words):
    data = [tuple(str(c) for c in row) for row in PLAIN]
    bad = list(data[6])
    bad[column] = cell
    data[6] = tuple(bad)
    refused(lambda: read(data), f"table: row 7, column {HEADER[column]}", *words)


def test_how_many_rows_are_bad_is_told():
    data = [(*row[:3], "x" if n > 3 else "1") for n, row in enumerate(PLAIN)]
    refused(lambda: read(data), "row 5", "(and in 75 more rows)")


@pytest.mark.parametrize("cell", ["inf", "-inf", "nan", "-1e-9", "1 s", "fast", "1e300", "1e-200"])
def test_latencies_that_no_clock_shows(cell):
    data = [(*row, cell if n == 6 else "0.5") for n, row in enumerate(PLAIN)]
    refused(
        lambda: read(data, (*HEADER, "latency_s")),
        "row 7, column latency_s",
        repr(cell),
        "seconds: 0, or 1e-09",
    )


def test_numbers_of_a_frame_are_judged_like_text():
    made = frame(PLAIN).with_columns(latency_s=pl.when(pl.int_range(80) == 6).then(math.inf).otherwise(1.0))
    refused(lambda: read_table(made, baseline="old", candidate="new"), "row 7, column latency_s", "inf")
    lost = frame(PLAIN).with_columns(pl.col("outcome").cast(pl.Float64))
    lost = lost.with_columns(outcome=pl.when(pl.int_range(80) == 6).then(math.nan).otherwise("outcome"))
    refused(lambda: read_table(lost, baseline="old", candidate="new"), "row 7, column outcome", "NaN")
    other = pd.DataFrame({n: lost[n].to_list() for n in lost.columns})
    refused(lambda: read_table(other, baseline="old", candidate="new"), "row 7, column outcome", "is missing")


def test_keys_must_be_unique():
    refused(
        lambda: read([*PLAIN, PLAIN[3]]),
        "row 81",
        "task_id 't000', arm 'new', repetition 2 stands in rows 4, 81",
        "the task in cluster",
    )
    # 1 and 1.0 are the same repetition
    text = [tuple(str(cell) for cell in row) for row in PLAIN]
    refused(lambda: read([*text, (*text[0][:2], "1.0", "1")]), "rows 1, 81")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"baseline": "odl"}, ["no arm 'odl' for the baseline", "did you mean 'old'", "'new', 'old'"]),
        ({"candidate": "newest"}, ["no arm 'newest' for the candidate", "'new', 'old'"]),
        ({"candidate": "old"}, ["both 'old'", "two different arms"]),
    ],
)
def test_arms_are_named_as_in_the_table(options, words):
    refused(lambda: read(PLAIN, **options), *words)


def test_more_than_two_arms():
    data = [*PLAIN, ("t000", "newer", 1, 1), ("t000", "newest", 1, 1)]
    refused(lambda: read(data), "row 81", "'newer'", "4 arms", "leave the rows of", "'newest'")


def test_one_arm_only():
    refused(lambda: read([r for r in PLAIN if r[1] == "old"]), "no arm 'new'", "one arm only")
    refused(lambda: read([r for r in PLAIN if r[1] == "new"]), "no arm 'old'", "one arm only")


def test_a_task_in_two_clusters():
    data = NASTY()["split-cluster"]
    refused(lambda: read(data.rows, data.header), "'t001'", "'c0' (row 5)", "'c9'", "row 7, column cluster")


def test_no_task_in_both_arms():
    refused(lambda: read(NASTY()["no-common-task"].rows), "no task ran in both arms")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, ["cannot read the table"]),
        ("none.parquet", None, ["cannot read the table"]),
        ("none.jsonl", None, ["cannot read the table"]),
        ("empty.csv", b"", ["the table is empty"]),
        ("blank.csv", b"\n\n", ["the table is empty"]),
        ("empty.jsonl", b"\n", ["the table is empty"]),
        ("empty.parquet", b"", ["not readable as Parquet"]),
        ("text.parquet", b"task_id,arm\n", ["not readable as Parquet"]),
        ("latin.csv", "task_id,arm\n\xe9,1\n".encode("latin-1"), ["not readable as CSV", "UTF-8"]),
        ("long.csv", b"task_id,arm\n1,2,3\n", ["not readable as CSV", "as many cells"]),
        ("t.xlsx", b"x", ["'.xlsx'", ".csv, .parquet, .jsonl, .ndjson"]),
        ("table", b"x", ["without suffix"]),
        ("bad.jsonl", b'{"task_id": 1}\n{"task_id": }\n', ["bad.jsonl:2", "not valid JSON"]),
        ("nan.jsonl", b'{"outcome": NaN}\n', ["nan.jsonl:1", "NaN is not a finite number"]),
        ("twice.jsonl", b'{"outcome": 1, "outcome": 0}\n', ["duplicate key 'outcome'"]),
        ("list.jsonl", b"[1]\n", ["list.jsonl:1", "one object a line"]),
        ("deep.jsonl", b'{"outcome": [1]}\n', ["column outcome", "[1]"]),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    refused(lambda: read_table(path, baseline="old", candidate="new"), str(path), *words)


def test_objects_that_are_no_tables():
    refused(lambda: read_table(3, baseline="a", candidate="b"), "a int is no table", "a polars DataFrame")
    nested = frame(PLAIN).with_columns(outcome=pl.concat_list("outcome"))
    refused(lambda: read_table(nested, baseline="old", candidate="new"), "column outcome", "List")


@pytest.mark.parametrize("margin", ["5", "5 %", "0 pp", "100 pp", "-5 pp", "five pp", ""])
def test_a_margin_needs_percentage_points(margin):
    refused(lambda: read(PLAIN, margin=margin), "margin", "pp", error=ProtocolError)


def test_no_nasty_table_ends_in_another_error():
    for name, nasty in NASTY().items():
        for margin in (None, "10 pp"):
            try:
                table = read(nasty.rows, nasty.header, margin=margin)
                render_comparison(compare(table))
            except StudyError as error:
                assert error.exit_code == 2, name  # noqa: PT017


def test_blank_lines_and_a_byte_order_mark_are_no_rows(tmp_path):
    path = write_csv(tmp_path / "t.csv", PLAIN)
    text = path.read_text().replace("\n", "\r\n").replace("t001,old,1,1", "\r\nt001,old,1,1")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    table = read_table(path, baseline="old", candidate="new")
    assert table.frame.equals(read(PLAIN).frame)


# --- verdicts and p-values ---------------------------------------------------------------------------


def test_the_verdict_knows_no_hard_fails_and_no_ceiling():
    verdict = analysis.decide(read(MIXED, margin="10 pp"))
    assert verdict.outcome == "non_inferior"
    assert "hard fails of the candidate: not recorded" in verdict.reasons
    assert verdict.reasons[0].startswith("nothing was locked")
    assert analysis.decide(read(MIXED), void_reasons=["broken"]).outcome == "void"


@pytest.mark.parametrize(
    ("margin", "claim", "outcome", "refusal"),
    [
        (None, "superior", "inconclusive", ""),
        ("15 pp", "non-inferior", "non_inferior", ""),
        ("10 pp", "non-inferior", "inconclusive", ""),
        ("5 pp", "non-inferior", "inconclusive", "the margin 5 pp needs at least 72"),
    ],
)
def test_the_claim_follows_the_margin(margin, claim, outcome, refusal):
    found = one(rows(45, 2, failing("new", 3)), margin=margin)
    assert (found.claim, found.outcome) == (claim, outcome)
    refusals = [note for note in found.diagnostics if note.startswith("verdict refused")]
    assert len(refusals) == bool(refusal)
    assert all(refusal in note for note in refusals)


@pytest.mark.parametrize("broken", range(0, 9, 2))
@pytest.mark.parametrize("margin", [None, "10 pp"])
def test_the_p_value_agrees_with_the_interval(broken, margin):
    found = one(rows(60, 1, failing("old" if margin is None else "new", *range(broken))), margin=margin)
    (told,) = (note for note in found.diagnostics if "p-value" in note)
    assert "n tasks = 60, pairs = 60" in told
    shown = float(told.split("p-value ")[1].removeprefix("= ").removeprefix("below ").split(" ")[0])
    least = 0.0 if margin is None else -0.1
    assert (shown <= 0.025) == (found.interval.low >= least)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0117, "= 0.0117"),
        (0.02500001, "= 0.02500001"),
        (0.025, "= 0.0250"),
        (0.0249999999, "= 0.0250"),
        (0.025 + 1e-15, "just above 0.025"),
        (1e-30, "below 0.0001"),
        (1.0, "= 1.0000"),
    ],
)
def test_the_text_of_a_p_value_stays_on_its_side(p, text):
    assert p_text(p, 0.025) == text


def test_a_thousand_tasks_by_a_hundred(tmp_path):
    """Rows in the hundred thousands: the same numbers as array arithmetic."""
    rng = np.random.default_rng(7)
    passed = rng.random((1000, 2, 50)) < rng.beta(4, 1, (1000, 1, 1))
    tasks, arms, repetitions = np.indices(passed.shape)
    made = pl.DataFrame(
        {
            "task_id": tasks.ravel(),
            "arm": np.array(["old", "new"])[arms.ravel()],
            "repetition": repetitions.ravel(),
            "outcome": passed.ravel().astype(int),
        }
    )
    path = tmp_path / "t.csv"
    made.sample(fraction=1.0, shuffle=True, seed=1).write_csv(path)
    (found,) = analysis.estimate(read_table(path, baseline="old", candidate="new", margin="5 pp"))
    assert found.estimate == pytest.approx(passed[:, 1].mean() - passed[:, 0].mean(), abs=1e-12)
    assert (found.n_tasks, found.n_pairs, found.baseline.n_trials) == (1000, 50_000, 50_000)
    assert found.interval.low < found.estimate < found.interval.high


# --- repetitions, and what a table does not carry ----------------------------------------------------


def repeated(tasks=30, repetitions=4, seed=5):
    rng = np.random.default_rng(seed)
    passed = (rng.random((tasks, 2, repetitions)) < rng.beta(3, 1, (tasks, 1, 1))).astype(int)
    data = [
        (f"t{t:02d}", arm, n, int(passed[t, a, n]))
        for t in range(tasks)
        for a, arm in enumerate(("old", "new"))
        for n in range(repetitions)
    ]
    return data, passed


def test_repetitions_of_a_table_are_told_as_those_of_a_run():
    data, passed = repeated()
    results = compare(read(data))
    for n, arm in enumerate(("baseline", "candidate")):
        found, expected = results.reliability[arm], variance_components(passed[:, n])
        assert (found.within, found.between, found.icc) == (expected.within, expected.between, expected.icc)
        assert (found.outcome, found.repetitions) == ("completion", 4)
        assert [entry.k for entry in found.pass_hat_k] == [1, 2, 3, 4]
        assert found.pass_hat_k[3].estimate == pytest.approx(passed[:, n].all(axis=1).mean(), abs=1e-12)
    told = render_comparison(results)
    assert "Reliability of repetitions" in told
    assert "Variance of 'completion'" in told


def test_many_tasks_have_pass_hat_k_for_one_and_for_all_repetitions(monkeypatch):
    monkeypatch.setattr("analysis.arms.MANY_TASKS", 30)
    found = compare(read(repeated()[0])).reliability["candidate"]
    assert [entry.k for entry in found.pass_hat_k] == [1, 4]


def test_partial_credit_has_no_reliability_block():
    data = [(*row[:3], row[3] / 2) for row in repeated()[0]]
    results = compare(read(data, scores=True))
    assert results.reliability == {}
    assert "Reliability" not in render_comparison(results)


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (analysis.hard_fails, "hard fails"),
        (lambda table: analysis.rates(table, "pass"), "pass"),
        (lambda table: analysis.rates(table, "timeouts"), "timeouts"),
        (lambda table: analysis.rates(table, "result_completion"), "result_completion"),
    ],
)
def test_what_a_table_does_not_carry_is_refused_in_words(ask, what):
    with pytest.raises(InputError, match=f"a table from elsewhere carries no {what}") as caught:
        ask(read(PLAIN))
    assert "read_run" in str(caught.value)


@pytest.mark.parametrize("tasks", [1, 6])
def test_one_of_anything_is_not_told_as_many(tasks):
    data = [(f"t{n}", arm, 1, 1) for n in range(tasks) for arm in ("old", "new")]
    lost = [("gone", "old", 1, 1)]
    for table in (read(data, margin="10 pp"), read(data + lost, margin="10 pp")):
        told = render_comparison(compare(table))
        assert not re.search(r"\b(?<!= )1 (tasks|trials|pairs|cases|rows|families)\b", told), told
