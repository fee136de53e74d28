"""The source text of one entity, read from the source folder."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

from study.driver import ToolError
from study.toolsets.codegraph.graph import Entity


def read_snippet(entity: Entity, source: Path | None) -> str:
    """Return the source of an entity: the statement at its line, or the whole file of a module.

    Raises
    ------
    ToolError
        When the source folder is not known, or does not hold what the graph says.
    """
    if source is None:
        raise ToolError("the source folder is not known; the toolset needs a configured 'source'")
    root = source.resolve()
    place = (root / (entity.path or "")).resolve()
    if not place.is_relative_to(root) or not place.is_file():
        raise ToolError(f"{entity.path} is no file of the source folder")
    try:
        text = place.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ToolError(f"{entity.path} cannot be read as UTF-8 text") from None
    if entity.kind.endswith("module"):
        return text
    return _statement_at(text, entity)


def _statement_at(text: str, entity: Entity) -> str:
    line = entity.line or 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        raise ToolError(f"{entity.path} is not valid Python") from None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    if not found:
        raise ToolError(f"{entity.path} has no statement at line {line}: the source is not that of the graph")
    node = found[0]
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(d.lineno for d in decorators)])
    return "\n".join(text.splitlines()[start - 1 : node.end_lineno])
