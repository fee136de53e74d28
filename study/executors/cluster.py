"""Pairs on a Dask cluster: each thread of a Dask worker has a worker process of its own."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
import warnings
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any

import msgspec

from study.errors import RunError, StudyError
from study.executors import remote
from study.executors.channel import Setup
from study.executors.pairs import Conduct
from study.executors.scheduler import ask_scheduler, check_cluster, in_words, restore, silence

CONNECT_S = 8.0
"""How long a scheduler may take to answer, and a cluster to show its first worker."""

LOST_S = 60.0
"""How long a run waits for a cluster that has no worker left."""

HALT_S = 10.0
"""How long a run that is ended at once waits for what the cluster was running."""

IDLE_S = 300.0
"""After how long without a pair a station closes itself."""

GONE_S = 1.0
"""How long a lost scheduler is looked for before the run ends."""

LOOK_EVERY_S = 2.0
_LOOPBACK = "127.0.0.1:0"
_UNSEEN: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""A local cluster is seen by nobody else: its web servers, which Dask always starts, have no pages."""

_GO_ON = "repeat the command to go on: every trial so far is kept"


class Cluster(Executor):
    """An executor over a Dask cluster, running or started for this run.

    Parameters
    ----------
    address : str or None
        ``HOST:PORT`` of a running scheduler; None starts a local cluster.
    workers : int
        Pairs at a time, at most; 0 on a running cluster: as many as it has threads.
    setup, expected, conduct, warm_up_cases
        See :class:`study.executors.child.WorkerProcess` and :class:`study.executors.pairs.Place`.
    ahead : bool
        Whether pairs may wait at the cluster, so that none of its threads waits for the next.

    Attributes
    ----------
    at_once : int
        How many pairs it can be given now.
    failures : list of str
        What went wrong while closing.

    Raises
    ------
    InputError
        See :func:`study.executors.scheduler.check_cluster`.
    RunError
        When the scheduler does not answer or has no workers.

    Notes
    -----
    The files of the study must be at the same place for every worker. A pair that a lost Dask worker was
    running is run again by Dask on another one: what it came to was never acknowledged.
    """

    def __init__(
        self,
        address: str | None,
        workers: int,
        setup: Setup,
        expected: dict[str, Any],
        conduct: Conduct,
        warm_up_cases: Sequence[tuple[str, int]],
        *,
        ahead: bool = False,
    ) -> None:
        check_cluster(address)
        self._where = f"dask://{address}" if address else "the local Dask cluster"
        self._most = workers
        self._ahead = ahead
        self._run = uuid.uuid4().hex
        self._pending: set[Future[Any]] = set()
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._lost: RunError | None = None
        self._held = False
        self._halted_at = float("inf")
        self._local: Any = None
        self._client: Any = None
        self._threads = 0
        self.failures: list[str] = []
        self._levels: dict[str, int] = {}
        try:
            self._connect(address, workers)
            order = remote.Order(self._run, setup, expected, conduct, list(warm_up_cases), IDLE_S)
            self._order = self._client.submit(
                remote.take_order, msgspec.json.encode(order), key=f"order-{self._run}", pure=False
            )
        except BaseException:
            self.shutdown()
            raise
        threading.Thread(target=self._watch, name="cluster", daemon=True).start()

    def _connect(self, address: str | None, workers: int) -> None:
        import dask.config  # pyright: ignore[reportMissingTypeStubs]
        import distributed  # pyright: ignore[reportMissingTypeStubs]

        self._levels = silence()
        if address is not None:
            ask_scheduler(address, CONNECT_S)
        try:
            with warnings.catch_warnings():
                # other versions of packages on the cluster: what matters is compared with the lock
                warnings.simplefilter("ignore")
                self._open(distributed, dask.config, address, workers)
            until = time.monotonic() + CONNECT_S
            while not self._see() and time.monotonic() < until:
                time.sleep(0.1)
            self._greet()
        except StudyError:
            raise
        except Exception as error:
            raise RunError(
                f"the Dask cluster cannot be used: {in_words(error)}",
                where=self._where,
                next_step="see that the cluster has this version of distributed, or one close to it",
            ) from None

    def _open(self, dask: Any, dask_config: Any, address: str | None, workers: int) -> None:
        if address is None:
            # its workers are threads of this process: what must be kept apart are their stations
            with dask_config.set(_UNSEEN):
                self._local = dask.LocalCluster(
                    n_workers=1,
                    threads_per_worker=workers,
                    processes=False,
                    dashboard_address=_LOOPBACK,
                    worker_dashboard_address=_LOOPBACK,
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,
                    silence_logs=False,
                )
        self._client = dask.Client(self._local or f"tcp://{address}", timeout=CONNECT_S, set_as_default=False)
        # a run goes on with the next command, not by waiting for a scheduler that was lost
        self._client._timeout = GONE_S

    def _greet(self) -> None:
        """Refuse a cluster without workers, or with one that cannot import the toolkit.

        Dask would lose such a worker with its first task.
        """
        if not self._threads:
            raise RunError(
                "the Dask cluster has no worker", where=self._where, next_step="start one and repeat"
            )

        async def call() -> Any:
            return await self._client.run(remote.greet, on_error="return")

        for worker, answer in self._within(CONNECT_S, call).items():
            if isinstance(answer, Exception):
                raise RunError(
                    f"the Dask worker {worker} cannot import this toolkit: {in_words(answer)}",
                    where=self._where,
                    next_step="install driver-study in this version for all workers, and repeat the command",
                )

    @property
    def at_once(self) -> int:
        """How many pairs may be under way, those that wait at the cluster included.

        Raises
        ------
        RunError
            When the scheduler is gone, or no worker has been there for long.
        """
        if self._lost is not None:
            raise self._lost
        if self._most and self._threads >= self._most and self._local is None:
            return self._most
        return self._threads * 2 if self._ahead else self._threads

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a pair somewhere on the cluster.

        Parameters
        ----------
        fn : callable
            :func:`study.executors.run_pair`; what is really called does the same in a Dask worker.
        *args
            The :class:`study.executors.PairJob`.

        Returns
        -------
        Future
            Of the attempts, a list of :class:`study.executors.Done`.
        """
        (job,) = args
        answer: Future[Any] = Future()
        with self._guard:
            self._pending.add(answer)
        try:
            task = self._client.submit(remote.run_remotely, self._order, msgspec.json.encode(job), pure=False)
            self._client.loop.add_callback(self._follow, task, answer)
        except Exception as error:
            self._fail(answer, self._explained(error))
        return answer

    async def _follow(self, task: Any, answer: Future[Any]) -> None:
        """Wait for a task, and answer with what it came to."""
        try:
            attempts = remote.unpack(await task)
        except BaseException as error:
            self._fail(answer, self._explained(error))
            return
        with self._guard:
            self._pending.discard(answer)
        with suppress(InvalidStateError):
            answer.set_result(attempts)

    def _fail(self, answer: Future[Any], error: StudyError) -> None:
        with self._guard:
            self._pending.discard(answer)
        with suppress(InvalidStateError):
            answer.set_exception(error)

    def _explained(self, error: BaseException) -> StudyError:
        """Return what to tell of a task's end."""
        if isinstance(error, StudyError):
            return error
        kind = type(error).__name__
        if kind == "KilledWorker":
            n_lost = getattr(error, "allowed_failures", 0) + 1
            return self._failed(
                f"{n_lost} Dask workers were lost, one after another, while they had the same pair"
            )
        if "Cancelled" in kind or "Closed" in kind:
            self._lost = self._lost or self._failed("the Dask scheduler is gone, or gave up the run")
            return self._lost
        if "deserialization of the task graph" in str(error):
            return RunError(
                "the Dask scheduler cannot import this toolkit",
                where=self._where,
                next_step="install driver-study in this version for the scheduler too, and repeat",
            )
        return self._failed(f"a Dask worker failed: {in_words(error)}")

    def _failed(self, problem: str) -> RunError:
        return RunError(problem, where=self._where, next_step=_GO_ON)

    def _within(self, limit_s: float, call: Callable[[], Awaitable[Any]]) -> Any:
        """Ask the cluster something, but do not wait long for the answer."""

        async def limited() -> Any:
            return await asyncio.wait_for(call(), limit_s)

        loop = self._client.loop.asyncio_loop
        return asyncio.run_coroutine_threadsafe(limited(), loop).result(limit_s + 1.0)

    def _see(self) -> int:
        """Count the cluster's threads."""
        self._threads = sum(self._within(CONNECT_S, self._client.nthreads).values())
        return self._threads

    def _watch(self) -> None:
        """Look after the cluster until it is closed; what waits for one that is lost fails."""
        seen_at = time.monotonic()
        while not self._ended.wait(LOOK_EVERY_S):
            try:
                if self._see():
                    seen_at = time.monotonic()
                elif time.monotonic() - seen_at > LOST_S:
                    self._lost = self._failed(f"the Dask cluster has had no worker for {LOST_S:g} s")
            except Exception as error:
                self._lost = self._failed(f"the Dask scheduler is gone: {in_words(error)}")
            if self._ended.is_set():
                return
            lost = self._lost
            if lost is not None:
                self._give_up(lambda answer: self._fail(answer, lost))  # noqa: B023
                return
            if time.monotonic() - self._halted_at > HALT_S:
                self._give_up(lambda answer: answer.cancel())

    def _give_up(self, end: Callable[[Future[Any]], object]) -> None:
        with self._guard:
            pending = list(self._pending)
        for answer in pending:
            end(answer)

    def hold(self) -> None:
        """Let no further pair begin; those that wait at the cluster come back without attempts."""
        if not self._held:
            self._held = True
            self._everywhere(remote.hold_remotely)

    def halt(self) -> None:
        """End what runs at once; its trials come back as cancelled."""
        self._held = True
        self._halted_at = time.monotonic()
        self._everywhere(remote.stop_remotely)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the stations on all workers, and the cluster if it was started for this run."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._client is not None:
            if self._threads and self._lost is None:
                self.failures += self._everywhere(remote.close_remotely, remote.CLOSE_S + CONNECT_S)
            with suppress(Exception):
                self._within(CONNECT_S, self._client.close)
        if self._local is not None:
            with suppress(Exception):
                self._local.close(timeout=CONNECT_S)
        restore(self._levels)

    def _everywhere(self, action: Callable[[str], Any], limit_s: float = CONNECT_S) -> list[str]:
        """Call something on every worker; return what they say failed."""

        async def call() -> Any:
            return await self._client.run(action, self._run, on_error="ignore")

        try:
            answers = self._within(limit_s, call)
        except Exception:
            # a scheduler that is gone takes its workers with it, and their processes end with them
            return []
        return [line for lines in answers.values() if lines for line in lines]
