import msgspec
import pytest

from analysis.report import render_summary

PATHS = {"report": "runs/x/report.html", "figure": "runs/x/figures/forest.svg"}
SCENARIOS = ("non_inferior", "hard_fail", "void", "below_floor", "pilot", "floors", "exploratory", "refused")


def test_the_summary_of_a_claim_that_was_met(make_results) -> None:
    assert render_summary(make_results(), exit_code=0, paths=PATHS) == (
        "verdict     NON-INFERIOR\n"
        "            The candidate loses at most 4.1 pp of completion, less than the margin of 5 pp.\n"
        "primary     completion -1.3 pp [-4.1 pp, +2.0 pp] (95 %, tilted), n tasks = 80, pairs = 160; claim\n"
        "            non-inferior, margin 5 pp: non-inferior\n"
        "hard fails  baseline 0 in 160 trials; candidate 0 in 160 trials\n"
        "exit code   0: claim met\n"
        "report      runs/x/report.html\n"
        "figure      runs/x/figures/forest.svg\n"
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_short(scenario, name: str) -> None:
    lines = render_summary(scenario(name), exit_code=1, paths=PATHS).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 100


def test_it_stays_short_whatever_it_is_given(scenario, make_proportion) -> None:
    results = scenario("floors")
    long = "word " * 400
    worst = msgspec.structs.replace(
        results,
        verdict=msgspec.structs.replace(results.verdict, sentence=long),
        endpoints=tuple(make_proportion(name=f"{'e' * 60}{n}") for n in range(9)),
    )
    paths = {f"path{n}": f"runs/{'x' * 85}{n}" for n in range(9)}
    lines = render_summary(worst, exit_code=4, paths=paths).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 100
    assert "            and 8 more primary endpoints in the report" in lines
    assert f"runs/{'x' * 85}0" in lines


def test_the_first_hard_fail_of_the_candidate_is_named(scenario, with_where) -> None:
    text = render_summary(with_where(scenario("hard_fail")), exit_code=1)
    assert (
        "hard fails  baseline 0 in 160 trials; candidate 3 in 160 trials\n"
        '            candidate, case t-07-b, repetition 2: unknown-tool at calls[0]: no tool "teleport"\n'
    ) in text
    wide = with_where(scenario("hard_fail"), text="word " * 200)
    assert len(render_summary(wide, exit_code=1, paths=PATHS).splitlines()) <= 15


@pytest.mark.parametrize(
    "name, code, words",
    [
        ("non_inferior", 0, "0: claim met"),
        ("inconclusive", 0, "0: finished (this code does not tell the claim)"),
        ("hard_fail", 1, "1: claim not met (hard fail)"),
        ("below_floor", 1, "1: claim not met (below floor)"),
        ("void", 3, "3: void"),
        ("inconclusive", 4, "4: inconclusive"),
        ("non_inferior", 2, "2: usage or input error"),
        ("non_inferior", 130, "130: interrupted; the run can be resumed"),
    ],
)
def test_the_exit_code_is_explained(scenario, name: str, code: int, words: str) -> None:
    assert f"exit code   {words}\n" in render_summary(scenario(name), exit_code=code)


def test_flags_are_in_the_first_line(scenario) -> None:
    assert render_summary(scenario("exploratory"), exit_code=0).startswith(
        "verdict     NON-INFERIOR (EXPLORATORY)\n"
    )
    assert "floors      Both arms are floor drivers" in render_summary(scenario("floors"), exit_code=0)


def test_a_pilot_prints_counts(scenario) -> None:
    text = render_summary(scenario("pilot"), exit_code=4)
    assert "primary     completion: n tasks = 80, pairs = 160 (pilot: counts only)\n" in text
    assert " pp" not in text
    assert "inferior" not in text
    assert "superior" not in text


def test_hard_fails_are_counted_or_not_recorded(scenario, make_results) -> None:
    assert "candidate 3 in 160 trials" in render_summary(scenario("hard_fail"), exit_code=1)
    assert "baseline not recorded; candidate not recorded" in render_summary(
        make_results(hard_fails={}), exit_code=0
    )


def test_without_a_primary_endpoint_it_says_so(make_results) -> None:
    assert "no primary endpoint was estimated" in render_summary(make_results(endpoints=()), exit_code=3)
