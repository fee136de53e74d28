"""The difference of two arms that ran different tasks, from arrays of trial scores."""

from __future__ import annotations

import math

from analysis import formatting, tilting
from analysis.intervals import FEW_TASKS, check_level, tilted_limits
from analysis.ranges import UNIT_RANGE, in_unit_range, range_width, scaled
from analysis.results import Interval, Status
from analysis.sums import Group
from analysis.taskvalues import TaskValues, TrialScores, task_values
from analysis.tilting import Claim, checked_margin
from study.errors import InputError
from study.protocol import minimum_tasks

METHOD = "tilted, two arms"
SQUARE_AND_ADD = "square-and-add of tilted"

CAVEAT = (
    "the arms ran different tasks: how hard they are is part of this difference, which tells of the driver "
    "alone only if chance decided which task went to which arm"
)
"""Printed beside every unpaired result."""


def difference(
    baseline: TrialScores, candidate: TrialScores, *, score_range: tuple[float, float] = UNIT_RANGE
) -> float:
    """Return the estimate that :func:`interval` surrounds: the candidate's rate minus the baseline's."""
    return tilting.estimate(_groups(baseline, candidate, score_range)) * range_width(score_range)


def interval(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    level: float = 0.95,
    randomised: bool = False,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> Interval:
    """Return an interval for the difference of two arms' rates on different tasks.

    Tasks are never matched by position. Where the same tasks ran in both arms, use
    :func:`analysis.paired.interval` on those: it removes what tasks differ by.

    Parameters
    ----------
    baseline, candidate : array_like, shape (n_tasks, n_repetitions), or sequence of n_tasks 1-d arrays
        Scores of trials in [0, 1]; the arms may have different numbers of tasks. Tasks weigh equally within
        their arm. Nothing may be missing.
    level : float
        Two-sided confidence level.
    randomised : bool
        Whether chance decided which task went to which arm. Without that, a difference in difficulty cannot
        be told from an effect of the driver.
    score_range : (float, float)
        Declared smallest and largest score of a trial, where it is not [0, 1].

    Returns
    -------
    Interval
        Limits of the tilted bootstrap with the two arms as groups of weight -1 and +1, each with half a
        pseudo task at both ends, and Satterthwaite's degrees of freedom; see
        :func:`analysis.tilting.limits`. ``refused`` with fewer than 10 tasks in an arm (point estimates
        only), ``descriptive`` unless the tasks were randomised.

    Raises
    ------
    InputError
        For no tasks, a task without trials, values that are missing, not finite or outside the range, and a
        level outside (0, 1).

    Examples
    --------
    >>> from analysis.unpaired import interval
    >>> found = interval([[1]] * 18 + [[0]] * 2, [[1]] * 24 + [[0]] * 6)
    >>> print(f"{found.low:.5f} {found.high:.5f} {found.status}")
    -0.30007 0.12468 descriptive
    """
    check_level(level)
    groups = _groups(baseline, candidate, score_range)
    status = _status(groups, randomised)
    limits = (None, None) if status == "refused" else tilting.limits(groups, level)
    found = Interval(low=limits[0], high=limits[1], level=level, method=METHOD, status=status)
    return scaled(found, range_width(score_range))


def square_and_add(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    level: float = 0.95,
    randomised: bool = False,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> Interval:
    r"""Return the interval that combines the tilted limits of either arm, as a check beside :func:`interval`.

    Parameters
    ----------
    baseline, candidate, level, randomised, score_range
        See :func:`interval`.

    Returns
    -------
    Interval
        With rates :math:`p_0, p_1` and limits :math:`l_a, u_a` of either arm,
        :math:`p_1 - p_0 - \sqrt{(p_1 - l_1)^2 + (u_0 - p_0)^2}` and
        :math:`p_1 - p_0 + \sqrt{(u_1 - p_1)^2 + (p_0 - l_0)^2}`. Somewhat wider; status as there.

    Raises
    ------
    InputError
        As :func:`interval`.

    Notes
    -----
    Newcombe 1998, Statistics in Medicine 17:873-890.
    """
    check_level(level)
    groups = _groups(baseline, candidate, score_range)
    status = _status(groups, randomised)
    low = high = None
    if status != "refused":
        (p0, l0, u0), (p1, l1, u1) = (
            (
                math.fsum(group.values) / len(group.values),
                *tilted_limits(group.values, UNIT_RANGE, group.denominator, level),
            )
            for group in groups
        )
        low = p1 - p0 - math.hypot(p1 - l1, u0 - p0)
        high = p1 - p0 + math.hypot(u1 - p1, p0 - l0)
    found = Interval(low=low, high=high, level=level, method=SQUARE_AND_ADD, status=status)
    return scaled(found, range_width(score_range))


def p_value(
    baseline: TrialScores,
    candidate: TrialScores,
    *,
    claim: Claim,
    margin: float = 0.0,
    alpha: float = 0.025,
    randomised: bool = False,
    score_range: tuple[float, float] = UNIT_RANGE,
) -> float:
    """Return the one-sided p-value of a claim, where the design allows one.

    It is at most ``(1 - level) / 2`` exactly when :func:`interval` at that level bears the claim out.

    Parameters
    ----------
    baseline, candidate, randomised, score_range
        See :func:`interval`.
    claim, margin
        See :func:`analysis.paired.p_value`.
    alpha : float
        One-sided level of the claim; each arm must have the tasks that the margin needs at it.

    Raises
    ------
    InputError
        As :func:`interval`; for an unknown claim or a margin out of range; where tasks were not assigned to
        arms at random; with fewer than 10 tasks in an arm; and with fewer than
        :func:`study.protocol.minimum_tasks` in an arm for non-inferior and equivalent.
    """
    margin = checked_margin(claim, margin, range_width(score_range))
    check_level(alpha)
    groups = _groups(baseline, candidate, score_range)
    if not randomised:
        raise InputError(
            "a claim about arms that ran different tasks",
            where="randomised",
            allowed="claims only where tasks were assigned to arms at random",
            next_step="run the same tasks in both arms, or report the interval as descriptive",
        )
    fewest = FEW_TASKS if claim == "superior" else max(FEW_TASKS, minimum_tasks(margin, alpha))
    least = min(len(group.values) for group in groups)
    if least < fewest:
        raise InputError(
            f"{formatting.counted(least, 'task')} in an arm",
            where="baseline",
            allowed=f"at least {fewest} tasks in each arm",
        )
    return tilting.claim_p_value(groups, claim, margin)


def _status(groups: list[Group], randomised: bool) -> Status:
    if min(len(group.values) for group in groups) < FEW_TASKS:
        return "refused"
    return "ok" if randomised else "descriptive"


def _groups(baseline: TrialScores, candidate: TrialScores, score_range: tuple[float, float]) -> list[Group]:
    arms = (_values(baseline, "baseline", score_range), _values(candidate, "candidate", score_range))
    return [
        Group(values.means, UNIT_RANGE, values.denominator, weight)
        for values, weight in zip(arms, (-1.0, 1.0), strict=True)
    ]


def _values(scores: TrialScores, what: str, score_range: tuple[float, float]) -> TaskValues:
    return task_values(in_unit_range(scores, what, score_range), what)
