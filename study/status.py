"""Where a run stands, from its files alone: plan and use, pooled over the arms, while it goes on too."""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from study.bundled import PREFIX, data_root, runs_root
from study.convert import convert
from study.digest import JSON, is_object, read_bytes, read_json_file
from study.environment import Environment, read_environment
from study.errors import InputError, IntegrityError, RunError
from study.journal import AttemptSummary, Progress, Session, Stop, read_progress
from study.lock import lock_digest, read_lock
from study.pace import Budget, wall_s
from study.protocol import parse_ceiling
from study.records import OUTCOMES, Record
from study.runs import RunFolder
from study.sections import Limits

State = Literal["running", "interrupted", "not graded", "not reported", "sealed"]

MOST_TROUBLE = 0.20
"""Share of the used trials that may end in an error or a timeout before it is said."""

TROUBLE = ("driver_error", "timeout", "transport_error", "infrastructure")


class SessionUse(Record):
    """What one session did: when it began (Unix time, seconds) and how many trials it ended."""

    session: int
    started_at_s: float
    trials: int


class Status(Record):
    """Plan and use of one run; every count is pooled over both arms.

    Attributes
    ----------
    path : Path
    study, lock_digest : str
    state : str
        ``running`` while another process holds the journal; ``interrupted`` while trials are missing;
        ``not graded`` and ``not reported`` once every trial is final; ``sealed`` at last.
    evidence_level : {"pilot", "comparative"}
        As planned: a study without a claim is a pilot. Of a sealed run, as its results say.
    split : str
    run_number, runs_known : int
        This run among those of the same lock beside it.
    planned_trials, planned_pairs, used_trials, used_pairs : int
        Used is what is final.
    outcomes : dict
        Outcome -> attempts, in the order of :data:`study.records.OUTCOMES`.
    interrupted, retried : int
        Attempts that were cut off, and those after which another one was due.
    split_pairs, deviations : int
    sessions : tuple of SessionUse
    torn_bytes : int
        Of a last record that is not whole: a write in progress, or what a crash left.
    budgets : tuple of (name, limit, amount)
        What was used of each declared budget.
    stopped : str or None
        The declared budget that ended the run.
    trouble : tuple of str
        What should be looked at; empty when all is well.
    """

    path: Path
    study: str
    lock_digest: str
    state: State
    evidence_level: Literal["pilot", "comparative"]
    split: str
    run_number: int
    runs_known: int
    planned_trials: int
    planned_pairs: int
    used_trials: int
    used_pairs: int
    outcomes: dict[str, int]
    interrupted: int
    retried: int
    split_pairs: int
    deviations: int
    sessions: tuple[SessionUse, ...]
    torn_bytes: int
    budgets: tuple[tuple[str, float, float], ...]
    stopped: str | None
    trouble: tuple[str, ...]


def read_status(path: Path) -> Status:
    """Read where a run stands; nothing is loaded, written or waited for.

    Parameters
    ----------
    path : Path
        ``runs/<study>/<stamp>``, of a run in any state.

    Raises
    ------
    InputError
        When there is no run at that place.
    RunError
        When its files contradict each other.
    """
    folder = RunFolder(path)
    if not folder.lock.is_file():
        raise InputError(
            "not a run folder (it has no lock.json)",
            where=str(path),
            next_step="name a folder runs/<study>/<stamp> that `study run` wrote, or runs/<study>",
        )
    try:
        return _status(folder)
    except IntegrityError as error:
        raise RunError(
            f"damaged: {error.problem}",
            code=error.code,
            where=error.where,
            allowed=error.allowed,
            next_step=error.next_step or "`study verify RUN` lists all that is not as it was",
        ) from None


def study_runs(path: Path) -> list[Path]:
    """Return the run folders in a folder ``runs/<study>``, sorted by name; empty when it holds none."""
    return sorted(lock.parent for lock in path.glob("*/lock.json")) if path.is_dir() else []


def _budgets(
    limits: JSON, attempts: Sequence[AttemptSummary], stop: Stop | None
) -> tuple[tuple[str, float, float], ...]:
    """Return what the sessions so far used of each declared budget; what ended the run, as it was then."""
    declared = convert(limits, Limits, "lock.json: protocol.limits", IntegrityError)
    took_s = wall_s((attempt.session, attempt.elapsed_s) for attempt in attempts)
    budget = Budget(declared, wall_s=took_s, usages=[attempt.usage for attempt in attempts])
    ended = {} if stop is None else {stop.reason: stop.used}
    return tuple((use.name, use.limit, ended.get(use.name, use.amount)) for use in budget.used())


def _status(folder: RunFolder) -> Status:
    lock = read_lock(folder.lock)
    running = _held(folder.journal)
    progress, torn = _progress(folder, lock_digest(lock))
    attempts: Sequence[AttemptSummary] = progress.attempts if progress else ()
    finals = [attempt for attempt in attempts if attempt.final]
    pairs = Counter(attempt.pair for attempt in finals)
    stop = progress.stop if progress else None
    outcomes = Counter(attempt.outcome for attempt in attempts)
    known = _known_runs(folder)
    return Status(
        path=folder.path,
        study=lock["study"],
        lock_digest=lock_digest(lock),
        state="running" if running else _resting(folder, lock["n_trials"] - len(finals), stop is not None),
        evidence_level=_evidence_level(folder, lock),
        split=lock["protocol"]["workload"]["split"],
        run_number=known[0],
        runs_known=known[1],
        planned_trials=lock["n_trials"],
        planned_pairs=lock["n_pairs"],
        used_trials=len(finals),
        used_pairs=sum(n == 2 for n in pairs.values()),
        outcomes={name: outcomes[name] for name in OUTCOMES if outcomes[name]},
        interrupted=outcomes["cancelled"],
        retried=sum(attempt.retried for attempt in attempts),
        split_pairs=len(progress.split_pairs) if progress else 0,
        deviations=read_bytes(folder.deviations, "deviations").count(b"\n")
        if folder.deviations.exists()
        else 0,
        sessions=_sessions(progress.sessions if progress else (), finals),
        torn_bytes=torn,
        budgets=_budgets(lock["protocol"]["limits"], attempts, stop),
        stopped=f"{stop.reason} = {stop.limit:g}: {stop.used:g} used" if stop else None,
        trouble=tuple(_trouble(lock, finals)),
    )


