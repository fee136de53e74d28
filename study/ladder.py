"""Measures one driver on cases, rung by rung: executes each case once and builds its graded row."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path

from study.bundled import bundled_suites, find_suite
from study.cases import Case, Suite, SuiteFile, TaskEntry, load_suite, read_cases
from study.driver import Toolset
from study.drivers import LoadedDriver, load_driver, resolved_config
from study.drivers.sources import code_digest
from study.errors import InputError, IntegrityError, did_you_mean, listed
from study.executors import InProcess, PreparedCase
from study.grading import compile_case
from study.grading.rollup import Rollup, roll_up, trivial_grades
from study.grading.rows import Row, build_row, read_rows, regrade_rows
from study.journal import revived
from study.records import RUNGS, Grade, Record
from study.registry import load_registry
from study.schedule import trial_seed
from study.toolsets import load_toolset

LADDER_STAMP = "0.1.0"
"""The label of a ladder run; raised by hand when rows change their meaning, never read from the package."""

LADDER_SEED = 0
MOST_WORKERS = 64
TIMEOUT_S = 20.0


class LadderCases(Record):
    """The selected cases of one suite."""

    suite: Suite
    cases: tuple[Case, ...]


class Measured(Record):
    """One measured driver: rows in case order, their rollup, the stamps in them, a digest of its code."""

    rows: list[Row]
    rollup: Rollup
    stamps: tuple[str, ...]
    floor: bool
    code_digest: str | None = None


def case_source(cases: str | None, registry: str | None, graph: str | None) -> list[Suite]:
    """Return the suites that a name stands for.

    Parameters
    ----------
    cases : str or None
        A suite folder, ``bundled:NAME``, a case file (then ``registry`` is needed), or None for all
        bundled suites.
    registry, graph : str or None
        For a case file: its registry and, for the code graph tools, its graph.

    Raises
    ------
    InputError, SuiteError
        When something is missing or malformed.
    """
    if cases is None:
        _refuse_extras(registry, graph)
        return [load_suite(find_suite(f"bundled:{name}")) for name in bundled_suites()]
    path = Path(cases)
    if not path.is_file():
        _refuse_extras(registry, graph)
        return [load_suite(find_suite(cases))]
    if registry is None:
        raise InputError(
            "a case file needs its registry",
            where=cases,
            next_step="add --registry FILE, or name a suite folder",
        )
    return [_bare_suite(path, Path(registry), None if graph is None else Path(graph))]


def _refuse_extras(registry: str | None, graph: str | None) -> None:
    for option, given in (("--registry", registry), ("--graph", graph)):
        if given is not None:
            raise InputError(
                f"{option} {given} belongs to a case file, and none is given",
                where=option,
                allowed="with --cases FILE; a suite names its own registry and graph",
            )


def _bare_suite(path: Path, registry: Path, graph: Path | None) -> Suite:
    """Return a suite around a case file: each case its own task, all of them open."""
    cases = read_cases(path)
    file = SuiteFile(
        schema=1,
        id=path.stem,
        registry=str(registry.resolve()),
        cases=path.name,
        tasks={case.id: TaskEntry(split="development", cases=(case.id,)) for case in cases},
        toolset="none" if graph is None else "codegraph",
        graph=None if graph is None else str(graph.resolve()),
    )
    return Suite(folder=path.parent, file=file, registry=load_registry(registry), cases=cases)


def select_cases(
    suites: Sequence[Suite], *, split: str, rung: str | None = None, only: Sequence[str] = ()
) -> list[LadderCases]:
    """Select cases by split, rung and id.

    Raises
    ------
    InputError
        For an unknown rung or id, an id in two suites, and when nothing is selected.
    """
    wanted = None if rung is None else rung.upper()
    if wanted is not None and wanted not in RUNGS:
        raise InputError(f"rung {rung!r}{did_you_mean(wanted, RUNGS)}", where="--rung", allowed=listed(RUNGS))
    open_ids = [_ids_of(suite, split) for suite in suites]
    known: set[str] = set()
    for suite, ids in zip(suites, open_ids, strict=True):
        if twice := sorted(known & ids):
            raise InputError(f"the case {twice[0]!r} is in another suite too", where=str(suite.folder))
        known |= ids
    for case in only:
        if case not in known:
            hint = did_you_mean(case, known)
            raise InputError(f"there is no case {case!r} in the split {split!r}{hint}", where="--only")
    parts = [
        LadderCases(
            suite=suite,
            cases=tuple(
                case
                for case in suite.cases
                if case.id in ids
                and (wanted is None or case.rung == wanted)
                and (not only or case.id in only)
            ),
        )
        for suite, ids in zip(suites, open_ids, strict=True)
    ]
    if not any(part.cases for part in parts):
        raise InputError(
            "no case is selected", where="--rung, --only", allowed=f"cases of the split {split!r}"
        )
    return [part for part in parts if part.cases]


def _ids_of(suite: Suite, split: str) -> set[str]:
    return {case for entry in suite.file.tasks.values() if entry.split == split for case in entry.cases}


def measure(
    driver: str,
    parts: Sequence[LadderCases],
    *,
    stamp: str = LADDER_STAMP,
    concurrency: int = 1,
    search: Path | None = None,
) -> Measured:
    """Execute each selected case once and grade it.

    Parameters
    ----------
    driver : str
        By name, as in a protocol.
    parts : sequence of LadderCases
    stamp : str
        The label of the run.
    concurrency : int
        Worker processes; the rows are the same for any number of them.
    search : Path, optional
        Folder of user code.

    Returns
    -------
    Measured

    Raises
    ------
    StudyError
        When the driver or a toolset cannot be loaded.
    IntegrityError
        When a toolset fails while a driver uses it: that is no measurement of the driver.
    """
    loaded = load_driver(driver, where="--driver", search=search)
    jobs = [(n, case.id) for n, part in enumerate(parts) for case in part.cases]
    if concurrency == 1:
        worker = _Worker(loaded, parts, search)
        with worker.executor, closing(loaded):
            done = [worker.run(job) for job in jobs]
    else:
        done = _in_workers(driver, parts, jobs, concurrency, search)
    rows: list[Row] = []
    graded: list[tuple[str, Grade]] = []
    cases = {(n, case.id): case for n, part in enumerate(parts) for case in part.cases}
    for job, data in zip(jobs, done, strict=True):
        case, suite = cases[job], parts[job[0]].suite
        produced = revived(data)
        if produced.outcome in ("infrastructure", "cancelled"):
            raise IntegrityError(f"the case {case.id!r} was not measured: {produced.outcome}", where=driver)
        grade = compile_case(case, suite.rules, suite.registry)(produced)
        rows.append(build_row(case, produced, grade, stamp=stamp, version=loaded.stamp))
        graded.append((case.rung, grade))
    stamps = tuple(dict.fromkeys(str(row["driver"]) for row in rows))
    return Measured(
        rows=rows,
        rollup=roll_up(graded, _trivial(parts)),
        stamps=stamps,
        floor=loaded.floor,
        code_digest=code_digest(loaded.source_file),
    )


def _trivial(parts: Iterable[LadderCases]) -> dict[str, list[tuple[str, Grade]]]:
    graded: dict[str, list[tuple[str, Grade]]] = {}
    for part in parts:
        for name, rows in trivial_grades(part.cases, part.suite.rules, part.suite.registry).items():
            graded.setdefault(name, []).extend(rows)
    return graded


class _Worker:
    """Executes cases in one process."""

    def __init__(self, driver: LoadedDriver, parts: Sequence[LadderCases], search: Path | None) -> None:
        self.driver = driver
        self.config = resolved_config(driver, {})
        self.executor = InProcess(TIMEOUT_S)
        self.prepared: dict[tuple[int, str], PreparedCase] = {}
        for n, part in enumerate(parts):
            toolset: Toolset | None = load_toolset(part.suite.file.toolset, part.suite, search=search)
            for case in part.cases:
                self.prepared[n, case.id] = PreparedCase(case, part.suite.registry, toolset)
        driver.setup(self.config)

    def run(self, job: tuple[int, str]) -> bytes:
        """Execute one case; return what it produced as JSON."""
        seed = trial_seed(LADDER_SEED, job[1], 1)
        execution = self.executor.execute(self.driver, self.prepared[job], self.config, seed)
        if self.executor.interrupted:
            raise KeyboardInterrupt
        return bytes(execution.produced)


_worker: list[_Worker] = []


def _start_worker(driver: str, parts: Sequence[LadderCases], search: Path | None) -> None:
    loaded = load_driver(driver, where="--driver", search=search)
    worker = _Worker(loaded, parts, search)
    worker.executor.__enter__()
    _worker.append(worker)


def _run_in_worker(job: tuple[int, str]) -> bytes:
    return _worker[0].run(job)


def _in_workers(
    driver: str,
    parts: Sequence[LadderCases],
    jobs: Sequence[tuple[int, str]],
    concurrency: int,
    search: Path | None,
) -> list[bytes]:
    with ProcessPoolExecutor(
        min(concurrency, len(jobs)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(driver, list(parts), search),
    ) as pool:
        try:
            return list(pool.map(_run_in_worker, jobs))
        except BrokenProcessPool:
            raise IntegrityError(
                "a worker process died: the driver ended it",
                where=driver,
                next_step="--concurrency 1 shows at which case",
            ) from None


def regrade_file(rows: Path, suites: Sequence[Suite]) -> tuple[list[str], int]:
    """Grade a file of ladder rows again.

    Parameters
    ----------
    rows : Path
    suites : sequence of Suite
        As :func:`case_source` returns them; the rows of several may be mixed.

    Returns
    -------
    (list of str, int)
        One line a difference, and the number of rows.
    """
    recorded = read_rows(rows)
    left = recorded
    found: list[str] = []
    for suite in suites:
        ids = {case.id for case in suite.cases}
        last = suite is suites[-1]
        own = [row for row in left if last or row["caseId"] in ids]
        left = [row for row in left if not last and row["caseId"] not in ids]
        found += (str(part) for part in regrade_rows(own, suite.cases, suite.registry, suite.rules))
    return found, len(recorded)
