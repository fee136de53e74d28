"""The terse commands of the code graph: one verb per registered tool."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TERSE_COMMANDS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {
        "search": ("tmct_search", "query"),
        "describe": ("tmct_describe", "symbol"),
        "signature": ("tmct_signature", "symbol"),
        "impact": ("tmct_impact", "module"),
        "members": ("tmct_members", "class"),
        "subclasses": ("tmct_subclasses", "class"),
        "exports": ("tmct_exports", "module"),
        "callers": ("tmct_callers", "symbol"),
        "callees": ("tmct_callees", "symbol"),
        "calls": ("tmct_calls", "symbol"),
        "tests": ("tmct_tests_for", "symbol"),
        "untested": ("tmct_untested", None),
        "history": ("tmct_history", "symbol"),
        "cochanges": ("tmct_cochanges", "symbol"),
        "architecture": ("tmct_architecture", "package"),
        "related": ("tmct_related", "term"),
        "sprite": ("tmct_sprite", "class"),
    }
)
"""Verb -> (tool, key of the argument that follows the verb; None for a verb that stands alone)."""
