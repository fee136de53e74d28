"""A pair is run on one station: its trials adjacent, in order, with the declared pauses and retries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from study.executors.trials import Execution
from study.records import ARMS, Record

STEP_S = 0.05


class Conduct(Record):
    """How trials are conducted, as the protocol declares it.

    Attributes
    ----------
    timeout_s : float
        Wall-clock limit of one trial.
    cold : bool
        Whether driver and toolset are reset before each trial.
    warm_up : int
        Requests that a station puts to each arm before its first pair.
    cool_down_s : float
        Pause of a station between two pairs.
    retried : tuple of str
        Outcomes after which a trial is attempted again.
    attempts : int
        Attempts of one trial in all, those that were interrupted not counted.
    wait_s : float
        Pause before a further attempt.
    """

    timeout_s: float
    cold: bool = False
    warm_up: int = 0
    cool_down_s: float = 0.0
    retried: tuple[str, ...] = ()
    attempts: int = 1
    wait_s: float = 0.0


class TrialJob(NamedTuple):
    """One trial to be executed: what a station must know of it, and how often it was tried before.

    ``attempt`` is the number of the next attempt, ``tried`` how many of the earlier ones were retried.
    """

    trial: int
    arm: str
    case_id: str
    seed: int
    attempt: int = 1
    tried: int = 0


class PairJob(NamedTuple):
    """The trials of one pair that are still to be executed, in scheduled order.

    ``waited_s`` is how long the pair waited for a rate limit before it was handed out.
    """

    pair: str
    trials: tuple[TrialJob, ...]
    waited_s: float = 0.0


class Done(NamedTuple):
    """An attempt that is over: of which trial, its number, whether another follows, and where it ran."""

    trial: int
    attempt: int
    retried: bool
    execution: Execution
    waited_s: float
    worker: str


class Station(Protocol):
    """A place where trials run one after another."""

    @property
    def name(self) -> str:
        """What the journal calls it."""
        ...

    def execute(self, arm: str, case_id: str, seed: int) -> Execution:
        """Run one attempt; whatever comes of it is in the execution."""
        ...

    def close(self) -> Sequence[str]:
        """Give up what is held; return one line for each thing that failed."""
        ...


class Place:
    """A station at work: it remembers its last pair, and knows whom to tell and when to stop.

    Parameters
    ----------
    station : Station
    conduct : Conduct
    warm_up_cases : sequence of (case_id, seed)
        What the warm-up asks, in turn.
    deliver : callable
        Told of each :class:`Done` as soon as it is over.
    stopping : callable
        Whether nothing may start any more, a trial of a begun pair included.
    """

    def __init__(
        self,
        station: Station,
        conduct: Conduct,
        warm_up_cases: Sequence[tuple[str, int]],
        deliver: Callable[[Done], None],
        stopping: Callable[[], bool],
    ) -> None:
        self.station = station
        self.conduct = conduct
        self.warm_up_cases = warm_up_cases
        self.deliver = deliver
        self.stopping = stopping
        self.warm = False

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end of the run."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.stopping():
            time.sleep(min(left, STEP_S))

    def prepare(self) -> None:
        """Warm up before the first pair, cool down before every other."""
        if self.warm:
            if self.conduct.cool_down_s:
                self.pause(self.conduct.cool_down_s)
            return
        self.warm = True
        for n in range(self.conduct.warm_up):
            case_id, seed = self.warm_up_cases[n % len(self.warm_up_cases)]
            for arm in ARMS:
                if not self.stopping():
                    self.station.execute(arm, case_id, seed)

    def run(self, job: PairJob) -> None:
        """Execute the trials of a pair."""
        if not self.warm or self.conduct.cool_down_s:
            self.prepare()
        waited_s = job.waited_s
        for trial in job.trials:
            if self.stopping() or not self._run_trial(trial, waited_s):
                return
            waited_s = 0.0

    def _run_trial(self, trial: TrialJob, waited_s: float) -> bool:
        """Execute a trial until its last attempt; return whether the pair may go on."""
        attempt, tried = trial.attempt, trial.tried
        while True:
            execution = self.station.execute(trial.arm, trial.case_id, trial.seed)
            again = execution.outcome in self.conduct.retried and tried + 1 < self.conduct.attempts
            waited_s += execution.slept_s
            self.deliver(Done(trial.trial, attempt, again, execution, waited_s, self.station.name))
            if not again:
                return execution.outcome != "cancelled"
            waited_s, before = 0.0, time.monotonic()
            self.pause(self.conduct.wait_s)
            if self.stopping():
                return False
            waited_s = time.monotonic() - before
            attempt, tried = attempt + 1, tried + 1


_here = threading.local()


def take_place(make: Callable[[], Place]) -> None:
    """Make this thread a place where pairs run: the initializer of an executor's threads."""
    _here.place = make()


def run_pair(job: PairJob) -> None:
    """Run a pair at the place of this thread; what an executor is given to do.

    The outcome of each attempt is told to the place's ``deliver`` as soon as it is over.
    """
    _here.place.run(job)
