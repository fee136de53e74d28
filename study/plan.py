"""A plan: everything that a run needs, checked against its lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from study.digest import JSON
from study.driver import Toolset
from study.drivers import LoadedDriver
from study.lock import lock_digest
from study.protocol import Protocol
from study.records import Record
from study.schedule import Assignment
from study.selection import Selection


class Plan(Record):
    """A protocol with its lock, its schedule, its loaded drivers and its toolsets (by suite id)."""

    protocol_path: Path
    protocol_bytes: bytes
    protocol: Protocol
    lock_path: Path
    lock: dict[str, JSON]
    selection: Selection
    schedule: list[Assignment]
    drivers: dict[str, LoadedDriver]
    configs: dict[str, dict[str, Any]]
    toolsets: dict[str, Toolset | None]
    sources: dict[str, str]
    deviations: tuple[str, ...] = ()

    @property
    def lock_digest(self) -> str:
        """SHA-256 of the lock."""
        return lock_digest(self.lock)
