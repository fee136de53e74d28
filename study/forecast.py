"""How long a declared run will take: what its rules make of it, and what the last run lets expect."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from statistics import fmean, median

from study.digest import JSON, is_object
from study.errors import StudyError
from study.journal import Attempt, read_entries
from study.lock import lock_digest, read_lock
from study.records import ARMS, Record
from study.runs import RunFolder
from study.sections import Conditions, Protocol

LOOKED_AT = 20_000
"""Entries of a journal that are read for an expectation."""


class Forecast(Record):
    """Seconds that a run on one worker takes, part by part.

    Attributes
    ----------
    n_trials : int
    warm_up : int
        Requests that are no trials.
    trials_s : float
        If every trial ended at its time limit, at its first attempt.
    retries_s : float
        What further attempts add if each of them ended at the limit too, with the pauses before them.
    warm_up_s : float
        If every such request ended at the time limit.
    cool_down_s : float
        The pauses between the pairs.
    paced_s : float
        From the first to the last start that the declared rate allows, on any number of workers.
    """

    n_trials: int
    warm_up: int
    trials_s: float
    retries_s: float
    warm_up_s: float
    cool_down_s: float
    paced_s: float

    def expected_s(self, latency_s: float) -> float:
        """Return the seconds that it takes if a trial takes ``latency_s``, without further attempts."""
        worked = (self.n_trials + self.warm_up) * latency_s + self.cool_down_s
        return max(worked, self.paced_s + latency_s)


class LastRun(Record):
    """What trials took in an earlier run of a study: median and mean of final attempts, in seconds."""

    median_s: float
    mean_s: float
    n_trials: int


def forecast(protocol: Protocol, n_pairs: int) -> Forecast:
    """Return what the declared rules make of the duration of a run.

    Parameters
    ----------
    protocol : Protocol
    n_pairs : int
        Over all repetitions.
    """
    limit_s, rate = protocol.limits.trial_timeout_s, protocol.limits.trials_per_minute
    conditions, retries = protocol.design.conditions or Conditions(), protocol.retries
    n_trials, warm_up = n_pairs * len(ARMS), conditions.warm_up * len(ARMS)
    further_s = 0.0 if retries is None else (retries.attempts - 1) * (limit_s + retries.wait_s)
    return Forecast(
        n_trials=n_trials,
        warm_up=warm_up,
        trials_s=n_trials * limit_s,
        retries_s=n_trials * further_s,
        warm_up_s=warm_up * limit_s,
        cool_down_s=max(n_pairs - 1, 0) * conditions.cool_down_s,
        paced_s=0.0 if rate is None else max(n_trials - len(ARMS), 0) * 60 / rate,
    )


def last_run(base: Path, arms: JSON) -> LastRun | None:
    """Return what trials took in the newest run of these arms below ``runs/<study>``.

    ``arms`` is that section of a lock; runs of other drivers, stamps or settings say nothing.

    Returns
    -------
    LastRun or None
        None when there is no run, none of its trials is over, or its journal cannot be read: this is an
        expectation, and `study verify` is for the rest.
    """
    try:
        journals = [path for path in base.glob("*/journal.jsonl") if path.is_file() and _ran(path, arms)]
        if not journals:
            return None
        newest = max(journals, key=lambda path: path.stat().st_mtime)
        entries = read_entries(newest, lock_digest(read_lock(RunFolder(newest.parent).lock)))
        latencies = [
            entry.latency_s
            for entry in islice(entries, LOOKED_AT)
            if isinstance(entry, Attempt) and entry.final
        ]
    except (StudyError, OSError):
        return None
    if not latencies:
        return None
    return LastRun(median_s=median(latencies), mean_s=fmean(latencies), n_trials=len(latencies))


def _ran(journal: Path, arms: JSON) -> bool:
    """Whether a run was one of these arms, whatever became of their sources since."""
    return _identities(read_lock(RunFolder(journal.parent).lock).get("arms")) == _identities(arms)


def _identities(arms: JSON) -> dict[str, JSON]:
    if not is_object(arms):
        return {}
    return {
        arm: [entry.get(key) for key in ("driver", "stamp", "config")]
        for arm, entry in arms.items()
        if is_object(entry)
    }
