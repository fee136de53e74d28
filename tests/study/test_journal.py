"""The journal: flushed, chained, and honest about what was cut off or changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.errors import IntegrityError, RunError
from study.journal import Attempt, Header, Journal, Session, first_link, read_journal
from study.records import Produced

LOCK = "ab" * 32


def attempt(trial, *, session=1, number=1, outcome="answered", pair=None, arm="baseline"):
    return Attempt(
        trial=trial,
        pair=pair or f"case-{trial}#1",
        arm=arm,
        case_id=f"case-{trial}",
        repetition=1,
        attempt=number,
        session=session,
        outcome=outcome,
        produced=Produced(outcome=outcome, report={"calls": [], "refused": True}),
        started_at_s=1.0,
        latency_s=0.25,
    )


def write(path, *attempts):
    journal = Journal(path, first_link(LOCK))
    journal.append(Header(schema=1, study="s", lock_digest=LOCK))
    journal.append(Session(session=1, started_at_s=0.5, environment_digest="e"))
    for entry in attempts:
        journal.append(entry)
    journal.close()
    return path.read_bytes()


def test_what_was_appended_is_read_back(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path, attempt(0), attempt(1, outcome="timeout"))
    state = read_journal(path, LOCK)
    assert [a.trial for a in state.attempts] == [0, 1]
    assert state.finals[1].outcome == "timeout"
    assert state.attempts[0].produced.report == {"calls": [], "refused": True}
    assert state.torn == b""


def test_each_record_reaches_the_system_before_append_returns(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, first_link(LOCK))
    journal.append(Header(schema=1, study="s", lock_digest=LOCK))
    sizes = []
    for n in range(3):
        journal.append(attempt(n))
        sizes.append(path.stat().st_size)
    assert sizes == sorted(set(sizes))
    assert path.read_bytes().endswith(b"}\n")
    journal.close()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_cut_leaves_a_prefix_and_a_torn_tail(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    whole = write(path, *(attempt(n) for n in range(4)))
    header_end = whole.index(b"\n") + 1
    cut = data.draw(st.integers(header_end, len(whole)))
    path.write_bytes(whole[:cut])
    state = read_journal(path, LOCK)
    kept = whole[:cut].rfind(b"\n") + 1
    assert state.intact_bytes == kept
    assert state.torn == whole[kept:cut]
    assert len(state.attempts) == max(0, whole[:cut].count(b"\n") - 2)
    journal = Journal(path, state.link, state.intact_bytes)
    for n in range(len(state.attempts), 4):
        journal.append(attempt(n))
    journal.close()
    assert [a.trial for a in read_journal(path, LOCK).attempts] == [0, 1, 2, 3]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_changed_byte_is_found(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("flip") / "journal.jsonl"
    whole = write(path, *(attempt(n) for n in range(3)))
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda v: v != whole[place]))
    path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
    if place == len(whole) - 1:
        assert read_journal(path, LOCK).torn
    else:
        with pytest.raises(IntegrityError, match="journal"):
            read_journal(path, LOCK)


def test_a_removed_line_breaks_the_chain(tmp_path):
    path = tmp_path / "journal.jsonl"
    lines = write(path, *(attempt(n) for n in range(3))).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(IntegrityError, match="chain") as caught:
        read_journal(path, LOCK)
    assert caught.value.where.endswith(":4")


def test_a_journal_of_another_lock_is_refused(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(path, attempt(0))
    with pytest.raises(IntegrityError):
        read_journal(path, "cd" * 32)


def test_two_writers_are_refused(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = Journal(path, first_link(LOCK))
    with pytest.raises(RunError, match="another process"):
        Journal(path, first_link(LOCK))
    first.close()


def test_only_a_cancelled_attempt_may_be_followed_by_another(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path, attempt(0, outcome="cancelled"), attempt(0, number=2))
    assert read_journal(path, LOCK).finals[0].attempt == 2
    path = tmp_path / "b.jsonl"
    write(path, attempt(0, outcome="timeout"), attempt(0, number=2))
    with pytest.raises(IntegrityError, match="after its final one"):
        read_journal(path, LOCK)


def test_pairs_of_two_sessions_are_split(tmp_path):
    path = tmp_path / "journal.jsonl"
    write(
        path,
        attempt(0, pair="p#1"),
        attempt(1, pair="p#1", session=2, arm="candidate"),
        attempt(2, pair="q#1", session=2),
        attempt(3, pair="q#1", session=2, arm="candidate"),
    )
    assert read_journal(path, LOCK).split_pairs == {"p#1"}


def test_a_full_disk_is_told_and_keeps_what_is_there(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", first_link(LOCK))
    journal.append(Header(schema=1, study="s", lock_digest=LOCK))
    journal._stream.close()
    journal._stream = open("/dev/full", "ab", buffering=0)  # noqa: SIM115
    with pytest.raises(RunError, match="cannot write"):
        journal.append(attempt(0))
    journal._stream.close()
