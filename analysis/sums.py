"""Groups of task values, and their weighted sum on one grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from analysis.taskvalues import Floats

PSEUDO_MASS = 0.5
"""Mass of the pseudo task at each end of the range."""

BINNED_LATTICE = 840
"""Steps per unit when the values of a single group have no common denominator."""

BINNED_GROUPS = 480
"""Steps per unit of the lightest task when several groups have no common lattice."""

LONGEST_GRID = 2**21
"""Most grid points of several groups that are worked with, beyond which the grid is made coarser."""

NEAR = 1e-9
"""What positions on a grid may be off by."""

_WINDOW_LOG_TAIL = 45.0  # mass outside the FFT window is below exp(-45) = 3e-20


class Group(NamedTuple):
    """Independent tasks with values in a declared range, whose mean enters the estimate with a weight.

    Attributes
    ----------
    values : ndarray of float, shape (n_tasks,)
        At least two finite values within ``bounds``.
    bounds : (float, float)
        The declared range.
    denominator : int or None
        The values are multiples of 1/denominator above the lower bound; None bins them linearly.
    weight : float
        Not 0; negative for what is subtracted.
    pseudo_mass : float
        Mass of the pseudo task at each end of the range, in tasks.
    """

    values: Floats
    bounds: tuple[float, float]
    denominator: int | None
    weight: float = 1.0
    pseudo_mass: float = PSEUDO_MASS


class Part(NamedTuple):
    """The augmented law of one task of a group, above the end of the range that makes the sum small.

    ``nodes`` and ``mass`` are distances from that end and probabilities on the grid, after binning, and
    ``where`` their grid points, of which there are ``points`` from ``start`` steps; ``values`` and
    ``probabilities`` are the law before binning. A task adds ``scale`` times its distance to the sum, and
    its group ``weight`` times its mean distance to the estimate.
    """

    n_tasks: int
    weight: float
    scale: float
    width: float
    start: float
    points: int
    where: NDArray[np.int64]
    nodes: Floats
    mass: Floats
    values: Floats
    probabilities: Floats


class GridSum(NamedTuple):
    """All groups on one grid of the sum.

    ``total`` is the observed sum in steps from the start of the grid, ``observed`` the same in steps from
    the lower end of the range (the two differ where a grid is centred), ``mean`` the observed estimate
    above the lower end of its range. Sums within ``blur`` steps of the observed one count as equal to it.
    """

    parts: tuple[Part, ...]
    step: float
    total: float
    observed: float
    mean: float
    blur: int
    at_bottom: bool
    at_top: bool


class _Grid(NamedTuple):
    """Steps per unit of each group's values, and whether all values lie on grid points."""

    per_unit: tuple[float, ...]
    exact: bool


def bernstein_reach(largest: float, variance: float) -> float:
    """Return how far from its mean a sum of terms up to ``largest`` is found, by Bernstein's inequality.

    A transform that is shorter would wrap around mass that matters.
    """
    slack = _WINDOW_LOG_TAIL * largest / 3
    return slack + math.sqrt(slack**2 + 2 * _WINDOW_LOG_TAIL * variance)


def grid_sum(groups: Sequence[Group]) -> GridSum:
    """Put all groups on one grid, in an order that does not depend on how they were given."""
    ordered = list(groups)
    if len(groups) > 1:
        ordered.sort(key=lambda g: (abs(g.weight) / len(g.values), *np.sort(_offsets(g))))
    per_task = [abs(group.weight) / len(group.values) for group in ordered]
    heaviest = max(per_task)
    grid = _grid(ordered)
    step = 1 / grid.per_unit[-1]
    parts: list[Part] = []
    total, observed, mean, bottom, top = 0.0, 0.0, 0.0, True, True
    for group, weight, per_unit in zip(ordered, per_task, grid.per_unit, strict=True):
        part, position = _part(group, weight / heaviest, per_unit, exact=grid.exact)
        parts.append(part)
        total += position - part.n_tasks * part.start
        observed += position
        mean += part.weight * (position * (1 / per_unit) / part.n_tasks)
        bottom, top = bottom and position <= 0, top and position >= part.n_tasks * (part.width * per_unit)
    return GridSum(tuple(parts), step, total, observed, mean, _blur(ordered, grid), bottom, top)


def _blur(groups: Sequence[Group], grid: _Grid) -> int:
    """Return how many steps binning may move a sum; a ramp over them counts half of it on average.

    Binning a task between grid points adds at most 1/4 to the variance of its position; four standard
    deviations of the sum are a small part of one task's step.
    """
    if grid.exact or len(groups) == 1:
        return 1
    return math.ceil(4 * math.sqrt(sum(len(group.values) for group in groups) / 4))


