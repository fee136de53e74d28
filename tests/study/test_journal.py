"""The journal: what was appended is read back, and what was cut off or changed is told."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from study.errors import IntegrityError, RunError
from study.journal import (
    Journal,
    Stop,
    first_link,
    read_entries,
    read_journal,
    read_progress,
)
from tests.support.journals import LOCK, attempt, chain, header, records_of, session, write, write_entries

OF_BEFORE = (
    b'{"chain":"6dfacdd1ff16cfbb78d6995fec03e030560a6a498aab0952275a5c9fae698e5c","record":{"kind":"header",'
    b'"schema":1,"study":"s","lock_digest":"abababababababababababababababababababababababababababababababab'
    b'"}}\n'
    b'{"chain":"aafad47a729283b4e85090a506ca29c6c0abddf55f6800508ec0f81e57f36fb3","record":{"kind":"session"'
    b',"session":1,"started_at_s":0.5,"environment_digest":"e"}}\n'
    b'{"chain":"ae30b864416fe9b04e76e28b87e617729622ef1c2eeedc5b16ba07dace13120c","record":{"kind":"attempt"'
    b',"trial":0,"pair":"case-0#1","arm":"baseline","case_id":"case-0","repetition":1,"attempt":1,"session":'
    b'1,"outcome":"answered","produced":{"outcome":"answered","report":{"calls":[],"refused":true},"dispatch'
    b'es":[],"evidence":null},"usage":null,"error":null,"started_at_s":1.0,"latency_s":0.25}}\n'
    b'{"chain":"4d66c5d850451ca8df4921fc78de6e4d2320d7463501f334c2604bf2e407512b","record":{"kind":"attempt"'
    b',"trial":1,"pair":"case-1#1","arm":"baseline","case_id":"case-1","repetition":1,"attempt":1,"session":'
    b'1,"outcome":"cancelled","produced":{"outcome":"cancelled","report":{"calls":[],"refused":true},"dispat'
    b'ches":[],"evidence":null},"usage":null,"error":null,"started_at_s":1.0,"latency_s":0.25}}\n'
    b'{"chain":"27140af620fd045f4ac6f6c22d608d2919cc0298e1a02929f903b9d83babc694","record":{"kind":"session"'
    b',"session":2,"started_at_s":9.5,"environment_digest":"e"}}\n'
    b'{"chain":"9528f8ccd3f246609efa1caebb81b441120f167a64fea553b3dff3ab509bad32","record":{"kind":"attempt"'
    b',"trial":1,"pair":"case-1#1","arm":"baseline","case_id":"case-1","repetition":1,"attempt":2,"session":'
    b'2,"outcome":"timeout","produced":{"outcome":"timeout","report":{"calls":[],"refused":true},"dispatches'
    b'":[],"evidence":null},"usage":null,"error":null,"started_at_s":1.0,"latency_s":0.25}}\n'
)
"""What version 0.1.0 wrote, before there were retries, budgets and workers."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def test_what_was_appended_is_read_back(path):
    told = attempt(
        1,
        outcome="driver_error",
        retried=True,
        waited_s=1.5,
        elapsed_s=2.5,
        usage={"total": 3},
        error={"type": "ValueError", "message": "no"},
    )
    stop = Stop(reason="max_tokens", limit=1000, used=1003)
    entries = [header(), session(executor="process", workers=4), attempt(0), told, stop]
    write_entries(path, entries)
    state = read_journal(path, LOCK)
    assert [state.header, *state.sessions, *state.attempts, state.stop] == entries
    assert list(read_entries(path, LOCK)) == entries
    assert state.finals == {0: entries[2]}
    assert (state.torn, state.intact_bytes) == (b"", path.stat().st_size)


def test_the_progress_is_the_journal_without_what_was_produced(path):
    write(
        path, attempt(0, outcome="cancelled"), attempt(0, number=2, waited_s=0.5), attempt(1, usage={"t": 1})
    )
    with path.open("ab") as stream:
        stream.write(b"torn")
    state, progress = read_journal(path, LOCK), read_progress(path, LOCK)
    for name in ("header", "sessions", "stop", "link", "intact_bytes", "torn", "split_pairs"):
        assert getattr(progress, name) == getattr(state, name)
    assert list(progress.finals) == list(state.finals) == [0, 1]
    for kept, whole in zip(progress.attempts, state.attempts, strict=True):
        assert not hasattr(kept, "produced")
        assert {n: getattr(kept, n) for n in kept.__struct_fields__} == {
            n: getattr(whole, n) for n in kept.__struct_fields__
        }
    assert progress.finals[1].usage == {"t": 1}


@pytest.mark.parametrize("part", [b'"outcome":"answered","report"', b'"refused":true'])
def test_the_progress_checks_what_was_produced_all_the_same(path, part):
    whole = write(path, attempt(0))
    odd = part.replace(b'"answered"', b'"asked"').replace(b"true", b"maybe")
    path.write_bytes(chain([record.replace(part, odd) for record in records_of(whole)]))
    with pytest.raises(IntegrityError, match="not a journal record"):
        read_progress(path, LOCK)


