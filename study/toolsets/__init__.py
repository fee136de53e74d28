"""Loads the toolset that a suite names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from study.cases import Suite
from study.driver import Toolset
from study.errors import DriverError
from study.finding import Kind, find_object, guarded
from study.toolsets.functions import FunctionToolset

NONE = "none"
TOOLSETS = Kind(
    word="toolset",
    group="driver_study.toolsets",
    builtin={"codegraph": "study.toolsets.codegraph:open_toolset"},
)

_ALLOWED = (
    "an object with `names` and `dispatch(name, arguments)`, a function of the suite that returns one, "
    "or a mapping {tool name: function}"
)


def load_toolset(
    name: str,
    suite: Suite,
    *,
    config: Mapping[str, Any] = MappingProxyType({}),
    search: Path | None = None,
) -> Toolset | None:
    """Load the toolset of a suite by its name.

    Parameters
    ----------
    name : str
        ``none``; an entry point of group ``driver_study.toolsets`` (``codegraph`` is one); or the user's own
        ``module:attribute``. The attribute is an object with ``names``
        and ``dispatch``, a function of the suite that returns one, or a mapping of names to functions.
    suite : Suite
        Given to a toolset that is made by a function.
    config : mapping
        Given to such a function as well, when it has a parameter ``config``.
    search : Path, optional
        Folder of user code, normally that of the protocol; see :func:`study.finding.find_object`.

    Returns
    -------
    Toolset or None
        None for ``none``.

    Raises
    ------
    DriverError
        When there is no such toolset, when it cannot be imported or made, or when it is none.
    """
    if name == NONE:
        return None
    where = f"{suite.folder / 'suite.toml'}:toolset"
    folder = search.resolve() if search else None
    found = find_object(name, TOOLSETS, where=where, search=search).target
    ready = _ready(found, where)
    if ready is not None:
        return ready
    if not callable(found):
        raise DriverError(f"{name} is of type {type(found).__name__}", where=where, allowed=_ALLOWED)
    made = _made(found, name, suite, config, where, folder)
    ready = _ready(made, where)
    if ready is None:
        raise DriverError(
            f"{name} returned something of type {type(made).__name__}", where=where, allowed=_ALLOWED
        )
    return ready


def _ready(found: object, where: str) -> Toolset | None:
    """Return a finished toolset, or None; a class is a way to make one."""
    if isinstance(found, Mapping):
        return FunctionToolset(cast("Mapping[str, Any]", found), where)
    return found if isinstance(found, Toolset) and not isinstance(found, type) else None


def _made(
    factory: Any, target: str, suite: Suite, config: Mapping[str, Any], where: str, folder: Path | None
) -> object:
    """Call a factory; what goes wrong inside it is reported as its own."""
    arguments: dict[str, Any] = {}
    try:
        signature = inspect.signature(factory)
        if "config" in signature.parameters:
            arguments["config"] = config
        signature.bind(suite, **arguments)
    except (TypeError, ValueError) as error:
        raise DriverError(
            f"{target} cannot be called with the suite: {error}", where=where, allowed=_ALLOWED
        ) from None

    def make() -> object:
        return factory(suite, **arguments)

    return guarded(make, f"making the toolset {target!r}", TOOLSETS, where=where, folder=folder)
