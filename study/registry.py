"""The closed world of capabilities: a tool that is not registered does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from study.digest import JSON, digest, is_list, is_object, read_json_file
from study.errors import SuiteError
from study.records import Record

PRECONDITION_KINDS = ("graph-loaded", "resolves", "any-present", "memory-facts")


def _no_effects() -> dict[str, Any]:
    return {"add": [], "del": []}


class Parameter(Record):
    """One parameter: ``name``, what it binds as (``kind``), the argument key (``arg``), ``required``."""

    name: str
    kind: str
    arg: str
    required: bool = False


class Capability(Record, rename="camel"):
    """A tool as data, STRIPS style.

    Attributes
    ----------
    name, label, question : str
        The tool's name, a short label, and the question that it answers.
    read_only : bool
        Only read-only capabilities are ever dispatched.
    parameters : tuple of Parameter
    preconditions : tuple of dict
        Each ``{"kind": K, ...}`` with K one of ``graph-loaded``, ``resolves`` (``param``, ``class``),
        ``any-present`` (``args``), ``memory-facts`` (``param``).
    effects : dict
        ``{"add": [{"kind": "knows", "topic": ..., "param": ...}], "del": []}``.
    input_schema : dict or None
        A JSON Schema (2020-12) for the arguments; it then decides what binds.
    """

    name: str
    label: str = ""
    question: str = ""
    read_only: bool = True
    parameters: tuple[Parameter, ...] = ()
    preconditions: tuple[dict[str, Any], ...] = ()
    effects: dict[str, Any] = msgspec.field(default_factory=_no_effects)
    input_schema: dict[str, Any] | None = None

    @property
    def accepted(self) -> frozenset[str]:
        """Argument keys that a call may hold."""
        return frozenset(p.arg for p in self.parameters)

    @property
    def required(self) -> tuple[str, ...]:
        """Argument keys that a call must hold."""
        return tuple(p.arg for p in self.parameters if p.required)

    @property
    def any_present(self) -> tuple[tuple[str, ...], ...]:
        """Groups of argument keys of which at least one must be given."""
        groups = [c["args"] for c in self.preconditions if c.get("kind") == "any-present"]
        return tuple(tuple(group) for group in groups)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that a successful call makes known."""
        return tuple(e["topic"] for e in self.effects.get("add", []) if e.get("kind") == "knows")


