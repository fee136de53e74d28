"""Sealed cases: an id, once sealed, keeps its digest for ever."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from study.cases import SUITE_FILE, Suite, load_suite
from study.digest import read_bytes
from study.errors import SuiteError
from study.lint.findings import Finding


def seal_findings(suite: Suite) -> Iterator[Finding]:
    """Yield an error for each sealed case that changed or went, a warning for each that is not sealed."""
    digests = {case.id: case.digest for case in suite.cases}
    cases_file, suite_file = suite.folder / suite.file.cases, suite.folder / SUITE_FILE
    for case, sealed in suite.file.sealed.items():
        if case not in digests:
            text = "the case was sealed and is gone; sealed cases are never removed"
            yield Finding(where=f"{suite_file}:sealed.{case}", code="sealed-removed", text=text)
        elif digests[case] != sealed:
            text = f"the case was sealed as {sealed[:12]} and is now {digests[case][:12]}; give it a new id"
            yield Finding(where=f"{cases_file}:{case}", code="sealed-changed", text=text)
    for case in digests:
        if case not in suite.file.sealed:
            text = "the case is not sealed yet"
            yield Finding(where=f"{cases_file}:{case}", code="unsealed", text=text, level="warning")


def sealed_lines(suite: Suite) -> list[str]:
    """Return the lines of TOML to append at the end of ``suite.toml``: the ids that are not sealed yet.

    The first line is the header of the table when the file has none. Empty when everything is sealed.
    """
    fresh = [case for case in suite.cases if case.id not in suite.file.sealed]
    header = [] if suite.file.sealed or not fresh else ["[sealed]"]
    return header + [f"{_quoted(case.id)} = {_quoted(case.digest)}" for case in fresh]


def _quoted(text: str) -> str:
    """Return a basic string of TOML, which must escape DEL beyond what JSON escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def seal(folder: Path) -> int:
    """Append the ids that are not sealed yet to ``suite.toml``; return how many.

    Parameters
    ----------
    folder : Path
        The folder of the suite. ``[sealed]`` must be the last table of its file.

    Raises
    ------
    SuiteError
        When a sealed case changed or went, or the appended lines would not end up in ``[sealed]``. Nothing
        is written then.
    """
    suite = load_suite(folder)
    path = folder / SUITE_FILE
    for finding in seal_findings(suite):
        if finding.level == "error":
            raise SuiteError(finding.text, code=finding.code, where=finding.where)
    lines = sealed_lines(suite)
    if not lines:
        return 0
    data = read_bytes(path, "suite file")
    has_table = "sealed" in tomllib.loads(data.decode("utf-8"))
    new = [line for line in lines if line != "[sealed]" or not has_table]
    separator = b"" if data.endswith(b"\n") else b"\n"
    separator += b"" if has_table else b"\n"
    addition = separator + "".join(f"{line}\n" for line in new).encode("utf-8")
    _check_addition(data, addition, suite, path)
    with path.open("ab") as stream:
        stream.write(addition)
    return len([line for line in lines if line != "[sealed]"])


def _check_addition(data: bytes, addition: bytes, suite: Suite, path: Path) -> None:
    """Refuse lines that would not extend the sealed table and nothing else."""
    before = tomllib.loads(data.decode("utf-8"))
    wanted = {**before, "sealed": {**suite.file.sealed, **{c.id: c.digest for c in suite.cases}}}
    try:
        after = tomllib.loads((data + addition).decode("utf-8"))
    except tomllib.TOMLDecodeError:
        after = None
    if after != wanted:
        raise SuiteError(
            "the ids to seal cannot be appended to the file",
            where=str(path),
            allowed="[sealed] as the last table of the file, one line an id",
            next_step="move the [sealed] table to the end of the file",
        )
