"""What slows a run down or ends it: the declared rate and the declared budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, Literal, NamedTuple

from study.sections import Limits
from study.usage import FIELDS

Reason = Literal["max_wall_s", "max_tokens", "max_calls"]


class Use(NamedTuple):
    """A declared budget, its limit, and what was used of it: seconds, tokens or calls."""

    name: Reason
    limit: float
    amount: float


class Rate:
    """Spaces trials so that on average no more than a number of them start in a minute.

    A pair starts as a whole and counts as the trials that it still has; a further attempt counts too.
    """

    def __init__(self, trials_per_minute: float | None) -> None:
        self._interval_s = 60.0 / trials_per_minute if trials_per_minute else 0.0
        self._next_s = monotonic()

    @property
    def wait_s(self) -> float:
        """Seconds until the next pair may start."""
        return max(0.0, self._next_s - monotonic()) if self._interval_s else 0.0

    def start(self, trials: int) -> None:
        """Count trials that start now."""
        if not self._interval_s:
            return
        self._next_s = max(self._next_s, monotonic()) + trials * self._interval_s


class Budget:
    """What a run has used of its declared budgets.

    Parameters
    ----------
    limits : Limits
    wall_s : float
        Seconds that earlier sessions took.
    usages : iterable of dict or None
        The ledgers of earlier attempts.
    """

    def __init__(
        self, limits: Limits, wall_s: float = 0.0, usages: Iterable[Mapping[str, Any] | None] = ()
    ) -> None:
        self._limits = limits
        self._limited = any(
            limit is not None for limit in (limits.max_wall_s, limits.max_tokens, limits.max_calls)
        )
        self._before_s = wall_s
        self._began = monotonic()
        self._tokens = 0
        self._calls = 0
        for usage in usages:
            self.add(usage)

    def add(self, usage: Mapping[str, Any] | None) -> None:
        """Count what an attempt used, as far as it is known."""
        if usage is None:
            return
        self._calls += usage.get("calls") or 0
        for field in FIELDS:
            self._tokens += usage.get(field, {}).get("known_subtotal", 0)

    @property
    def session_s(self) -> float:
        """Seconds since this session began."""
        return monotonic() - self._began

    def used(self) -> list[Use]:
        """Return what was used of each declared budget so far."""
        limits = self._limits
        amounts: list[tuple[Reason, float | None, float]] = [
            ("max_wall_s", limits.max_wall_s, self._before_s + self.session_s),
            ("max_tokens", limits.max_tokens, self._tokens),
            ("max_calls", limits.max_calls, self._calls),
        ]
        return [Use(name, limit, amount) for name, limit, amount in amounts if limit is not None]

    def exhausted(self) -> Use | None:
        """Return the first declared budget that is used up."""
        if not self._limited:
            return None
        return next((use for use in self.used() if use.amount >= use.limit), None)


def wall_s(times: Iterable[tuple[int, float | None]]) -> float:
    """Return how long the sessions of a run took, by their own clocks.

    Parameters
    ----------
    times : iterable of (session, elapsed_s)
        Of its attempts; None where the clock was not recorded.
    """
    longest: dict[int, float] = {}
    for session, elapsed_s in times:
        if elapsed_s is not None:
            longest[session] = max(longest.get(session, 0.0), elapsed_s)
    return sum(longest.values())
