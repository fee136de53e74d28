from xml.etree import ElementTree

import msgspec
import pytest

from analysis.report import render_report


def cases(results) -> dict[str, str]:
    """Return how each test case ended, and check the totals of the suite."""
    suite = ElementTree.fromstring(render_report(results, "junit").encode())[0]
    ends = {case.get("name", ""): case[0].tag for case in suite}
    assert int(suite.get("tests", "")) == len(ends)
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(attribute, "")) == list(ends.values()).count(tag)
    return ends


@pytest.mark.parametrize(
    "name, verdict, primary",
    [
        ("non_inferior", "system-out", "system-out"),
        ("superior", "system-out", "system-out"),
        ("inconclusive", "failure", "failure"),
        ("hard_fail", "failure", "system-out"),
        ("below_floor", "failure", "system-out"),
        ("void", "error", "skipped"),
    ],
)
def test_the_suite_fails_with_the_verdict(scenario, name: str, verdict: str, primary: str) -> None:
    ends = cases(scenario(name))
    assert ends["verdict"] == verdict
    assert ends["primary: completion"] == primary


def test_a_secondary_endpoint_never_fails_the_suite(scenario) -> None:
    assert cases(scenario("non_inferior"))["secondary: latency_gmr"] == "skipped"


def test_a_guardrail_that_is_not_shown_fails(scenario, make_ratio) -> None:
    results = scenario("inconclusive")
    guarded = msgspec.structs.replace(results, endpoints=(results.endpoints[0], make_ratio(role="guardrail")))
    assert cases(guarded)["guardrail: latency_gmr"] == "failure"


def test_a_descriptive_endpoint_is_skipped(make_results, make_ratio) -> None:
    described = make_ratio(claim=None, margin=None, margin_text=None, outcome=None)
    assert cases(make_results(endpoints=(described,)))["secondary: latency_gmr"] == "skipped"


def test_a_pilot_fails_and_skips_its_endpoints(scenario) -> None:
    ends = cases(scenario("pilot"))
    assert ends == {
        "verdict (pilot)": "failure",
        "primary: completion": "skipped",
        "secondary: latency_gmr": "skipped",
    }


def test_an_outcome_beyond_the_claim_of_equivalence_does_not_meet_it(scenario, make_proportion) -> None:
    beyond = make_proportion(claim="equivalent", outcome="superior")
    results = msgspec.structs.replace(scenario("superior"), endpoints=(beyond,))
    assert cases(results) == {"verdict": "failure", "primary: completion": "failure"}
