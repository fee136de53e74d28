"""Drivers in any language: ``process:COMMAND``, a child that speaks JSON lines (docs/process-drivers.md)."""

from study.drivers.process.command import PREFIX, parse_command
from study.drivers.process.driver import ChildError, ProcessDriver

__all__ = ["PREFIX", "ChildError", "ProcessDriver", "parse_command"]
