import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from study.binding import Binder
from study.driver import Context, Resolution, ToolError, ToolResult
from study.registry import Registry, registry_from_json

GRAPH = {"kind": "graph-loaded"}
ENTITY_KEYS = {
    "tmct_describe": "symbol",
    "tmct_signature": "symbol",
    "tmct_impact": "module",
    "tmct_members": "class",
    "tmct_subclasses": "class",
    "tmct_exports": "module",
    "tmct_callers": "symbol",
    "tmct_callees": "symbol",
    "tmct_calls": "symbol",
    "tmct_tests_for": "symbol",
    "tmct_history": "symbol",
    "tmct_cochanges": "symbol",
    "tmct_related": "term",
}
ENTITIES = ("Shelf", "loans.desk", "loans/desk.py", "renew", "Atlas-3")
TIED = {"Atlas": ("Atlas-3", "Atlas-4")}


def _capability(name: str, parameters: list[dict[str, Any]], preconditions: list[Any]) -> dict[str, Any]:
    return {
        "name": name,
        "parameters": parameters,
        "preconditions": [GRAPH, *preconditions],
        "effects": {"add": [{"kind": "knows", "topic": name.removeprefix("tmct_")}], "del": []},
    }


def _capabilities() -> list[dict[str, Any]]:
    found = [
        _capability(
            name,
            [{"name": "target", "kind": "any", "arg": key, "required": True}],
            [{"kind": "resolves", "param": "target", "class": "any"}],
        )
        for name, key in ENTITY_KEYS.items()
    ]
    query = [{"name": k, "kind": "text", "arg": k} for k in ("query", "kind")]
    found.append(_capability("tmct_search", query, [{"kind": "any-present", "args": ["query", "kind"]}]))
    found.append(_capability("tmct_untested", [], []))
    found.append(_capability("tmct_architecture", [{"name": "p", "kind": "text", "arg": "package"}], []))
    found.append({**_capability("shelf_move", [], []), "readOnly": False})
    return found


class FakeToolset:
    """Answers every tool for the known entities; a miss is a tool error."""

    commands: Mapping[str, tuple[str, str | None]] = {
        "about": ("tmct_describe", "symbol"),
        "find": ("tmct_search", "query"),
        "untested": ("tmct_untested", None),
        "map": ("tmct_architecture", "package"),
        "move": ("shelf_move", None),
        "ghost": ("tmct_ghost", "symbol"),
    }

    def __init__(self) -> None:
        self.names: Sequence[str] = [*ENTITY_KEYS, "tmct_search", "tmct_untested", "tmct_architecture"]

    def resolve(self, term: str) -> Resolution:
        if term in TIED:
            return Resolution(label=None, tied=TIED[term])
        return Resolution(label=term if term in ENTITIES else None)

    def dispatch(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        if name not in self.names:
            raise AssertionError(f"the toolset was asked for {name}")
        key = ENTITY_KEYS.get(name)
        term = str(arguments[key]).strip() if key else None
        if term is not None and term not in ENTITIES:
            raise ToolError(f"no entity {term!r}")
        return ToolResult(ok=True, text=f"{name} " + "x" * 300, resolved=term, result=["b", "a"])


MakeContext = Callable[..., Context]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return registry_from_json(_capabilities())


@pytest.fixture(scope="session")
def make_context(registry: Registry) -> MakeContext:
    def make(tools: Sequence[str], toolset: Any = None, world: Registry = registry) -> Context:
        return Context(world, toolset or FakeToolset(), Binder(world, tools))

    return make


@pytest.fixture(scope="session")
def all_tools(registry: Registry) -> list[str]:
    return list(registry)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Path]]:
    """Write a user's file; ``sys.path`` and the modules of the folder are put back afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write_file(name: str, source: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        return path

    before = dict(sys.modules)
    yield write_file
    new = {name: module for name, module in sys.modules.items() if name not in before}
    gone = [name for name, module in new.items() if _is_below(module, tmp_path)]
    for name in gone:
        del sys.modules[name]


def _is_below(module: Any, folder: Path) -> bool:
    known = vars(module)
    files = [known.get("__file__") or "", *map(str, known.get("__path__", ()))]
    return any(file.startswith(str(folder)) for file in files)
