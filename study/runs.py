"""The folder of a run: the names in it, its stamp, and the manifest that seals it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from study.digest import JSON, digest, digest_file, is_object, pretty, read_json_file
from study.errors import InputError, RunError

STAMP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MANIFEST_SCHEMA = 1


class RunFolder:
    """Paths inside ``runs/<study>/<stamp>/``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = path / "lock.json"
        self.inputs = path / "inputs"
        self.journal = path / "journal.jsonl"
        self.product = path / "product.jsonl"
        self.environment = path / "environment.json"
        self.deviations = path / "deviations.jsonl"
        self.results = path / "results.json"
        self.report_html = path / "report.html"
        self.report_md = path / "report.md"
        self.figures = path / "figures"
        self.manifest = path / "manifest.json"
        self.stuck = path / "stuck"

    @property
    def sealed(self) -> bool:
        """Whether the run is finished: its manifest is written last."""
        return self.manifest.exists()


GOES_ON = ": it goes on from here; in another place (--out DIR) it begins anew"
ELSEWHERE = ", or choose another place"


@contextmanager
def writing(path: Path, *, again: str = GOES_ON) -> Generator[None]:
    """Turn an operating-system error while writing below ``path`` into a clear one.

    ``again`` says what comes of repeating the command.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(
            f"cannot write: {reason}",
            code="write",
            where=str(error.filename or path),
            next_step=f"{advice(error)} and repeat the command{again}",
        ) from None


_ADVICE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within the quota of this user",
    errno.EFBIG: "raise the limit on the size of a file (`ulimit -f`)",
    errno.EROFS: "make the file system writable again",
    errno.EIO: "check the disk: it reports errors",
    errno.EBADF: "a driver closed files of this process: use --executor process",
    errno.EACCES: "make the place writable for this user",
}


def advice(error: OSError) -> str:
    """Return what helps against an error of the operating system."""
    return _ADVICE.get(error.errno or 0, "mend that")


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable: fsync of a new file does not keep its name."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes | Iterable[bytes], *, again: str = GOES_ON) -> None:
    """Write a file as a whole and durably: a reader sees the old bytes or the new ones, never a part.

    ``data`` may be its lines; ``again`` is for the error (see :func:`writing`).

    Raises
    ------
    RunError
        When the place cannot be written.
    """
    temporary = path.with_name(f".{path.name}.part")
    with writing(path, again=again):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.writelines([data] if isinstance(data, bytes) else data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        fsync_folder(path.parent)


def check_stamp(stamp: str) -> str:
    """Return a stamp that is safe as a folder name.

    Raises
    ------
    InputError
        For any other text.
    """
    if not STAMP.fullmatch(stamp):
        raise InputError(
            f"stamp {stamp!r}",
            where="--stamp",
            allowed="letters, digits, dot, underscore, hyphen; at most 100",
        )
    return stamp


def series(base: Path, stamp: str) -> list[Path]:
    """Return the existing folders ``<stamp>, <stamp>_001, ...`` in order."""
    found = [base / stamp] if (base / stamp).exists() else []
    numbered = re.compile(re.escape(stamp) + r"_\d{3,}")
    if base.is_dir():
        found += sorted(
            (p for p in base.iterdir() if numbered.fullmatch(p.name)),
            key=lambda p: int(p.name.rpartition("_")[2]),
        )
    return found


def next_in_series(base: Path, stamp: str) -> Path:
    """Return the first folder of the series that does not exist."""
    existing = series(base, stamp)
    if not existing:
        return base / stamp
    last = existing[-1].name
    number = 0 if last == stamp else int(last.rpartition("_")[2])
    return base / f"{stamp}_{number + 1:03d}"


def find_run(path: Path) -> RunFolder:
    """Return the run at a path.

    Raises
    ------
    InputError
        When there is no run folder at that place.
    """
    folder = RunFolder(path)
    if not folder.journal.is_file() or not folder.lock.is_file():
        raise InputError(
            "not a run folder (it has no journal.jsonl and lock.json)",
            where=str(path),
            next_step="name a folder runs/<study>/<stamp> that `study run` wrote",
        )
    return folder


def _sealed_files(folder: RunFolder) -> list[Path]:
    files = (p for p in folder.path.rglob("*") if p.is_file() and p != folder.manifest)
    return sorted(files, key=lambda p: p.relative_to(folder.path).as_posix())


def _strangers(folder: RunFolder) -> list[str]:
    """Return what a run never writes: links, and folders without a file in them."""
    names: list[str] = []
    for path in folder.path.rglob("*"):
        empty = path.is_dir() and not any(inner.is_file() for inner in path.rglob("*"))
        if path.is_symlink() or empty:
            names.append(path.relative_to(folder.path).as_posix())
    return sorted(names)


def write_manifest(folder: RunFolder) -> None:
    """Seal a run: write the SHA-256 of every file in it, and of that list itself."""
    files = {p.relative_to(folder.path).as_posix(): digest_file(p) for p in _sealed_files(folder)}
    manifest = {"schema": MANIFEST_SCHEMA, "files": files, "digest": digest(files)}
    write_file(folder.manifest, pretty(manifest))


def check_manifest(folder: RunFolder) -> list[str]:
    """Return one line for each file that is not as it was sealed; the manifest itself included."""
    try:
        manifest: JSON = read_json_file(folder.manifest, "manifest")
    except InputError as error:
        return [f"manifest.json was changed: {error.problem}"]
    files = manifest.get("files") if is_object(manifest) else None
    intact = is_object(files) and manifest == {
        "schema": MANIFEST_SCHEMA,
        "files": files,
        "digest": digest(files),
    }
    if not is_object(files) or not intact or folder.manifest.read_bytes() != pretty(manifest):
        return ["manifest.json was changed: it does not match its own digest"]
    present = {p.relative_to(folder.path).as_posix(): p for p in _sealed_files(folder)}
    found = [f"{name} is missing" for name in files if name not in present]
    found += [f"{name} was added after the run was sealed" for name in present if name not in files]
    found += [
        f"{name} was added after the run was sealed" for name in _strangers(folder) if name not in present
    ]
    found += [f"{name} is a link" for name in _strangers(folder) if name in present and name in files]
    found += [
        f"{name} was changed after the run was sealed"
        for name, path in present.items()
        if name in files and digest_file(path) != files[name]
    ]
    return found
