import json
import re

import msgspec
import pytest

from analysis.report import render_report
from analysis.results import Results
from study.digest import canonical
from study.errors import StudyError

PAGES = ("text", "md", "html")
COMPARATIVE = re.compile(
    r"better|worse|superior|inferior|equivalent|faster|cheaper|percentile", re.IGNORECASE
)
SCENARIOS = (
    "non_inferior",
    "superior",
    "inconclusive",
    "hard_fail",
    "void",
    "below_floor",
    "pilot",
    "floors",
    "one_floor",
    "exploratory",
    "refused",
)


def flat(text: str) -> str:
    """Undo wrapping, so that a sentence can be looked for as it was written."""
    return " ".join(text.split())


def section(text: str, title: str) -> str:
    """Cut one section out of a plain-text report."""
    body = text.split(f"\n{title}\n{'=' * len(title)}\n", 1)[1]
    return re.split(r"\n\n[^\n]+\n=+\n", body, maxsplit=1)[0]


@pytest.mark.parametrize("style", PAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_verdict_comes_first_and_no_number_is_a_placeholder(scenario, name: str, style: str) -> None:
    results: Results = scenario(name)
    text = render_report(results, style)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert text.index("Verdict: ") < text.index("What was asked") < text.index("Why this verdict")
    assert text.index("Why this verdict") < text.index("What was not shown") < text.index("Provenance")
    assert not re.search(r"\bNone\b(?! was)|\bnan\b|\bNaN\b|\binf\b", text)


@pytest.mark.parametrize("name", SCENARIOS)
def test_plain_text_has_at_most_100_columns(scenario, name: str) -> None:
    assert max(map(len, render_report(scenario(name)).splitlines())) <= 100


@pytest.mark.parametrize(
    "name, headline",
    [
        ("non_inferior", "Verdict: NON-INFERIOR"),
        ("superior", "Verdict: SUPERIOR"),
        ("inconclusive", "Verdict: INCONCLUSIVE"),
        ("hard_fail", "Verdict: HARD FAIL"),
        ("void", "Verdict: VOID"),
        ("below_floor", "Verdict: BELOW FLOOR"),
        ("pilot", "Verdict: INCONCLUSIVE (PILOT)"),
        ("exploratory", "Verdict: NON-INFERIOR (EXPLORATORY)"),
    ],
)
def test_the_outcome_is_in_the_box(scenario, name: str, headline: str) -> None:
    results = scenario(name)
    box = render_report(results).split("\n\n")[1]
    assert f"| {headline} " in box
    if name != "pilot":
        assert results.verdict.sentence in box


def test_the_question_the_arms_and_their_difference(make_results) -> None:
    asked = section(render_report(make_results()), "What was asked")
    assert "May the goal driver replace the resolver?" in asked
    assert re.search(r"baseline +study\.drivers\.resolver:drive +resolver-1 +driver", asked)
    assert re.search(r"config\.router\.beam +1 +3\n", asked)
    assert re.search(r"config\.goal +absent +true\n?", asked)
    assert "config.depth" not in asked


def test_arms_that_do_not_differ_are_said_not_to(make_results) -> None:
    arms = make_results().arms
    same = make_results(arms={"baseline": arms["baseline"], "candidate": arms["baseline"]})
    asked = section(render_report(same), "What was asked")
    assert "same driver with the same configuration" in asked
    assert "The difference between the arms" not in asked


def test_the_reason_chain_is_numbered_in_order(make_results) -> None:
    why = section(render_report(make_results()), "Why this verdict")
    assert why.split("\n") == [
        "",
        "1. the lock holds",
        "2. no hard fail of the candidate",
        "3. L = -4.1 pp lies above -5 pp",
    ]


def test_a_row_holds_everything_that_the_number_needs(make_results) -> None:
    line = next(
        line for line in render_report(make_results(), "md").splitlines() if line.startswith("| completion")
    )
    assert line.split(" | ") == [
        "| completion",
        "primary",
        "non-inferior, margin 5 pp",
        "95.0 % [88.0 %, 98.0 %]",
        "93.8 % [86.0 %, 97.0 %]",
        "-1.3 pp",
        "[-4.1 pp, +2.0 pp] (95 %, tilted)",
        "80",
        "160",
        "non-inferior |",
    ]
    ratio = next(
        line for line in render_report(make_results(), "md").splitlines() if line.startswith("| latency_gmr")
    )
    assert "non-inferior, margin 10 %; lower is better | 1.20 ms | 1.30 ms | x 1.08 (+8.2 %)" in ratio
    assert "[+1.2 %, +15.7 %] (95 %, t) | 80 | 160 | inconclusive |" in ratio


def test_a_limit_at_the_margin_does_not_contradict_its_outcome(
    make_results, make_proportion, make_interval
) -> None:
    near = make_proportion(interval=make_interval(-0.05004, 0.00003), outcome="inconclusive", sensitivity=())
    text = render_report(make_results(endpoints=(near,)), "md")
    assert "[-5.004 pp, +0.003 pp]" in text
    assert "[-5.0 pp" not in text


def test_sensitivity_is_labelled_in_every_row(make_results) -> None:
    rows = [line for line in render_report(make_results(), "md").splitlines() if "percentile" in line]
    assert rows == [
        "| completion | [-3.8 pp, +1.3 pp] (95 %, percentile) | sensitivity, not for the decision |"
    ]


def test_a_refused_interval_is_words(scenario) -> None:
    text = render_report(scenario("refused"), "md")
    assert "| -1.3 pp | refused: fewer than 5 tasks | 4 | 8 | inconclusive |" in text


def test_families_and_diagnostics_stand_beside_the_numbers(make_results) -> None:
    text = render_report(make_results())
    assert "- completion: n tasks = 80 from 20 template families" in text
    assert "- completion: 74 of 80 tasks are ties" in text
    assert re.search(r"template families +20\n", section(text, "What was run"))


def test_hard_fails_are_counted_with_their_bound(scenario) -> None:
    fails = section(render_report(scenario("hard_fail")), "Hard fails")
    assert re.search(r"baseline +0 +160 +0 of 80 +none +3\.7 % \(95 % one-sided, task-level exact\)", fails)
    assert re.search(r"candidate +3 +160 +3 of 80 +unknown-tool: 3 +6\.0 %", fails)
    unshown = flat(section(render_report(scenario("hard_fail")), "What was not shown"))
    assert "That the candidate may be used was not shown (hard fail)" in unshown


def test_an_absent_arm_is_not_recorded_rather_than_zero(make_results) -> None:
    text = render_report(make_results(hard_fails={}, outcomes={}, latency={}, usage={}, ladder=()))
    assert re.search(r"baseline +not recorded", section(text, "Hard fails"))
    assert re.search(r"timeout +not recorded +not recorded", section(text, "How the trials ended"))
    assert re.search(r"candidate +not recorded", section(text, "Latency"))
    assert "Hard fails of the candidate: not recorded, so nothing is known of them." in flat(text)
    assert "No ladder rows were recorded." in text


def test_all_nine_outcomes_are_listed(make_results) -> None:
    ended = section(render_report(make_results()), "How the trials ended")
    expected = {"answered": (155, 152), "timeout": (1, 0), "driver error": (0, 2), "infrastructure": (0, 0)}
    for name, (baseline, candidate) in expected.items():
        assert re.search(rf"^{name} +{baseline} +{candidate}$", ended, re.MULTILINE)
    assert len(re.findall(r"^[a-z ]+ +\d+ +\d+$", ended, re.MULTILINE)) == 9


def test_rungs_have_gates_and_no_overall(make_results) -> None:
    ladder = section(render_report(make_results()), "Ladder")
    assert re.search(r"TOOL-0 +candidate +40 +30 +31 of 40 \(77\.5 %\) .* 1 of 40 \(2\.5 %\) +fail", ladder)
    assert "the overall line is never an acceptance" in ladder


def test_unknown_usage_is_never_zero(make_results) -> None:
    usage = section(render_report(make_results()), "Token use")
    assert re.search(r"baseline +output +900 +3 +unknown", usage)
    assert re.search(r"baseline +input +1000 +0 +1000", usage)
    assert re.search(r"candidate +not recorded +not recorded +not recorded +not recorded", usage)


def test_latency_is_descriptive_and_counts_the_censored(make_results) -> None:
    latency = section(render_report(make_results()), "Latency")
    assert "Descriptive, per arm" in latency
    assert re.search(r"baseline +80 +160 +1 +1\.20 ms \[1\.10 ms, 1\.40 ms\] \(95 %, order", latency)


def test_order_missing_deviations_and_lock_are_told(make_results) -> None:
    text = render_report(make_results())
    order = flat(section(text, "Order in the pair (design diagnostic)"))
    assert "first position 94.5 %, second 94.3 %" in order
    missing = section(text, "Missing pairs")
    assert re.search(r"void pairs +1\n", missing)
    assert re.search(r"share void +0\.6 %\nceiling +2\.0 %\n", missing)
    assert re.search(r"difference, worst case +-2\.5 pp", missing)
    assert re.search(r"difference, best case +\+0\.01 pp", missing)
    assert "- the machine was restarted (at = 2026-11-30T10:00:00Z)" in section(
        text, "Deviations from the plan"
    )
    provenance = section(text, "Provenance")
    assert "ab" * 32 in provenance
    assert re.search(r"lock committed before trial 1 +yes, at commit 0123abc", provenance)
    assert re.search(r"run +run 1 of 2 known for this lock", provenance)
    assert "- run 1 of 2 known for this lock" in provenance


@pytest.mark.parametrize(
    "commit, words",
    [
        (
            {"committed": False, "commit": None, "reason": "the lock is not in git"},
            "NO (the lock is not in git)",
        ),
        ({"committed": None, "commit": None, "reason": None}, "not recorded"),
        (None, "not recorded"),
    ],
)
def test_a_lock_that_was_not_committed_first_is_said_so(make_results, commit, words: str) -> None:
    design = {**make_results().design, "lock_commit": commit}
    provenance = section(render_report(make_results(design=design)), "Provenance")
    assert f"lock committed before trial 1  {words}" in provenance


def test_missing_numbers_of_the_design_are_words(make_results) -> None:
    missing = dict.fromkeys(make_results().missing)
    text = render_report(make_results(design={}, missing=missing))
    assert re.search(r"difference, worst case +not recorded", section(text, "Missing pairs"))
    assert re.search(r"tasks +not recorded", section(text, "What was run"))
    assert re.search(r"run +not recorded", section(text, "Provenance"))


def test_a_key_that_nobody_expected_is_printed(make_results) -> None:
    text = render_report(make_results(design={**make_results().design, "supersedes": "ef01"}))
    assert re.search(r"supersedes +ef01", section(text, "What was run"))


def test_floors_are_flagged(scenario) -> None:
    both = flat(render_report(scenario("floors")))
    assert "FLOORS: Both arms are floor drivers: anchors, and neither is a candidate for use." in both
    one = flat(render_report(scenario("one_floor")))
    assert "FLOORS: The baseline is a floor driver: an anchor, and no candidate for use" in one
    assert "FLOORS" not in render_report(scenario("non_inferior"))


def test_exploratory_results_say_so(scenario) -> None:
    text = render_report(scenario("exploratory"))
    assert "EXPLORATORY: nothing was locked beforehand" in text
    assert "none: nothing was locked" in section(text, "Provenance")
    assert "EXPLORATORY" not in render_report(scenario("non_inferior"))


@pytest.mark.parametrize("style", [*PAGES, "junit"])
def test_a_pilot_compares_nothing(scenario, style: str) -> None:
    text = render_report(scenario("pilot"), style)
    assert not COMPARATIVE.search(text), COMPARATIVE.search(text)
    assert not re.search(r"[-+]\d[\d.]* pp|x \d|\d %", text)
    assert "tilted" not in text
    assert "counts only" in text


def test_a_pilot_withholds_reasons_openly(scenario) -> None:
    why = section(render_report(scenario("pilot")), "Why this verdict")
    assert "1. one trial a cell is a pilot" in why
    assert "(1 of 2 reasons withheld: a pilot compares nothing)" in why
    assert "(PILOT)" in render_report(scenario("pilot"))


def test_a_pilot_that_claims_something_has_no_verdict(scenario, make_results) -> None:
    pilot = msgspec.structs.replace(scenario("superior"), evidence_level="pilot")
    assert "Verdict: NO VERDICT (PILOT)" in render_report(pilot)


@pytest.mark.parametrize(
    "name, line",
    [
        ("non_inferior", "that the candidate is superior was not shown"),
        ("inconclusive", "the claim (non-inferior, margin 5 pp) was not shown. Nor was the opposite"),
        ("void", "Nothing was shown: the run is void"),
        ("below_floor", "That the candidate may be used was not shown (below floor)"),
        ("pilot", "Nothing was shown about either arm in relation to the other"),
    ],
)
def test_what_was_not_shown(scenario, name: str, line: str) -> None:
    assert line in flat(section(render_report(scenario(name)), "What was not shown"))


def test_a_claim_that_was_never_tested_is_not_said_to_show_no_difference(
    make_results, make_proportion, make_ratio
) -> None:
    stopped = make_ratio(diagnostics=("descriptive: the declared sequence of claims stopped at completion",))
    told = flat(
        section(render_report(make_results(endpoints=(make_proportion(), stopped))), "What was not shown")
    )
    assert (
        "was not tested, whatever its interval: the declared sequence of claims stopped at completion" in told
    )
    assert "Nor was the opposite" not in told


def test_a_void_run_warns_above_its_numbers(scenario) -> None:
    assert "supports no statement" in section(render_report(scenario("void")), "Endpoints")
    assert "supports no statement" not in section(render_report(scenario("hard_fail")), "Endpoints")


def test_one_repetition_shows_nothing_of_variation(make_results) -> None:
    once = make_results(design={**make_results().design, "repetitions": 1})
    assert "there is one repetition" in section(render_report(once), "What was not shown")
    assert "there is one repetition" not in render_report(make_results())


def test_json_is_the_canonical_record(make_results) -> None:
    results = make_results()
    text = render_report(results, "json")
    assert text == canonical(msgspec.to_builtins(results)).decode() + "\n"
    assert msgspec.json.decode(text, type=Results) == results
    assert json.loads(text)["verdict"]["outcome"] == "non_inferior"


def test_an_unknown_format_lists_the_known_ones(make_results) -> None:
    with pytest.raises(StudyError) as caught:
        render_report(make_results(), "htlm")
    assert caught.value.allowed == "text, md, html, json, junit"
    assert "did you mean 'html'?" in str(caught.value)


def test_paths_are_listed_and_linked(make_results) -> None:
    paths = {"report": "out/report.html", "forest": "figures/for est.svg"}
    figures = {"forest": '<svg xmlns="http://www.w3.org/2000/svg"/>'}
    text = render_report(make_results(), figures=figures, paths=paths)
    assert "Figure forest: figures/for est.svg" in text
    assert re.search(r"file: report +out/report\.html", text)
    assert "![forest](figures/for%20est.svg)" in render_report(
        make_results(), "md", figures=figures, paths=paths
    )


def test_rendering_is_pure(make_results) -> None:
    results = make_results()
    before = render_report(results, "json")
    for style in (*PAGES, "junit"):
        assert render_report(results, style) == render_report(results, style)
    assert render_report(results, "json") == before


def test_results_that_no_endpoint_reads_are_said_to_be_open(make_results) -> None:
    design = {**make_results().design, "pinned_results": 60}
    told = flat(section(render_report(make_results(design=design)), "What was not shown"))
    assert "completion compares calls, not results" in told
    # 39 of 40 and 31 of 40 trials of the ladder
    assert "result completion was 97.5 % / 77.5 % (baseline / candidate). 60 of 80 cases" in told
    assert "compares calls" not in render_report(make_results())
    read = msgspec.structs.replace(make_results().endpoints[0], name="result_completion")
    assert "compares calls" not in render_report(make_results(design=design, endpoints=(read,)))


@pytest.mark.parametrize("page", PAGES)
def test_the_tasks_with_hard_fails_are_named(scenario, with_where, page: str) -> None:
    text = flat(render_report(with_where(scenario("hard_fail")), page))
    caption = "The tasks with hard fails, in the order of the schedule"
    assert caption not in flat(render_report(scenario("non_inferior"), page))
    assert caption in text
    for cell in ("t-07", "2 of 2", "t-07-b, repetition 2", "and 2 more tasks", "no tool"):
        assert cell in text
