"""Quantiles in resamples of tasks, each evaluated exactly inside the window of its quantile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.quantiles.windows import Counts, Window, harrell_davis
from analysis.resampling import CHUNK_CELLS
from analysis.taskvalues import Floats

MOST_KINDS = 400
"""Most kinds of tasks without a time in any window that are drawn together."""


def window_draws(
    windows: Sequence[Window], resamples: int, rng: np.random.Generator, chunk_cells: int = CHUNK_CELLS
) -> Floats:
    """Return every quantile in each resample of the tasks, all from the same draws.

    Parameters
    ----------
    windows : sequence of Window
        Of arms with the same tasks.
    resamples : int
    rng : numpy.random.Generator
    chunk_cells : int
        Bounds the memory; the result does not depend on it.

    Returns
    -------
    ndarray of float, shape (len(windows), resamples)
        Seconds.

    Notes
    -----
    A task matters by the steps that it has below each window and by its times inside. Tasks without a time in
    any window are interchangeable when they have the same steps below all of them: how many of each such kind
    are drawn is multinomial, so that only the others are drawn one by one.
    """
    n_tasks = windows[0].arm.n_tasks
    rows, befores, sizes = _kinds(windows)
    whole = max(found.arm.unit for found in windows) * n_tasks
    dtype = np.int32 if whole < 2**30 else np.int64
    longest = max(len(befores), *(found.last - found.first for found in windows))
    result = np.empty((len(windows), resamples))
    done = 0
    for weights in _weights(sizes, n_tasks, resamples, rng, max(1, chunk_cells // (2 * longest))):
        end = done + weights.shape[1]
        # whole numbers below 2**53: the product is exact, whatever the order of its sums
        started = np.rint(befores.T @ weights.astype(np.float64)).astype(np.int64)
        narrow = weights.astype(dtype)
        for n, found in enumerate(windows):
            result[n, done:end] = harrell_davis(found, rows, started[n], narrow)
        done = end
    return result


def _kinds(windows: Sequence[Window]) -> tuple[Counts, Floats, NDArray[np.int64]]:
    """Return the row of each task, the steps of each row below the windows, and the tasks of each kind.

    The first rows are tasks that are drawn one by one, the last ones kinds of several tasks.
    """
    n_tasks = windows[0].arm.n_tasks
    befores = np.column_stack([found.before for found in windows])
    single = np.zeros(n_tasks, dtype=bool)
    for found in windows:
        single[found.arm.task[found.first : found.last]] = True
    kinds, sizes = np.unique(befores[~single], axis=0, return_counts=True)
    if len(kinds) > min(MOST_KINDS, np.count_nonzero(~single) / 4):
        return np.arange(n_tasks), befores, np.zeros(0, dtype=np.int64)
    rows = np.cumsum(single) - 1
    return rows, np.concatenate((befores[single], kinds)), sizes.astype(np.int64)


def _weights(
    sizes: NDArray[np.int64], n_tasks: int, resamples: int, rng: np.random.Generator, block: int
) -> Iterator[NDArray[np.int64]]:
    """Yield how often each row is drawn, shape (n_rows, block): single tasks, then kinds.

    The kinds of all resamples are drawn first, so that the draws do not depend on the block.
    """
    n_single = n_tasks - int(sizes.sum())
    shares = np.append(sizes, n_single) / n_tasks
    kinds = rng.multinomial(n_tasks, shares, size=resamples) if len(sizes) else None
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        left = np.full(size, n_tasks) if kinds is None else kinds[start : start + size, -1]
        drawn = rng.integers(max(n_single, 1), size=int(left.sum()), dtype=np.uint32).astype(np.int64)
        drawn *= size
        drawn += np.repeat(np.arange(size), left)
        single = np.bincount(drawn, minlength=n_single * size).reshape(n_single, size)
        yield single if kinds is None else np.concatenate((single, kinds[start : start + size, :-1].T))
