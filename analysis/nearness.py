"""Tasks whose requests nearly agree, and which therefore are not independent evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from analysis import formatting
from analysis.results import Diagnostic
from analysis.table import RunTable
from study.templates import PLACEHOLDER

NEAR = 0.8
"""Share of the words of two templates that both hold (Jaccard) from which they nearly agree."""

MOST_TEMPLATES = 5000
"""Templates beyond which only those that agree entirely are looked for."""

THRESHOLD = f"two tasks share a template, or {round(100 * NEAR)} % of its words"

_ROWS = 500
_ROUNDING = 1e-9


def nearness_diagnostic(table: RunTable) -> Diagnostic:
    """Return how many groups the tasks form, when tasks whose requests nearly agree belong together.

    Two tasks belong together when the lock has them in one template family, or when some masked requests
    of theirs (:func:`study.templates.masker`) share at least 80 % of their words. Without requests, as in
    a table from elsewhere, nothing is known.
    """
    families = dict(table.frame.select("task_id", "template_family").unique().sort("task_id").iter_rows())
    tasks = list(families)
    if not table.templates:
        return _diagnostic(None, len(tasks), "not_computed", "the requests of the tasks are not known")
    groups = _groups(tasks, families, table.templates)
    sizes = np.bincount(groups)
    n_families = len(set(families.values()))
    if len(sizes) == len(tasks):
        return _diagnostic(len(sizes), len(tasks), "ok", "no two tasks have requests that nearly agree")
    largest = int(sizes.argmax())
    shown = [task for task, group in zip(tasks, groups, strict=True) if group == largest]
    counted = formatting.counted(len(sizes), "group")
    in_largest = formatting.counted(int(sizes[largest]), "task")
    told = (
        f"{len(tasks)} tasks form {counted} of requests that nearly agree ({n_families} template "
        f"families); the largest has {in_largest} ({', '.join(shown[:3])}"
        f"{', ...' if len(shown) > 3 else ''}). Intervals take tasks as independent: within a group they may "
        "not be"
    )
    return _diagnostic(len(sizes), len(tasks), "noticed", told)


def near_pairs(templates: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i < j, of templates of which at least 80 % of the words are shared.

    Placeholders of names are no words; a template without any other word is near nothing.
    """
    words: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for n, template in enumerate(templates):
        for word in {part.strip(".,;:!?") for part in template.replace(PLACEHOLDER, " ").split()} - {""}:
            rows.append(n)
            columns.append(words.setdefault(word, len(words)))
    shape = (len(templates), max(len(words), 1))
    holds = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    sizes = np.asarray(holds.sum(axis=1))
    found: list[tuple[int, int]] = []
    for start in range(0, len(templates), _ROWS):
        shared = sparse.coo_array(holds[start : start + _ROWS] @ holds.T)
        left, right = shared.row + start, shared.col
        union = sizes[left] + sizes[right] - shared.data
        near = (left < right) & (shared.data >= NEAR * union - _ROUNDING)
        found.extend(zip(left[near].tolist(), right[near].tolist(), strict=True))
    return found


def _groups(
    tasks: Sequence[str], families: Mapping[str, str], templates: Mapping[str, Sequence[str]]
) -> list[int]:
    """Return the number of the group of each task: connected components over families and templates."""
    nodes: dict[tuple[str, str], int] = {}
    edges: list[tuple[int, int]] = []
    for n, task in enumerate(tasks):
        keys = [("family", families[task]), *(("template", text) for text in templates.get(task, ()))]
        edges += [(n, len(tasks) + nodes.setdefault(key, len(nodes))) for key in keys]
    texts = [(text, node) for (kind, text), node in nodes.items() if kind == "template"]
    if len(texts) <= MOST_TEMPLATES:
        numbers = [len(tasks) + node for _, node in texts]
        edges += [(numbers[i], numbers[j]) for i, j in near_pairs([text for text, _ in texts])]
    size = len(tasks) + len(nodes)
    left, right = np.array(edges).T
    graph = sparse.coo_array((np.ones(len(edges)), (left, right)), shape=(size, size))
    _, labels = csgraph.connected_components(graph, directed=False)
    return np.unique(labels[: len(tasks)], return_inverse=True)[1].tolist()


def _diagnostic(value: int | None, n_tasks: int, status: str, sentence: str) -> Diagnostic:
    return Diagnostic(
        name="near_duplicate_tasks",
        endpoint=None,
        arm=None,
        value=None if value is None else float(value),
        unit="groups",
        interval=None,
        threshold=THRESHOLD,
        n_tasks=n_tasks,
        status=status,  # pyright: ignore[reportArgumentType]
        sentence=sentence,
    )
