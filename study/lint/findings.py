"""What the lint finds."""

from __future__ import annotations

from typing import Literal

from study.records import Record

Level = Literal["error", "warning"]


class Finding(Record):
    """One finding.

    Attributes
    ----------
    where : str
        ``file:place``.
    code : str
        Stable identifier of the rule.
    text : str
        What is wrong.
    level : {"error", "warning"}
        An error stops a run.
    """

    where: str
    code: str
    text: str
    level: Level = "error"
