"""Which entries a journal may hold, in which order; forged lines have right links throughout."""

from __future__ import annotations

import pytest

from study.errors import IntegrityError
from study.journal import Stop, read_journal
from study.records import OUTCOMES, Produced
from tests.support.journals import (
    LOCK,
    attempt,
    chain,
    forged,
    header,
    records_of,
    session,
    write,
    write_entries,
)

STOP = Stop(reason="max_calls", limit=2, used=2)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def refused(path, line, match, allowed):
    with pytest.raises(IntegrityError, match=match) as caught:
        read_journal(path, LOCK)
    assert caught.value.where == f"{path}:{line}"
    assert allowed in (caught.value.allowed or "")
    assert caught.value.next_step


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("retried", [False, True])
def test_only_a_cancelled_or_retried_attempt_is_followed_by_another(path, outcome, retried):
    assert attempt(0, outcome=outcome, retried=retried).final is (outcome != "cancelled" and not retried)
    write(path, attempt(0, outcome=outcome, retried=retried), attempt(0, number=2))
    if outcome == "cancelled" or retried:
        assert read_journal(path, LOCK).finals[0].attempt == 2
    else:
        refused(path, 4, "trial 0 has an attempt after its final one", "one final attempt")


@pytest.mark.parametrize(
    "entries, line, match, allowed",
    [
        ([session()], 1, "no header", "a header in the first line"),
        ([header(), header()], 2, "a second header", "one header"),
        ([header(), session(), attempt(0), header()], 4, "a second header", "one header"),
        ([header("cd" * 32)], 1, "the header names the lock 'cdcd", LOCK),
        ([header(), session(2)], 2, "session 2 follows session 0", "1"),
        ([header(), session(), session()], 3, "session 1 follows session 1", "2"),
        ([header(), session(), session(3)], 3, "session 3 follows session 1", "2"),
        ([header(), session(workers=0)], 2, "workers 0", "1 or more"),
        ([header(), attempt(0)], 2, "an attempt of session 1", "a session before"),
        ([header(), session(), attempt(0, session=2)], 3, "an attempt of session 2", "session 1"),
        ([header(), session(), session(2), attempt(0)], 4, "an attempt of session 1", "session 2"),
        ([header(), session(), attempt(0, number=2)], 3, "attempt 2 of trial 0", "attempt 1"),
        ([header(), session(), attempt(0, number=0)], 3, "attempt 0 of trial 0", "attempt 1"),
        (
            [header(), session(), attempt(0, retried=True), attempt(0, number=3)],
            4,
            "attempt 3 of trial 0",
            "attempt 2",
        ),
        ([header(), STOP], 2, "a stop before the first session", "after a session"),
        ([header(), session(), STOP, STOP], 4, "a second stop", "at most one stop"),
        ([header(), session(), STOP, attempt(0)], 4, "after the end of the run", "none after the stop"),
        (
            [header(), session(), STOP, session(2), attempt(0, session=2)],
            5,
            "after the end of the run",
            "none",
        ),
        ([header(), session(), attempt(-1)], 3, "trial -1", "0 or more"),
        ([header(), session(), attempt(0, repetition=0)], 3, "repetition 0", "1 or more"),
        ([header(), session(), attempt(0, latency_s=-0.5)], 3, "latency_s -0.5", "0 or more seconds"),
        ([header(), session(), attempt(0, waited_s=-1.0)], 3, "waited_s -1.0", "0 or more seconds"),
        ([header(), session(), attempt(0, elapsed_s=-2.0)], 3, "elapsed_s -2.0", "or none"),
        (
            [header(), session(), attempt(0, produced=Produced(outcome="timeout", report={}))],
            3,
            "trial 0 is 'answered', what it produced 'timeout'",
            "the same outcome",
        ),
        ([header(), session(), Stop(reason="max_calls", limit=-1, used=0)], 3, "limit -1", "0 or more"),
        ([header(), session(), Stop(reason="max_calls", limit=0, used=-1)], 3, "used -1", "0 or more"),
    ],
)
def test_an_entry_at_the_wrong_place_or_out_of_bounds_is_refused(path, entries, line, match, allowed):
    write_entries(path, entries)
    refused(path, line, match, allowed)


@pytest.mark.parametrize(
    "line, changes",
    [
        (1, {"schema": 2}),
        (1, {"more": 1}),
        (2, {"kind": "note"}),
        (2, {"session": "1"}),
        (3, {"outcome": "asked"}),
        (3, {"arm": "both"}),
        (3, {"latency_s": None}),
        (3, {"latency_s": float("inf")}),
        (3, {"latency_s": float("nan")}),
        (3, {"produced": {"outcome": "answered", "report": []}}),
        (3, {"retried": 1}),
        (4, {"reason": "max_patience"}),
    ],
)
def test_what_is_no_record_is_refused(path, line, changes):
    path.write_bytes(forged(write(path, attempt(0), STOP), line, **changes))
    refused(path, line, "not a journal record", "header, session, attempt and stop")


def test_a_resumed_run_may_note_its_session_after_the_stop(path):
    write(path, attempt(0), STOP, session(2))
    state = read_journal(path, LOCK)
    assert state.stop == STOP
    assert [s.session for s in state.sessions] == [1, 2]


def test_nesting_without_end_is_refused(path):
    report = {"calls": []}
    whole = write(path, attempt(0, report=report))
    deep = forged(whole, 3).replace(b'"calls": []', b'"calls": ' + b"[" * 100_000 + b"]" * 100_000)
    path.write_bytes(chain(records_of(deep)))
    refused(path, 3, "nested too deeply", "header, session")
