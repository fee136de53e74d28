"""Frozen, closed records that more than one module shares."""

from __future__ import annotations

from typing import Any, Literal, dataclass_transform, get_args

import msgspec

Arm = Literal["baseline", "candidate"]
ARMS: tuple[Arm, ...] = get_args(Arm)

Outcome = Literal[
    "answered",
    "refused",
    "unparseable",
    "empty",
    "driver_error",
    "timeout",
    "transport_error",
    "cancelled",
    "infrastructure",
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

RUNGS: tuple[str, ...] = tuple(f"TOOL-{n}" for n in range(10))

HARD_FAIL_CODES: tuple[str, ...] = (
    "unknown-tool",
    "undeclared",
    "unknown-arg",
    "missing-arg",
    "invalid-arg",
    "unknown-goal",
    "fabricated-call",
    "unreported-call",
    "permission-expansion",
    "duplicate-effect",
    "fabricated-evidence",
    "constraint-loss",
    "replay-mismatch",
    "compatibility-regression",
)


class _KeywordOnly(msgspec.StructMeta):
    """Makes the fields of every subclass keyword-only (msgspec itself does so for one class at a time)."""

    def __new__(
        mcs: type[_KeywordOnly], name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _KeywordOnly:
        options.setdefault("kw_only", True)
        return super().__new__(mcs, name, bases, namespace, **options)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, metaclass=_KeywordOnly, frozen=True, forbid_unknown_fields=True):
    """Base of all records: frozen, keyword-only, closed."""


class Dispatch(Record):
    """What the harness itself saw of one ``ctx.dispatch``.

    Attributes
    ----------
    name : Any
        The tool name as the driver gave it (normally text).
    input : Any
        The arguments as given (normally a mapping).
    executed : bool
        Whether the tool was really run; undeclared, unregistered and effectful tools never are.
    ok : bool
        Whether the tool answered.
    effects : bool
        Whether the tool is registered as having effects (``readOnly`` false).
    error : str or None
        The tool's or the gate's reason for ``ok`` false.
    """

    name: Any
    input: Any
    executed: bool
    ok: bool
    effects: bool = False
    error: str | None = None


class Produced(Record):
    """What one attempt produced, as the journal keeps it and the grader reads it.

    ``report`` holds the driver's :class:`study.driver.LoopResult` as plain JSON with the reference's
    camelCase keys (``calls, refused, terminated, proof, driver, composed, recovered, candidateResults,
    inferredGoal, reject, ambiguousGoals, why, observed``); it is empty when the driver gave none.
    """

    outcome: Outcome
    report: dict[str, Any]
    dispatches: tuple[Dispatch, ...] = ()
    evidence: Any = None


class Grade(Record):
    """The grader's verdict on one attempt.

    Attributes
    ----------
    passed : bool
        No hallucination, terminated when demanded, completed, and no reasons at all.
    completed : bool
        The outcome matches the expectation (calls, refusal, recognition).
    result_completed : bool
        The composed result matches ``expect.result``, or mirrors ``completed`` without one.
    hallucinated : tuple of dict
        One ``{"code", "at", "name", ...}`` per problem of a produced or attempted call.
    hard_fails : tuple of str
        Codes of :data:`HARD_FAIL_CODES`, sorted and unique.
    reasons, result_reasons : tuple of dict
        ``{"code", "text"}`` each, in the order in which they were found.
    failure : str or None
        ``honest_miss``, ``wrong_answer`` or ``hallucination`` for a grade that did not pass.
    probes : int
        Unreported read-only dispatches of declared tools: counted, never a fail.
    floor_expect_applied : bool
        Whether the case's ``floorExpect`` replaced its expectation.
    """

    passed: bool
    completed: bool
    result_completed: bool
    hallucinated: tuple[dict[str, Any], ...] = ()
    hard_fails: tuple[str, ...] = ()
    reasons: tuple[dict[str, Any], ...] = ()
    result_reasons: tuple[dict[str, Any], ...] = ()
    failure: Literal["honest_miss", "wrong_answer", "hallucination"] | None = None
    probes: int = 0
    floor_expect_applied: bool = False
