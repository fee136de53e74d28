"""Cluster resampling as weights: how often a resample of whole tasks holds each task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analysis.taskvalues import Floats
from study.errors import InputError

CHUNK_CELLS = 2**19
"""Most weights that are held at a time."""


def generator(rng: int | np.random.Generator) -> np.random.Generator:
    """Return a generator: the one given, or PCG64 of a seed that is not negative.

    Raises
    ------
    InputError
        For anything else; there is no global state to fall back on.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"rng = {rng!r}", code="array", where="rng", allowed="an integer from 0, or a numpy Generator"
        )
    return np.random.default_rng(int(rng))


def task_weights(
    counts: NDArray[np.int64], resamples: int, rng: np.random.Generator, chunk_cells: int = CHUNK_CELLS
) -> Iterator[NDArray[np.int64]]:
    """Yield resamples of tasks as weights, in blocks of bounded size.

    Parameters
    ----------
    counts : ndarray of int, shape (n_kinds,)
        Tasks of each kind; all ones when every task is a kind of its own.
    resamples : int
        Number of resamples in all.
    rng : numpy.random.Generator
        The resamples are the same for any block size.
    chunk_cells : int
        Largest number of draws or weights of one block.

    Yields
    ------
    ndarray of int, shape (block, n_kinds)
        How many of the T resampled tasks are of each kind; each row sums to T.

    Notes
    -----
    A resample draws T tasks with replacement. Tasks of one kind are interchangeable, so the number of
    each kind is multinomial: with few kinds one multinomial draw stands for T draws of tasks.
    """
    n_tasks, kinds = int(counts.sum()), len(counts)
    few_kinds = 4 * kinds <= n_tasks
    kind_of = np.repeat(np.arange(kinds), counts)
    block = max(1, chunk_cells // (kinds if few_kinds else n_tasks))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        if few_kinds:
            yield rng.multinomial(n_tasks, counts / n_tasks, size=size)
        else:
            drawn = kind_of[rng.integers(n_tasks, size=(size, n_tasks))]
            drawn += kinds * np.arange(size)[:, None]
            yield np.bincount(drawn.ravel(), minlength=size * kinds).reshape(size, kinds)


def resampled_means(
    values: Floats, resamples: int, rng: np.random.Generator, chunk_cells: int = CHUNK_CELLS
) -> Floats:
    """Return the mean of each resample of the tasks.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        One value a task.
    resamples, rng, chunk_cells
        See :func:`task_weights`.

    Returns
    -------
    ndarray of float, shape (resamples,)
    """
    kinds, counts = np.unique(values, return_counts=True)
    blocks = task_weights(counts.astype(np.int64), resamples, rng, chunk_cells)
    # summed row by row: a matrix product rounds differently for different block sizes
    return np.concatenate([(block * kinds).sum(axis=1) for block in blocks]) / len(values)


def resampled_moments(
    values: Floats, resamples: int, rng: np.random.Generator, chunk_cells: int = CHUNK_CELLS
) -> tuple[Floats, Floats]:
    """Return the mean and the standard deviation of each resample of the tasks.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        One value a task; at least two.
    resamples, rng, chunk_cells
        See :func:`task_weights`. The resamples are those of :func:`resampled_means`.

    Returns
    -------
    means, deviations : ndarray of float, shape (resamples,)
        Deviations with divisor n_tasks - 1; 0 up to rounding for a resample of equal values.
    """
    kinds, counts = np.unique(values, return_counts=True)
    blocks = task_weights(counts.astype(np.int64), resamples, rng, chunk_cells)
    parts = [_moments(block, kinds, len(values)) for block in blocks]
    means, deviations = (np.concatenate(part) for part in zip(*parts, strict=True))
    return means, deviations


def _moments(weights: NDArray[np.int64], kinds: Floats, n_tasks: int) -> tuple[Floats, Floats]:
    means = (weights * kinds).sum(axis=1) / n_tasks
    squares = (weights * (kinds - means[:, None]) ** 2).sum(axis=1)
    return means, np.sqrt(squares / (n_tasks - 1))
