"""The command ``study``: thin commands, and the only place that prints."""

from study.cli.main import main

__all__ = ["main"]
