"""How a study is conducted: what may be declared, what is refused, and which runs would crowd a worker."""

from __future__ import annotations

import math

import msgspec
import pytest

from study.conduct import RETRIABLE, TIMED, check_conduct, refuse_crowded
from study.endpoints import ENDPOINTS
from study.errors import ProtocolError, RunError
from study.protocol import (
    AnalysisSpec,
    Conditions,
    EndpointSpec,
    JournalSpec,
    Limits,
    Retries,
)
from study.records import OUTCOMES
from tests.support.protocols import parse


def test_what_is_not_declared_is_off_and_stays_absent_from_what_is_locked():
    protocol, written = parse()
    assert protocol.design.conditions is None
    assert protocol.retries is None
    assert protocol.journal is None
    assert protocol.limits == Limits(trial_timeout_s=20, grace_s=10)
    assert protocol.limits.max_wall_s is protocol.limits.max_tokens is protocol.limits.max_calls is None
    assert protocol.limits.trials_per_minute is None
    assert protocol.analysis == AnalysisSpec()
    assert written["limits"] == {"trial_timeout_s": 20}
    assert not {"retries", "journal", "analysis"} & set(written)


def test_everything_that_is_declared_is_read_as_written():
    protocol, written = parse(
        design='conditions = { cache = "warm", warm_up = 3, cool_down_s = 0.5, concurrency = 4 }',
        limits="grace_s = 0\nmax_wall_s = 28800\nmax_tokens = 2000000\nmax_calls = 10000\n"
        "trials_per_minute = 60",
        sections='[retries]\noutcomes = ["transport_error", "infrastructure"]\nattempts = 3\nwait_s = 1.0\n'
        "[journal]\nfsync_trials = 100\nfsync_s = 1.0",
    )
    assert protocol.design.conditions == Conditions(cache="warm", warm_up=3, cool_down_s=0.5, concurrency=4)
    assert protocol.limits == Limits(
        trial_timeout_s=20,
        grace_s=0,
        max_wall_s=28800,
        max_tokens=2_000_000,
        max_calls=10_000,
        trials_per_minute=60,
    )
    assert protocol.retries == Retries(outcomes=("transport_error", "infrastructure"), attempts=3, wait_s=1.0)
    assert protocol.journal == JournalSpec(fsync_trials=100, fsync_s=1.0)
    assert written["design"]["conditions"]["cool_down_s"] == 0.5


def test_left_out_keys_of_a_table_have_their_defaults():
    protocol, _ = parse(
        design='conditions = { cache = "cold" }',
        sections='[retries]\noutcomes = ["timeout"]\nattempts = 2\n[journal]\nfsync_s = 5',
    )
    assert protocol.design.conditions == Conditions(cache="cold", warm_up=0, cool_down_s=0, concurrency=1)
    assert msgspec.to_builtins(protocol.design.conditions) == {"cache": "cold"}
    assert protocol.retries == Retries(outcomes=("timeout",), attempts=2, wait_s=0)
    assert protocol.journal == JournalSpec(fsync_trials=None, fsync_s=5)


def retries(*, outcomes='["timeout"]', attempts="2", wait_s="0"):
    return f"[retries]\noutcomes = {outcomes}\nattempts = {attempts}\nwait_s = {wait_s}"


