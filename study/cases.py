"""Suites and case files: the records of a case and of a suite, and how they are read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from study.convert import convert
from study.digest import (
    JSON,
    digest,
    digest_file,
    encode_json,
    is_list,
    is_object,
    read_bytes,
    read_json_lines,
)
from study.errors import SuiteError, did_you_mean, listed
from study.records import Record
from study.registry import Registry, load_registry

Split = Literal["development", "held-out"]


class Case(Record, rename="camel", omit_defaults=True):
    """One concrete request with its declared tools and its expectation.

    Attributes
    ----------
    id, rung, request : str
    tools : tuple of str
        The declared tools: the only ones that a driver may call.
    expect : dict
        ``calls`` or ``refuse``, ``terminates``, ``proof`` and, on higher rungs, ``result``, ``recover``,
        ``candidateResults``, ``inferredGoal``, ``reject``, ``ambiguousGoals``. Ours: ``unordered`` (calls
        match in any order) and ``compare`` (``{"tool.arg": rule}``, on top of the suite's own). An expected
        call is ``{"name", "input"}`` with the pinned arguments; ``accept`` (``{arg: [values]}``) lists
        further values that are as good, ``omit`` (``[arg]``) the pinned arguments that may be left out.
    trace : tuple of dict
        The observed calls of a recognition case.
    floor_expect : dict or None
        Exactly ``{"refuse": true}``: replaces the expectation for drivers stamped ``resolver-``.
    pinned : bool
        A case that works and must not break: the lock lists it as passing, and a candidate that fails it has
        the hard fail ``compatibility-regression``.
    compose : str or None
        How the results of several calls make up the pinned one (:mod:`study.lint.folds`); the lint reads it,
        the grader never does.
    note, overfit_prone
        For people; never graded.
    """

    id: str
    rung: str
    request: str
    tools: tuple[str, ...]
    expect: dict[str, Any]
    trace: tuple[dict[str, Any], ...] | None = None
    floor_expect: dict[str, Any] | None = None
    pinned: bool = False
    note: str | None = None
    compose: str | None = None
    overfit_prone: bool | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON form of the case."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, JSON]:
        """Return the case in the form of a case file."""
        return msgspec.to_builtins(self)

    def to_line(self) -> bytes:
        """Return the case as one line of a case file."""
        return encode_json(self.to_json()) + b"\n"


class Rules(Record):
    """How a suite's calls are compared.

    Attributes
    ----------
    match : {"text", "json"}
        ``text``: trimmed text of the pinned values; ``json``: typed comparison.
    execution : {"required", "optional"}
        ``required``: a reported call that was never dispatched is a ``fabricated-call``.
    compare : dict
        ``{"tool.arg": rule}``, a rule being ``exact``, ``casefold``, ``nfc``, ``whitespace``, ``set``, a
        list of them, or ``{"tolerance": x}``.
    defaults_equal_omitted : bool
        Whether an optional argument passed with its schema default equals the omitted one.
    goals : tuple of str
        The declared goals: the only ids that a driver may name, beside ``cap:TOPIC`` for the topics of a
        case's declared tools.
    """

    match: Literal["text", "json"] = "text"
    execution: Literal["required", "optional"] = "required"
    compare: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    defaults_equal_omitted: bool = False
    goals: tuple[str, ...] = ()


class TaskEntry(Record):
    """One task of a suite: its split, its cases and, where tasks are kin, the family that they name."""

    split: Split
    cases: tuple[str, ...]
    family: str | None = None


class SuiteFile(Record):
    """``suite.toml`` as written.

    Attributes
    ----------
    schema : int
        Version of the form of this file.
    id, description : str
    registry, cases, graph : str
        Files, relative to the folder.
    toolset : str
        Name of the toolset, or ``none`` for a suite that only grades calls.
    tasks : dict
        Task id -> its split and its cases; every case of the file belongs to exactly one.
    match, execution, compare, defaults_equal_omitted, goals
        See :class:`Rules`. Without ``execution``, calls must be executed where there is a toolset.
    max_tasks_per_template : int or None
        How many tasks of a split one request template may serve, entity names masked.
    floors : tuple of str
        Drivers that are anchors only.
    provenance : dict
        Source and licence, for people.
    sealed : dict
        Case id -> digest; append-only, and the last table of the file.
    """

    schema: Literal[1]
    id: str
    registry: str
    cases: str
    tasks: dict[str, TaskEntry]
    description: str = ""
    toolset: str = "none"
    graph: str | None = None
    match: Literal["text", "json"] = "text"
    execution: Literal["required", "optional"] | None = None
    compare: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    defaults_equal_omitted: bool = False
    goals: tuple[str, ...] = ()
    max_tasks_per_template: int | None = None
    floors: tuple[str, ...] = ()
    provenance: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    sealed: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class Suite(Record):
    """A suite that was read: its file, its registry and its cases in file order."""

    folder: Path
    file: SuiteFile
    registry: Registry
    cases: tuple[Case, ...]

    @property
    def rules(self) -> Rules:
        """How the suite's calls are compared."""
        file = self.file
        return Rules(
            match=file.match,
            execution=file.execution or ("optional" if file.toolset == "none" else "required"),
            compare=file.compare,
            defaults_equal_omitted=file.defaults_equal_omitted,
            goals=file.goals,
        )

    @property
    def task_of(self) -> dict[str, str]:
        """Case id -> task id."""
        return {case: task for task, entry in self.file.tasks.items() for case in entry.cases}

    @property
    def graph_path(self) -> Path | None:
        """The suite's graph file, if it has one."""
        return self.folder / self.file.graph if self.file.graph else None

    @property
    def graph_digest(self) -> str | None:
        """SHA-256 of the graph file's bytes, or None."""
        path = self.graph_path
        if path is None:
            return None
        read_bytes(path, "graph")
        return digest_file(path)


SUITE_FILE = "suite.toml"

EXPECT_KEYS: tuple[str, ...] = (
    "calls",
    "unordered",
    "compare",
    "refuse",
    "terminates",
    "proof",
    "result",
    "recover",
    "candidateResults",
    "inferredGoal",
    "reject",
    "ambiguousGoals",
)
CALL_KEYS: tuple[str, ...] = ("name", "input", "accept", "omit")


def read_cases(path: Path) -> tuple[Case, ...]:
    """Read a case file: one strict JSON object a line, in file order.

    Parameters
    ----------
    path : Path
        JSON lines; blank lines are skipped.

    Raises
    ------
    InputError
        When the file cannot be read, or a line is no strict JSON.
    SuiteError
        For an unknown or missing key, a wrong type, a repeated id, or a file without cases.
    """
    first_line: dict[str, int] = {}
    cases: list[Case] = []
    for number, value in read_json_lines(path, "case file"):
        case = _read_case(value, f"{path}:{number}")
        if case.id in first_line:
            raise SuiteError(
                f"the case id {case.id!r} is taken by line {first_line[case.id]}",
                where=f"{path}:{number}",
                allowed="ids that are unique in the file",
            )
        first_line[case.id] = number
        cases.append(case)
    if not cases:
        raise SuiteError("the file holds no case", where=str(path), allowed="one JSON object a line")
    return tuple(cases)


def _read_case(value: JSON, where: str) -> Case:
    if not is_object(value):
        raise SuiteError("a case must be an object", where=where)
    try:
        case = convert(value, Case, where, SuiteError)
    except RecursionError:
        raise SuiteError("the case is nested too deeply", where=where) from None
    if not case.id.strip():
        raise SuiteError("the case id is blank", where=where)
    for place, key, known in unknown_expect_keys(case.expect):
        raise SuiteError(
            f"unknown key {key!r}{did_you_mean(key, known)}", where=f"{where}:{place}", allowed=listed(known)
        )
    return case


def unknown_expect_keys(expect: dict[str, Any]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return ``(place, key, known keys)`` for each key of an expectation that nothing would read."""
    found = [("expect", key, EXPECT_KEYS) for key in expect if key not in EXPECT_KEYS]
    for part, known in (("calls", CALL_KEYS), ("candidateResults", CALL_KEYS[:2])):
        entries = expect.get(part)
        for n, call in enumerate(entries if is_list(entries) else ()):
            if is_object(call):
                found += [(f"expect.{part}[{n}]", key, known) for key in call if key not in known]
    return found


def load_suite(folder: Path, *, selected_only: bool = False) -> Suite:
    """Read a suite: ``suite.toml``, its registry and its cases.

    Parameters
    ----------
    folder : Path
        The folder that holds ``suite.toml``.
    selected_only : bool
        For the inputs of a run, which hold the selected cases alone and no graph.

    Raises
    ------
    InputError
        When a file cannot be read.
    SuiteError
        For a malformed file; and unless every case lies in exactly one task, every listed case exists and
        no task is empty. Whether the cases make sense is the lint's question.
    """
    path = folder / SUITE_FILE
    file = _read_suite_file(path)
    registry = load_registry(folder / file.registry)
    cases = read_cases(folder / file.cases)
    _check_tasks(file, [case.id for case in cases], path, selected_only)
    if not selected_only and file.graph is not None and not (folder / file.graph).is_file():
        raise SuiteError(f"there is no graph file {file.graph!r}", where=f"{path}:graph")
    return Suite(folder=folder, file=file, registry=registry, cases=cases)


def load_cases(path: str | Path) -> tuple[Case, ...]:
    """Return the cases of a suite folder or of a case file, in file order.

    Raises
    ------
    StudyError
        See :func:`load_suite` and :func:`read_cases`.
    """
    place = Path(path)
    return load_suite(place).cases if place.is_dir() else read_cases(place)


def _read_suite_file(path: Path) -> SuiteFile:
    try:
        data: dict[str, Any] = tomllib.loads(read_bytes(path, "suite file").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SuiteError(f"not UTF-8 (byte {error.start})", where=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"not valid TOML: {error}", where=str(path)) from None
    except RecursionError:
        raise SuiteError("nested too deeply", where=str(path)) from None
    if "schema" in data and data["schema"] != 1:
        raise SuiteError(
            f"schema {data['schema']!r} is not known", where=f"{path}:schema", allowed="schema = 1"
        )
    tasks = data.get("tasks")
    if is_object(tasks):
        for task, entry in tasks.items():
            convert(entry, TaskEntry, f"{path}:tasks.{task}", SuiteError)
    return convert(data, SuiteFile, str(path), SuiteError)


def _check_tasks(file: SuiteFile, case_ids: Iterable[str], path: Path, selected_only: bool) -> None:
    known = dict.fromkeys(case_ids)
    owner: dict[str, str] = {}
    for task, entry in file.tasks.items():
        where = f"{path}:tasks.{task}"
        if not entry.cases:
            raise SuiteError("the task has no cases", where=where)
        for case in entry.cases:
            if case not in known and not selected_only:
                raise SuiteError(
                    f"there is no case {case!r} in {file.cases}{did_you_mean(case, known)}", where=where
                )
            if case in owner:
                again = "twice in this task" if owner[case] == task else f"in the task {owner[case]!r} too"
                raise SuiteError(f"the case {case!r} is {again}", where=where, allowed="one task a case")
            owner[case] = task
    missing = [case for case in known if case not in owner]
    if missing:
        more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
        raise SuiteError(
            f"the case {missing[0]!r} belongs to no task{more}",
            where=f"{path}:tasks",
            next_step="list it in the cases of a task",
        )
