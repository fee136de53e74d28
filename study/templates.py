"""Request templates: what is left of a request when its entity names are masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from study.binding import as_text
from study.digest import is_list, is_object, sha256

PLACEHOLDER = "<name>"
_MARK = "\0"
"""Stands for the placeholder while masking goes on: no part of any token, label or quotation."""

_QUOTED = re.compile(
    r"`[^`]+`|\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|(?<!\w)'[^']+'(?!\w)|(?<!\w)‘[^’]+’(?!\w)"
)
_TOKEN = re.compile(r"[^\0\s,;!?(){}\[\]<>\"'`“”‘’«»]+")
_EDGE = ".:-"
_DIGESTS = 8


class Request(Protocol):
    """What masking needs of a case."""

    @property
    def request(self) -> str:
        """The request as written."""
        ...

    @property
    def expect(self) -> dict[str, Any]:
        """The expectation, whose pinned values are names."""
        ...

    @property
    def trace(self) -> tuple[dict[str, Any], ...] | None:
        """The observed calls of a recognition case."""
        ...


Masker = Callable[[Request], str]


def masker(labels: Iterable[str] | None = None) -> Masker:
    """Return the function that turns a request into its template.

    Parameters
    ----------
    labels : iterable of str, optional
        Labels of the graph. They and their dotted suffixes are names wherever they are whole tokens, in
        exactly this spelling.

    Returns
    -------
    callable
        Masks the values that the case pins (in any spelling), the labels, quoted spans and identifier-like
        tokens; then lower case, with runs of white space as one blank.
    """
    known, phrases = _split_names(suffix for label in labels or () for suffix in _suffixes(label))
    label_phrases = _phrase_pattern(phrases, ignore_case=False)

    def mask(case: Request) -> str:
        pinned, pinned_phrases = _split_names(pinned_values(case))
        folded = {name.casefold() for name in pinned}
        text = case.request
        for pattern in (_phrase_pattern(pinned_phrases, ignore_case=True), label_phrases, _QUOTED):
            text = pattern.sub(_MARK, text) if pattern is not None else text
        text = _TOKEN.sub(lambda match: _mask_token(match[0], known, folded), text)
        return " ".join(text.lower().split()).replace(_MARK, PLACEHOLDER)

    return mask


def _mask_token(token: str, known: set[str], folded: set[str]) -> str:
    core = token.strip(_EDGE)
    if not core or not (core in known or core.casefold() in folded or is_identifier(core)):
        return token
    return token.replace(core, _MARK, 1)


def is_identifier(token: str) -> bool:
    """Whether a token looks like a name: a dot, underscore, slash or digit, or a capital after the start."""
    if any(c in "._/\\" or c.isdigit() for c in token):
        return True
    return any(c.isupper() for c in token[1:])


def _suffixes(label: str) -> Iterator[str]:
    """Yield a label and what follows each of its dots: ``a.b.c``, ``b.c``, ``c``."""
    yield label
    while "." in label:
        _, _, label = label.partition(".")
        if label:
            yield label


def _split_names(names: Iterable[str]) -> tuple[set[str], set[str]]:
    """Separate names that are one token from those that need a search."""
    single: set[str] = set()
    phrases: set[str] = set()
    for name in names:
        core = name.strip()
        if _TOKEN.fullmatch(core) and core.strip(_EDGE) == core:
            single.add(core)
        elif core:
            phrases.add(core)
    return single, phrases


def _phrase_pattern(phrases: set[str], *, ignore_case: bool) -> re.Pattern[str] | None:
    if not phrases:
        return None
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    choices = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in longest_first)
    return re.compile(rf"(?<!\w)(?:{choices})(?!\w)", re.IGNORECASE if ignore_case else 0)


def pinned_values(case: Request) -> set[str]:
    """Return the argument values that a case pins, in its calls, candidates and trace, as text."""
    expect = case.expect
    calls: list[Any] = [*(case.trace or ())]
    for part in ("calls", "candidateResults"):
        entries = expect.get(part)
        calls += entries if is_list(entries) else []
    found: set[str] = set()
    for call in calls:
        for part in ("input", "accept"):
            values = call.get(part) if is_object(call) else None
            found.update(_leaves(list(values.values()) if is_object(values) else []))
    return {text for text in found if text}


def _leaves(values: list[Any]) -> Iterator[str]:
    stack = list(values)
    while stack:
        value = stack.pop()
        if is_list(value):
            stack += value
        elif is_object(value):
            stack += value.values()
        else:
            yield as_text(value)


def template_families(
    cases_by_task: Mapping[str, Sequence[Request]], labels: Iterable[str] | None = None
) -> dict[str, str]:
    """Group tasks that share a request template.

    Parameters
    ----------
    cases_by_task : mapping
        Task id -> its cases.
    labels : iterable of str, optional
        See :func:`masker`.

    Returns
    -------
    dict
        Task id -> family id, in the order given. Families are the connected components of tasks that share
        a template; the id is the start of the smallest digest of a template in it, so it depends neither
        on task names nor on order.

    Raises
    ------
    ValueError
        For a task without cases.
    """
    mask = masker(labels)
    for task, cases in cases_by_task.items():
        if not cases:
            raise ValueError(f"the task {task!r} has no cases")
    templates = {task: {sha256(mask(c).encode()) for c in cases} for task, cases in cases_by_task.items()}
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for digests in templates.values():
        first, *others = sorted(digests)
        for other in others:
            low, high = sorted((root(first), root(other)))
            parent[high] = low
    roots = {task: root(min(digests)) for task, digests in templates.items()}
    size = _shortest_unique(set(roots.values()))
    return {task: digest[:size] for task, digest in roots.items()}


def _shortest_unique(digests: set[str]) -> int:
    size = _DIGESTS
    while len({digest[:size] for digest in digests}) < len(digests):
        size += 1
    return size
