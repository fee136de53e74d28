"""What a Dask worker does for a run: pairs on stations, which are kept between pairs."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from study.errors import StudyError
from study.executors.channel import Setup
from study.executors.child import WorkerProcess
from study.executors.pairs import Conduct, Done, PairJob, Place
from study.executors.trials import Execution

TEND_EVERY_S = 1.0
CLOSE_S = 15.0
"""How long the end of a run waits for stations that are still at work."""

_LEAVING = ("closing", "closed", "failed")


class Order(msgspec.Struct, frozen=True):
    """What a Dask worker must know of a run; it gets it once.

    Attributes
    ----------
    run : str
        Unique among all runs of the cluster.
    setup : Setup
    expected : dict
        The identity that a station must report.
    conduct : Conduct
    warm_up_cases : list of (case_id, seed)
    idle_s : float
        A station that had nothing to do for so long closes itself: its run may be gone.
    """

    run: str
    setup: Setup
    expected: dict[str, Any]
    conduct: Conduct
    warm_up_cases: list[tuple[str, int]]
    idle_s: float


def greet() -> None:
    """Do nothing: where this can be called, the toolkit can be imported."""


def take_order(data: bytes) -> Order:
    """Return an order from its bytes; Dask keeps it for the workers that need it."""
    return msgspec.json.decode(data, type=Order)


def run_remotely(order: Order, job: bytes) -> bytes:
    """Run a pair on a station of this Dask worker.

    Parameters
    ----------
    order : Order
    job : bytes
        A :class:`study.executors.PairJob` as JSON.

    Returns
    -------
    bytes
        The attempts, for :func:`unpack`.

    Raises
    ------
    StudyError
        When the station cannot be built here, or was built from other files than the run.
    """
    from distributed import get_worker  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    worker: Any = get_worker()
    if order.run in _held:
        return pack([])
    stations = _stations_of(order, str(worker.name))
    return pack(stations.run(msgspec.json.decode(job, type=PairJob), _wanting(worker)))


def _wanting(worker: Any) -> Callable[[], bool]:
    """Return a question: whether this thread's task is still wanted by anyone, and the worker stays."""
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled" and worker.status.name not in _LEAVING

    return wanted


def hold_remotely(run: str) -> None:
    """Begin no further pair of a run on this worker."""
    _held.add(run)


def stop_remotely(run: str) -> None:
    """End what runs of a run on this worker."""
    _held.add(run)
    _stopped.add(run)


async def close_remotely(run: str) -> list[str]:
    """Close the stations of a run on this worker; return what failed."""
    stop_remotely(run)
    with _guard:
        stations = _runs.pop(run, None)
    return await asyncio.to_thread(stations.close) if stations is not None else []


_runs: dict[str, Stations] = {}
_held: set[str] = set()
_stopped: set[str] = set()
_guard = threading.Lock()
_tending = threading.Lock()


def _stations_of(order: Order, worker: str) -> Stations:
    with _guard:
        if order.run not in _runs:
            _runs[order.run] = Stations(order, worker)
        if _tending.acquire(blocking=False):
            threading.Thread(target=_tend, name="idle stations", daemon=True).start()
        return _runs[order.run]


def _tend() -> None:
    """Close what is idle, and forget runs that have nothing left, until there is none."""
    while True:
        time.sleep(TEND_EVERY_S)
        with _guard:
            present = list(_runs.items())
        for run, stations in present:
            stations.close_idle()
            with _guard:
                if stations.forgotten:
                    _runs.pop(run, None)
        with _guard:
            if not _runs:
                _tending.release()
                return


class _Seat:
    """A place with what asks whether its pair is still wanted."""

    def __init__(self, order: Order, setup: Setup, name: str) -> None:
        self.wanted: Callable[[], bool] = bool
        self.idle_since = 0.0

        def stopping() -> bool:
            return order.run in _stopped or not self.wanted()

        station = WorkerProcess(setup, order.expected, name, stopping)
        self.place = Place(station, order.conduct, order.warm_up_cases, _nobody, stopping)


