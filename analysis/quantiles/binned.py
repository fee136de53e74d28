r"""Quantiles of many trials: resampled sums of a few bins in place of resampled trials.

A window of times around each quantile is cut into bins of equally many trials. What a resample of tasks does
to the bins is a sum of one vector a task, so that a resample costs the same for any number of trials. Between
the edges of the bins the quantile function of a resample is taken as linear; the integral of Harrell and
Davis over it is then exact:

.. math:: \hat Q = x_K - \sum_k (x_{k+1} - x_k) \frac{G(F_{k+1}) - G(F_k)}{F_{k+1} - F_k},\qquad
   G(u) = u\,B_{a,b}(u) - \frac{a}{a + b} B_{a+1,b}(u),

:math:`F_k` the resampled share of the weight below the edge :math:`x_k`. With thousands of tasks the sums
are drawn from the normal law that has their exact mean and covariance under resampling of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special

from analysis.quantiles.windows import beta_shape, reaches
from analysis.resampling import task_weights
from analysis.taskvalues import Floats
from analysis.timing import SortedTimes

BINS = 24
"""Bins of a window."""

MANY_TASKS = 4_000
"""From that many tasks on the sums are drawn from their normal law."""

_REACH = (6.6, 5.0)  # standard deviations of the beta law and of the resampled share
_CELLS = 4096
_ROWS = 256  # a matrix product rounds by the number of its rows, so that it is always this one


class BinnedWindow(NamedTuple):
    """The bins around one quantile of an arm.

    Attributes
    ----------
    edges : ndarray of float, shape (n_bins + 1,)
        Seconds, halfway between the neighbouring times.
    places : ndarray of int, shape (n_bins + 1,)
        Number of times below each edge.
    grid, integral : ndarray of float
        G of the module's equation, at the shares ``grid``.
    """

    arm: SortedTimes
    edges: Floats
    places: NDArray[np.int64]
    grid: Floats
    integral: Floats


def binned_window(arm: SortedTimes, q: float, bins: int = BINS) -> BinnedWindow:
    """Cut the times around a quantile into bins of about equally many trials."""
    beta, spread = reaches(arm, q)
    reach = _REACH[0] * beta + _REACH[1] * spread
    first, last = np.searchsorted(arm.total, np.array([q - reach, q + reach]) * arm.unit * arm.n_tasks)
    last = min(int(last), len(arm.times) - 1)
    places = np.unique(np.linspace(max(int(first), 1), last, bins + 1).round().astype(np.int64))
    edges = (arm.times[places - 1] + arm.times[places]) / 2
    a, b = beta_shape(arm, q)
    grid = np.linspace(max(0.0, q - 9 * beta), min(1.0, q + 9 * beta), _CELLS)
    integral = grid * special.betainc(a, b, grid) - a / (a + b) * special.betainc(a + 1, b, grid)
    # beyond the grid B is 0 or 1, so that G is constant or rises with slope 1
    low, high = min(grid[0], 0.0) - 1, max(grid[-1], 1.0) + 1
    grid = np.concatenate(([low], grid, [high]))
    integral = np.concatenate(([integral[0]], integral, [integral[-1] + high - grid[-2]]))
    return BinnedWindow(arm, edges, places, grid, integral)


def quantiles_of_sums(prepared: BinnedWindow, shares: Floats) -> Floats:
    """Return the quantile of each resample from the shares below the edges.

    Parameters
    ----------
    prepared : BinnedWindow
    shares : ndarray of float, shape (resamples, n_bins + 1)

    Returns
    -------
    ndarray of float, shape (resamples,)
        Seconds.
    """
    width = np.maximum(np.diff(shares, axis=1), 1e-12)
    ends = np.column_stack((shares[:, :1], shares[:, :1] + np.cumsum(width, axis=1)))
    mean = np.diff(_integral(prepared, ends), axis=1) / width
    return prepared.edges[-1] - (mean * np.diff(prepared.edges)).sum(axis=1)


def _integral(prepared: BinnedWindow, at: Floats) -> Floats:
    """Return G at shares from 0 to 1 by linear interpolation; the inner grid has equal steps."""
    grid, integral = prepared.grid, prepared.integral
    step = (grid[-2] - grid[1]) / (len(grid) - 3)
    place = np.clip(((at - grid[1]) / step).astype(np.int64) + 1, 1, len(grid) - 3)
    place[at < grid[1]] = 0
    place[at >= grid[-2]] = len(grid) - 2
    slopes = np.diff(integral) / np.diff(grid)
    return integral[place] + slopes[place] * (at - grid[place])


def binned_draws(
    windows: Sequence[BinnedWindow], resamples: int, rng: np.random.Generator, *, normal: bool
) -> Floats:
    """Return every quantile in each resample of the tasks, all from the same draws.

    Parameters
    ----------
    windows : sequence of BinnedWindow
        Of arms with the same tasks.
    resamples : int
    rng : numpy.random.Generator
    normal : bool
        Draw the sums from their normal law; otherwise resample the tasks.

    Returns
    -------
    ndarray of float, shape (len(windows), resamples)
        Seconds.
    """
    n_tasks = windows[0].arm.n_tasks
    steps = _task_steps(windows)
    drawn = _normal_sums(steps, n_tasks, resamples, rng) if normal else _resampled_sums(steps, resamples, rng)
    splits = np.cumsum([len(w.places) for w in windows])[:-1]
    parts: list[list[Floats]] = []
    for sums in drawn:
        columns = np.split(sums, splits, axis=1)
        shares = [
            np.cumsum(part, axis=1) / (w.arm.unit * n_tasks) for w, part in zip(windows, columns, strict=True)
        ]
        parts.append([quantiles_of_sums(w, share) for w, share in zip(windows, shares, strict=True)])
    return np.array([np.concatenate(values) for values in zip(*parts, strict=True)])[:, :resamples]


def _task_steps(windows: Sequence[BinnedWindow]) -> sparse.csr_array:
    """Return the steps of each task below the first edge and in each bin, the windows side by side."""
    blocks: list[sparse.csr_array] = []
    for found in windows:
        arm, first, end = found.arm, int(found.places[0]), int(found.places[-1])
        before = np.bincount(arm.task[:first], arm.steps[:first], arm.n_tasks)
        some = np.flatnonzero(before)
        bins = np.searchsorted(found.places, np.arange(first, end), side="right")
        cells = np.concatenate((before[some], arm.steps[first:end].astype(np.float64)))
        places = np.concatenate((some, arm.task[first:end])), np.concatenate((np.zeros_like(some), bins))
        blocks.append(sparse.csr_array((cells, places), shape=(arm.n_tasks, len(found.places))))
    return sparse.csr_array(sparse.hstack(blocks))


def _resampled_sums(
    steps: sparse.csr_array, resamples: int, rng: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    # whole numbers below 2**53: the product is exact, whatever the order of its sums
    table = steps.toarray()
    n_tasks = len(table)
    for weights in task_weights(np.ones(n_tasks, dtype=np.int64), resamples, rng):
        yield weights.astype(np.float64) @ table


def _normal_sums(
    steps: sparse.csr_array, n_tasks: int, resamples: int, rng: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    total = np.asarray(steps.sum(axis=0)).ravel()
    covariance = (steps.T @ steps).toarray() - np.outer(total, total) / n_tasks
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    correlation[np.diag_indices_from(correlation)] += 1e-9
    root = linalg.cholesky(correlation, lower=False) * scale
    for _ in range(0, resamples, _ROWS):
        yield total + rng.standard_normal((_ROWS, len(total))) @ root