def _held(journal: Path) -> bool:
    """Whether another process has the journal open for writing."""
    try:
        with journal.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _progress(folder: RunFolder, digest: str) -> tuple[Progress | None, int]:
    """Return what the journal holds, None without a whole header, and the bytes of a torn tail."""
    if not folder.journal.exists():
        if folder.sealed or folder.product.exists():
            raise IntegrityError("journal.jsonl is missing", where=str(folder.path))
        return None, 0
    with folder.journal.open("rb") as stream:
        first = stream.readline()
    if not first.endswith(b"\n"):
        return None, len(first)
    try:
        progress = read_progress(folder.journal, digest)
    except IntegrityError:
        # a resuming process may have cut off a torn tail while it was read
        progress = read_progress(folder.journal, digest)
    return progress, len(progress.torn)


def _resting(folder: RunFolder, missing: int, stopped: bool) -> State:
    if folder.sealed:
        return "sealed"
    if missing and not stopped:
        return "interrupted"
    return "not reported" if folder.product.exists() else "not graded"


def _evidence_level(folder: RunFolder, lock: dict[str, JSON]) -> Literal["pilot", "comparative"]:
    told: JSON = read_json_file(folder.results, "results") if folder.sealed else None
    if is_object(told) and told.get("evidence_level") in ("pilot", "comparative"):
        return told["evidence_level"]
    claims = any(endpoint.get("claim") for endpoint in lock["protocol"]["endpoints"])
    return "comparative" if claims else "pilot"


def _known_runs(folder: RunFolder) -> tuple[int, int]:
    """Return the number of this run, and how many runs of its lock are known now."""
    environment: Environment = read_environment(folder.environment)
    data = read_bytes(folder.lock, "lock")
    others = [lock for lock in folder.path.resolve().parent.glob("*/lock.json") if lock.is_file()]
    same = sum(read_bytes(lock, "lock") == data for lock in others)
    return environment.run_number, max(same, environment.runs_known)


def _sessions(sessions: Sequence[Session], finals: Sequence[AttemptSummary]) -> tuple[SessionUse, ...]:
    trials = Counter(attempt.session for attempt in finals)
    return tuple(
        SessionUse(session=s.session, started_at_s=s.started_at_s, trials=trials[s.session]) for s in sessions
    )


def _trouble(lock: dict[str, JSON], finals: Sequence[AttemptSummary]) -> list[str]:
    found: list[str] = []
    failed = sum(attempt.outcome in TROUBLE for attempt in finals)
    if failed > MOST_TROUBLE * len(finals):
        found.append(f"{failed} of {len(finals)} trials ended in an error or a timeout")
    missing: dict[str, Any] = lock["protocol"].get("missing", {})
    if missing.get("infrastructure", "void-pair") == "void-pair":
        void = len({attempt.pair for attempt in finals if attempt.outcome == "infrastructure"})
        ceiling = missing.get("max_void_pairs", "0 %")
        if void > parse_ceiling(ceiling, "missing.max_void_pairs") * lock["n_pairs"] * (1 + 1e-9):
            found.append(
                f"{void} pairs are void, above the declared ceiling of {ceiling}: so will be the run"
            )
    return found


def resuming(status: Status) -> list[str] | None:
    """Return the arguments of ``study`` that take a run up again; None when its protocol is not found.

    The protocol is looked for beside the folder of runs, in the working folder and among the bundled ones:
    it is the one whose lock is that of the run.
    """
    root = status.path.resolve().parent.parent
    protocol = _protocol_of(status, root)
    if protocol is None or status.path.resolve().parent.name != status.study:
        return None
    arguments = ["run", protocol if protocol.startswith(PREFIX) else _from_here(Path(protocol))]
    if not protocol.startswith(PREFIX) and runs_root(Path(protocol)) != root:
        arguments += ["--out", _from_here(root)]
    stamp = status.path.resolve().name
    default = status.lock_digest[:12]
    return arguments if stamp.partition("_")[0] == default else [*arguments, "--stamp", stamp]


def _from_here(path: Path) -> str:
    """Return a path relative to the working folder where it lies below that."""
    path, here = path.resolve(), Path.cwd().resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _protocol_of(status: Status, root: Path) -> str | None:
    data = read_bytes(status.path / "lock.json", "lock")
    bundled = data_root() / "protocols"
    for place in (root.parent, root.parent / "protocols", Path.cwd(), Path.cwd() / "protocols", bundled):
        for lock in sorted(place.glob("*.lock.json")):
            protocol = lock.with_name(lock.name.removesuffix(".lock.json") + ".toml")
            if protocol.is_file() and lock.is_file() and lock.read_bytes() == data:
                return f"{PREFIX}{protocol.stem}" if place == bundled else str(protocol)
    return None
