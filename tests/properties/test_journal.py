"""Properties of reading a journal: no byte brings another error than ours, and nothing wrong is accepted."""

from __future__ import annotations

import hashlib
import json
import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from study.errors import StudyError
from study.journal import JournalState, Stop, read_journal, read_progress
from study.records import OUTCOMES
from tests.support.journals import LOCK, attempt, chain, header, records_of, session, write_entries

OTHER = "cd" * 32
MUTATIONS = 100_000

check = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
generators = st.randoms(use_true_random=False)

NUMBERS = (-1, 0, 1, 2, 3, 7, -0.5, 0.25, 1e308, 10**30, -(10**30), 2**63, 10**400)
OTHERS = (None, True, False, "", "1", "answered", "cancelled", "timeout", "max_calls", LOCK, "\0", [], {})
VALUES = NUMBERS + OTHERS
RAW = (
    b"NaN",
    b"1e999",
    b"-Infinity",
    b"9" * 5000,
    b"[" * 2000 + b"]" * 2000,
    b'{"a":' * 5000 + b"1" + b"}" * 5000,
    b'"\xff"',
    b'"\\ud800"',
    b"\0",
    b'{"a":1,"a":2}',
    b"1 ",
)
FIELDS = (
    *("kind", "schema", "study", "lock_digest", "session", "started_at_s", "environment_digest", "executor"),
    *("workers", "trial", "pair", "arm", "case_id", "repetition", "attempt", "outcome", "usage", "error"),
    *("latency_s", "retried", "waited_s", "elapsed_s", "produced", "reason", "limit", "used", "more"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def journals(folder):
    """Return the bytes of two journals of different locks, with every kind of entry."""
    entries = [
        session(executor="process", workers=2),
        attempt(0, elapsed_s=1.0),
        attempt(1, outcome="transport_error", retried=True, waited_s=0.5),
        attempt(1, number=2, outcome="cancelled"),
        session(2),
        attempt(1, number=3, session=2, outcome="timeout"),
        attempt(2, session=2, report={"calls": [{"name": "x", "input": {"é": [1.5, None]}}]}),
        Stop(reason="max_calls", limit=3, used=3),
        session(3),
    ]
    return tuple(
        write_entries(folder / f"{lock[:2]}.jsonl", [header(lock), *entries], lock) for lock in (LOCK, OTHER)
    )


def odd_bytes(generator: random.Random) -> bytes:
    return generator.choice(
        (b"\0", b"\n", b"\xff\xfe", b"\r\n", b"\xc3\x28", b"}", b"{", b"9" * 50, b"\0" * 600)
    )


def mutated(data: bytes, other: bytes, generator: random.Random) -> bytes:
    """Return a journal that was damaged in one of many ways; its links are left as they are."""
    place = generator.randrange(len(data) + 1)
    lines = data.splitlines(keepends=True)
    line = generator.randrange(len(lines)) if lines else 0
    kind = generator.randrange(11)
    if kind == 0 and place < len(data):
        return data[:place] + bytes([data[place] ^ 1 << generator.randrange(8)]) + data[place + 1 :]
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[:place] + odd_bytes(generator) + data[place:]
    if kind == 3:
        return data[:place] + data[place + generator.randrange(200) :]
    if kind == 4:
        del lines[line : line + generator.randrange(1, 3)]
    if kind == 5:
        lines[line:line] = lines[line : line + generator.randrange(1, 3)]
    if kind == 6:
        generator.shuffle(lines)
    if kind == 7:
        lines[line:] = other.splitlines(keepends=True)[line:]
    if kind == 8:
        return data[:place] + other[generator.randrange(len(other) + 1) :]
    if kind == 9:
        return odd_bytes(generator) + data
    if kind == 10:
        lines += lines
    return b"".join(lines)


def forged(data: bytes, other: bytes, generator: random.Random) -> bytes:
    """Return a journal with one or two odd records and right links throughout."""
    records = records_of(data)
    for _ in range(generator.randrange(1, 3)):
        place = generator.randrange(len(records))
        kind = generator.randrange(8)
        if kind <= 2:
            records[place] = _with_odd_field(records[place], generator)
        elif kind == 3:
            records[place] = _with_raw_value(records[place], generator)
        elif kind == 4:
            records.insert(place, generator.choice(records))
        elif kind == 5 and len(records) > 1:
            del records[place]
        elif kind == 6:
            records.insert(place, generator.choice(records_of(other)))
        else:
            generator.shuffle(records)
    return chain(records)


def _with_odd_field(record: bytes, generator: random.Random) -> bytes:
    try:
        fields = json.loads(record)
    except (ValueError, RecursionError):
        return record
    names = tuple(fields) if generator.randrange(3) else FIELDS
    name = generator.choice(names)
    if generator.randrange(8):
        fields[name] = generator.choice(NUMBERS if isinstance(fields.get(name), int | float) else VALUES)
    else:
        fields.pop(name, None)
    return json.dumps(fields, ensure_ascii=generator.randrange(2) == 0).encode("utf-8", "surrogatepass")


def _with_raw_value(record: bytes, generator: random.Random) -> bytes:
    name = generator.choice(FIELDS).encode()
    kind = generator.randrange(3)
    if kind == 0:
        return record[:-1] + b',"' + name + b'":' + generator.choice(RAW) + b"}"
    if kind == 1:
        place = generator.randrange(len(record))
        return (record[:place] + generator.choice(RAW) + record[place:]).replace(b"\n", b" ")
    return record.replace(b'"report":{', b'"report":{"deep":' + generator.choice(RAW) + b",", 1)


def read(path, data):
    """Return the state of these bytes as a journal, or None where they are refused as they should be."""
    path.write_bytes(data)
    try:
        return read_journal(path, LOCK)
    except StudyError as error:
        told = error
    assert (told.where or "").startswith(str(path))
    assert told.problem
    return None


def accepts_a_prefix_only(path, journals, generator):
    data = journals[0]
    for _ in range(generator.randrange(1, 3)):
        data = mutated(data, journals[1], generator)
    state = read(path, data)
    if state is not None:
        kept = data[: state.intact_bytes]
        assert journals[0].startswith(kept)
        assert kept.endswith(b"\n")
        assert kept + state.torn == data
        assert b"\n" not in state.torn
    return state is not None


def accepts_what_may_be_only(path, journals, generator):
    data = forged(*journals, generator)
    state = read(path, data)
    if state is not None:
        may_be(data, state)
    return state is not None


def may_be(data: bytes, state: JournalState) -> None:
    """Assert the documented bounds from the bytes, without the package's own reading."""
    link, current, tries, finals, stops = LOCK, 0, {}, {}, 0
    for number, line in enumerate(data.splitlines()):
        whole, record = json.loads(line), records_of(line)[0]
        link = hashlib.sha256(link.encode() + record).hexdigest()
        assert whole["chain"] == link
        fields = whole["record"]
        assert (fields["kind"] == "header") == (number == 0)
        if fields["kind"] == "header":
            assert (fields["schema"], fields["lock_digest"]) == (1, LOCK)
        elif fields["kind"] == "session":
            current += 1
            assert fields["session"] == current
        elif fields["kind"] == "stop":
            stops += 1
            assert min(fields["limit"], fields["used"]) >= 0
        else:
            trial = fields["trial"]
            tries[trial] = tries.get(trial, 0) + 1
            assert (fields["session"], fields["attempt"]) == (current, tries[trial])
            assert (stops, trial in finals) == (0, False)
            assert min(trial, fields["repetition"] - 1) >= 0
            for seconds in ("latency_s", "waited_s", "elapsed_s"):
                assert 0 <= (fields.get(seconds) or 0.0) < math.inf
            assert fields["outcome"] == fields["produced"]["outcome"]
            assert fields["outcome"] in OUTCOMES
            if fields["outcome"] != "cancelled" and not fields.get("retried"):
                finals[trial] = tries[trial]
    assert stops <= 1
    assert [s.session for s in state.sessions] == list(range(1, current + 1))
    assert {trial: final.attempt for trial, final in state.finals.items()} == finals
    assert len(state.attempts) == sum(tries.values())
    assert state.link == link.encode()
    assert (state.intact_bytes, state.torn) == (len(data), b"")


@check
@given(generators)
def test_of_a_damaged_journal_only_a_prefix_is_accepted(folder, journals, generator):
    accepts_a_prefix_only(folder / "damaged.jsonl", journals, generator)


@check
@given(generators)
def test_a_forged_journal_is_accepted_only_within_the_bounds(folder, journals, generator):
    accepts_what_may_be_only(folder / "forged.jsonl", journals, generator)


@check
@given(generators)
def test_both_ways_to_read_accept_the_same(folder, journals, generator):
    path = folder / "both.jsonl"
    state = read(path, forged(*journals, generator))
    if state is None:
        with pytest.raises(StudyError):
            read_progress(path, LOCK)
    else:
        progress = read_progress(path, LOCK)
        assert (progress.link, progress.sessions, progress.stop) == (state.link, state.sessions, state.stop)
        assert list(progress.finals) == list(state.finals)


@check
@given(st.data())
def test_any_changed_byte_is_found(folder, journals, data):
    whole = journals[0]
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda v: v != whole[place]))
    state = read(folder / "flipped.jsonl", whole[:place] + bytes([value]) + whole[place + 1 :])
    if place == len(whole) - 1:
        assert state is not None
        assert state.torn
    else:
        assert state is None


@check
@given(st.binary(max_size=400))
def test_any_bytes_are_refused(folder, data):
    assert read(folder / "bytes.jsonl", data) is None


@check
@given(st.lists(st.binary(max_size=60).filter(lambda record: b"\n" not in record), max_size=3))
def test_any_chained_bytes_are_refused(folder, records):
    assert read(folder / "chained.jsonl", chain(records)) is None


@pytest.mark.long
def test_a_hundred_thousand_odd_journals(folder, journals):
    generator = random.Random(20261130)
    path = folder / "odd.jsonl"
    accepted = [
        sum(attack(path, journals, generator) for _ in range(MUTATIONS // 2))
        for attack in (accepts_a_prefix_only, accepts_what_may_be_only)
    ]
    # both ways must have been tried on journals that are still readable, or nothing was shown
    assert min(accepted) > MUTATIONS // 200
