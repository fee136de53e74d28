"""The closed table of endpoints, and margins with their units."""

from __future__ import annotations

import math

import pytest

from study.endpoints import ENDPOINTS, SUPPORTED_ENDPOINTS, find_endpoint, parse_margin
from study.errors import ProtocolError


def test_the_table_is_the_closed_list():
    assert set(ENDPOINTS) == {
        "completion",
        "pass",
        "result_completion",
        "pass_hat_k",
        "pass_at_k",
        "latency_gmr",
        "latency_p50",
        "latency_p90",
        "latency_p95",
        "latency_p99",
        "latency_restricted_mean",
        "timeouts",
        "tokens_input",
        "tokens_output",
        "tokens_total",
        "calls",
    }
    assert set(SUPPORTED_ENDPOINTS) == set(ENDPOINTS)
    assert {name for name, entry in ENDPOINTS.items() if entry.takes_k} == {"pass_hat_k", "pass_at_k"}
    lower = {name for name, entry in ENDPOINTS.items() if not entry.higher_is_better}
    assert lower == {n for n in ENDPOINTS if n.startswith(("latency", "tokens"))} | {"timeouts", "calls"}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("5 pp", "completion", 0.05),
        ("5pp", "timeouts", 0.05),
        (" 2.5  pp ", "pass", 0.025),
        ("99.9 pp", "pass", 0.999),
        ("10 %", "latency_gmr", math.log(1.1)),
        ("150 %", "latency_p95", math.log(2.5)),
        ("0.2 s", "latency_restricted_mean", 0.2),
        ("0.5 calls", "calls", 0.5),
    ],
)
def test_margins_in_the_unit_of_the_contrast(text, name, value):
    assert parse_margin(text, name, "p.toml:margin") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("5", "completion"),
        (5, "completion"),
        (0.05, "completion"),
        (None, "completion"),
        ("", "completion"),
        ("pp", "completion"),
        ("5 %", "completion"),
        ("5 percent", "completion"),
        ("5 PP", "completion"),
        ("-5 pp", "completion"),
        ("0 pp", "completion"),
        ("0.0 pp", "completion"),
        ("100 pp", "completion"),
        ("nan pp", "completion"),
        ("inf pp", "completion"),
        ("1e1 pp", "completion"),
        ("5,5 pp", "completion"),
        ("5 pp pp", "completion"),
        ("٥ pp", "completion"),
        (f"{'9' * 400} %", "latency_gmr"),
        ("5 pp", "latency_gmr"),
        ("0.2 s", "latency_gmr"),
        ("0 %", "latency_gmr"),
        ("10", "latency_gmr"),
    ],
)
def test_other_margins_are_refused_with_place_and_example(text, name):
    with pytest.raises(ProtocolError) as error:
        parse_margin(text, name, "p.toml:endpoints[0].margin")
    assert error.value.where == "p.toml:endpoints[0].margin"
    assert "e.g." in error.value.allowed
    assert repr(text)[:20] in str(error.value)


def test_an_endpoint_is_found_or_named():
    assert find_endpoint("completion", "x").unit == "proportion"
    with pytest.raises(ProtocolError, match="did you mean 'completion'"):
        find_endpoint("completions", "x")
    with pytest.raises(ProtocolError, match="unknown endpoint 'latency_p42'") as error:
        find_endpoint("latency_p42", "p.toml:endpoints[1].name")
    assert error.value.where == "p.toml:endpoints[1].name"
    assert error.value.allowed == ", ".join(SUPPORTED_ENDPOINTS)
