"""The Python files of a source folder with the dotted names of their modules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from study.errors import InputError

SOURCE_FOLDER = "src"
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True)
class SourceFile:
    """One file: its place, the path relative to the source folder, its label, what it is."""

    place: Path
    path: str
    label: str
    package: bool
    test: bool


@dataclass(frozen=True)
class Layout:
    """The files that belong to the graph, and the paths that were left out."""

    files: tuple[SourceFile, ...]
    left_out: tuple[str, ...]


def find_files(source: Path) -> Layout:
    """Find the modules of a source folder; the result does not depend on the order of the file system.

    A folder that is itself a package names its modules after itself. In a layout with ``src/`` the prefix
    is dropped, and what is neither in ``src/`` nor a test module (documentation, build scripts) is left out.
    Folders behind symbolic links are left out, so that a loop ends.

    Raises
    ------
    InputError
        When the source is no folder or holds no Python file.
    """
    if not source.is_dir():
        raise InputError(
            "the source is no folder", where=str(source), allowed="a folder with Python files or packages"
        )
    paths, left_out = _walk(source)
    prefix = (source.resolve().name,) if (source / "__init__.py").is_file() else ()
    in_src = not prefix and any(path.parts[0] == SOURCE_FOLDER and len(path.parts) > 1 for path in paths)
    in_src = in_src and not (source / SOURCE_FOLDER / "__init__.py").is_file()
    files: dict[str, SourceFile] = {}
    for path in sorted(paths, key=lambda path: _precedence(path, in_src)):
        file = _source_file(source, path, prefix, in_src)
        if file is None:
            left_out.append(printable(str(path)))
        elif file.label in files:
            left_out.append(f"{file.path}: {file.label} (another file has that name)")
        else:
            files[file.label] = file
    if not files:
        raise InputError(
            "there is no Python file to read",
            where=str(source),
            allowed="a folder with at least one module that ends in .py",
        )
    return Layout(tuple(files[label] for label in sorted(files)), tuple(sorted(left_out)))


def _walk(source: Path) -> tuple[list[PurePosixPath], list[str]]:
    paths: list[PurePosixPath] = []
    closed: list[str] = []

    def relative(folder: str) -> PurePosixPath:
        return PurePosixPath(Path(folder).relative_to(source).as_posix())

    def refused(error: OSError) -> None:
        closed.append(printable(str(relative(error.filename))))

    for folder, folders, names in os.walk(source, onerror=refused):
        base = relative(folder)
        folders[:] = [name for name in folders if _is_source_folder(folder, name)]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        closed += [printable(str(base / name)) for name in links]
        paths += [base / name for name in names if name.endswith(".py") and not name.startswith(".")]
    return paths, closed


def _is_source_folder(parent: str, name: str) -> bool:
    if name.startswith(".") or name in _SKIPPED_FOLDERS:
        return False
    return not os.path.isfile(os.path.join(parent, name, "pyvenv.cfg"))


def _precedence(path: PurePosixPath, in_src: bool) -> tuple[bool, bool, str]:
    """Order in which files claim a dotted name: ``src/`` first, and a package before a module."""
    outside = in_src and path.parts[0] != SOURCE_FOLDER
    return (outside, path.name != "__init__.py", str(path))


def _source_file(
    source: Path, path: PurePosixPath, prefix: tuple[str, ...], in_src: bool
) -> SourceFile | None:
    inside = in_src and path.parts[0] == SOURCE_FOLDER
    parts = path.parts[1:] if inside else path.parts
    test = _is_test(parts)
    if in_src and not inside and not test:
        return None
    package = path.name == "__init__.py"
    names = parts[:-1] if package else (*parts[:-1], path.stem)
    label = ".".join((*prefix, *names))
    if not label or label != label.strip():
        return None
    return SourceFile(source / path, printable(str(path)), printable(label), package, test)


def printable(text: str) -> str:
    """Return text that can be written as UTF-8; a byte that is no text is escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_test(parts: tuple[str, ...]) -> bool:
    folders, name = parts[:-1], parts[-1]
    if "tests" in folders or folders[:1] == ("test",):
        return True
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
