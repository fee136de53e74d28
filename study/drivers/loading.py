"""Loading a driver by the name that a protocol gives it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from study.driver import Context, LoopResult
from study.drivers.configuration import json_table
from study.drivers.process import PREFIX, ProcessDriver, parse_command
from study.errors import DriverError
from study.finding import Kind, find_object, guarded, source_digest
from study.records import Record

DRIVERS = Kind(
    word="driver",
    group="driver_study.drivers",
    builtin={
        "first-declared": "study.drivers.first_declared:drive",
        "goal": "study.drivers.goal:drive",
        "refuse-all": "study.drivers.refuse_all:drive",
        "resolver": "study.drivers.resolver:drive",
        "shim": "study.drivers.shim:drive",
        "stub": "study.drivers.stub:drive",
    },
    forms=("process:COMMAND",),
)
UNSTAMPED = "unstamped"
_HOOKS = ("setup", "reset", "close")
_ATTRIBUTES = ("stamp", "floor", "defaults", *_HOOKS)

DriverCall = Callable[[str, Sequence[str], Context], LoopResult | Awaitable[LoopResult]]


class LoadedDriver(Record):
    """A driver that was loaded, with its identity.

    Attributes
    ----------
    name : str
        The name as written.
    call : callable
        ``call(request, tools, ctx)``.
    is_async : bool
        Whether ``call`` is declared ``async``; a plain function may still return an awaitable.
    stamp : str
        The ``stamp`` of the driver, else the ``__version__`` of the module, else ``unstamped``.
    floor : bool
        Whether it is an anchor that is no candidate for use.
    defaults : dict
        The configuration that the driver declares itself.
    source_file : Path or None
        The file of the module that defines the function or class; for any other object, the file of the
        module that holds it.
    source_digest : str or None
        SHA-256 of that file; modules that it imports are not covered. Of a process driver, over all files
        that its command names; ``source_file`` is then the first argument among them, else the program.
    """

    name: str
    call: DriverCall
    is_async: bool
    stamp: str
    floor: bool
    defaults: dict[str, Any]
    source_file: Path | None
    source_digest: str | None

    def setup(self, config: Mapping[str, Any]) -> None:
        """Tell the driver its configuration, once before the first trial."""
        self._run_hook("setup", config)

    def reset(self, condition: str) -> None:
        """Ask the driver to start afresh under the condition of the next trial."""
        self._run_hook("reset", condition)

    def close(self) -> None:
        """Let the driver give up what it holds."""
        self._run_hook("close")

    def _run_hook(self, hook: str, *arguments: Any) -> None:
        method = getattr(self.call, hook, None)
        if method is not None:
            method(*arguments)


def load_driver(name: str, *, where: str, search: Path | None = None) -> LoadedDriver:
    """Load a driver by name.

    Parameters
    ----------
    name : str
        A shipped or installed name such as ``stub``, or ``module:attribute`` of user code. The attribute is
        a function, a class (instantiated without arguments) or an object with ``__call__``. Or
        ``process:COMMAND``; such a child is started here once, to ask for its stamp.
    where : str
        The place of the name, for errors.
    search : Path, optional
        Folder of user code, normally that of the protocol; see :func:`study.finding.find_object`. The
        working directory of a process driver.

    Returns
    -------
    LoadedDriver

    Raises
    ------
    DriverError
        When the name has no known form, cannot be imported, or names something that is no driver; when a
        child process says no proper hello.
    """
    if name.startswith(PREFIX):
        return _load_process(name, where, search)
    found = find_object(name, DRIVERS, where=where, search=search)
    folder = search.resolve() if search else None
    target = found.target
    if isinstance(target, type):
        target = guarded(target, f"creating {name!r}", DRIVERS, where=where, folder=folder)
    call = _checked_call(target, name, where)
    said = guarded(
        lambda: {attribute: getattr(call, attribute, None) for attribute in _ATTRIBUTES},
        f"reading the attributes of {name!r}",
        DRIVERS,
        where=where,
        folder=folder,
    )
    for hook in _HOOKS:
        _check_hook(said[hook], hook, name, where)
    file = _source_file(found.target, found.module)
    return LoadedDriver(
        name=name,
        call=call,
        is_async=_is_async(call),
        stamp=_stamp(said["stamp"], found.module, name, where),
        floor=_floor(said["floor"], name, where),
        defaults=_defaults(said["defaults"], name, where),
        source_file=file,
        source_digest=source_digest(file, where) if file else None,
    )


def _load_process(name: str, where: str, search: Path | None) -> LoadedDriver:
    command = parse_command(name, where=where, search=search)
    driver = ProcessDriver(command, where)
    return LoadedDriver(
        name=name,
        call=driver,
        is_async=False,
        stamp=driver.stamp,
        floor=driver.hello.floor,
        defaults=driver.hello.defaults,
        source_file=command.main_file,
        source_digest=command.digest,
    )


def resolved_config(
    loaded: LoadedDriver, config: Mapping[str, Any], *, where: str | None = None
) -> dict[str, Any]:
    """Return the configuration that a driver works with.

    Parameters
    ----------
    loaded : LoadedDriver
    config : mapping
        As given in the protocol. A key replaces the driver's default of that key as a whole, tables too.
    where : str, optional
        The place of the configuration, for errors.

    Returns
    -------
    dict
        New JSON data, sharing nothing with the arguments.

    Raises
    ------
    DriverError
        For a value that is not JSON, naming its key.
    """
    place = where or f"driver {loaded.name!r}"
    return {**json_table(loaded.defaults, "defaults", place), **json_table(config, "config", place)}


def _checked_call(target: object, name: str, where: str) -> DriverCall:
    if not callable(target):
        raise DriverError(
            f"{name!r} is a {type(target).__name__}, which cannot be called",
            where=where,
            allowed="a function, a class, or an object with __call__",
        )
    body = target if inspect.isroutine(target) else type(target).__call__
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        raise DriverError(f"{name!r} yields", where=where, allowed="a driver that returns a LoopResult")
    _check_signature(target, name, where)
    return cast("DriverCall", target)


def _check_signature(target: Callable[..., object], name: str, where: str) -> None:
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):  # some callables written in C do not tell
        return
    try:
        signature.bind("", (), None)
    except TypeError as error:
        raise DriverError(
            f"{name!r} takes {signature}: {error}", where=where, allowed="(request, tools, ctx)"
        ) from None


def _check_hook(method: object, hook: str, name: str, where: str) -> None:
    if method is None:
        return
    if not callable(method):
        raise DriverError(f"{hook!r} of {name!r} cannot be called", where=where, allowed="a method, or None")
    if _is_async(method):
        raise DriverError(
            f"{hook!r} of {name!r} is async",
            where=where,
            allowed="a plain method",
            next_step="do asynchronous work in the driver call itself",
        )


def _is_async(target: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)


def _stamp(stamp: object, module: ModuleType, name: str, where: str) -> str:
    if stamp is None:
        version = vars(module).get("__version__")
        return version if isinstance(version, str) and version else UNSTAMPED
    if not isinstance(stamp, str) or not stamp.strip():
        raise DriverError(
            f"the stamp of {name!r} is {stamp!r}", where=where, allowed="text that is not blank"
        )
    return stamp


def _floor(floor: object, name: str, where: str) -> bool:
    if floor is None:
        return False
    if not isinstance(floor, bool):
        raise DriverError(f"'floor' of {name!r} is {floor!r}", where=where, allowed="True or False")
    return floor


def _defaults(defaults: object, name: str, where: str) -> dict[str, Any]:
    if defaults is None:
        return {}
    if not isinstance(defaults, Mapping):
        raise DriverError(
            f"'defaults' of {name!r} is no mapping", where=where, allowed="keys with JSON values"
        )
    return json_table(cast("Mapping[Any, Any]", defaults), "defaults", f"{where}: driver {name!r}")


def _source_file(target: object, module: ModuleType) -> Path | None:
    home = module
    if isinstance(target, type) or inspect.isroutine(target):
        home = sys.modules.get(getattr(target, "__module__", None) or "", module)
    file: str | None = vars(home).get("__file__")
    return Path(file) if file and Path(file).is_file() else None
