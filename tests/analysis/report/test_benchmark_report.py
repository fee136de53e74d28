"""The page of a ladder run: what it says, and what it never says."""

from __future__ import annotations

import re

import msgspec
import pytest

from analysis.benchmark import Check
from analysis.ladder import build_envelope, compare
from analysis.report import render_benchmark
from analysis.report.benchmark import decision, headline
from analysis.report.benchmark_changes import delta
from analysis.report.benchmark_words import of_cases, rung_list, share
from study.records import RUNGS
from tests.support.benchmarks import (
    BAD,
    FABRICATED,
    MISS,
    RESULT,
    WAIVED,
    WRONG,
    benchmark,
    driver,
    entries,
)


def page(record, figures=None):
    subject = record.driver(record.subject)
    envelope = build_envelope(subject, record.cases, stamp="s", split=record.split, grader="g")
    return render_benchmark(record, envelope, figures=figures or {})


def section(text, title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


@pytest.fixture
def mixed():
    """Two drivers: goal gated at TOOL-1 with every kind of failure, stub a floor."""
    cases = [*entries("TOOL-0", 12), *entries("TOOL-1", 4), *entries("TOOL-2", 12)]
    grades = {"tool-1.0-0": MISS, "tool-1.1-0": WRONG, "tool-1.2-0": BAD, "tool-0.0-0": RESULT}
    goal = driver(cases, grades)
    stub = driver(cases, {"tool-0.1-0": MISS}, name="stub", floor=True)
    return benchmark(cases, goal, stub)


@pytest.mark.parametrize("count, total, text", [(5, 8, "5 (63 %)"), (7, 14, "7 (50 %)"), (0, 3, "0 (0 %)")])
def test_shares_are_whole_percent_half_up(count, total, text):
    assert share(count, total) == text
    assert of_cases(5, 8) == "5 of 8 cases (63 %)"


def test_rungs_in_a_row_are_shortened():
    assert rung_list([]) == "none"
    assert rung_list(["TOOL-0", "TOOL-1"]) == "TOOL-0, TOOL-1"
    assert rung_list(["TOOL-1", *RUNGS[3:]]) == "TOOL-1, TOOL-3 to TOOL-9"


def test_the_ladder_of_each_driver_is_a_table_with_receipts(mixed):
    text = section(page(mixed, {"goal": "figures/ladder-goal.svg"}), "Driver goal")
    assert "![Ladder of goal](figures/ladder-goal.svg)" in text
    assert "one-arm task bootstrap (tilted)" in text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]
    header = rows[0]
    by_rung = {row[0]: dict(zip(header, row, strict=True)) for row in rows[2:]}
    assert by_rung["TOOL-1"]["pass"] == "1 (25 %)"
    assert by_rung["TOOL-1"]["plan completion"] == "2 (50 %)"
    assert by_rung["TOOL-1"]["hallucination"] == "1 (25 %)"
    assert by_rung["TOOL-1"]["gate"] == "FAILED"
    assert by_rung["TOOL-1"]["mean over tasks"] == "50.0 %; interval refused: fewer than 5 tasks"
    assert by_rung["TOOL-0"]["result completion"] == "11 (92 %)"
    assert by_rung["TOOL-2"]["gate"] == "skipped"
    assert by_rung["overall"]["refuse-all completes"] == "0 (0 %)"
    assert "gated at TOOL-1; rung reached: TOOL-0" in text
    assert "TOOL-2 is skipped: gated by TOOL-1 hallucination 25%." in text


def test_overrides_are_counted_and_are_no_capability():
    cases = [*entries("TOOL-0", 2), *entries("TOOL-6", 3)]
    found = driver(cases, {case.id: WAIVED for case in cases[2:4]})
    text = section(page(benchmark(cases, found)), "Driver goal")
    assert "TOOL-6: 2 cases judged by an override" in text
    assert "TOOL-0: " not in text


