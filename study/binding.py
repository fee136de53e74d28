"""Whether a call binds: the closed list of problems of one produced or attempted call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

import jsonschema_rs

from study.digest import is_list, is_object
from study.errors import SuiteError
from study.registry import Capability, Registry

Problem = dict[str, Any]
"""``{"code", "name", "text"}``, with ``arg`` where one argument is meant."""

ArgumentCheck = Callable[[Any], list[Problem]]

_OPEN = (
    "anyOf",
    "allOf",
    "oneOf",
    "$ref",
    "$dynamicRef",
    "if",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "additionalProperties",
    "unevaluatedProperties",
)
"""Schema keywords that say themselves which other keys are accepted."""

_DRAFTS: dict[str, Any] = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
}
"""Older drafts that a schema may name itself; every other schema is read as 2020-12."""

_PLAIN_BITS = 10_000
"""Longer integers are written in hexadecimal: the decimal form has a digit limit that differs by setup."""


_QUOTE = json.JSONEncoder(ensure_ascii=False).encode


def as_text(value: Any) -> str:
    """Return a JSON value as text: booleans in lower case, null blank, whole floats plain, then trimmed.

    Lists and objects become compact JSON with sorted keys.
    """
    if value.__class__ is str:
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return number_text(value)
    return flat_text(value)


def number_text(value: float) -> str:
    """Return a number or boolean as text; equal numbers have equal text, whatever their type."""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        if not value.is_integer():
            return repr(value)
        value = int(value)
    return hex(value) if value.bit_length() > _PLAIN_BITS else str(value)


def _json_leaf(value: Any) -> str:
    if isinstance(value, str):
        return _QUOTE(value)
    if value is None:
        return "null"
    return number_text(value) if isinstance(value, bool | int | float) else f"<{type(value).__name__}>"


def flat_text(value: Any, leaf: Callable[[Any], str] = _json_leaf) -> str:
    """Write a JSON value as compact text with sorted keys, at any depth of nesting.

    Parameters
    ----------
    value : JSON
    leaf : callable, optional
        Writes everything that is neither a list nor an object.
    """
    parts: list[str] = []
    stack: list[Iterator[tuple[str, Any]] | str] = [iter([("", value)])]
    while stack:
        top = stack[-1]
        if isinstance(top, str):
            parts.append(top)
            stack.pop()
            continue
        for prefix, item in top:
            parts.append(prefix)
            if is_object(item):
                parts.append("{")
                stack += ["}", _members(item)]
                break
            if is_list(item):
                parts.append("[")
                stack += ["]", (("," if n else "", entry) for n, entry in enumerate(item))]
                break
            parts.append(leaf(item))
        else:
            stack.pop()
    return "".join(parts)


def _members(item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for n, key in enumerate(sorted(item, key=_json_leaf)):
        yield f"{',' if n else ''}{_json_leaf(key)}:", item[key]


def shown(value: Any, limit: int = 120) -> str:
    """Return a JSON value for prose: the same on every platform, at most ``limit`` characters, any depth."""
    text = _sketch(value, limit)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _sketch(value: Any, room: int) -> str:
    """Write a value until the room is used up; every level of nesting takes a character of it."""
    if room <= 0:
        return "..."
    if isinstance(value, str):
        return _QUOTE(value[: room + 1]).encode("utf-8", "backslashreplace").decode("utf-8")
    if is_object(value):
        members = ((f"{_sketch(k, room)}: ", value[k]) for k in sorted(value, key=_json_leaf))
        return _sketch_items(members, "{", "}", room)
    if is_list(value):
        return _sketch_items((("", item) for item in value), "[", "]", room)
    return _json_leaf(value)


def _sketch_items(items: Iterable[tuple[str, Any]], opening: str, closing: str, room: int) -> str:
    text = opening
    for n, (prefix, item) in enumerate(items):
        if len(text) > room:
            break
        text += (", " if n else "") + prefix
        text += _sketch(item, room - len(text))
    return text + closing


class Binder:
    """Checks calls against one registry and the tools that one case declares.

    Parameters
    ----------
    registry : Registry
        The closed world.
    declared : iterable of str
        The tool names that the case offers.

    Raises
    ------
    SuiteError
        When a declared capability holds something that is no JSON Schema.
    """

    __slots__ = ("_checks", "_declared", "_registry")

    def __init__(self, registry: Registry, declared: Iterable[str]) -> None:
        self._registry = registry
        self._declared = frozenset(declared)
        self._checks: dict[str, ArgumentCheck] = {
            name: argument_check(registry[name]) for name in self._declared if name in registry
        }

    def problems(self, name: Any, arguments: Any) -> list[Problem]:
        """Return the problems of one call, empty when it binds.

        Codes: ``unknown-tool`` (then nothing else is checked), ``undeclared``, ``unknown-arg``,
        ``missing-arg``, and ``invalid-arg`` for capabilities with a JSON Schema.
        """
        check = self._checks.get(name) if name.__class__ is str else None
        if check is not None:
            return check({} if arguments is None else arguments)
        if name.__class__ is not str or name not in self._registry:
            return [_problem("unknown-tool", name, f"{shown(name)} is no registered tool")]
        undeclared = _problem("undeclared", name, f"{name} is not declared for this case")
        try:
            check = argument_check(self._registry[name])
        except SuiteError:
            # The case does not offer this tool, so its broken schema is the lint's business alone.
            return [undeclared]
        return [undeclared, *check({} if arguments is None else arguments)]


def argument_check(capability: Capability) -> ArgumentCheck:
    """Compile the check of one capability's arguments.

    Raises
    ------
    SuiteError
        When ``inputSchema`` is no valid JSON Schema, or refers to a schema outside itself.
    """
    if capability.input_schema is None:
        return _key_check(capability)
    return _schema_check(capability, capability.input_schema)


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _as_object(arguments: Any, name: str, found: list[Problem]) -> dict[str, Any]:
    """Count everything that is no object as empty; a list is an unknown argument as well."""
    if _is_mapping(arguments):
        return dict(arguments)
    if isinstance(arguments, list | tuple):
        found.append(_problem("unknown-arg", name, f"the arguments of {name} are a list"))
    return {}


def _key_check(capability: Capability) -> ArgumentCheck:
    name, accepted = capability.name, capability.accepted
    required, groups = capability.required, capability.any_present

    def check(arguments: Any) -> list[Problem]:
        found: list[Problem] = []
        if arguments.__class__ is not dict:
            arguments = _as_object(arguments, name, found)
        elif not groups and accepted.issuperset(arguments):
            for key in required:
                value = arguments.get(key)
                if value.__class__ is not str or not value or value.isspace():
                    break
            else:
                return found
        for key in arguments:
            if key not in accepted:
                found.append(_problem("unknown-arg", name, f"{name} takes no argument {shown(key)}", key))
        for key in required:
            value = arguments.get(key)
            if value is None or not as_text(value):
                found.append(_problem("missing-arg", name, f"{name} needs {shown(key)}", key))
        for group in groups:
            if not any(as_text(arguments.get(key)) for key in group):
                wanted = " or ".join(group)
                found.append(_problem("missing-arg", name, f"{name} needs one of {wanted}", group[0]))
        return found

    return check


def _validator(capability: Capability, schema: dict[str, Any]) -> Any:
    draft = _DRAFTS.get(str(schema.get("$schema", "")).rstrip("#"), jsonschema_rs.Draft202012Validator)
    try:
        return draft(schema, validate_formats=False, retriever=_refuse_retrieval)
    except ValueError as error:
        problem = str(error).strip().splitlines()[0]
    raise SuiteError(
        f"inputSchema is no usable JSON Schema: {problem[:200]}",
        code="schema",
        where=capability.name,
        allowed="a self-contained JSON Schema (2020-12, or an older draft named by $schema)",
    )


def _refuse_retrieval(uri: str) -> Any:
    raise ValueError(f"{uri} lies outside the schema")


def _schema_check(capability: Capability, schema: dict[str, Any]) -> ArgumentCheck:
    name = capability.name
    validator = _validator(capability, schema)
    closed = not any(key in schema for key in _OPEN)
    known = frozenset(schema.get("properties", {}))

    def check(arguments: Any) -> list[Problem]:
        found: list[Problem] = []
        if arguments.__class__ is not dict:
            arguments = _as_object(arguments, name, found)
        if closed:
            for key in arguments:
                if key not in known:
                    text = f"{name} takes no argument {shown(key)}"
                    found.append(_problem("unknown-arg", name, text, key))
        try:
            if not validator.is_valid(arguments):
                for error in validator.iter_errors(arguments):
                    found += (p for p in _from_schema_error(name, error) if p not in found)
        except ValueError as error:
            found.append(_problem("invalid-arg", name, f"the arguments of {name} are no JSON: {error}"))
        return found

    return check


_KIND = jsonschema_rs.ValidationErrorKind


def _from_schema_error(name: str, error: jsonschema_rs.ValidationError) -> list[Problem]:
    path = ".".join(str(part) for part in error.instance_path)
    kind: Any = error.kind
    text = f"{name}: {error.message}"
    text = text if len(text) <= 200 else text[:197] + "..."
    if path:
        return [_problem("invalid-arg", name, text, path)]
    if isinstance(kind, _KIND.AdditionalProperties | _KIND.UnevaluatedProperties):
        keys = [str(key) for key in kind.unexpected]
        return [_problem("unknown-arg", name, f"{name} takes no argument {shown(key)}", key) for key in keys]
    if isinstance(kind, _KIND.Required):
        return [_problem("missing-arg", name, text, kind.property)]
    return [_problem("missing-arg" if _lacks_alternatives(kind) else "invalid-arg", name, text)]


def _lacks_alternatives(kind: Any) -> bool:
    """Whether each alternative of the whole object fails for absent keys alone."""
    if not isinstance(kind, _KIND.AnyOf | _KIND.OneOfNotValid):
        return False
    errors: list[Any] = [error for branch in kind.context for error in branch]
    return bool(errors) and all(isinstance(e.kind, _KIND.Required) and not e.instance_path for e in errors)


def _problem(code: str, name: Any, text: str, arg: Any = None) -> Problem:
    problem: Problem = {"code": code, "name": name if isinstance(name, str) else shown(name), "text": text}
    if arg is not None:
        problem["arg"] = arg if isinstance(arg, str) else shown(arg)
    return problem