@pytest.mark.parametrize(
    "part, text, where, words",
    [
        ("design", "conditions = { warm_up = -1 }", "design.conditions.warm_up", ["= -1", "at least 0"]),
        ("design", "conditions = { warm_up = 1001 }", "design.conditions.warm_up", ["at most 1000"]),
        ("design", "conditions = { warm_up = 1.5 }", "design.conditions.warm_up", ["whole number", "1.5"]),
        ("design", "conditions = { warm_up = true }", "design.conditions.warm_up", ["whole number"]),
        ("design", "conditions = { cool_down_s = -0.1 }", "design.conditions.cool_down_s", ["seconds"]),
        ("design", "conditions = { cool_down_s = 86401 }", "design.conditions.cool_down_s", ["86400"]),
        ("design", "conditions = { cool_down_s = nan }", "design.conditions.cool_down_s", ["not a finite"]),
        ("design", "conditions = { concurrency = 0 }", "design.conditions.concurrency", ["at least 1"]),
        ("design", 'conditions = { concurrency = "2" }', "design.conditions.concurrency", ["whole number"]),
        ("design", "conditions = { cach = 1 }", "design.conditions", ["did you mean 'cache'"]),
        ("design", 'conditions = "cold"', "design.conditions", ["cold"]),
        (
            "design",
            'conditions = { cache = "cold", concurrency = 2 }',
            "design.conditions",
            ["reset", "pairs beside it", "--executor process"],
        ),
        ("limits", "grace_s = -1", "limits.grace_s", ["at least 0"]),
        ("limits", "grace_s = inf", "limits.grace_s", ["not a finite"]),
        ("limits", "max_wall_s = 0", "limits.max_wall_s", ["above 0"]),
        ("limits", "max_wall_s = 1e9", "limits.max_wall_s", ["at most 31622400"]),
        ("limits", "max_tokens = 0", "limits.max_tokens", ["at least 1"]),
        ("limits", "max_tokens = 2e6", "limits.max_tokens", ["whole number"]),
        ("limits", "max_tokens = 1000000000000001", "limits.max_tokens", ["at most 1000000000000000"]),
        ("limits", "max_calls = -3", "limits.max_calls", ["= -3"]),
        ("limits", "trials_per_minute = 0", "limits.trials_per_minute", ["at least 0.001"]),
        ("limits", "max_cals = 1", "limits", ["did you mean 'max_calls'"]),
        ("sections", retries(attempts="1"), "retries.attempts", ["= 1", "at least 2"]),
        ("sections", retries(attempts="11"), "retries.attempts", ["at most 10"]),
        ("sections", retries(wait_s="-1"), "retries.wait_s", ["at least 0"]),
        ("sections", retries(outcomes="[]"), "retries.outcomes", ["at least one"]),
        ("sections", retries(outcomes='["timeout", "timeout"]'), "retries.outcomes", ["once"]),
        ("sections", retries(outcomes='"timeout"'), "retries.outcomes", ["list"]),
        (
            "sections",
            retries(outcomes='["time_out"]'),
            "retries.outcomes",
            ["did you mean 'timeout'", "transport_error, infrastructure, timeout, driver_error"],
        ),
        ("sections", retries(outcomes='["cancelled"]'), "retries.outcomes", ["made again anyhow"]),
        ("sections", "[retries]\nattempts = 2", "retries", ["'outcomes' is missing"]),
        ("sections", '[retries]\noutcomes = ["timeout"]', "retries", ["'attempts' is missing"]),
        ("sections", "[journal]\nfsync_trials = 0", "journal.fsync_trials", ["at least 1"]),
        ("sections", "[journal]\nfsync_trials = 1.0", "journal.fsync_trials", ["whole number"]),
        ("sections", "[journal]\nfsync_s = 0", "journal.fsync_s", ["above 0", "at most 3600"]),
        ("sections", "[journal]\nfsync = 1", "journal", ["fsync_trials"]),
    ],
)
def test_each_mistake_is_told_at_its_place(part, text, where, words):
    with pytest.raises(ProtocolError) as caught:
        parse(**{part: text})
    assert caught.value.where == f"p.toml:{where}"
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("outcome", ["answered", "refused", "unparseable", "empty"])
def test_an_answer_is_never_asked_again(outcome):
    with pytest.raises(ProtocolError, match="an answer is never asked again"):
        parse(sections=retries(outcomes=f'["{outcome}"]'))


def test_an_outcome_is_either_retriable_or_an_answer_or_an_interrupt():
    assert set(RETRIABLE) | {"answered", "refused", "unparseable", "empty", "cancelled"} == set(OUTCOMES)


def test_the_ends_of_a_range_that_are_in_it():
    parse(
        design="conditions = { warm_up = 1000, cool_down_s = 86400, concurrency = 1000 }",
        limits="grace_s = 86400\nmax_wall_s = 31622400\nmax_tokens = 1\nmax_calls = 1\n"
        "trials_per_minute = 0.001",
        sections=retries(outcomes=str(list(RETRIABLE)), attempts="10", wait_s="86400")
        + "\n[journal]\nfsync_trials = 1\nfsync_s = 3600",
    )


def test_numbers_that_are_none_are_refused_in_records_made_by_hand_too():
    protocol, _ = parse()
    odd = msgspec.structs.replace(protocol, limits=Limits(trial_timeout_s=math.nan))
    with pytest.raises(ProtocolError, match="trial_timeout_s = nan"):
        check_conduct(odd, "p.toml")


def test_the_endpoints_of_time():
    named = {name for name in ENDPOINTS if "latency" in name or "time" in name}
    assert set(TIMED) == named


@pytest.mark.parametrize("endpoint", ["latency_gmr", "latency_restricted_mean", "timeouts"])
def test_more_pairs_in_one_process_than_declared_are_refused_with_an_endpoint_of_time(endpoint):
    protocol, _ = parse(endpoint=endpoint)
    refuse_crowded(protocol, "inprocess", 1)
    refuse_crowded(protocol, "process", 8)
    refuse_crowded(protocol, "dask://host:1", 0)
    with pytest.raises(RunError) as caught:
        refuse_crowded(protocol, "inprocess", 2)
    told = str(caught.value)
    for word in ("--workers", "2 pairs", "declares 1", endpoint, "--executor process", "concurrency = 2"):
        assert word in told
    crowded, _ = parse(endpoint=endpoint, design="conditions = { concurrency = 2 }")
    refuse_crowded(crowded, "inprocess", 2)
    with pytest.raises(RunError, match="declares 2"):
        refuse_crowded(crowded, "inprocess", 3)


def test_a_descriptive_endpoint_of_time_counts_and_others_do_not():
    protocol, _ = parse()
    refuse_crowded(protocol, "inprocess", 4)
    second = EndpointSpec(name="latency_p95", role="secondary")
    timed = msgspec.structs.replace(protocol, endpoints=(*protocol.endpoints, second))
    with pytest.raises(RunError, match="latency_p95"):
        refuse_crowded(timed, "inprocess", 4)


def test_a_cold_cache_is_never_crowded():
    protocol, _ = parse(design='conditions = { cache = "cold" }')
    refuse_crowded(protocol, "inprocess", 1)
    refuse_crowded(protocol, "process", 4)
    with pytest.raises(RunError, match="reset of the cold cache") as caught:
        refuse_crowded(protocol, "inprocess", 2)
    assert "concurrency =" not in caught.value.next_step
