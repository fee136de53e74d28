"""The source files that make a driver what it is, in one digest."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from study.digest import digest, digest_file

ROOM = "study.drivers"
"""Of a shipped driver, the modules below this package count that it imports, one through another."""


def code_digest(file: Path | None) -> str | None:
    """Return the SHA-256 over the source of a driver.

    Parameters
    ----------
    file : Path or None
        The file that defines the driver (see :class:`study.drivers.LoadedDriver`).

    Returns
    -------
    str or None
        For a shipped driver over the modules of this package that it imports, for any other over that file
        alone; None without a file.
    """
    return (
        None if file is None else digest({name: digest_file(path) for name, path in _sources(file).items()})
    )


def _sources(file: Path) -> dict[str, Path]:
    """Return module name -> file, sorted; a file of the user's own has no name, for it may move."""
    home = Path(__file__).resolve().parent
    if not file.resolve().is_relative_to(home):
        return {"": file}
    found: dict[str, Path] = {}
    left = [file.resolve()]
    while left:
        path = left.pop()
        name = ".".join((ROOM, *path.relative_to(home).with_suffix("").parts))
        if name not in found:
            found[name] = path
            left += _files(_imports(path), home)
    return dict(sorted(found.items()))


def _imports(path: Path) -> Iterator[str]:
    """Yield the names of everything that a file imports; this package imports nothing by relative names."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(names: Iterable[str], home: Path) -> Iterator[Path]:
    """Yield the files of modules below this package, and of the packages between."""
    for name in names:
        if not name.startswith(f"{ROOM}."):
            continue
        parts = name.removeprefix(f"{ROOM}.").split(".")
        for depth in range(1, len(parts) + 1):
            base = home.joinpath(*parts[:depth])
            yield from (path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file())