def test_a_journal_of_before_is_read_unchanged(path):
    path.write_bytes(OF_BEFORE)
    state = read_journal(path, LOCK)
    assert [(a.trial, a.attempt, a.final) for a in state.attempts] == [
        (0, 1, True),
        (1, 1, False),
        (1, 2, True),
    ]
    assert {(a.retried, a.waited_s, a.elapsed_s) for a in state.attempts} == {(False, 0.0, None)}
    assert [(s.session, s.executor, s.workers) for s in state.sessions] == [(1, None, None), (2, None, None)]
    assert state.stop is None


def test_the_new_fields_are_absent_at_their_defaults(path):
    whole = write(path, attempt(0))
    _, began, tried = (json.loads(record) for record in records_of(whole))
    assert began == {"kind": "session", "session": 1, "started_at_s": 0.5, "environment_digest": "e"}
    assert not {"retried", "waited_s", "elapsed_s"} & set(tried)


def test_the_links_are_those_that_the_format_describes(path):
    whole = write(path, attempt(0), attempt(1))
    assert chain(records_of(whole)) == whole
    assert chain(records_of(OF_BEFORE)) == OF_BEFORE


def test_a_torn_tail_at_every_byte_of_the_last_record(path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    whole = write(path, attempt(0), attempt(1))
    start = whole[:-1].rindex(b"\n") + 1
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        state = read_journal(path, LOCK)
        assert (state.intact_bytes, state.torn) == (start, whole[start:cut])
        assert [a.trial for a in state.attempts] == [0]
        journal = Journal(path, state.link, state.intact_bytes)
        journal.append(attempt(1))
        journal.close()
        assert path.read_bytes() == whole


def test_a_record_without_its_newline_was_not_acknowledged(path):
    whole = write(path, attempt(0), attempt(1))
    path.write_bytes(whole[:-1])
    state = read_journal(path, LOCK)
    assert list(state.finals) == [0]
    assert state.torn == whole[whole[:-1].rindex(b"\n") + 1 : -1]


def test_a_removed_line_breaks_the_chain(path):
    lines = write(path, *(attempt(n) for n in range(3))).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(IntegrityError, match="chain") as caught:
        read_journal(path, LOCK)
    assert caught.value.where == f"{path}:4"
    assert caught.value.next_step


def test_lost_blocks_of_a_power_cut_are_told_and_where_to_cut(path):
    lines = write(path, *(attempt(n) for n in range(3))).splitlines(keepends=True)
    lines[3] = lines[3][:100] + bytes(50) + lines[3][150:]
    path.write_bytes(b"".join(lines))
    with pytest.raises(IntegrityError, match="power cut") as caught:
        read_journal(path, LOCK)
    assert "cut the file after line 3 and resume" in caught.value.next_step
    path.write_bytes(b"".join(lines[:3]))
    assert list(read_journal(path, LOCK).finals) == [0]


def test_a_journal_of_another_lock_is_refused(path):
    write(path, attempt(0))
    with pytest.raises(IntegrityError):
        read_journal(path, "cd" * 32)


@pytest.mark.parametrize("data", [b"", b"torn header"])
def test_a_journal_without_a_header_is_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match="no header"):
        read_journal(path, LOCK)


def test_what_is_no_file_is_refused(path, tmp_path):
    with pytest.raises(IntegrityError, match="cannot read the journal: No such file"):
        read_journal(path, LOCK)
    with pytest.raises(IntegrityError, match="cannot read the journal: Is a directory"):
        read_journal(tmp_path, LOCK)
    with pytest.raises(IntegrityError, match="no regular file"):
        read_journal(type(path)("/dev/null"), LOCK)


def test_pairs_of_two_sessions_are_split(path):
    write(
        path,
        attempt(0, pair="p#1"),
        session(2),
        attempt(1, pair="p#1", session=2, arm="candidate"),
        attempt(2, pair="q#1", session=2),
        attempt(3, pair="q#1", session=2, arm="candidate"),
    )
    assert read_journal(path, LOCK).split_pairs == {"p#1"}


def test_a_writer_that_knows_too_little_cuts_nothing_off(path):
    write(path, attempt(0))
    state = read_journal(path, LOCK)
    other = Journal(path, state.link, state.intact_bytes)
    other.append(attempt(1))
    other.close()
    longer = path.read_bytes()
    for link, known in [
        (state.link, state.intact_bytes),
        (first_link(LOCK), 0),
        (state.link, len(longer) + 1),
    ]:
        with pytest.raises(RunError, match="another process wrote this journal"):
            Journal(path, link, known)
    assert path.read_bytes() == longer


def test_reading_holds_no_more_than_it_gives(path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    size = len(write(path, *(attempt(n, report={"calls": ["x" * 4000]}) for n in range(500))))

    def peak(action):
        tracemalloc.start()
        try:
            action()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert size > 2_000_000
    assert peak(lambda: sum(1 for _ in read_entries(path, LOCK))) < 300_000
    assert peak(lambda: read_progress(path, LOCK)) < 1_000_000
