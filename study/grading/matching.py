"""Expected calls against produced calls: by position, in any order, or as sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from study.binding import shown
from study.digest import is_list, is_object
from study.errors import SuiteError
from study.grading.values import MISSING, Comparison, Equal, equal_to

Entry = tuple[Any, Any]
"""One call: its name, and its arguments as given."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,80}")
_CALL = '{"name": TOOL, "input": {...}, "accept": {ARG: [VALUES]}, "omit": [ARGS]}'


def entries_of(calls: Any) -> list[Entry] | None:
    """Return the calls of a report as ``(name, input)``, or None when that is no list.

    A call object holds a name and an input. Any further key but a call ``id`` is an entry of its own, so
    that a second call cannot hide inside the first; what is no object at all is a call without a name.
    """
    if calls.__class__ is not list:
        return None
    entries: list[Entry] = []
    for call in calls:
        if call.__class__ is not dict:
            entries.append((None, {}))
            continue
        entries.append((call.get("name"), call.get("input")))
        if len(call) > 2:
            entries += ((k, v) for k, v in call.items() if k not in ("name", "input", "id"))
    return entries


def arguments_of(value: Any) -> dict[str, Any]:
    """Return the arguments of a call; whatever is no object counts as empty."""
    return value if is_object(value) else {}


class CallPattern:
    """One expected call, compiled.

    Parameters
    ----------
    expected : dict
        ``name`` and the pinned ``input``; ``accept`` lists further values of an argument that are as good
        as the pinned one, ``omit`` the arguments that may be left out.
    comparison : Comparison
    where : str
        The place to name in errors.

    Raises
    ------
    SuiteError
        When the expected call has another form.
    """

    __slots__ = ("_pinned", "input", "name", "variants")

    def __init__(self, expected: Any, comparison: Comparison, where: str) -> None:
        self.name, self.input, accept, omit = _parts(expected, where)
        self.variants: dict[str, list[Any]] = {
            arg: ([self.input[arg]] if arg in self.input else []) + accept.get(arg, [])
            for arg in {**self.input, **accept}
        }
        self.variants |= {arg: [*self.variants.get(arg, []), MISSING] for arg in omit}
        self._pinned = tuple(self._test(arg, comparison) for arg in self.variants)

    def _test(self, arg: str, comparison: Comparison) -> tuple[str, Equal, Any]:
        values = [value for value in self.variants[arg] if value is not MISSING]
        rule = comparison.rule(self.name, arg)
        equal = equal_to(values, rule)
        if len(values) == len(self.variants[arg]):
            return arg, equal, comparison.default(self.name, arg)
        absent: Equal = _is_missing if rule.typed else equal_to([""], rule)
        return arg, lambda v: absent(v) or equal(v), MISSING

    def matches(self, name: Any, arguments: Any) -> bool:
        """Whether a produced call has this name and every pinned value; further arguments are allowed."""
        if name != self.name:
            return False
        if arguments.__class__ is not dict:
            arguments = {}
        for arg, equal, default in self._pinned:  # noqa: SIM110 - a generator doubles the cost
            if not equal(arguments.get(arg, default)):
                return False
        return True


def _is_missing(value: Any) -> bool:
    return value is MISSING


def _parts(expected: Any, where: str) -> tuple[str, dict[str, Any], dict[str, list[Any]], list[str]]:
    if is_object(expected) and isinstance(expected.get("name"), str):
        given: Any = expected.get("input")
        given = {} if given is None else given
        accept, omit = expected.get("accept", {}), expected.get("omit", [])
        objects = is_object(given) and is_object(accept) and is_list(omit)
        if objects and all(is_list(values) and values for values in accept.values()):
            strange = [arg for arg in omit if not isinstance(arg, str) or arg not in {**given, **accept}]
            if not strange:
                return expected["name"], given, accept, omit
            raise SuiteError(
                f"omit names {shown(strange[0])}, which is not pinned", where=where, allowed=_CALL
            )
    raise SuiteError(f"{shown(expected)} is no expected call", where=where, allowed=_CALL)


