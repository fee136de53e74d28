"""Student's p-value of a claim on the mean of task values."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from analysis.intervals import FEWEST_TASKS, tied
from analysis.taskvalues import Floats
from analysis.tilting import CLAIMS
from study.errors import InputError, listed


def p_value(values: Floats, *, claim: str, margin: float = 0.0) -> float | None:
    """Return the one-sided p-value of a claim on the mean, more being better.

    Parameters
    ----------
    values : ndarray of float, shape (n_tasks,)
        One finite value a task, in the direction of benefit.
    claim : {"non-inferior", "superior", "equivalent"}
    margin : float
        Positive; not used for superior.

    Returns
    -------
    float or None
        Student's tail with n_tasks - 1 degrees of freedom, at most (1 - level) / 2 exactly when
        :func:`analysis.intervals.t_limits` at that level bear the claim out; for equivalent the larger of
        two. None with fewer than 5 tasks and when all values are equal: there is no interval either.

    Raises
    ------
    InputError
        For an unknown claim.
    """
    if claim not in CLAIMS:
        raise InputError(f"claim {claim!r}", where="claim", allowed=listed(CLAIMS))
    if len(values) < FEWEST_TASKS or tied(values):
        return None
    at = 0.0 if claim == "superior" else margin
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    p = float(special.stdtr(len(values) - 1, -(mean + at) / error))
    if claim != "equivalent":
        return p
    return max(p, float(special.stdtr(len(values) - 1, (mean - at) / error)))
