"""The envelope of a driver: ``envelope.json``, what an optimiser may rely on."""

from __future__ import annotations

from typing import Literal

from analysis.benchmark.cases import Answer
from analysis.results import Interval
from study.records import Record


class GeneratedFrom(Record, rename="camel"):
    """What an envelope was computed from; ``drivers`` maps the driver to the stamps in its rows."""

    driver: str
    drivers: dict[str, tuple[str, ...]]
    stamp: str
    case_count: int
    task_count: int
    split: str
    grader: str
    cases_digest: str
    rows_digest: str


class EnvelopeLadder(Record, rename="camel"):
    """The ladder: rungs with rows, how far an unbroken chain of passed gates reaches, what has no cases."""

    rungs: tuple[str, ...]
    rung_reached: str | None
    gated_at: str | None
    unmeasured: tuple[str, ...]


class EnvelopeCapability(Record, rename="camel"):
    """Capability axes; an axis that was not measured is None and its flag false.

    Attributes
    ----------
    max_context_tokens : int or None
    structured_ok : bool or None
        No call had unknown, missing or invalid arguments.
    tools_ok : bool or None
        No call named a tool that is not registered or not declared, and there is no hard fail beyond the
        arguments of calls: none is reported that was never made, none with effects tried or left out.
    """

    max_context_tokens: int | None
    max_context_tokens_measured: bool
    structured_ok: bool | None
    structured_ok_measured: bool
    tools_ok: bool | None
    tools_ok_measured: bool


class Metrics(Record, rename="camel"):
    """The metric pair on one rung, over cases; the interval is that of the mean over tasks.

    ``gate_pass`` is None for all rungs together: gates are read rung by rung.
    """

    n: int
    tasks: int
    plan_completion: float
    plan_completion_over_tasks: float
    interval: Interval
    result_completion: float
    hallucination_rate: float
    gate_pass: bool | None


class EnvelopeMetrics(Record, rename="camel"):
    """Metrics of all rungs together and of each."""

    overall: Metrics
    by_rung: dict[str, Metrics]


class RungEvidence(Record, rename="camel"):
    """Whether a rung is proven, with its evidence: ``interval`` is that of plan completion over tasks.

    A case that was judged by its override counts as not completed there.
    """

    rung: str
    in_envelope: bool
    why: str
    cases: int
    tasks: int
    interval: Interval


class RequestClass(Record, rename="camel"):
    """A class of requests, with its evidence.

    Attributes
    ----------
    level : {"shape", "topics"}
        All topics of a shape together, or one set of topics.
    rung, shape : str
    answer : str
    topics : tuple of str
        The topics that the class covers and that were measured.
    in_envelope : bool
    why : str
    cases, tasks, failures : int
        A failure is a case that did not pass, whose result is wrong, or that only met an override.
    interval : Interval
        Of the rate of flawless cases, tasks as the sample.
    """

    level: Literal["shape", "topics"]
    rung: str
    shape: str
    answer: Answer
    topics: tuple[str, ...]
    in_envelope: bool
    why: str
    cases: int
    tasks: int
    failures: int
    interval: Interval


class Routing(Record, rename="camel"):
    """What may be routed to the driver.

    Attributes
    ----------
    may_route : bool
        Whether the classes may be acted on at all; ``why`` says why or why not.
    minimum_tasks : int
        Below it no rung and no class is in.
    rungs : tuple of RungEvidence
    classes : tuple of RequestClass
    """

    may_route: bool
    why: str
    minimum_tasks: int
    rungs: tuple[RungEvidence, ...]
    classes: tuple[RequestClass, ...]


class Envelope(Record, rename="camel"):
    """``envelope.json``: the same bytes for the same rows; nothing in it comes from a clock."""

    schema: Literal[1]
    generated_from: GeneratedFrom
    ladder: EnvelopeLadder
    capability: EnvelopeCapability
    metrics: EnvelopeMetrics
    routing: Routing
    notes: tuple[str, ...]
