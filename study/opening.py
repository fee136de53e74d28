"""The start of a run: its folder created, or an unfinished one taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from study import environment
from study.digest import canonical, digest_file, encode_json, pretty, read_json_file, sha256
from study.errors import IntegrityError, LockError, RunError
from study.journal import Progress, Stop, read_progress
from study.lock import differences, lock_bytes, lock_digest, read_lock
from study.notes import append_line
from study.plan import Plan
from study.product import write_inputs
from study.records import ARMS
from study.runs import RunFolder, next_in_series, series, write_file, writing
from study.schedule import Assignment


def choose_folder(base: Path, stamp: str, plan: Plan) -> tuple[RunFolder, bool]:
    """Return the folder to run in, and whether it holds an unfinished run to go on with.

    Parameters
    ----------
    base : Path
        ``runs/<study>``.
    stamp : str
        The wanted stamp; a sealed run is never touched, the next number of the series is taken.

    Raises
    ------
    LockError
        When the unfinished run of that stamp belongs to another lock.
    """
    existing = series(base, stamp)
    if existing and not RunFolder(existing[-1]).sealed:
        folder = RunFolder(existing[-1])
        if folder.lock.exists() and lock_digest(read_lock(folder.lock)) != plan.lock_digest:
            raise LockError(
                "the unfinished run in this place belongs to another lock",
                where=str(folder.path),
                next_step="choose another --stamp, or restore that lock and finish the run",
            )
        return folder, folder.journal.exists()
    return RunFolder(next_in_series(base, stamp)), False


def finished_run(base: Path, stamp: str, plan: Plan) -> RunFolder | None:
    """Return the newest run of a stamp if it is sealed and of this plan."""
    existing = series(base, stamp)
    folder = RunFolder(existing[-1]) if existing else None
    if folder is None or not folder.sealed or lock_digest(read_lock(folder.lock)) != plan.lock_digest:
        return None
    return folder


def create(folder: RunFolder, base: Path, plan: Plan, executor: str, workers: int) -> None:
    """Write what does not depend on any trial; repeated as a whole when it was cut off before the journal."""
    with writing(folder.path):
        folder.path.mkdir(parents=True, exist_ok=True)
    write_inputs(folder, plan.protocol_bytes, plan.selection)
    write_file(
        folder.environment, pretty(msgspec.to_builtins(_environment(folder, base, plan, executor, workers)))
    )
    write_file(folder.lock, lock_bytes(plan.lock))


def _environment(
    folder: RunFolder, base: Path, plan: Plan, executor: str, workers: int
) -> environment.Environment:
    others = _known_runs(base, plan.lock_digest, folder)
    written = plan.lock["protocol"]["arms"]
    return environment.Environment(
        schema=2,
        toolkit=environment.toolkit_version(),
        packages=environment.package_versions(),
        **environment.machine(),
        revision=environment.revision(plan.protocol_path.resolve().parent),
        lock_commit=environment.lock_commit(plan.lock_path.resolve()),
        drivers=_identities(plan),
        sources=plan.sources,
        settings={
            arm: {"requested": written[arm].get("config", {}), "resolved": plan.configs[arm]} for arm in ARMS
        },
        seeds={
            "design": plan.protocol.design.seed,
            "analysis": plan.protocol.analysis.seed,
            "driver": "derived per case and repetition",
        },
        conditions=plan.lock["protocol"]["design"].get("conditions"),
        order=plan.protocol.design.order,
        executor=executor,
        workers=workers,
        run_number=others + 1,
        runs_known=others + 1,
    )


def _identities(plan: Plan) -> dict[str, dict[str, Any]]:
    return {
        arm: {"stamp": plan.drivers[arm].stamp, "source_digest": plan.drivers[arm].source_digest}
        for arm in ARMS
    }


def _known_runs(base: Path, digest: str, folder: RunFolder) -> int:
    """Count the other runs of one lock beside this one."""
    locks = [p for p in base.glob("*/lock.json") if p.parent != folder.path] if base.is_dir() else []
    return sum(sha256(canonical(read_json_file(lock, "lock"))) == digest for lock in locks)


def read_unfinished(folder: RunFolder, plan: Plan) -> Progress | None:
    """Read the journal of an unfinished run; None when it was cut off before its header was whole."""
    data = folder.journal.read_bytes()
    if b"\n" not in data:
        return None
    state = read_progress(folder.journal, plan.lock_digest)
    stored = environment.read_environment(folder.environment)
    _refuse_changed_code(folder, plan, stored)
    if state.sessions and state.sessions[0].environment_digest != digest_file(folder.environment):
        raise IntegrityError(
            "environment.json is not the one that the run began with", where=str(folder.path)
        )
    return state


def refuse_other_sources(folder: RunFolder, plan: Plan) -> None:
    """Refuse to pass a finished run off as one of drivers and sources that have changed since.

    Raises
    ------
    RunError
        With what changed.
    """
    stored = environment.read_environment(folder.environment)
    changed = _first_change(_code(stored, plan))
    if changed is not None:
        raise RunError(
            f"this plan was run already, with other code: {changed}",
            code="run-already",
            where=str(folder.path),
            next_step="`study freeze PROTOCOL --replace` for a new plan, or --again to repeat this one",
        )


def _refuse_changed_code(folder: RunFolder, plan: Plan, stored: environment.Environment) -> None:
    parts = [*_code(stored, plan), ("packages", stored.packages, environment.package_versions())]
    if not isinstance(stored.sdks, str):
        parts.append(("sdks", stored.sdks, environment.sdk_versions()))
    changed = _first_change(parts)
    if changed is not None:
        raise RunError(
            f"changed since the run began: {changed}",
            code="changed-during-run",
            where=str(folder.environment),
            next_step="restore it and resume, or choose another --stamp to begin a new run",
        )


_Part = tuple[str, Mapping[str, Any], Mapping[str, Any]]
"""Name of a part of the environment record, as it was when the run began, as it is now."""


def _code(stored: environment.Environment, plan: Plan) -> list[_Part]:
    return [("drivers", stored.drivers, _identities(plan)), ("sources", stored.sources, plan.sources)]


def _first_change(parts: Sequence[_Part]) -> str | None:
    """Return the first entry that is another now, of those that there are now."""
    for part, before, now in parts:
        changed = differences({name: before.get(name) for name in now}, dict(now))
        if changed:
            return f"{part}.{changed[0]}"
    return None


def note_start(folder: RunFolder, plan: Plan, state: Progress | None, *, unblinded: bool) -> None:
    """Record what is not as planned at the start of a session, whose journal is open by then."""
    notes = [("source", text) for text in plan.deviations] if state is None else []
    if unblinded:
        notes.append(("unblinded", "counts per arm were shown while the run went on"))
    if state is not None:
        known = len(state.finals)
        text = f"resumed after an interruption with {known} of {len(plan.schedule)} trials final"
        notes.append(("resumed", text))
        if state.torn:
            notes.append(("torn-tail", f"a torn record of {len(state.torn)} bytes was cut off"))
    for kind, text in notes:
        append_deviation(folder, kind, text)


def append_deviation(folder: RunFolder, kind: str, text: str) -> None:
    """Append one line to ``deviations.jsonl``."""
    append_line(folder, encode_json({"kind": kind, "text": text}) + b"\n")


def note_end(
    folder: RunFolder,
    infrastructure: Sequence[tuple[Assignment, dict[str, str] | None]],
    failures: Sequence[str],
    stop: str | None,
    resumed: Progress | None,
) -> None:
    """Record, once each, what went otherwise than planned.

    Parameters
    ----------
    folder : RunFolder
    infrastructure : sequence of (Assignment, error)
        Trials of this session that the harness or its tools failed.
    failures : sequence of str
        What failed while drivers and tools were closed.
    stop : str or None
        Which budget ended the run.
    resumed : Progress or None
        The whole journal where there were earlier sessions, which may have split pairs.
    """
    known = folder.deviations.read_bytes() if folder.deviations.exists() else b""
    split = sorted(resumed.split_pairs) if resumed is not None else []
    notes = [("split-pair", split_pair_text(pair)) for pair in split]
    for assignment, said in sorted(infrastructure, key=lambda entry: entry[0].trial):
        error = said or {}
        told = f"{error.get('type')}: {error.get('message', '')[:200]}"
        where = f"trial {assignment.trial} (case {assignment.case_id}, {assignment.arm})"
        notes.append(("infrastructure", f"{where}: a tool failed with {told}"))
    notes += [("budget", stop)] if stop is not None else []
    notes += [("close-failed", text) for text in failures]
    for kind, text in notes:
        if encode_json(text) not in known:
            append_deviation(folder, kind, text)


def split_pair_text(pair: str) -> str:
    """Return the deviation of a pair that an interruption split."""
    return f"the pair {pair} was split by an interruption; it is left out of latency endpoints"


def budget_text(stop: Stop, done: int) -> str:
    """Return the deviation of a run that a declared budget ended."""
    return (
        f"the declared {stop.reason} = {stop.limit:g} was used up ({stop.used:g}) after {done} trials; "
        "the others were not run"
    )
