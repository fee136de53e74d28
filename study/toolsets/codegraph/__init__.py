"""The code graph toolset: ``tmct_*`` tools over the structure of a Python project."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from study.cases import Suite
from study.errors import DriverError
from study.toolsets.codegraph.build import build_graph
from study.toolsets.codegraph.capabilities import EXCLUDED_FROM_REGISTRY, GRAPH_REGISTRY, REGISTRY
from study.toolsets.codegraph.commands import TERSE_COMMANDS
from study.toolsets.codegraph.graph import Entity, Graph, load_graph, write_graph
from study.toolsets.codegraph.plain import PlainGraph
from study.toolsets.codegraph.tools import CodeGraphTools

__all__ = [
    "EXCLUDED_FROM_REGISTRY",
    "GRAPH_REGISTRY",
    "REGISTRY",
    "TERSE_COMMANDS",
    "CodeGraphTools",
    "Entity",
    "Graph",
    "PlainGraph",
    "build_graph",
    "load_graph",
    "open_toolset",
    "write_graph",
]


def open_toolset(suite: Suite, *, config: Mapping[str, Any] = MappingProxyType({})) -> CodeGraphTools:
    """Open the code graph of a suite; the same file is read once per process.

    Parameters
    ----------
    suite : Suite
        Names the graph file.
    config : mapping
        ``source``: the folder that the graph was built from (text), for ``tmct_snippet``. Other keys are
        not this toolset's.

    Raises
    ------
    DriverError
        When the suite has no graph, or ``source`` is no folder.
    InputError
        When the graph file cannot be read.
    """
    path, digest = suite.graph_path, suite.graph_digest
    if path is None or digest is None:
        raise DriverError(
            "the code graph toolset needs a graph, and the suite names none",
            where=str(suite.folder / "suite.toml"),
            allowed='graph = "graph.json"',
            next_step="build one with `study graph SOURCE -o FILE` and name it in suite.toml",
        )
    source = config.get("source")
    if source is not None and not (isinstance(source, str) and Path(source).is_dir()):
        raise DriverError(
            f"the source folder {source!r} is none", where=str(suite.folder), allowed="the path of a folder"
        )
    return _opened(path.resolve(), digest, source)


@lru_cache(maxsize=16)
def _opened(path: Path, digest: str, source: str | None) -> CodeGraphTools:
    """Read and index one graph; the digest in the key makes a changed file be read again."""
    return _FileTools(path, Path(source) if source is not None else None)


class _FileTools(CodeGraphTools):
    """The tools of a graph file, with a second way to their answers."""

    def __init__(self, path: Path, source: Path | None) -> None:
        super().__init__(load_graph(path), source)
        self._path = path

    @cached_property
    def oracle(self) -> PlainGraph:
        """The answers by brute force over the same file, for the lint; read when first asked for."""
        return PlainGraph(self._path)
