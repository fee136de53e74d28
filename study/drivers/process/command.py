"""The name of a process driver: a command line, and the files that it names."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from study.digest import digest, digest_file
from study.errors import DriverError
from study.records import Record

PREFIX = "process:"
_FORM = "process: and a command line, such as process:node agent.mjs"


class Command(Record):
    """What ``process:COMMAND`` stands for.

    Attributes
    ----------
    name : str
        As written.
    words : tuple of str
        Program and arguments.
    folder : Path
        The working directory of the child.
    files : tuple of Path
        The files that the words name, in their order; see :func:`parse_command`.
    digest : str or None
        SHA-256 over the contents of these files, None without any.
    """

    name: str
    words: tuple[str, ...]
    folder: Path
    files: tuple[Path, ...]
    digest: str | None

    @property
    def main_file(self) -> Path | None:
        """The first file that is an argument, else the program if it is given by its path."""
        program = self.folder / self.words[0]
        return next((file for file in self.files if file != program), self.files[0] if self.files else None)


def parse_command(name: str, *, where: str, search: Path | None = None) -> Command:
    """Read the name of a process driver.

    Parameters
    ----------
    name : str
        ``process:`` and a command line, split into words as a shell does it; nothing in it is expanded.
    where : str
        The place of the name, for errors.
    search : Path, optional
        The working directory of the child, normally the protocol's folder. Default: the current one.

    Returns
    -------
    Command
        Its files are the words, and what stands behind the first ``=`` of a word, that are paths of existing
        files, absolute or from the working directory. A program found through ``PATH`` is none of them.

    Raises
    ------
    DriverError
        For a command line that cannot be split, an unknown program, and a file that cannot be read.
    """
    folder = (search or Path.cwd()).resolve()
    try:
        words = shlex.split(name.removeprefix(PREFIX))
    except ValueError as error:
        problem = f"{name!r} cannot be split into words: {str(error).lower()}"
        raise DriverError(problem, where=where, allowed=_FORM) from None
    if not words or not words[0] or "\0" in name:
        raise DriverError(f"{name!r} holds no command", where=where, allowed=_FORM)
    _check_program(words[0], folder, where)
    files = tuple(_files(words, folder))
    return Command(
        name=name, words=tuple(words), folder=folder, files=files, digest=files_digest(files, where)
    )


def _check_program(program: str, folder: Path, where: str) -> None:
    found = shutil.which(str(folder / program) if "/" in program else program)
    if found is not None:
        return
    step = None
    if (folder / program).is_file():
        step = f"make the file executable: chmod +x {shlex.quote(program)}"
        if "/" not in program:
            step = f"write ./{program} for the file in {folder}"
    raise DriverError(
        f"there is no program {program!r}",
        where=where,
        allowed=f"a program on the PATH, or the path of an executable file (from {folder})",
        next_step=step,
    )


def _files(words: Sequence[str], folder: Path) -> list[Path]:
    found: dict[Path, None] = {}
    for n, word in enumerate(words):
        if n == 0 and "/" not in word:
            continue
        for candidate in (word, word.partition("=")[2]):
            if candidate and os.path.isfile(folder / candidate):  # also false for what can be no path
                found[folder / candidate] = None
    return list(found)


def files_digest(files: Sequence[Path], where: str) -> str | None:
    """Return the SHA-256 over the contents of files, in their order; None without any.

    Raises
    ------
    DriverError
        For a file that cannot be read.
    """
    try:
        return digest([digest_file(file) for file in files]) if files else None
    except OSError as error:
        raise DriverError(f"cannot read {error.filename}: {error.strerror}", where=where) from None