def test_every_failing_row_is_listed_in_its_class_with_request_and_reason(mixed):
    text = section(page(mixed), "Failing rows of goal")
    blocks = text.strip().split("\n\n")
    for title, case, reason in (
        ("Honest misses", "tool-1.0-0", "expected [a], produced []"),
        ("Wrong answers", "tool-1.1-0", "expected [a], produced [b]"),
        ("Hallucinations", "tool-1.2-0", "undeclared at calls[0]"),
        ("Plan right, result wrong", "tool-0.0-0", "another result"),
    ):
        at = next(n for n, block in enumerate(blocks) if block.startswith(title))
        assert "(1 case)" in blocks[at]
        assert f"| {case} |" in blocks[at + 1]
        assert f"the request of {case} |" in blocks[at + 1]
        assert reason in blocks[at + 1]


def test_drivers_stand_side_by_side_on_the_same_cases(mixed):
    text = section(page(mixed), "Drivers side by side")
    assert "| stub | 24 | 1 | 3 | 0 |" in text
    assert "12 (100 %) / 12 (100 %) (skipped)" in text
    alone = benchmark(mixed.cases, mixed.drivers[0])
    assert "side by side" not in page(alone)


def test_a_gated_ladder_is_never_a_pass(mixed):
    told = decision(mixed, mixed.drivers[0])
    assert told.startswith("GATED at TOOL-1, not accepted from there on, whatever the overall row says")
    assert "its gates passed up to TOOL-0" in told
    assert "gated at TOOL-1" in headline(mixed)
    assert "nothing is decided about a floor" in decision(mixed, mixed.drivers[1])
    text = section(page(mixed), "Decision").lower()
    assert "accepted." not in text.replace("no rung is accepted.", "")
    lowest = driver(entries("TOOL-0", 2), {"tool-0.0-0": MISS, "tool-0.1-0": MISS})
    assert "no rung is accepted" in decision(benchmark(entries("TOOL-0", 2), lowest), lowest)


def test_an_open_ladder_says_what_it_does_not_show():
    cases = [*entries("TOOL-0", 10), *entries("TOOL-1", 10)]
    found = driver(cases)
    assert decision(benchmark(cases), found) == (
        "no gate failed, reached TOOL-1. Not shown: TOOL-2 to TOOL-9 (no cases)."
    )
    assert "open" in decision(benchmark(cases, split="development"), found)
    gap = driver(entries("TOOL-3", 10))
    assert decision(benchmark(cases, gap), gap).startswith("no decision: no rung reached")


def test_the_headline_separates_capability_from_measure():
    old, new = entries("TOOL-0", 4), entries("TOOL-7", 2)
    then = benchmark(old, driver(old, {old[0].id: MISS}))
    cases = [*old, *new]
    now = benchmark(cases, driver(cases, {case.id: MISS for case in new}))
    assert "no previous report" in delta(now)
    now = msgspec.structs.replace(now, changes=compare(then, now, digest="d" * 64))
    assert delta(now) == (
        "Since 0.1.0: 3 of 4 cases (75 %) passed then, 4 of 6 cases (67 %) now. "
        "On the 4 cases that did not change: 3 then, 4 now (1 gained, 0 lost). "
        "The rest is the measure: 0 of 2 cases (0 %) that are new or changed pass. "
        "The driver says that it is the same version (scripted-1)."
    )
    text = section(page(now), "What changed since the previous report")
    assert "CHANGE OF MEANING (new-rung): new rungs: TOOL-7." in text
    assert "d" * 64 in text
    assert f"| goal | {old[0].id} | honest miss | pass |" in text


def test_a_changed_world_is_not_read_as_capability():
    cases = entries("TOOL-0", 4)
    then = benchmark(cases, driver(cases, {cases[0].id: MISS}))
    now = benchmark(cases, grader="2.0.0")
    now = msgspec.structs.replace(now, changes=compare(then, now, digest=""))
    assert delta(now).endswith(
        "NOT read as capability, for the world changed too: grader: 1.0.0 before, 2.0.0 now."
    )


def test_a_previous_report_without_a_common_case_or_without_the_driver():
    old, new = entries("TOOL-0", 2), entries("TOOL-0", 2, tag="other")
    now = benchmark(new)
    now = msgspec.structs.replace(now, changes=compare(benchmark(old), now, digest=""))
    assert delta(now).endswith("No case is the same in both, so nothing is read as capability.")
    then = benchmark(new, driver(new, name="stub"))
    now = msgspec.structs.replace(now, changes=compare(then, now, digest=""))
    assert delta(now) == "The previous report 0.1.0 did not measure goal."


