"""What a run believes of a worker: messages, their order and their limits; and how a worker is ended."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time

import msgspec
import psutil
import pytest

from study.executors.attempt import Attempt
from study.executors.channel import (
    Channel,
    ClosedError,
    Dispatched,
    Ended,
    Executed,
    LateError,
    RawDispatch,
    RubbishError,
    Run,
    Setup,
    Started,
)
from study.executors.child import WorkerProcess
from study.executors.trials import produced_bytes


@pytest.fixture
def sides():
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours), contextlib.closing(theirs):
        yield Channel(ours), Channel(theirs)


def soon():
    return time.monotonic() + 5.0


def test_messages_arrive_whole_and_in_order_from_many_threads(sides):
    ours, theirs = sides
    text = "x" * 100_000

    def send(arm):
        for number in range(20):
            theirs.send(Run(number=number, arm=arm, case_id=text, seed=0))

    threads = [threading.Thread(target=send, args=(str(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    seen: dict[str, list[int]] = {}
    for _ in range(80):
        message = ours.receive(soon())
        assert isinstance(message, Run)
        assert message.case_id == text
        seen.setdefault(message.arm, []).append(message.number)
    assert seen == {str(n): list(range(20)) for n in range(4)}
    assert not ours.pending


def test_an_incomplete_message_is_waited_for_and_kept(sides):
    ours, _ = sides
    _, theirs = sides
    data = msgspec.json.encode(Started(number=7))
    whole = struct.pack(">Q", len(data)) + data
    theirs._side.sendall(whole[:10])
    with pytest.raises(LateError):
        ours.receive(time.monotonic() + 0.01)
    assert ours.pending
    theirs._side.sendall(whole[10:])
    assert ours.receive(soon()) == Started(number=7)


@pytest.mark.parametrize(
    "data",
    [
        b"rubbish!" * 2,
        struct.pack(">Q", 2**40),
        struct.pack(">Q", 2) + b"{}",
        struct.pack(">Q", 4) + b"\xff\xfe\xfd\xfc",
        struct.pack(">Q", 20_000) + b"[" * 20_000,
    ],
)
def test_what_is_no_message_is_told_as_such(sides, data):
    ours, theirs = sides
    theirs._side.sendall(data)
    with pytest.raises(RubbishError):
        ours.receive(soon())


def test_the_end_is_told(sides):
    ours, theirs = sides
    theirs.close()
    assert ours.pending
    with pytest.raises(ClosedError):
        ours.receive(soon())
    with pytest.raises(ClosedError):
        ours.send(Started(number=1))


class Told:
    """A worker that says what it is given."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.channel = self
        self.n_bytes = 0

    def receive(self, deadline):
        if not self.messages:
            raise LateError
        return self.messages.pop(0)


def dispatched(name="look", number=1):
    kept = RawDispatch(name=name, input=msgspec.Raw(b"{}"), executed=True, ok=True)
    return Dispatched(number=number, dispatch=kept)


def executed(outcome="refused", dispatches=(), **more):
    produced = produced_bytes(outcome, msgspec.Raw(b'{"refused":true}'), dispatches)
    fields = {"number": 1, "outcome": outcome, "produced": produced, "usage": None, "error": None}
    fields |= {"started_at_s": 1.0, "latency_s": 1.0, "slept_s": 0.0, "rss_bytes": 1}
    return Executed(**(fields | more))


START, END = Started(number=1), Ended(number=1)


def follow(*messages):
    attempt = Attempt(5.0)
    return attempt, lambda: attempt.follow(Told(*messages), 1)  # pyright: ignore[reportArgumentType]


def test_an_attempt_is_followed_to_its_answer():
    one = dispatched()
    _, followed = follow(START, one, END, executed(dispatches=(one.dispatch,)))
    assert followed().outcome == "refused"


@pytest.mark.parametrize(
    "messages",
    [
        (Started(number=2),),
        (START, START),
        (START, END, END),
        (START, Run(number=1, arm="baseline", case_id="c", seed=1)),
        (START, dispatched(number=2)),
        (START, *[dispatched() for _ in range(10_002)]),
        (START, END, executed(number=2)),
        (START, END, executed(produced=msgspec.Raw(b"7"))),
        (START, END, executed(produced=msgspec.Raw(b'{"outcome":"answered","report":{}}'))),
        (START, END, executed(usage={"calls": "many"})),
        (START, dispatched(), END, executed()),
        (START, END, executed(dispatches=(dispatched().dispatch,))),
        (START, dispatched("wipe"), END, executed(dispatches=(dispatched("look").dispatch,))),
    ],
)
def test_what_no_worker_says_is_refused(messages):
    _, followed = follow(*messages)
    with pytest.raises(RubbishError):
        followed()


def test_a_time_limit_may_strike_before_the_word_of_the_last_dispatch():
    one = dispatched()
    dispatches = (one.dispatch, one.dispatch)
    _, followed = follow(START, one, END, executed("timeout", dispatches))
    assert followed().outcome == "timeout"


@pytest.mark.parametrize(
    "messages, outcome, part",
    [
        ((), "infrastructure", "was not reset"),
        ((START, dispatched()), "timeout", "after the time limit"),
        ((START, dispatched(), END), "timeout", "after the driver was over"),
    ],
)
def test_an_attempt_whose_worker_falls_silent_keeps_its_dispatches(messages, outcome, part):
    attempt, followed = follow(*messages)
    with pytest.raises(LateError):
        followed()
    assert attempt.late()[0] == outcome
    assert part in attempt.late()[1]["message"]
    lost = attempt.lost(*attempt.late())
    kept = json.loads(bytes(lost.produced))
    assert [seen["name"] for seen in kept["dispatches"]] == ["look"] * (len(messages) > 1)
    assert lost.latency_s >= 0


def test_a_run_that_is_being_stopped_cancels_even_while_a_worker_starts():
    stopping = threading.Event()
    setup = Setup(search="/", paths=(), arms={}, suites=(), timeout_s=1.0, cold=False)
    arms = {"baseline": {"driver": "stub", "config": {}}}
    setup = msgspec.convert(msgspec.to_builtins(setup) | {"arms": arms}, Setup)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    threading.Timer(0.02, stopping.set).start()
    station = WorkerProcess(setup, {}, "worker 1", stopping.is_set)
    station.start()
    execution = station.execute("baseline", "c", 1)
    assert (execution.outcome, execution.error) == ("cancelled", None)
    assert station.close() == []
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
