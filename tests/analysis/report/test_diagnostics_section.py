from __future__ import annotations

import pytest

from analysis.report import render_report
from analysis.results import Diagnostic, Interval


def entry(**changes):
    fields = {
        "name": "position",
        "endpoint": "completion",
        "arm": None,
        "value": -0.031,
        "unit": "proportion",
        "interval": Interval(low=-0.06, high=-0.00004, level=0.99, method="task jackknife, t"),
        "threshold": "the 99 % interval excludes no change",
        "n_tasks": 80,
        "status": "noticed",
        "sentence": "completion in the second position - in the first: -3.1 pp",
    }
    return Diagnostic(**fields | changes)


ALL = (
    entry(
        name="few_tasks",
        endpoint=None,
        value=80.0,
        unit="tasks",
        interval=None,
        threshold="fewer than 20 tasks",
        status="ok",
        sentence="80 tasks: enough",
    ),
    entry(
        name="identical_repetitions",
        endpoint=None,
        arm="baseline",
        value=0.5,
        unit="share",
        interval=None,
        threshold="all end alike",
        status="ok",
        sentence="the repetitions of 40 of 80 cases ended alike",
    ),
    entry(),
    entry(
        name="drift",
        endpoint="latency",
        arm=None,
        value=None,
        unit="log_ratio",
        interval=None,
        status="not_computed",
        sentence="the order is not known",
    ),
    entry(
        name="drift",
        endpoint="latency",
        arm="candidate",
        value=None,
        unit="log_ratio",
        interval=None,
        status="not_computed",
        sentence="the order is not known",
    ),
)


def section(text):
    return text.split("Diagnostics (none decides)")[1].split("Missing pairs")[0]


@pytest.mark.parametrize("style", ["text", "md", "html"])
def test_rows_hold_value_interval_threshold_and_status(make_results, style):
    text = " ".join(section(render_report(make_results(diagnostics=ALL), style)).split())
    for part in ("number of tasks", "-3.1 pp", "50.0 %", "fewer than 20 tasks", "noticed: completion"):
        assert part in text
    assert text.count("the order is not known") == 1


def test_plain_text_keeps_its_width(make_results):
    assert max(map(len, render_report(make_results(diagnostics=ALL)).splitlines())) <= 100


def test_a_limit_is_not_rounded_onto_no_change(make_results):
    assert "-0.004 pp]" in render_report(make_results(diagnostics=ALL), "md")


def test_a_pilot_prints_counts_in_words(scenario):
    import msgspec

    text = section(render_report(msgspec.structs.replace(scenario("pilot"), diagnostics=ALL), "md"))
    assert "80 tasks: enough" in text
    assert "40 of 80 cases" in text
    assert "pp" not in text


def test_without_diagnostics_it_says_so(make_results):
    assert "None was recorded." in section(render_report(make_results(), "md"))
    quiet = section(render_report(make_results(diagnostics=ALL[:2]), "md"))
    assert "No threshold was crossed." in quiet
