"""Check, freeze and verify a declared comparison: everything but its statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from study.bundled import find_protocol, find_suite, runs_root
from study.cases import Suite, load_suite
from study.digest import JSON, digest_file, is_object, read_bytes, read_json_lines
from study.driver import Toolset
from study.drivers import LoadedDriver, load_driver, resolved_config
from study.endpoints import ENDPOINTS, parse_margin
from study.environment import read_environment
from study.errors import IntegrityError, LockError, ProtocolError, StudyError, SuiteError
from study.finding import loaded_sources
from study.grading import GRADER_VERSION
from study.journal import Progress, read_progress
from study.lint import Finding, Oracle, lint_suite
from study.lock import (
    DriverIdentity,
    build_lock,
    differences,
    lock_bytes,
    lock_digest,
    lock_path,
    read_lock,
    split_source_changes,
)
from study.plan import Plan
from study.product import FrozenRun, final_attempts, grade_run, product_differences, read_frozen
from study.protocol import (
    FEWEST_FIXED_TRIALS,
    FEWEST_OF_STRATUM,
    FEWEST_TASKS,
    EndpointSpec,
    Protocol,
    all_ties_bound,
    minimum_tasks,
    parse_protocol,
)
from study.records import ARMS, Record
from study.runs import RunFolder, check_manifest, find_run, write_file
from study.schedule import build_schedule
from study.selection import Selection, select, stratum_sizes
from study.templates import template_families
from study.toolsets import load_toolset


class Declared(Record):
    """A protocol that was read and checked, with what it selects and names."""

    path: Path
    data: bytes
    protocol: Protocol
    written: dict[str, JSON]
    suites: tuple[Suite, ...]
    selection: Selection
    drivers: dict[str, LoadedDriver]
    configs: dict[str, dict[str, Any]]
    toolsets: dict[str, Toolset | None]
    sources: dict[str, str]
    warnings: tuple[Finding, ...]


SCORES = ("completion", "pass", "result_completion", "pass_hat_k", "pass_at_k")
"""Endpoints that a driver which does nothing cannot win."""


def _advice(protocol: Protocol, path: Path) -> list[Finding]:
    """Return warnings about a plan that is allowed and that its author may not mean."""
    primaries = [endpoint for endpoint in protocol.endpoints if endpoint.role == "primary"]
    costs = [e.name for e in primaries if e.claim is not None and e.name not in SCORES]
    claims = {endpoint.claim for endpoint in primaries}
    if protocol.gates.completion_floor is not None or not (costs or claims & {"non-inferior", "equivalent"}):
        return []
    text = "no completion_floor: two arms that complete nothing would meet the primary claim"
    if costs:
        text = f"no completion_floor: a candidate that fails at once would win on {costs[0]}"
    return [Finding(where=f"{path}:gates", code="no-completion-floor", text=text, level="warning")]


def declare(path: str | Path) -> Declared:
    """Read a protocol with its suites, drivers and toolsets, and check all of them.

    Raises
    ------
    StudyError
        At the first thing that is wrong; a suite's findings are reported together.
    """
    path = find_protocol(str(path))
    data = read_bytes(path, "protocol")
    protocol, written = parse_protocol(data, str(path))
    suites = tuple(load_suite(find_suite(name, path)) for name in protocol.workload.suites)
    selection = select(protocol, suites, str(path))
    folder = path.resolve().parent
    drivers: dict[str, LoadedDriver] = {}
    configs: dict[str, dict[str, Any]] = {}
    for arm in ARMS:
        spec = getattr(protocol.arms, arm)
        where = f"{path}:arms.{arm}"
        drivers[arm] = load_driver(spec.driver, where=f"{where}.driver", search=folder)
        configs[arm] = resolved_config(drivers[arm], spec.config or {}, where=f"{where}.config")
    toolsets = {suite.file.id: load_toolset(suite.file.toolset, suite, search=folder) for suite in suites}
    warnings = [w for suite in suites for w in lint(suite, toolsets[suite.file.id])]
    warnings += _advice(protocol, path)
    return Declared(
        path=path,
        data=data,
        protocol=protocol,
        written=written,
        suites=suites,
        selection=selection,
        drivers=drivers,
        configs=configs,
        toolsets=toolsets,
        sources=loaded_sources(folder),
        warnings=tuple(warnings),
    )


def labels_of(toolset: Toolset | None) -> frozenset[str] | None:
    """Return the entity names that a toolset knows, None when it cannot tell."""
    labels = getattr(toolset, "labels", None)
    return None if labels is None else frozenset(labels)


def oracle_of(toolset: Toolset | None) -> Oracle | None:
    """Return the second way to its answers that a toolset offers, None when it offers none."""
    oracle = getattr(toolset, "oracle", None)
    return oracle if isinstance(oracle, Oracle) else None


def lint(suite: Suite, toolset: Toolset | None, *, bare: bool = False) -> list[Finding]:
    """Lint one suite; return its warnings.

    Parameters
    ----------
    suite : Suite
    toolset : Toolset or None
    bare : bool
        Whether the suite stands for a case file alone, which may have no tools to execute calls with.

    Raises
    ------
    SuiteError
        With all findings that stop a run.
    """
    findings = lint_suite(suite, labels=labels_of(toolset), oracle=oracle_of(toolset))
    errors = [f for f in findings if f.level == "error" and not (bare and f.code == "execution")]
    if errors:
        step = "mend the cases; ids that were sealed may not change"
        if any("has effects" in f.text for f in errors):
            step = 'a tool that only reads must say so: "readOnly": true, or annotations.readOnlyHint for MCP'
        lines = [f"{f.where}: {f.code}: {f.text}" for f in errors[:20]]
        more = [f"... and {len(errors) - 20} more"] if len(errors) > 20 else []
        raise SuiteError(
            "\n    ".join([f"the suite {suite.file.id!r} has {len(errors)} finding(s)", *lines, *more]),
            where=str(suite.folder),
            next_step=step,
        )
    return [f for f in findings if f.level != "error"]


def families(selection: Selection, toolsets: Mapping[str, Toolset | None]) -> dict[str, str]:
    """Return task id -> template family, families being formed within each suite."""
    found: dict[str, str] = {}
    for part in selection.suites:
        task_of = part.suite.task_of
        tasks: dict[str, list[Any]] = {}
        for case in part.cases:
            tasks.setdefault(task_of[case.id], []).append(case)
        labels = labels_of(toolsets[part.suite.file.id])
        found |= template_families(tasks, labels=labels)
    return found


def current_lock(declared: Declared, supersedes: str | None = None) -> dict[str, JSON]:
    """Return the lock of a declared comparison as of now."""
    identities = {
        arm: DriverIdentity(
            driver=declared.drivers[arm].name,
            stamp=declared.drivers[arm].stamp,
            floor=declared.drivers[arm].floor,
            config=declared.configs[arm],
            source_digest=declared.drivers[arm].source_digest,
        )
        for arm in ARMS
    }
    schedule = build_schedule(
        declared.protocol.design.seed, declared.selection.pairs, declared.protocol.design.repetitions
    )
    return build_lock(
        declared.written,
        declared.selection,
        schedule,
        identities,
        families(declared.selection, declared.toolsets),
        {suite.file.id: suite.graph_digest for suite in declared.suites},
        declared.sources,
        GRADER_VERSION,
        supersedes,
    )


def support_problems(
    protocol: Protocol,
    n_tasks: int,
    n_pairs: int | None = None,
    strata: Mapping[str, int] = MappingProxyType({}),
) -> list[tuple[str, str, str]]:
    """Return what a design cannot support: ``(place, problem, what would)`` each.

    Parameters
    ----------
    protocol : Protocol
    n_tasks, n_pairs : int
        What is selected; pairs over all repetitions.
    strata : mapping
        Tasks of each stratum that has a declared weight.

    Notes
    -----
    Fewer than 10 tasks decide nothing; a non-inferiority or equivalence claim on a proportion needs
    :func:`study.protocol.minimum_tasks` of its margin, or with declared weights a margin of at least
    :func:`study.protocol.all_ties_bound`; tasks that were open during development support no claim.
    """
    found = _thin_strata(protocol, strata)
    for n, endpoint in enumerate(protocol.endpoints):
        place = f"endpoints[{n}]"
        if endpoint.estimand == "fixed-tasks" and n_pairs is not None:
            found += _too_few_trials(place, n_tasks, n_pairs)
        if endpoint.claim is None or endpoint.alpha is None:
            continue
        if protocol.workload.split != "held-out":
            problem = f"a claim ({endpoint.claim!r}) on the split {protocol.workload.split!r}"
            found.append((place, problem, 'split = "held-out", or no claim: a pilot that prints counts'))
        needed = FEWEST_TASKS
        share = ENDPOINTS[endpoint.name].unit == "proportion"
        if strata and share:
            found += _hidden_loss(endpoint, place, protocol.workload.weights or {}, strata)
        elif endpoint.margin is not None and share:
            margin = parse_margin(endpoint.margin, endpoint.name, place)
            needed = max(needed, minimum_tasks(margin, endpoint.alpha))
        if n_tasks < needed:
            claim = f"{endpoint.claim} within {endpoint.margin}" if endpoint.margin else endpoint.claim
            problem = f"{n_tasks} tasks cannot show {endpoint.name} {claim!r} at one-sided {endpoint.alpha:g}"
            found.append(
                (place, problem, f"at least {needed} tasks (repetitions do not count), or a wider margin")
            )
    return found


def _hidden_loss(
    endpoint: EndpointSpec, place: str, weights: Mapping[str, float], strata: Mapping[str, int]
) -> list[tuple[str, str, str]]:
    """Return the problem of a margin below what tasks in weighted strata can rule out."""
    if endpoint.margin is None or endpoint.alpha is None:
        return []
    names = list(strata)
    bound = all_ties_bound([weights[h] for h in names], [strata[h] for h in names], endpoint.alpha)
    if bound <= parse_margin(endpoint.margin, endpoint.name, place):
        return []
    heaviest = max(names, key=lambda h: weights[h] / strata[h])
    problem = (
        f"a loss of {100 * bound:.2f} pp can go unseen by the tasks of the weighted strata, so that they "
        f"cannot show {endpoint.label} {endpoint.claim!r} within {endpoint.margin}"
    )
    would = f"more tasks where a task weighs most ({heaviest}: {strata[heaviest]} tasks), or a wider margin"
    return [(place, problem, would)]


def _thin_strata(protocol: Protocol, strata: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """Return the strata that are too small for an interval, or for their weight."""
    total, weights = sum(strata.values()), protocol.workload.weights or {}
    claims = any(endpoint.claim for endpoint in protocol.endpoints)
    found: list[tuple[str, str, str]] = []
    for name, n in strata.items():
        place, problem = "workload.weights", f"the stratum {name!r} has {n} tasks"
        if n < FEWEST_OF_STRATUM:
            found.append((place, problem, f"at least {FEWEST_OF_STRATUM} tasks in every stratum"))
        elif claims and n < FEWEST_TASKS and weights[name] > n / total + 1e-12:
            would = f"at least {FEWEST_TASKS} tasks where a stratum weighs more than its share of the tasks"
            found.append((place, f"{problem} and the weight {weights[name]:g}", would))
    return found


def _too_few_trials(place: str, n_tasks: int, n_pairs: int) -> list[tuple[str, str, str]]:
    if n_tasks >= FEWEST_OF_STRATUM and n_pairs >= FEWEST_FIXED_TRIALS:
        return []
    problem = f"{n_tasks} tasks with {n_pairs} trials in an arm have no interval for these tasks only"
    return [(place, problem, f"at least {FEWEST_OF_STRATUM} tasks and {FEWEST_FIXED_TRIALS} trials")]


def refuse_unsupported(declared: Declared) -> None:
    """Raise :class:`ProtocolError` when tasks, split or margin cannot support what is claimed."""
    selection = declared.selection
    n_pairs = len(selection.pairs) * declared.protocol.design.repetitions
    problems = support_problems(declared.protocol, len(selection.tasks), n_pairs, stratum_sizes(selection))
    if problems:
        place, problem, would = problems[0]
        raise ProtocolError(problem, code="unsupported", where=f"{declared.path}:{place}", allowed=would)


def freeze(path: str | Path, *, replace: bool = False, runs: Path | None = None) -> Path:
    """Write the lock of a protocol; the same plan always gives the same bytes.

    Parameters
    ----------
    path : str or Path
        The protocol file.
    replace : bool
        Replace a lock that differs.
    runs : Path, optional
        The folder that holds the study's runs, to find those of the lock that is replaced.

    Returns
    -------
    Path
        Of the lock.

    Raises
    ------
    LockError
        When another lock is in the way and ``replace`` is false.
    StudyError
        For whatever :func:`declare` or :func:`refuse_unsupported` finds.
    """
    declared = declare(path)
    refuse_unsupported(declared)
    place = lock_path(declared.path)
    if not place.exists():
        write_file(place, lock_bytes(current_lock(declared)))
        return place
    stored = read_lock(place)
    lock = current_lock(declared, stored.get("supersedes"))
    changed = differences(stored, lock)
    if changed and not replace:
        raise LockError(
            _told("the lock differs from what would be frozen now", changed),
            where=str(place),
            next_step="restore what changed, or `study freeze PROTOCOL --replace` for a new plan",
        )
    if changed:
        base = (runs or runs_root(declared.path)) / declared.protocol.id
        old = lock_digest(stored)
        lock = current_lock(declared, old if _has_runs(base, old) else stored.get("supersedes"))
    write_file(place, lock_bytes(lock))
    return place


def _has_runs(base: Path, digest: str) -> bool:
    return any(lock_digest(read_lock(lock)) == digest for lock in base.glob("*/lock.json"))


def _told(head: str, lines: Sequence[str]) -> str:
    more = [f"... and {len(lines) - 12} more"] if len(lines) > 12 else []
    return "\n    ".join([f"{head}:", *lines[:12], *more])


def prepare(path: str | Path) -> Plan:
    """Return the plan of a frozen protocol, after comparing everything with the lock.

    Raises
    ------
    LockError
        When there is no lock, or when anything but a driver's source differs from it; what, is named.
    """
    declared = declare(path)
    place = lock_path(declared.path)
    stored = read_lock(place)
    lock = current_lock(declared, stored.get("supersedes"))
    refusing, sources = split_source_changes(differences(stored, lock))
    if refusing:
        head = "the lock is that of another protocol"
        if stored.get("study") == declared.protocol.id:
            head = "what would run differs from the lock"
        raise LockError(
            _told(head, refusing),
            where=str(place),
            next_step="restore what changed, or declare a new study: `study freeze PROTOCOL --replace`",
        )
    return Plan(
        protocol_path=declared.path,
        protocol_bytes=declared.data,
        protocol=declared.protocol,
        lock_path=place,
        lock=stored,
        selection=declared.selection,
        schedule=build_schedule(
            declared.protocol.design.seed, declared.selection.pairs, declared.protocol.design.repetitions
        ),
        drivers=declared.drivers,
        configs=declared.configs,
        toolsets=declared.toolsets,
        sources=declared.sources,
        deviations=tuple(f"changed after the freeze: {line}" for line in sources),
    )


def verify(path: str | Path) -> list[str]:
    """Check a run folder: manifest, lock, inputs, schedule, journal and grades (not the statistics).

    Parameters
    ----------
    path : str or Path
        ``runs/<study>/<stamp>``.

    Returns
    -------
    list of str
        One line for each thing that is not as it was; empty for an intact run.

    Raises
    ------
    InputError
        When there is no run at that place.
    """
    folder = RunFolder(Path(path))
    if not any(part.exists() for part in (folder.manifest, folder.journal, folder.lock)):
        find_run(folder.path)
    found = check_manifest(folder) if folder.sealed else ["manifest.json is missing: the run is not finished"]
    try:
        found += _verify_contents(folder)
    except OSError as error:
        name = Path(str(error.filename)).name
        found.append(f"{name} cannot be read: {error.strerror}")
    except IntegrityError as error:
        found.append(str(error).splitlines()[0])
    except StudyError as error:
        found.append(f"cannot be read: {str(error).splitlines()[0]}")
    return list(dict.fromkeys(found))


def missing_deviations(folder: RunFolder, frozen: FrozenRun, state: Progress) -> list[str]:
    """Return a line for each deviation that lock, environment and journal show and deviations.jsonl lacks."""
    lines = read_json_lines(folder.deviations, "deviations") if folder.deviations.exists() else []
    kinds = [line["kind"] for _, line in lines if is_object(line) and "kind" in line]
    environment = read_environment(folder.environment)
    changed = sum(
        frozen.lock["arms"][arm]["source_digest"] != environment.drivers[arm]["source_digest"] for arm in ARMS
    )
    changed += len(differences(frozen.lock["sources"], environment.sources))
    expected = {
        "source": changed,
        "resumed": len(state.sessions) - 1,
        "split-pair": len(state.split_pairs),
        "budget": int(state.stop is not None),
        "unblinded": sum(session.unblinded for session in state.sessions),
    }
    return [
        f"deviations.jsonl lacks a deviation: {count} of kind {kind!r} happened, it has {kinds.count(kind)}"
        for kind, count in expected.items()
        if kinds.count(kind) < count
    ]


def _verify_contents(folder: RunFolder) -> list[str]:
    frozen = read_frozen(folder, checked=False)
    found = [f"lock.json: {line}" for line in frozen.changes()]
    if folder.lock.read_bytes() != lock_bytes(frozen.lock):
        found.append("lock.json is not in the form in which it was written")
    state = read_progress(folder.journal, frozen.lock_digest)
    if state.torn:
        found.append(f"journal.jsonl has a torn tail of {len(state.torn)} bytes")
    finals = final_attempts(frozen, state, str(folder.journal))
    missing = len(frozen.schedule) - len(finals)
    if missing and state.stop is None:
        found.append(f"journal.jsonl lacks {missing} of {len(frozen.schedule)} trials")
    if state.sessions and state.sessions[0].environment_digest != digest_file(folder.environment):
        found.append("environment.json is not the one that the run began with")
    found += missing_deviations(folder, frozen, state)
    if folder.product.exists():
        found += product_differences(folder.product.read_bytes(), grade_run(folder))
    if frozen.lock["grader_version"] != GRADER_VERSION:
        found.append(f"graded by version {frozen.lock['grader_version']}; this is {GRADER_VERSION}")
    return found
