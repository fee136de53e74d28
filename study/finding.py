"""Finding a Python object by the name that a protocol or a suite gives it."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from study.digest import digest_file
from study.errors import DriverError, StudyError, did_you_mean, listed
from study.records import Record

_T = TypeVar("_T")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_REFERENCE = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_LONGEST_REASON = 300
_INSTALLED = {"site-packages", "dist-packages"}

_digest_at_import: dict[Path, str] = {}


class Kind(Record):
    """What is looked for.

    Attributes
    ----------
    word : str
        What an error calls it, such as ``driver``.
    group : str
        The entry-point group of installed distributions.
    builtin : mapping of str to str
        Plain name -> ``module:attribute``; found without distribution metadata, and not to be overridden.
    forms : tuple of str
        Further forms of a name, for errors; whoever looks up deals with them.
    """

    word: str
    group: str
    builtin: Mapping[str, str]
    forms: tuple[str, ...] = ()


class Found(Record):
    """An object with the module in which its name was looked up."""

    target: object
    module: ModuleType


def find_object(name: str, kind: Kind, *, where: str, search: Path | None = None) -> Found:
    """Import the object that a name stands for.

    Parameters
    ----------
    name : str
        A plain name (built in, or an entry point of ``kind.group``) or ``module:attribute``.
    kind : Kind
        What is looked for.
    where : str
        The place of the name, for errors.
    search : Path, optional
        Folder of user code. It is appended to ``sys.path`` and stays there, because user code may import
        when it runs; a module of this package can therefore not be shadowed by a file of that folder.

    Returns
    -------
    Found

    Raises
    ------
    DriverError
        For a name of no known form, an unknown or ambiguous plain name, a module that is missing, fails to
        import or is hidden by another of the same name, and a missing attribute.
    """
    reference = _REFERENCE.fullmatch(name)
    folder = search.resolve() if search is not None and reference else None
    if reference is None and _PLAIN.fullmatch(name):
        reference = _REFERENCE.fullmatch(_registered(name, kind, where))
    if reference is None:
        raise DriverError(f"{name!r} is no name of a {kind.word}", where=where, allowed=name_forms(kind))
    module_name, attribute = reference.groups()
    module = _import(module_name, kind, where, folder)
    found: object = module
    for part in attribute.split("."):
        found = _attribute(found, part, module, kind, where, folder)
    return Found(target=found, module=module)


def name_forms(kind: Kind) -> str:
    """Return the forms that a name may have, for the *allowed* part of an error."""
    names = listed(sorted({*kind.builtin, *_entry_points(kind)}))
    return ", ".join([names, "module:attribute", *kind.forms])


def guarded(
    action: Callable[[], _T], doing: str, kind: Kind, *, where: str, folder: Path | None = None
) -> _T:
    """Run a piece of user code; whatever it raises becomes a :class:`DriverError` without a traceback.

    Parameters
    ----------
    action : callable
        Called without arguments.
    doing : str
        What is being done, for the error: ``importing 'x'``.
    kind : Kind
        What is looked for.
    where : str
        The place of the name, for errors.
    folder : Path, optional
        Folder of user code: the error names the innermost line in it.

    Raises
    ------
    DriverError
        With the type and the message of the exception, and the line of user code. ``SystemExit`` is caught
        too; ``KeyboardInterrupt`` and the errors of this package pass.
    """
    try:
        return action()
    except (KeyboardInterrupt, StudyError):
        raise
    except BaseException as error:
        reason = str(error).strip().partition("\n")[0][:_LONGEST_REASON]
        said = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        place = _place(error, folder)
        raise DriverError(
            f"{doing} raised {said}{f' at {place}' if place else ''}",
            where=where,
            next_step=f"import the module of the {kind.word} in a Python shell to see more",
        ) from None


def source_digest(file: Path, where: str) -> str:
    """Return the SHA-256 of a source file that was imported.

    Raises
    ------
    DriverError
        When the file changed after this process first asked, since the imported code is the older one.
    """
    now = digest_file(file)
    if _digest_at_import.setdefault(file, now) != now:
        raise DriverError(
            f"{file} changed after this process imported it",
            where=where,
            next_step="start a new process (in a notebook: restart the kernel)",
        )
    return now


def _entry_points(kind: Kind) -> dict[str, set[str]]:
    from importlib.metadata import entry_points  # its import costs more than a whole load of a built-in

    known: dict[str, set[str]] = {}
    for point in entry_points(group=kind.group):
        known.setdefault(point.name, set()).add(point.value.partition("[")[0].strip())
    return known


def _registered(name: str, kind: Kind, where: str) -> str:
    if name in kind.builtin:
        return kind.builtin[name]
    known = _entry_points(kind)
    values = sorted(known.get(name, ()))
    if len(values) == 1:
        if _REFERENCE.fullmatch(values[0]):
            return values[0]
        raise DriverError(
            f"the entry point {name!r} of {kind.group} is {values[0]!r}",
            where=where,
            allowed="module:attribute",
        )
    if values:
        raise DriverError(
            f"the name {name!r} is registered by several distributions: {listed(values)}",
            where=where,
            next_step="name the one that is meant as module:attribute",
        )
    hint = did_you_mean(name, {*kind.builtin, *known})
    raise DriverError(f"unknown {kind.word} {name!r}{hint}", where=where, allowed=name_forms(kind))


def _import(module_name: str, kind: Kind, where: str, folder: Path | None) -> ModuleType:
    if folder is not None:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        importlib.invalidate_caches()
        _refuse_hidden(module_name.partition(".")[0], module_name, where, folder)
    doing = f"importing {module_name!r}"
    found = guarded(lambda: _import_or_missing(module_name), doing, kind, where=where, folder=folder)
    if found is None:
        raise _missing(module_name, kind, where, folder)
    if folder is not None:
        _refuse_hidden(module_name, module_name, where, folder)
    return found


def _import_or_missing(module_name: str) -> ModuleType | None:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            return None
        raise


def _missing(module_name: str, kind: Kind, where: str, folder: Path | None) -> DriverError:
    beside = sorted(p.stem for p in folder.glob("*.py")) if folder else []
    step = None
    if module_name.endswith(".py"):
        step = f"leave out the ending: {module_name.removesuffix('.py')}:..."
    return DriverError(
        f"there is no module {module_name!r}{did_you_mean(module_name, beside)}",
        where=where,
        allowed=f"an installed module{f', or one in {folder}' if folder else ''}",
        next_step=step or f"check the spelling of the {kind.word}, or install the module",
    )


def _file_in(folder: Path, module_name: str) -> Path | None:
    base = folder.joinpath(*module_name.split("."))
    candidates = (base / "__init__.py", base.parent / f"{base.name}.py")
    return next((path for path in candidates if path.is_file()), None)


def _refuse_hidden(part: str, module_name: str, where: str, folder: Path) -> None:
    """Refuse when user code has the module, but ``part`` of its dotted name comes from elsewhere."""
    wanted = _file_in(folder, module_name)
    if wanted is None:
        return
    own, origin = _file_in(folder, part), _origin(part)
    if own is None and origin is None:  # namespace packages of several folders are one package
        return
    if own is not None and origin is not None and own.resolve() == Path(origin).resolve():
        return
    raise DriverError(
        f"the module name {part!r} is taken: {origin or 'an imported package'} comes before {wanted}",
        where=where,
        allowed="a module name that is neither installed nor already imported from another folder",
        next_step=f"rename {wanted.relative_to(folder).parts[0]} in {folder}",
    )


def _origin(module_name: str) -> str | None:
    loaded = sys.modules.get(module_name)
    if loaded is None:
        spec = importlib.util.find_spec(module_name)
        return spec.origin if spec else None
    spec = getattr(loaded, "__spec__", None)
    return spec.origin if spec else getattr(loaded, "__file__", None)


def _attribute(
    owner: object, part: str, module: ModuleType, kind: Kind, where: str, folder: Path | None
) -> object:
    missing = object()
    doing = f"reading {part!r} of {module.__name__!r}"
    found = guarded(lambda: getattr(owner, part, missing), doing, kind, where=where, folder=folder)
    if found is not missing:
        return found
    public = [n for n, value in vars(module).items() if n[0] != "_" and _made_in(value, module)]
    raise DriverError(
        f"{module.__name__!r} has no {part!r}{did_you_mean(part, public)}",
        where=where,
        allowed=listed(sorted(public)) or f"a callable of {module.__name__}",
    )


def _made_in(value: object, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _place(error: BaseException, folder: Path | None) -> str:
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}:{error.lineno}"
    skipped = {__file__, importlib.__file__}
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename not in skipped and not frame.f_code.co_filename.startswith("<frozen")
    ]
    own = [(file, line) for file, line in lines if folder and _is_user_code(Path(file), folder)]
    chosen = own[-1:] or lines[:1]
    return f"{chosen[0][0]}:{chosen[0][1]}" if chosen else ""


def _is_user_code(file: Path, folder: Path) -> bool:
    return file.resolve().is_relative_to(folder) and "site-packages" not in file.parts


def loaded_sources(folder: Path) -> dict[str, str]:
    """Return the user's own source files that this process has imported.

    Parameters
    ----------
    folder : Path
        The folder of user code, normally that of the protocol.

    Returns
    -------
    dict of str to str
        Path relative to the folder -> SHA-256, sorted. Installed packages and this one are left out; what a
        driver imports only later, while it runs, is not seen.
    """
    root = folder.resolve()
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in ("study", "analysis") or not isinstance(file, str):
            continue
        path = Path(file).resolve()
        if path.is_relative_to(root) and path.is_file() and not _INSTALLED & set(path.parts):
            found[path.relative_to(root).as_posix()] = digest_file(path)
    return dict(sorted(found.items()))