def _nobody(done: Done) -> None:
    """Listen to nothing."""


class Stations:
    """The stations of one run on a Dask worker: a pair takes the one used last, or a new one.

    Parameters
    ----------
    order : Order
    worker : str
        The Dask worker's name.

    Notes
    -----
    What the Dask worker itself can import comes first for a station, then where the run's own process
    looked for modules.
    """

    def __init__(self, order: Order, worker: str) -> None:
        self._order = order
        paths = tuple(dict.fromkeys((*sys.path, *order.setup.paths)))
        self._setup = msgspec.structs.replace(order.setup, paths=paths)
        self._worker = worker
        self._free: list[_Seat] = []
        self._made = self._busy = 0
        self._used_at = time.monotonic()
        self._change = threading.Condition()

    def run(self, job: PairJob, wanted: Callable[[], bool]) -> list[Done]:
        """Run a pair; return its attempts."""
        seat = self._take()
        told: list[Done] = []
        seat.wanted, seat.place.deliver = wanted, told.append
        try:
            seat.place.run(job)
        except StudyError as error:
            error.where = error.where or seat.place.station.name
            raise
        finally:
            self._give_back(seat)
        return told

    def _take(self) -> _Seat:
        with self._change:
            self._busy += 1
            if self._free:
                return self._free.pop()
            self._made += 1
            return _Seat(self._order, self._setup, f"dask {self._worker} station {self._made}")

    def _give_back(self, seat: _Seat) -> None:
        with self._change:
            self._busy -= 1
            self._used_at = seat.idle_since = time.monotonic()
            self._free.append(seat)
            self._change.notify_all()

    @property
    def forgotten(self) -> bool:
        """Whether nothing is left of this run here."""
        with self._change:
            idle = time.monotonic() - self._used_at > self._order.idle_s
            return idle and not self._busy and not self._free

    def close_idle(self) -> None:
        """Close the stations that had nothing to do for long."""
        before = time.monotonic() - self._order.idle_s
        with self._change:
            idle = [seat for seat in self._free if seat.idle_since < before]
            self._free = [seat for seat in self._free if seat.idle_since >= before]
        for seat in idle:
            seat.place.station.close()

    def close(self) -> list[str]:
        """Close every station, those at work as soon as they stopped; return what failed."""
        with self._change:
            self._change.wait_for(lambda: not self._busy, CLOSE_S)
            idle, self._free = self._free, []
        return [failure for seat in idle for failure in seat.place.station.close()]


class _Packed(msgspec.Struct, kw_only=True, array_like=True):
    trial: int
    attempt: int
    retried: bool
    waited_s: float
    worker: str
    outcome: Any
    produced: msgspec.Raw
    usage: dict[str, Any] | None
    error: dict[str, str] | None
    started_at_s: float
    latency_s: float
    slept_s: float


_FIELDS = ("outcome", "produced", "usage", "error", "started_at_s", "latency_s", "slept_s")


def pack(attempts: list[Done]) -> bytes:
    """Return attempts as JSON: what a trial produced stays the bytes that it was."""
    return msgspec.json.encode(
        [
            _Packed(
                trial=done.trial,
                attempt=done.attempt,
                retried=done.retried,
                waited_s=done.waited_s,
                worker=done.worker,
                **{name: getattr(done.execution, name) for name in _FIELDS},
            )
            for done in attempts
        ]
    )


def unpack(data: bytes) -> list[Done]:
    """Return attempts from what :func:`pack` made."""
    attempts: list[Done] = []
    for packed in msgspec.json.decode(data, type=list[_Packed]):
        execution = Execution(**{name: getattr(packed, name) for name in _FIELDS})
        attempts.append(
            Done(packed.trial, packed.attempt, packed.retried, execution, packed.waited_s, packed.worker)
        )
    return attempts
