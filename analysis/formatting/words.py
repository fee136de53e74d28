"""Counts, outcomes and claims in words."""

from __future__ import annotations

from analysis.formatting.values import margin, percent


def counts(n_tasks: int, n_pairs: int | None = None) -> str:
    """Return ``"n tasks = 80, pairs = 160"``."""
    return f"n tasks = {n_tasks}" + ("" if n_pairs is None else f", pairs = {n_pairs}")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, ``"1 task"`` or ``"5 tasks"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def share(part: int, whole: int) -> str:
    """Return ``"12 of 15 (80.0 %)"``, and words instead of a rate when there is nothing to divide by."""
    return f"{part} of {whole} ({percent(part / whole)})" if whole else "none of 0 (no rate)"


def outcome(name: str | None) -> str:
    """Return an outcome as it is written: ``non_inferior`` is ``"non-inferior"``, None is no claim."""
    if name is None:
        return "no claim"
    return name.replace("non_inferior", "non-inferior").replace("_", " ")


def standing(declared: bool | str, lock_digest: str | None, evidence_level: str) -> str:
    """Return what limits a result as a whole: ``"EXPLORATORY"``, ``"PILOT"``, both or an empty text.

    Without a lock nothing is declared, whatever a record says of itself.
    """
    exploratory = declared is not True or lock_digest is None
    flags = (("EXPLORATORY", exploratory), ("PILOT", evidence_level == "pilot"))
    return ", ".join(flag for flag, holds in flags if holds)


def claim(name: str | None, allowed: float | None, unit: str, declared: str | None = None) -> str:
    """Return a claim with its margin, ``"non-inferior, margin 5 pp"``; the margin as declared if known."""
    if name is None:
        return "none (descriptive)"
    text = declared or (None if allowed is None else margin(allowed, unit))
    return f"{name}, margin {text}" if text else name