class Registry(Mapping[str, Capability]):
    """A frozen mapping of capability names to capabilities; everything else is unknown.

    Parameters
    ----------
    capabilities : iterable of Capability
    where : str
        The place to name in errors.

    Raises
    ------
    SuiteError
        For a duplicate or empty name, a malformed precondition, a topic achieved twice, or a capability that
        only reads and deletes something.
    """

    def __init__(self, capabilities: Iterable[Capability], where: str = "registry") -> None:
        self._by_name: dict[str, Capability] = {}
        topics: dict[str, str] = {}
        for capability in capabilities:
            _check_capability(capability, f"{where}:{capability.name or '(unnamed)'}")
            if capability.name in self._by_name:
                raise SuiteError(f"capability {capability.name!r} is registered twice", where=where)
            for topic in capability.topics:
                if topic in topics:
                    raise SuiteError(
                        f"topic {topic!r} is achieved by {topics[topic]!r} and {capability.name!r}",
                        where=where,
                        allowed="one capability a topic",
                    )
                topics[topic] = capability.name
            self._by_name[capability.name] = capability

    def __getitem__(self, name: str) -> Capability:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def to_json(self) -> JSON:
        """Return the registry as its JSON form: a list of capabilities."""
        return [msgspec.to_builtins(c) for c in self._by_name.values()]

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON form."""
        return digest(self.to_json())


def _check_capability(capability: Capability, where: str) -> None:
    if not capability.name.strip():
        raise SuiteError("a capability without a name", where=where)
    args = [p.arg for p in capability.parameters]
    if len(set(args)) != len(args):
        raise SuiteError("an argument key is listed twice", where=where)
    known = {*args, *(p.name for p in capability.parameters)}
    for n, condition in enumerate(capability.preconditions):
        _check_condition(condition, known, f"{where}.preconditions[{n}]")
    _check_effects(capability.effects, f"{where}.effects")
    if capability.read_only and capability.effects["del"]:
        raise SuiteError(
            "readOnly is true, and effects.del says that a call takes something away",
            where=f"{where}.effects.del",
            allowed='"readOnly": false, or an empty list',
        )


def _check_condition(condition: dict[str, Any], known: set[str], where: str) -> None:
    kind = condition.get("kind")
    if kind not in PRECONDITION_KINDS:
        raise SuiteError(f"precondition kind {kind!r}", where=where, allowed=", ".join(PRECONDITION_KINDS))
    named: JSON = condition.get("args") if kind == "any-present" else [condition.get("param")]
    if kind == "graph-loaded":
        return
    if not is_list(named) or not named or not all(isinstance(name, str) for name in named):
        wanted = 'a non-empty list "args"' if kind == "any-present" else 'a text "param"'
        raise SuiteError(f"the precondition {kind!r} names no parameter", where=where, allowed=wanted)
    unknown = [name for name in named if name not in known]
    if unknown:
        raise SuiteError(f"precondition names {unknown[0]!r}, which is no parameter", where=where)


def _check_effects(effects: dict[str, Any], where: str) -> None:
    if set(effects) != {"add", "del"} or not all(is_list(part) for part in effects.values()):
        raise SuiteError("effects must hold both lists", where=where, allowed='{"add": [...], "del": [...]}')
    for part in ("add", "del"):
        for n, effect in enumerate(effects[part]):
            place = f"{where}.{part}[{n}]"
            if not is_object(effect) or not isinstance(effect.get("kind"), str):
                raise SuiteError("an effect must be an object with a kind", where=place)
            topic = effect.get("topic")
            if effect["kind"] == "knows" and not (isinstance(topic, str) and topic.strip()):
                raise SuiteError("an effect of kind 'knows' needs a text topic", where=place)


def registry_from_json(data: JSON, where: str = "registry") -> Registry:
    """Build a registry from decoded JSON: our form, OpenAI tools, or MCP ``tools/list``.

    Parameters
    ----------
    data : list or dict
        A list of capabilities (or ``{"capabilities": [...]}``), a list of OpenAI ``{"type": "function",
        "function": {...}}`` entries, or an MCP ``{"tools": [...]}`` result. An MCP tool without
        ``readOnlyHint`` has effects, as that protocol says; OpenAI tools have no such hint and are read-only.

    Raises
    ------
    SuiteError
        For any other form, and for a capability list cut off by paging (``nextCursor``).
    """
    if is_object(data) and data.get("nextCursor"):
        raise SuiteError(
            "the tool list is one page of several (nextCursor is set)",
            where=where,
            next_step="fetch the remaining pages and join their lists",
        )
    entries = data
    if is_object(data):
        entries = data.get("capabilities", data.get("tools"))
    if not is_list(entries):
        raise SuiteError(
            "not a list of capabilities",
            where=where,
            allowed='a JSON list of capabilities, OpenAI tools, or {"tools": [...]} of MCP',
        )
    return Registry([_capability(e, f"{where}[{n}]") for n, e in enumerate(entries)], where)


def _capability(entry: JSON, where: str) -> Capability:
    if not is_object(entry):
        raise SuiteError("a capability must be an object", where=where)
    function = entry.get("function")
    if is_object(function):
        return _from_schema(function, "parameters", where)
    if "inputSchema" in entry and "parameters" not in entry:
        return _from_schema(entry, "inputSchema", where, read_only=False)
    if is_object(entry.get("parameters")):
        return _from_schema(entry, "parameters", where)
    try:
        return msgspec.convert(entry, Capability)
    except msgspec.ValidationError as error:
        allowed = ", ".join(msgspec.structs.fields(Capability)[n].encode_name for n in range(8))
        raise SuiteError(str(error), where=where, allowed=allowed) from None


def _from_schema(entry: dict[str, Any], key: str, where: str, *, read_only: bool = True) -> Capability:
    """Build a capability from a tool with a schema; ``read_only`` is what a missing hint means."""
    schema: JSON = entry.get(key) or {"type": "object", "properties": {}}
    name = entry.get("name")
    if not isinstance(name, str) or not is_object(schema):
        raise SuiteError("a tool needs a name and an object schema", where=where)
    required: list[str] = schema.get("required", [])
    parameters = tuple(
        Parameter(name=arg, kind="any", arg=arg, required=arg in required)
        for arg in schema.get("properties", {})
    )
    annotations: dict[str, Any] = entry.get("annotations") or {}
    return Capability(
        name=name,
        label=entry.get("title") or name,
        question=entry.get("description") or "",
        read_only=bool(annotations.get("readOnlyHint", read_only)),
        parameters=parameters,
        input_schema=schema,
    )


def load_registry(path: Path) -> Registry:
    """Read a registry file (see :func:`registry_from_json`)."""
    return registry_from_json(read_json_file(path, "registry"), str(path))
