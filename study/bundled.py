"""Finds the package data (``cases/``, ``protocols/``) in a checkout, an editable install and a wheel."""

from __future__ import annotations

from pathlib import Path

from study.errors import InputError

PREFIX = "bundled:"


def data_root() -> Path:
    """Return the folder that holds the bundled ``cases`` and ``protocols``."""
    package = Path(__file__).resolve().parent
    inside = package / "_data"
    return inside if inside.is_dir() else package.parent


def bundled_suites() -> list[str]:
    """Return the names of the bundled suites, sorted."""
    return sorted(p.parent.name for p in (data_root() / "cases").glob("*/suite.toml"))


def find_protocol(name: str) -> Path:
    """Return the protocol file named by a path or as ``bundled:NAME``.

    Raises
    ------
    InputError
        When there is no bundled protocol of that name; a path is not looked at.
    """
    if not name.startswith(PREFIX):
        return Path(name)
    path = data_root() / "protocols" / f"{name.removeprefix(PREFIX)}.toml"
    if not path.is_file():
        known = sorted(p.stem for p in path.parent.glob("*.toml"))
        raise InputError(
            f"there is no protocol {name!r}", allowed=", ".join(PREFIX + stem for stem in known) or "a path"
        )
    return path


def runs_root(protocol: Path) -> Path:
    """Return the folder for runs of a protocol.

    ``runs/`` beside the ``protocols`` folder that holds it, else in the protocol's own folder; for a
    protocol inside an installed package, ``runs/`` in the working folder.
    """
    folder = protocol.resolve().parent
    if folder.is_relative_to(Path(__file__).resolve().parent):
        return Path.cwd() / "runs"
    return (folder.parent if folder.name == "protocols" else folder) / "runs"


def find_suite(name: str, protocol: Path | None = None) -> Path:
    """Return the folder of a suite named by a path or as ``bundled:NAME``.

    Parameters
    ----------
    name : str
        ``bundled:NAME``, or a path: relative to the parent of the ``protocols`` folder that holds the
        protocol, else to the protocol's own folder, else to the working folder.
    protocol : Path, optional
        The protocol file that names the suite.

    Raises
    ------
    InputError
        When there is no ``suite.toml`` at that place.
    """
    if name.startswith(PREFIX):
        folder = data_root() / "cases" / name.removeprefix(PREFIX)
        allowed = ", ".join(PREFIX + suite for suite in bundled_suites())
    else:
        base = Path.cwd() if protocol is None else protocol.resolve().parent
        base = base.parent if protocol is not None and base.name == "protocols" else base
        folder = base / name
        allowed = "a folder with a suite.toml, or bundled:NAME"
    if not (folder / "suite.toml").is_file():
        raise InputError(
            f"there is no suite {name!r} (no {folder / 'suite.toml'})",
            code="suite-missing",
            where=str(protocol) if protocol else None,
            allowed=allowed,
            next_step="`study init DIR` writes a small suite to start from",
        )
    return folder
