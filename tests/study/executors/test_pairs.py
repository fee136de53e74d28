"""Pairs at a place: order, warm-up, pauses and retries, with a scripted station and a clock of its own."""

from __future__ import annotations

import math
from statistics import fmean

import pytest

from study.executors import Conduct, Execution, PairJob, Place, TrialJob
from study.executors.settling import NO_REPORT
from study.executors.trials import produced_bytes
from study.schedule import build_schedule

CASES = [("c", 1), ("d", 2)]
PAIR = PairJob("c#1", (TrialJob(0, "baseline", "c", 1), TrialJob(1, "candidate", "c", 1)), waited_s=3.0)


class Clock:
    """Stands still unless somebody sleeps or works."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("study.executors.pairs.time", made)
    return made


class Station:
    """Answers from a script, ``answered`` where it has no word; each attempt takes two seconds."""

    name = "scripted"

    def __init__(self, clock, script=(), slept_s=0.0):
        self.clock, self.script, self.slept_s = clock, list(script), slept_s
        self.asked = []

    def execute(self, arm, case_id, seed):
        self.asked.append((self.clock.now, arm, case_id, seed))
        outcome = self.script.pop(0) if self.script else "answered"
        self.clock.sleep(2.0)
        produced = produced_bytes(outcome, NO_REPORT)
        return Execution(
            outcome, produced, started_at_s=self.clock.now, latency_s=2.0 - self.slept_s, slept_s=self.slept_s
        )

    def close(self):
        return ()


def place(station, stopping=lambda: False, **conduct):
    told = []
    made = Place(station, Conduct(timeout_s=5.0, **conduct), CASES, told.append, stopping)
    return made, told


def test_a_pair_is_told_in_order_and_waited_once(clock):
    at, told = place(Station(clock))
    at.run(PAIR)
    assert [(done.trial, done.attempt, done.retried, done.waited_s, done.worker) for done in told] == [
        (0, 1, False, 3.0, "scripted"),
        (1, 1, False, 0.0, "scripted"),
    ]


def test_warm_up_asks_each_arm_once_a_station_and_is_no_trial(clock):
    station = Station(clock)
    at, told = place(station, warm_up=3)
    at.run(PAIR)
    at.run(PAIR)
    arms = ("baseline", "candidate")
    warming = [(arm, *case) for case in (CASES[0], CASES[1], CASES[0]) for arm in arms]
    real = [(arm, "c", 1) for _ in range(2) for arm in arms]
    assert [asked[1:] for asked in station.asked] == warming + real
    assert len(told) == 4


def test_a_station_cools_down_between_pairs_and_not_within_them(clock):
    station = Station(clock)
    at, _ = place(station, cool_down_s=10.0)
    for _ in range(3):
        at.run(PAIR)
    starts = [asked[0] - 100.0 for asked in station.asked]
    assert starts == pytest.approx([0, 2, 14, 16, 28, 30])


def test_a_declared_outcome_is_attempted_again_until_the_declared_number(clock):
    station = Station(clock, ["transport_error", "timeout", "transport_error", "transport_error"])
    at, told = place(station, retried=("transport_error",), attempts=3, wait_s=5.0)
    at.run(PAIR)
    assert [(done.trial, done.attempt, done.retried, done.execution.outcome) for done in told] == [
        (0, 1, True, "transport_error"),
        (0, 2, False, "timeout"),
        (1, 1, True, "transport_error"),
        (1, 2, True, "transport_error"),
        (1, 3, False, "answered"),
    ]
    assert [done.waited_s for done in told] == pytest.approx([3.0, 5.0, 0.0, 5.0, 5.0])
    assert [asked[0] - 100.0 for asked in station.asked] == pytest.approx([0, 7, 9, 16, 23])


def test_the_last_attempt_stands_whatever_it_came_to(clock):
    at, told = place(Station(clock, ["timeout"] * 9), retried=("timeout",), attempts=2)
    at.run(PAIR)
    assert [(done.trial, done.attempt, done.retried) for done in told] == [
        (0, 1, True),
        (0, 2, False),
        (1, 1, True),
        (1, 2, False),
    ]


def test_attempts_before_a_resume_count(clock):
    at, told = place(Station(clock, ["timeout"] * 9), retried=("timeout",), attempts=3)
    at.run(PairJob("c#1", (TrialJob(1, "candidate", "c", 1, attempt=4, tried=2),)))
    assert [(done.attempt, done.retried) for done in told] == [(4, False)]


def test_a_cancelled_trial_ends_its_pair_and_is_never_retried(clock):
    at, told = place(Station(clock, ["cancelled"]), retried=("timeout",), attempts=3)
    at.run(PAIR)
    assert [(done.trial, done.execution.outcome, done.retried) for done in told] == [(0, "cancelled", False)]


def test_a_pause_ends_with_the_run_and_no_attempt_follows(clock):
    station = Station(clock, ["timeout"] * 9)
    at, told = place(station, lambda: clock.now >= 110.0, retried=("timeout",), attempts=9, wait_s=60.0)
    at.run(PAIR)
    assert [(done.trial, done.retried) for done in told] == [(0, True)]
    assert 110.0 <= clock.now < 110.5


def test_nothing_starts_once_the_run_is_over(clock):
    station = Station(clock)
    at, told = place(station, lambda: True, warm_up=2)
    at.run(PAIR)
    assert (station.asked, told) == ([], [])


def test_seconds_slept_through_the_context_are_told_as_waited(clock):
    at, told = place(Station(clock, slept_s=0.5))
    at.run(PAIR)
    assert [done.waited_s for done in told] == [3.5, 0.5]


class Drifting(Station):
    """Each attempt takes longer the later it is; the candidate takes a tenth more than the baseline."""

    drift_per_s = 0.004

    def execute(self, arm, case_id, seed):
        self.asked.append((self.clock.now, arm, case_id, seed))
        latency_s = 1.0 + self.drift_per_s * (self.clock.now - 100.0)
        latency_s *= 1.1 if arm == "candidate" else 1.0
        self.clock.sleep(latency_s)
        produced = produced_bytes("answered", NO_REPORT)
        return Execution("answered", produced, started_at_s=self.clock.now, latency_s=latency_s)


def log_ratio(clock, schedule):
    """Run a schedule pair by pair; return the mean log-ratio of the latencies within pairs."""
    clock.now = 100.0
    at, told = place(Drifting(clock))
    for n in range(0, len(schedule), 2):
        trials = [TrialJob(n + k, schedule[n + k].arm, schedule[n + k].case_id, 0) for k in (0, 1)]
        at.run(PairJob(schedule[n].pair, tuple(trials)))
    of_pair: dict[str, dict[str, float]] = {}
    for done in told:
        row = schedule[done.trial]
        of_pair.setdefault(row.pair, {})[row.arm] = done.execution.latency_s
    return fmean(math.log(pair["candidate"] / pair["baseline"]) for pair in of_pair.values())


def test_a_drift_over_the_run_does_not_bias_the_paired_comparison(clock):
    """Against arms one after the other, and against pairs that always begin with the baseline."""
    schedule = build_schedule(5, [(f"t{n}", f"c{n}") for n in range(200)], 1)
    truth = math.log(1.1)
    assert log_ratio(clock, schedule) == pytest.approx(truth, abs=2e-4)
    always_first = sorted(schedule, key=lambda row: (row.trial // 2, row.arm))
    assert log_ratio(clock, always_first) > truth + 3e-3
    one_after_the_other = sorted(schedule, key=lambda row: (row.arm, row.trial))
    assert log_ratio(clock, one_after_the_other) > truth + 0.5
