"""Stands in for ``os._exit`` while drivers run: it would end the study with the driver's own exit code."""

from __future__ import annotations

import os
from typing import Any

from study.executors.settling import DriverExitError


class ExitGuard:
    """Makes ``os._exit`` raise in this process, and work in forked children; use it as a context manager."""

    def __init__(self) -> None:
        self._exit: Any = os._exit
        self._process = 0

    def __enter__(self) -> ExitGuard:
        self._process = os.getpid()
        self._exit, os._exit = os._exit, self._refuse
        return self

    def __exit__(self, *exception: object) -> None:
        os._exit = self._exit

    @property
    def forked(self) -> bool:
        """Whether this is a child that was forked since."""
        return os.getpid() != self._process

    def end(self, status: int) -> None:
        """End this process at once."""
        self._exit(status)

    def _refuse(self, status: int) -> Any:
        if self.forked:
            self._exit(status)
        raise DriverExitError(f"os._exit({status})")
