"""From a plan to the executor that runs its pairs: in this process, in worker processes, on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from study.errors import InputError, RunError
from study.executors import Bench, Done, Inline, InProcess, Interrupts, Place, PreparedCase
from study.executors.channel import ArmSetup, Setup, SuiteSetup
from study.executors.child import WorkerProcess
from study.executors.exits import ExitGuard
from study.executors.identity import identity_of
from study.executors.pairs import Conduct, Station, take_place
from study.executors.stations import MainThread
from study.executors.threads import InThread, Leftovers, LoopThread
from study.executors.watchdog import Watchdog
from study.plan import Plan
from study.records import ARMS
from study.schedule import trial_seed

if TYPE_CHECKING:
    from study.executors.cluster import Cluster

CLUSTER = "dask://"
ALLOWED = "inprocess, process, dask, dask://HOST:PORT"
MOST_WORKERS = 512


def check_executor(executor: str, workers: int | None) -> int:
    """Return the number of workers of an executor by name.

    Parameters
    ----------
    executor : str
        ``inprocess``, ``process``, ``dask`` or ``dask://HOST:PORT``.
    workers : int or None
        Default 1; on a running cluster 0, which means all that it has.

    Raises
    ------
    InputError
        For another name or number.
    """
    running = executor.startswith(CLUSTER) and len(executor) > len(CLUSTER)
    if executor not in ("inprocess", "process", "dask") and not running:
        raise InputError(f"executor {executor!r}", where="--executor", allowed=ALLOWED)
    if executor not in ("inprocess", "process"):
        from study.executors.scheduler import check_cluster

        check_cluster(executor.removeprefix(CLUSTER) if running else None)
    if workers is None:
        return 0 if running else 1
    if not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"{workers} workers", where="--workers", allowed=f"1 to {MOST_WORKERS}")
    return workers


def conduct_of(plan: Plan) -> Conduct:
    """Return how the protocol of a plan has its trials conducted."""
    conditions, retries = plan.protocol.design.conditions, plan.protocol.retries
    settings: dict[str, Any] = {}
    if conditions is not None:
        settings |= {"cold": conditions.cache == "cold"}
        settings |= {"warm_up": conditions.warm_up, "cool_down_s": conditions.cool_down_s}
    if retries is not None:
        settings |= {"retried": retries.outcomes, "attempts": retries.attempts, "wait_s": retries.wait_s}
    return Conduct(timeout_s=plan.protocol.limits.trial_timeout_s, **settings)


class Stage:
    """An executor with what belongs to it; use it as a context manager.

    Parameters
    ----------
    plan : Plan
    executor : str
    workers : int
        As :func:`check_executor` returns it.
    deliver : callable
        Told of each attempt as soon as it is over, in the thread that ran it.
    interrupts : Interrupts
        Of the run, entered.
    on_stuck : callable
        See :class:`study.executors.InProcess`.
    marker : Path
        See :class:`study.executors.watchdog.Watchdog`.

    Attributes
    ----------
    executor : concurrent.futures.Executor
        To be given :func:`study.executors.run_pair`.
    inline : bool
        Whether it runs what it is given in the calling thread.
    failures : list of str
        What went wrong while closing.
    """

    def __init__(
        self,
        plan: Plan,
        executor: str,
        workers: int,
        *,
        deliver: Callable[[Done], None],
        interrupts: Interrupts,
        on_stuck: Callable[[float], None],
        marker: Path,
    ) -> None:
        self._plan = plan
        self._kind = executor
        self._deliver = deliver
        self._interrupts = interrupts
        self._on_stuck = on_stuck
        self._marker = marker
        self._watchdog: Watchdog | None = None
        self._conduct = conduct_of(plan)
        self._stations: list[Station] = []
        self._bench: Bench | None = None
        self._trials: InProcess | None = None
        self._loop: LoopThread | None = None
        self._exits: ExitGuard | None = None
        self._asked = workers
        self._workers = max(workers, 1)
        self._cluster: Cluster | None = None
        self.inline = executor == "inprocess" and workers == 1
        self.failures: list[str] = []
        self.executor: Executor

    @property
    def at_once(self) -> int:
        """How many pairs it can use at once; on a cluster that changes.

        Raises
        ------
        RunError
            When the cluster is gone.
        """
        return self._workers if self._cluster is None else self._cluster.at_once

    def hold(self) -> None:
        """Let no further pair begin, those that wait at a cluster included; may be called again."""
        if self._cluster is not None:
            self._cluster.hold()

    def halt(self) -> None:
        """End what runs, where it does not see the interrupt itself."""
        if self._cluster is not None:
            self._cluster.halt()

    def __enter__(self) -> Stage:
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _open(self) -> None:
        if self._kind == "process":
            self._open_processes()
        elif self._kind == "inprocess":
            self._bench = bench = _bench(self._plan)
            self._exits = ExitGuard()
            self._exits.__enter__()
            bench.set_up()
            self._watchdog = Watchdog(self._conduct.timeout_s, self._marker)
            self._watchdog.__enter__()
            if self.inline:
                self._open_inline(bench)
            else:
                self._open_threads(bench)
        else:
            self._open_cluster()

    def _open_inline(self, bench: Bench) -> None:
        self._trials = trials = InProcess(
            self._conduct.timeout_s,
            cold=self._conduct.cold,
            on_stuck=self._on_stuck,
            interrupts=self._interrupts,
        )
        trials.__enter__()
        place = self._place(MainThread(bench, trials))
        take_place(lambda: place)
        self.executor = Inline()

    def _open_processes(self) -> None:
        setup, expected = _setup(self._plan), plan_identity(self._plan)
        workers = [
            WorkerProcess(setup, expected, f"worker {n + 1}", lambda: self._interrupts.over)
            for n in range(self._workers)
        ]
        self._stations += workers
        workers[0].start()
        self._in_threads()

    def _open_threads(self, bench: Bench) -> None:
        for suite, toolset in self._plan.toolsets.items():
            if getattr(toolset, "evidence", None) is not None:
                raise RunError(
                    f"the toolset of {suite!r} keeps evidence of one trial at a time",
                    where="--workers",
                    allowed="1 worker in process, or --executor process",
                )
        self._loop = LoopThread()
        leftovers = Leftovers()
        for n in range(self._workers):
            self._stations.append(
                InThread(
                    bench,
                    self._conduct.timeout_s,
                    self._loop,
                    leftovers,
                    lambda: self._interrupts.over,
                    f"thread {n + 1}",
                )
            )
        self._in_threads()

    def _open_cluster(self) -> None:
        from study.executors.cluster import Cluster

        self._cluster = self.executor = Cluster(
            self._kind.removeprefix(CLUSTER) if self._kind.startswith(CLUSTER) else None,
            self._asked,
            _setup(self._plan),
            plan_identity(self._plan),
            self._conduct,
            self._warm_up_cases(),
            ahead=self._plan.protocol.limits.trials_per_minute is None,
        )

    def _in_threads(self) -> None:
        """Give each thread of a pool a station of its own."""
        places: SimpleQueue[Place] = SimpleQueue()
        for station in self._stations:
            places.put(self._place(station))
        self.executor = ThreadPoolExecutor(
            self._workers, thread_name_prefix="pair", initializer=take_place, initargs=(places.get,)
        )

    def _place(self, station: Station) -> Place:
        return Place(
            station, self._conduct, self._warm_up_cases(), self._deliver, lambda: self._interrupts.over
        )

    def _warm_up_cases(self) -> list[tuple[str, int]]:
        seed = self._plan.protocol.design.seed
        return [
            (assignment.case_id, trial_seed(seed, assignment.case_id, assignment.repetition))
            for assignment in self._plan.schedule[: 2 * self._conduct.warm_up : 2]
        ]

    def __exit__(self, *exception: object) -> None:
        executor = getattr(self, "executor", None)
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)
        if self._cluster is not None:
            self.failures += self._cluster.failures
        for station in self._stations:
            self.failures += station.close()
        if self._loop is not None:
            self._loop.close()
        if self._trials is not None:
            self._trials.__exit__()
        if self._watchdog is not None:
            self._watchdog.__exit__()
        if self._bench is not None:
            self.failures += self._bench.close()
        if self._exits is not None:
            self._exits.__exit__()


def _bench(plan: Plan) -> Bench:
    prepared = {
        case.id: PreparedCase(case, part.suite.registry, plan.toolsets[part.suite.file.id])
        for part in plan.selection.suites
        for case in part.cases
    }
    return Bench(plan.drivers, plan.configs, prepared, plan.toolsets)


def _setup(plan: Plan) -> Setup:
    return Setup(
        search=str(plan.protocol_path.resolve().parent),
        paths=tuple(sys.path),
        arms={arm: ArmSetup(driver=plan.drivers[arm].name, config=plan.configs[arm]) for arm in ARMS},
        suites=tuple(
            SuiteSetup(
                folder=str(part.suite.folder.resolve()),
                toolset=part.suite.file.toolset,
                cases=tuple(case.id for case in part.cases),
            )
            for part in plan.selection.suites
        ),
        timeout_s=plan.protocol.limits.trial_timeout_s,
        cold=conduct_of(plan).cold,
    )


def plan_identity(plan: Plan) -> dict[str, Any]:
    """Return what every worker of a plan must have been built from."""
    return identity_of(plan.drivers, [(part.suite, part.cases) for part in plan.selection.suites])