def _offsets(group: Group) -> Floats:
    """Return the distances from the end of the range that makes the weighted sum small."""
    low, high = group.bounds
    return group.values - low if group.weight > 0 else high - group.values


def _grid(groups: Sequence[Group]) -> _Grid:
    """Choose a grid: the common lattice of all groups if there is one of bounded length, else a fine one."""
    if len(groups) == 1:
        denominator = groups[0].denominator
        return _Grid((denominator or BINNED_LATTICE,), exact=bool(denominator))
    common = _common_lattice(groups)
    if common and _grid_length(groups, common) <= LONGEST_GRID:
        return _Grid(common, exact=True)
    per_task = [abs(group.weight) / len(group.values) for group in groups]
    fine = [BINNED_GROUPS * part / min(per_task) for part in per_task]
    coarser = max(1.0, _grid_length(groups, fine) / LONGEST_GRID)
    return _Grid(tuple(part / coarser for part in fine), exact=False)


def _grid_length(groups: Sequence[Group], per_unit: Sequence[float]) -> float:
    """Return the most grid points that the law of the sum can need, whatever the values are."""
    sizes = [len(group.values) for group in groups]
    widths = [(g.bounds[1] - g.bounds[0]) * unit for g, unit in zip(groups, per_unit, strict=True)]
    whole = math.fsum(size * width for size, width in zip(sizes, widths, strict=True))
    largest = math.fsum(size * (width / 2) ** 2 for size, width in zip(sizes, widths, strict=True))
    return min(whole, 2 * bernstein_reach(max(widths), largest))


def _common_lattice(groups: Sequence[Group]) -> tuple[int, ...] | None:
    """Return the steps per unit of each group's values on the coarsest grid that holds all sums exactly."""
    steps: list[Fraction] = []
    for group in groups:
        weight = Fraction(abs(group.weight)).limit_denominator(10_000)
        if not group.denominator or abs(float(weight) - abs(group.weight)) > 1e-15:
            return None
        steps.append(weight / (len(group.values) * group.denominator))
    common = Fraction(
        math.gcd(*(step.numerator for step in steps)), math.lcm(*(step.denominator for step in steps))
    )
    return tuple(
        int(step / common) * cast(int, group.denominator) for step, group in zip(steps, groups, strict=True)
    )


def _part(group: Group, scale: float, per_unit: float, *, exact: bool) -> tuple[Part, float]:
    """Return one group's law on the grid, and its observed sum in steps.

    Where the range is no whole number of steps the grid is centred on it, so that mirroring stays exact.
    """
    offsets = np.sort(_offsets(group))
    low, high = group.bounds
    width, n_tasks = high - low, len(offsets)
    if exact:
        # whole steps of the group's own lattice first: they are few, and exact
        denominator = cast(int, group.denominator)
        stride = round(per_unit) // denominator
        position = np.rint(offsets * denominator) * stride
    else:
        position = offsets * per_unit
    length = width * per_unit
    whole = abs(length - round(length)) < 1e-6
    half = math.ceil(length / 2)
    start = 0.0 if whole else length / 2 - half
    points = (round(length) if whole else 2 * half) + 1
    if exact:
        counts = np.bincount(position.astype(np.int64), minlength=points).astype(np.float64)
    else:
        counts = _binned(position - start, points)
    if whole:
        counts[0] += group.pseudo_mass
        counts[-1] += group.pseudo_mass
    else:
        counts += group.pseudo_mass * _binned(np.array([0.0, length]) - start, points)
    size = n_tasks + 2 * group.pseudo_mass
    used = np.flatnonzero(counts)
    nodes, mass = (used.astype(np.float64) + start) / per_unit, counts[used] / size
    if exact:
        values, probabilities = nodes, mass
    else:
        values = np.concatenate(([0.0], offsets, [width]))
        probabilities = np.concatenate(([group.pseudo_mass], np.ones(n_tasks), [group.pseudo_mass])) / size
    weight = abs(group.weight)
    part = Part(n_tasks, weight, scale, width, start, points, used, nodes, mass, values, probabilities)
    return part, math.fsum(position)


def _binned(position: Floats, points: int) -> Floats:
    """Share each position between its two grid points, so that its mean is kept."""
    index = np.floor(position + 1e-6).astype(np.int64)
    share = np.clip(position - index, 0, 1)
    share[share < 1e-5] = 0
    counts = np.bincount(index, 1 - share, points + 1) + np.bincount(index + 1, share, points + 1)
    return counts[:points].astype(np.float64)
