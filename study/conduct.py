"""How a study is conducted: the rules for conditions, limits, retries and the journal."""

from __future__ import annotations

from typing import NamedTuple

from study.endpoints import ENDPOINTS
from study.errors import ProtocolError, RunError, did_you_mean, listed
from study.records import OUTCOMES, Outcome
from study.sections import Conditions, JournalSpec, Limits, Protocol, Retries

RETRIABLE: tuple[Outcome, ...] = ("transport_error", "infrastructure", "timeout", "driver_error")
"""Outcomes after which a trial may be attempted again: those that are no answer."""

TIMED: tuple[str, ...] = tuple(
    name for name in ENDPOINTS if name.startswith("latency_") or name == "timeouts"
)
"""Endpoints that pairs beside each other would change, for each slows its neighbours."""

IN_PROCESS = "inprocess"
"""The executor whose workers share one process."""

_DAY_S = 86_400
_YEAR_S = 366 * _DAY_S
_UNLIMITED = 10**15


class _Range(NamedTuple):
    """A declared number, None when it is absent, with what it may be; ``above`` excludes the lower end."""

    place: str
    value: float | None
    least: float
    most: float
    unit: str
    above: bool = False

    def holds(self) -> bool:
        """Whether the number is absent or within the range (NaN is in no range)."""
        if self.value is None:
            return True
        return self.least <= self.value <= self.most and not (self.above and self.value == self.least)

    def allowed(self) -> str:
        """Return the range in words."""
        lower = f"{'above' if self.above else 'at least'} {self.least}"
        return f"{self.unit}, {lower} and at most {self.most}"


def check_conduct(protocol: Protocol, where: str) -> None:
    """Check conditions, limits, retries and the journal; raise at the first broken rule.

    Raises
    ------
    ProtocolError
        With the place below ``where``.
    """
    conditions = protocol.design.conditions or Conditions()
    ranges = [*_conditions(conditions), *_limits(protocol.limits)]
    ranges += [*_retries(protocol.retries), *_journal(protocol.journal)]
    for number in ranges:
        if not number.holds():
            name = number.place.rpartition(".")[2]
            raise ProtocolError(
                f"{name} = {number.value}", where=f"{where}:{number.place}", allowed=number.allowed()
            )
    if conditions.cache == "cold" and conditions.concurrency > 1:
        raise ProtocolError(
            f'cache = "cold" with concurrency = {conditions.concurrency}: the reset before a trial would hit '
            "the pairs beside it",
            where=f"{where}:design.conditions",
            allowed="a cold cache with one pair at a time on a worker",
            next_step="drop concurrency, and use more workers: `--executor process --workers N`",
        )
    if protocol.retries is not None:
        _check_outcomes(protocol.retries, f"{where}:retries.outcomes")


def _conditions(conditions: Conditions) -> list[_Range]:
    place = "design.conditions"
    return [
        _Range(f"{place}.warm_up", conditions.warm_up, 0, 1000, "a whole number of requests"),
        _Range(f"{place}.cool_down_s", conditions.cool_down_s, 0, _DAY_S, "seconds"),
        _Range(f"{place}.concurrency", conditions.concurrency, 1, 1000, "a whole number of pairs"),
    ]


def _limits(limits: Limits) -> list[_Range]:
    return [
        _Range("limits.trial_timeout_s", limits.trial_timeout_s, 0, _DAY_S, "seconds", above=True),
        _Range("limits.grace_s", limits.grace_s, 0, _DAY_S, "seconds"),
        _Range("limits.max_wall_s", limits.max_wall_s, 0, _YEAR_S, "seconds", above=True),
        _Range("limits.max_tokens", limits.max_tokens, 1, _UNLIMITED, "a whole number of tokens"),
        _Range("limits.max_calls", limits.max_calls, 1, _UNLIMITED, "a whole number of model calls"),
        _Range("limits.trials_per_minute", limits.trials_per_minute, 0.001, 1_000_000, "trials a minute"),
    ]


def _retries(retries: Retries | None) -> list[_Range]:
    if retries is None:
        return []
    return [
        _Range("retries.attempts", retries.attempts, 2, 10, "a whole number of attempts in all"),
        _Range("retries.wait_s", retries.wait_s, 0, _DAY_S, "seconds"),
    ]


def _journal(journal: JournalSpec | None) -> list[_Range]:
    if journal is None:
        return []
    return [
        _Range("journal.fsync_trials", journal.fsync_trials, 1, 1_000_000, "a whole number of records"),
        _Range("journal.fsync_s", journal.fsync_s, 0, 3600, "seconds", above=True),
    ]


def _check_outcomes(retries: Retries, where: str) -> None:
    allowed = listed(RETRIABLE)
    if not retries.outcomes or len(set(retries.outcomes)) != len(retries.outcomes):
        raise ProtocolError("name each outcome once, and at least one", where=where, allowed=allowed)
    for outcome in retries.outcomes:
        if outcome in RETRIABLE:
            continue
        reason = did_you_mean(outcome, RETRIABLE)
        if outcome == "cancelled":
            reason = ": an interrupted attempt is made again anyhow"
        elif outcome in OUTCOMES:
            reason = ": an answer is never asked again, whatever it says"
        raise ProtocolError(f"outcome {outcome!r}{reason}", where=where, allowed=allowed)


def refuse_crowded(protocol: Protocol, executor: str, workers: int) -> None:
    """Refuse to run more pairs beside each other on one worker than the protocol declares.

    Parameters
    ----------
    protocol : Protocol
    executor : str
        As it was asked for. The workers of ``inprocess`` share one process; those of all others have one
        each.
    workers : int

    Raises
    ------
    RunError
        When workers in one process would change what a declared endpoint of time measures, or when the
        reset of a cold cache would hit the pairs beside it.
    """
    conditions = protocol.design.conditions or Conditions()
    declared = conditions.concurrency
    if executor != IN_PROCESS or workers <= declared:
        return
    timed = [endpoint.label for endpoint in protocol.endpoints if endpoint.name in TIMED]
    cold = conditions.cache == "cold"
    if not timed and not cold:
        return
    reason = f"{timed[0]} would measure the neighbours too" if timed else ""
    step = f"`--executor process`, or declare design.conditions.concurrency = {workers} and freeze again"
    if cold:
        reason = "the reset of the cold cache before a trial would hit the pairs beside it"
        step = "`--executor process`, whose workers share nothing"
    raise RunError(
        f"{workers} pairs beside each other in one process, and the protocol declares {declared}: {reason}",
        code="crowded",
        where="--workers",
        allowed=f"at most {declared} with the executor {IN_PROCESS!r}",
        next_step=step,
    )