def match_in_order(patterns: Sequence[CallPattern], entries: Sequence[Entry]) -> bool:
    """Whether there are as many calls as patterns and each matches at its own position."""
    if len(patterns) != len(entries):
        return False
    for n, pattern in enumerate(patterns):  # noqa: SIM110 - a generator doubles the cost
        if not pattern.matches(*entries[n]):
            return False
    return True


def match_unordered(patterns: Sequence[CallPattern], entries: Sequence[Entry]) -> bool:
    """Whether calls and patterns can be paired off one to one, in any order."""
    if len(patterns) != len(entries):
        return False
    edges = [[n for n, entry in enumerate(entries) if pattern.matches(*entry)] for pattern in patterns]
    return has_perfect_matching(edges)


def has_perfect_matching(edges: Sequence[Sequence[int]]) -> bool:
    """Whether every left node of a bipartite graph gets a right node of its own.

    Parameters
    ----------
    edges : sequence of sequences of int
        For each left node the right nodes it may take.

    Notes
    -----
    Augmenting paths found breadth first (Berge 1957, doi:10.1073/pnas.43.9.842); no recursion.
    """
    left_of: dict[int, int] = {}
    right_of: dict[int, int] = {}
    return all(_augment(start, edges, left_of, right_of) for start in range(len(edges)))


def _augment(
    start: int, edges: Sequence[Sequence[int]], left_of: dict[int, int], right_of: dict[int, int]
) -> bool:
    reached_from: dict[int, int] = {}
    queue = [start]
    for left in queue:
        for right in edges[left]:
            if right in reached_from:
                continue
            reached_from[right] = left
            if right in left_of:
                queue.append(left_of[right])
                continue
            _flip(right, reached_from, left_of, right_of)
            return True
    return False


def _flip(
    right: int, reached_from: dict[int, int], left_of: dict[int, int], right_of: dict[int, int]
) -> None:
    """Swap free and taken edges along the path that ends in a free right node."""
    while True:
        left = reached_from[right]
        previous = right_of.get(left)
        left_of[right], right_of[left] = left, right
        if previous is None:
            return
        right = previous


class CallSet:
    """A set of expected calls that are compared in full: every argument, no order, no repetition.

    Raises
    ------
    SuiteError
        For an empty set, or a malformed call.
    """

    __slots__ = ("_comparison", "_patterns")

    def __init__(self, expected: Sequence[Any], comparison: Comparison, where: str) -> None:
        if not expected:
            raise SuiteError("an empty set of calls", where=where, allowed="at least one call")
        self._comparison = comparison
        self._patterns = [CallPattern(call, comparison, f"{where}[{n}]") for n, call in enumerate(expected)]

    def equals(self, entries: Sequence[Entry]) -> bool:
        """Whether each expected call was produced and each produced call was expected."""
        hits = [[self._same(p, name, given) for name, given in entries] for p in self._patterns]
        return all(any(row) for row in hits) and all(any(column) for column in zip(*hits, strict=True))

    def _same(self, pattern: CallPattern, name: Any, given: Any) -> bool:
        if not pattern.matches(name, given):
            return False
        unexpected = {k: v for k, v in arguments_of(given).items() if k not in pattern.input}
        nothing = self._comparison.input_key(name, {})
        return not unexpected or self._comparison.input_key(name, unexpected) == nothing


def shown_calls(entries: Sequence[Entry], limit: int = 400) -> str:
    """Return calls for prose, at most ``limit`` characters."""
    texts: list[str] = []
    for name, arguments in entries:
        if sum(map(len, texts)) > limit:
            break
        label = name if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) else shown(name)
        texts.append(label + shown({} if arguments is None else arguments))
    text = f"[{', '.join(texts)}]"
    return text if len(text) <= limit else text[: limit - 3] + "..."
