"""Small source trees written as files, and the hand-made graph of the toy suite."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from study.toolsets.codegraph import CodeGraphTools, build_graph, load_graph

ROOT = Path(__file__).resolve().parents[4]
TOY = ROOT / "cases" / "toy" / "graph.json"


class Tree:
    """A source folder that is written file by file, then built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, files: dict[str, str]) -> Tree:
        for path, text in files.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(textwrap.dedent(text), encoding="utf-8")
        return self

    def build(self, files: dict[str, str] | None = None, **options):
        self.write(files or {})
        return build_graph(self.folder, **options)


@pytest.fixture
def tree(tmp_path):
    """Return an empty source folder."""
    folder = tmp_path / "source"
    folder.mkdir()
    return Tree(folder)


@pytest.fixture(scope="session")
def toy_path():
    """Return the file of the hand-made graph."""
    return TOY


@pytest.fixture(scope="session")
def toy_graph():
    """Return the hand-made graph."""
    return load_graph(TOY)


@pytest.fixture
def toy(toy_graph):
    """Return the tools over the hand-made graph."""
    return CodeGraphTools(toy_graph)
