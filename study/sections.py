"""The sections of a protocol as closed records."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from study.records import Record

Claim = Literal["non-inferior", "superior", "equivalent"]
Role = Literal["primary", "secondary", "guardrail", "exploratory"]
Estimand = Literal["new-tasks", "fixed-tasks"]
Multiplicity = Literal["fixed-sequence", "holm", "fallback"]
Treatment = Literal["failure", "void-pair"]


class ArmSpec(Record):
    """One arm: the driver by name, and its own settings."""

    driver: str
    config: dict[str, Any] | None = None


class Arms(Record):
    """The two arms of a study."""

    baseline: ArmSpec
    candidate: ArmSpec


class Change(Record):
    """The one mechanism that differs: dotted ``paths`` below ``arms.X``, and ``why``."""

    paths: tuple[str, ...]
    why: str


class Workload(Record):
    """What is run: suites, split and, optionally, rungs; and how its tasks weigh.

    Attributes
    ----------
    suites : tuple of str
    split : {"development", "held-out"}
    rungs : tuple of str or None
        All rungs of the suites when left out.
    weighting : {"equal-tasks", "rungs", "suites"}
        ``rungs`` and ``suites`` divide the tasks into strata whose declared ``weights`` enter every share.
    weights : dict of str to float or None
        Stratum (a rung, or a suite as named here) -> positive weight; the sum is 1 and every stratum named.
    """

    suites: tuple[str, ...]
    split: Literal["development", "held-out"]
    rungs: tuple[str, ...] | None = None
    weighting: Literal["equal-tasks", "rungs", "suites"] = "equal-tasks"
    weights: dict[str, float] | None = None


class Conditions(Record, omit_defaults=True):
    """The conditions under which every trial of both arms runs.

    Attributes
    ----------
    cache : {"cold", "warm"} or None
        ``cold``: driver and toolset are reset before each trial. ``warm``: they are not, as without this
        key; the word is printed beside latencies.
    warm_up : int
        Requests that each worker puts to each arm before its first pair; they are no trials.
    cool_down_s : float
        Pause of a worker between two pairs, in seconds.
    concurrency : int
        How many pairs may run beside each other on one worker.
    """

    cache: Literal["cold", "warm"] | None = None
    warm_up: int = 0
    cool_down_s: float = 0.0
    concurrency: int = 1


class Design(Record):
    """How it is run: tasks, repetitions, order, seed, conditions."""

    tasks: int
    repetitions: int
    seed: int
    order: Literal["randomized-within-pair"] = "randomized-within-pair"
    conditions: Conditions | None = None


class EndpointSpec(Record):
    """One declared endpoint.

    Attributes
    ----------
    name : str
        A name of :data:`study.endpoints.ENDPOINTS`.
    role : {"primary", "secondary", "guardrail", "exploratory"}
        ``exploratory`` endpoints never change what the others come to; their claims are one Holm family.
    claim : str or None
    margin : str or None
        Text with its unit.
    alpha : float or None
        One-sided level of the claim.
    k : int or None
        Of ``pass_hat_k`` and ``pass_at_k``: from 1 to the declared repetitions.
    estimand : {"new-tasks", "fixed-tasks"} or None
        ``fixed-tasks`` asks about these tasks only, were they repeated without end: a secondary endpoint
        without a claim, from 2 repetitions. Left out: the population that the tasks stand for.
    weight : float or None
        Share of the level in the fallback procedure.
    """

    name: str
    role: Role
    claim: Claim | None = None
    margin: str | None = None
    alpha: float | None = None
    k: int | None = None
    estimand: Estimand | None = None
    weight: float | None = None

    @property
    def label(self) -> str:
        """The name with whatever tells it from other endpoints of the same name."""
        return endpoint_label(self.name, self.k, self.estimand)


def endpoint_label(name: str, k: int | None, estimand: str | None) -> str:
    """Return an endpoint's name with its ``k`` or its estimand, where it has one that must be told."""
    if k is not None:
        return f"{name} (k = {k})"
    return f"{name} (these tasks only)" if estimand == "fixed-tasks" else name


class Gates(Record):
    """What no average pays for: hard fails (always 0), and the floor of the candidate's completion.

    ``hard_fail_icc`` declares how alike hard fails of one task are (0 to 1), which allows a second, closer
    bound on their rate; it gates nothing.
    """

    hard_fails: Literal[0] = 0
    completion_floor: float | None = None
    hard_fail_icc: float | None = None


class Missing(Record):
    """The declared treatment of each outcome that is no answer."""

    timeout: Literal["failure"] = "failure"
    driver_error: Literal["failure"] = "failure"
    transport_error: Literal["failure"] = "failure"
    unparseable: Literal["failure"] = "failure"
    empty: Literal["failure"] = "failure"
    infrastructure: Treatment = "void-pair"
    cancelled: Treatment = "void-pair"
    max_void_pairs: str = "0 %"


class Limits(Record):
    """What a trial and the whole run may use; what is left out is unlimited.

    Attributes
    ----------
    trial_timeout_s : float
        Wall-clock limit of one trial, in seconds.
    grace_s : float
        How long running pairs may go on after the first interrupt, in seconds.
    max_wall_s : float or None
        Budget of the run in seconds. When it or another budget is used up, no further pair starts and the
        run is over.
    max_tokens : int or None
        Budget of known input and output tokens, of all attempts.
    max_calls : int or None
        Budget of model calls, as ``ctx.record_usage`` counts them, of all attempts.
    trials_per_minute : float or None
        Trials start no faster than this, over the whole run.
    """

    trial_timeout_s: float
    grace_s: float = 10.0
    max_wall_s: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    trials_per_minute: float | None = None


class Retries(Record):
    """Which attempts are made again, how often, and after which pause.

    Attributes
    ----------
    outcomes : tuple of str
        Of :data:`study.conduct.RETRIABLE`: an answer is never asked again.
    attempts : int
        Attempts of one trial in all, from 2 to 10.
    wait_s : float
        Pause before the next attempt, in seconds.
    """

    outcomes: tuple[str, ...]
    attempts: int
    wait_s: float = 0.0


class JournalSpec(Record):
    """Group commit of the journal: when what was written is forced onto the disk.

    Attributes
    ----------
    fsync_trials : int or None
        After this many records.
    fsync_s : float or None
        Or this many seconds after the last time, whichever comes first.
    """

    fsync_trials: int | None = None
    fsync_s: float | None = None


class AnalysisSpec(Record):
    """Settings of the resampling methods (the deciding interval has none), and of several claims.

    ``multiplicity`` says how the secondary claims share the level once the primary claim is met: in declared
    order up to the first that is not met, by Holm's procedure, or by the fallback procedure with declared
    weights.
    """

    resamples: int = 10_000
    seed: int = 0
    multiplicity: Multiplicity = "fixed-sequence"


class Protocol(Record):
    """A protocol as declared. An absent section means off."""

    schema: Literal[1]
    id: str
    question: str
    arms: Arms
    change: Change
    workload: Workload
    design: Design
    endpoints: tuple[EndpointSpec, ...]
    gates: Gates = msgspec.field(default_factory=Gates)
    missing: Missing = msgspec.field(default_factory=Missing)
    limits: Limits
    retries: Retries | None = None
    journal: JournalSpec | None = None
    analysis: AnalysisSpec = msgspec.field(default_factory=AnalysisSpec)