def test_reds_are_told_by_what_became_of_them(mixed):
    reds = {"goal": {"tool-1.0-0": "needs memory", "tool-2.0-0": "was hard", "gone": "typo"}}
    text = section(page(msgspec.structs.replace(mixed, reds=reds)), "Reds kept on purpose")
    assert "goal, tool-1.0-0: honest miss; needs memory" in text
    assert "goal, tool-2.0-0: passes now, and is no red any more (was hard)" in text
    assert "goal, gone: not among the cases of this run (typo)" in text
    assert "Failing rows of goal that nobody declared: 2." in text
    assert "None was declared" in section(page(mixed), "Reds kept on purpose")


def test_what_was_not_checked_is_said(mixed):
    checks = (
        Check(name="same bytes", held=False, text="differs, first at c"),
        Check(name="tests", held=None, text="elsewhere"),
    )
    text = section(page(msgspec.structs.replace(mixed, checks=checks)), "Discipline")
    assert "| same bytes | NO | differs, first at c |" in text
    assert "| tests | not checked in this run | elsewhere |" in text
    assert "No number here is a score of any model that this run did not measure" in text


def test_the_envelope_is_told_with_its_evidence(mixed):
    text = section(page(mixed), "Envelope of goal")
    assert "May be routed on: NO; the driver has hard fails: undeclared 1." in text
    assert "| TOOL-2 | no | 12 | 12 |" in text
    assert "1 of 12 cases failed" in text


def test_the_split_is_named_with_what_it_means(mixed):
    assert "| split | held-out |" in page(mixed)
    opened = page(msgspec.structs.replace(mixed, split="development"))
    assert "open cases, no evidence about unseen ones" in opened


def test_text_from_outside_cannot_break_the_page():
    cases = entries("TOOL-0", 1)
    hostile = "a | b <script>x</script> `c` [d](e)\n\n## Decision\n\n- passed \x1b[31m"
    found = driver(cases, {cases[0].id: MISS}, request=hostile)
    text = page(benchmark(cases, found))
    assert "<script" not in text
    assert "\x1b" not in text
    assert len(re.findall(r"^## Decision$", text, re.MULTILINE)) == 1
    row = next(line for line in text.splitlines() if line.startswith(f"| {cases[0].id}"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 5


def test_the_headline_names_results_and_hard_fails_where_they_differ_from_the_plan():
    cases = entries("TOOL-0", 12)
    plain = headline(benchmark(cases))
    assert plain == "goal: 12 of 12 cases (100 %) pass, 0 hallucinate; reached TOOL-0, no gate failed"
    wrong = headline(benchmark(cases, driver(cases, dict.fromkeys([c.id for c in cases[:3]], RESULT))))
    assert "0 hallucinate, plan completion 100 %, result completion 75 %; reached" in wrong
    lied = headline(benchmark(cases, driver(cases, {cases[0].id: FABRICATED})))
    assert "0 hallucinate, 1 with a hard fail (fabricated-call 1); no rung reached" in lied


def test_other_code_is_told_with_its_version():
    cases = entries("TOOL-0", 12)
    old, same, new = (
        benchmark(cases, driver(cases, code_digest=code)) for code in ("a" * 64, "a" * 64, "b" * 64)
    )
    said = "The driver's code changed, though it says that it is the same version (scripted-1)."
    told = page(msgspec.structs.replace(new, changes=compare(old, new, digest="d" * 64)))
    assert told.count(said) == 2
    assert f"SHA-256 {'a' * 12} then, {'b' * 12} now" in told
    assert f"Version scripted-1, code {'b' * 12}, stamps" in told
    assert "code changed" not in page(
        msgspec.structs.replace(same, changes=compare(old, same, digest="d" * 64))
    )
    unknown = benchmark(cases)
    assert "code changed" not in page(
        msgspec.structs.replace(new, changes=compare(unknown, new, digest="d" * 64))
    )
