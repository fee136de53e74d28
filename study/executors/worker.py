"""A worker process: builds a bench from names, then executes one attempt after another."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from study.cases import load_suite
from study.driver import Toolset
from study.drivers import LoadedDriver, load_driver
from study.errors import StudyError
from study.executors.channel import (
    Channel,
    Close,
    Closed,
    ClosedError,
    Dispatched,
    Ended,
    Executed,
    Ready,
    Refused,
    Run,
    Setup,
    Started,
)
from study.executors.identity import identity_of
from study.executors.inprocess import InProcess
from study.executors.interrupts import Interrupts
from study.executors.stations import Bench, MainThread
from study.executors.trials import PreparedCase
from study.records import Dispatch
from study.toolsets import load_toolset

ORPHAN_S = 30.0
"""A worker that is stuck this long beyond its limit, with nobody left to kill it, ends itself."""

_PR_SET_CHILD_SUBREAPER = 36


def main(descriptor: int) -> None:
    """Serve one run over a socket until it says so or goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _adopt_orphans()
    channel = _OwnChannel(socket.socket(fileno=descriptor))
    status = 1
    try:
        setup = channel.receive()
        if isinstance(setup, Setup):
            _serve(channel, setup)
        status = 0
    except ClosedError:
        status = 0
    except BaseException as error:
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        # threads that a driver left behind, and its exit handlers, must not keep this process
        os._exit(status)


class _OwnChannel(Channel):
    """Sends only in the process that opened it: a forked child of a driver says nothing here."""

    def __init__(self, side: socket.socket) -> None:
        super().__init__(side)
        self._process = os.getpid()

    def send(self, message: object) -> None:
        if os.getpid() == self._process:
            super().send(message)  # pyright: ignore[reportArgumentType]


def _adopt_orphans() -> None:
    """Let processes whose parent ends become children of this one, so that they can be found and ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _serve(channel: Channel, setup: Setup) -> None:
    sys.path[:] = setup.paths
    try:
        bench, identity = _build(setup)
        bench.set_up()
    except StudyError as error:
        channel.send(Refused(problem=error.problem, where=error.where, next_step=error.next_step))
        return

    number = 0

    def observe(dispatch: Dispatch) -> None:
        channel.send(Dispatched(number=number, dispatch=dispatch))  # pyright: ignore[reportArgumentType]

    def start() -> None:
        faulthandler.dump_traceback_later(setup.timeout_s + ORPHAN_S, exit=True, file=silence)
        channel.send(Started(number=number))

    def end() -> None:
        channel.send(Ended(number=number))

    surroundings = _Surroundings()
    with open(os.devnull, "w") as silence:
        # interrupts are never entered here: a run ends its workers by killing them
        trials = InProcess(
            setup.timeout_s,
            cold=setup.cold,
            interrupts=Interrupts(),
            observer=observe,
            on_start=start,
            on_end=end,
        )
        station = MainThread(bench, trials)
        with trials:
            channel.send(Ready(identity=identity))
            while isinstance(message := channel.receive(), Run):
                number = message.number
                executed = _executed(station, message)
                surroundings.restore()
                channel.send(executed)
                faulthandler.cancel_dump_traceback_later()
    if isinstance(message, Close):
        channel.send(Closed(failures=tuple(bench.close())))


def _build(setup: Setup) -> tuple[Bench, dict[str, object]]:
    search = Path(setup.search)
    drivers: dict[str, LoadedDriver] = {}
    for arm, spec in setup.arms.items():
        drivers[arm] = load_driver(spec.driver, where=f"arms.{arm}.driver", search=search)
    prepared: dict[str, PreparedCase] = {}
    toolsets: dict[str, Toolset | None] = {}
    suites = [(load_suite(Path(part.folder)), part) for part in setup.suites]
    selected = [
        (suite, tuple(case for case in suite.cases if case.id in set(part.cases))) for suite, part in suites
    ]
    for (suite, cases), (_, part) in zip(selected, suites, strict=True):
        toolset = load_toolset(part.toolset, suite, search=search)
        toolsets[suite.file.id] = toolset
        for case in cases:
            prepared[case.id] = PreparedCase(case, suite.registry, toolset)
    configs = {arm: spec.config for arm, spec in setup.arms.items()}
    return Bench(drivers, configs, prepared, toolsets), identity_of(drivers, selected)


class _Surroundings:
    """What a driver may change of its process as a whole, put back after each trial."""

    def __init__(self) -> None:
        self._folder = None
        with suppress(OSError):
            self._folder = os.getcwd()
        self._environment = dict(os.environ)
        self._streams = sys.stdin, sys.stdout, sys.stderr

    def restore(self) -> None:
        """Put back streams, environment and working directory; one that was deleted cannot be."""
        sys.stdin, sys.stdout, sys.stderr = self._streams
        if dict(os.environ) != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        if self._folder is not None:
            with suppress(OSError):
                os.chdir(self._folder)


def _executed(station: MainThread, message: Run) -> Executed:
    execution = station.execute(message.arm, message.case_id, message.seed)
    return Executed(
        number=message.number,
        outcome=execution.outcome,
        produced=execution.produced,
        usage=execution.usage,
        error=execution.error,
        started_at_s=execution.started_at_s,
        latency_s=execution.latency_s,
        slept_s=execution.slept_s,
        rss_bytes=psutil.Process().memory_info().rss,
    )
