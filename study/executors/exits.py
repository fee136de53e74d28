"""Stands in for what ends a process without a word, ``os._exit`` and ``os.exec*``, while drivers run."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from study.executors.settling import DriverExitError

end_process = os._exit
"""Ends this process at once, whatever stands in for ``os._exit`` by then."""

_ENDS = ("_exit", "execv", "execve")
"""The functions of ``os`` that never return; every other ``exec`` of that module calls one of them."""


class ExitGuard:
    """Makes them raise in this process, and work in forked children; use it as a context manager."""

    def __init__(self) -> None:
        self._process = 0
        self._before: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> ExitGuard:
        self._process = os.getpid()
        self._before = {name: getattr(os, name) for name in _ENDS}
        for name, function in self._before.items():
            setattr(os, name, partial(self._refuse, name, function))
        return self

    def __exit__(self, *exception: object) -> None:
        for name, function in self._before.items():
            setattr(os, name, function)
        self._before = {}

    @property
    def forked(self) -> bool:
        """Whether this is a child that was forked since."""
        return os.getpid() != self._process

    def _refuse(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.forked:
            return function(*arguments)
        raise DriverExitError(f"os.{name}({', '.join(f'{argument!r:.80}' for argument in arguments)})")
