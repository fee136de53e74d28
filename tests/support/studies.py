"""Run tables of simulated studies: one is built as a run builds it, the others get new outcomes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from analysis.table import RunTable
from study.schedule import Assignment
from tests.support.tables import make_table

QUICK = {"gates": {}, "analysis": {"resamples": 20, "seed": 1}}
"""Too few resamples for a percentile row, which no verdict depends on."""


class Studies:
    """Studies of one design, case ``n`` being the only one of task ``n``.

    Parameters
    ----------
    n_tasks, repetitions : int
    protocol : object
        Sections of the protocol, e.g. ``endpoints``.
    """

    def __init__(self, n_tasks: int, repetitions: int, **protocol: Any) -> None:
        self.settings = QUICK | {"tasks": n_tasks, "repetitions": repetitions} | protocol
        self.template = make_table(**self.settings)
        frame = self.template.frame
        # task ids are t000, t001 ...
        task = frame["task_id"].str.slice(1).cast(pl.Int64).to_numpy()
        arm = (frame["arm"] == "candidate").cast(pl.Int64).to_numpy()
        self._places = arm, task, frame["repetition"].to_numpy() - 1

    def table(self, baseline: np.ndarray, candidate: np.ndarray) -> RunTable:
        """Return the table in which trial r of task t came to ``arm[t, r]``."""
        outcomes = np.stack([baseline, candidate]).astype(bool)[self._places]
        failure = pl.when(pl.col("completed")).then(None).otherwise(pl.lit("wrong_answer")).alias("failure")
        columns = [pl.Series(name, outcomes) for name in ("completed", "passed", "result_completed")]
        frame = self.template.frame.with_columns(*columns).with_columns(failure)
        return msgspec.structs.replace(self.template, frame=frame)

    def table_from_rows(self, baseline: np.ndarray, candidate: np.ndarray) -> RunTable:
        """Return the same by the long way: product rows, checked against the schedule and joined."""
        arms = {"baseline": baseline, "candidate": candidate}

        def trial(planned: Assignment) -> dict[str, Any]:
            task = int(planned.task_id.removeprefix("t"))
            return {"completed": bool(arms[planned.arm][task, planned.repetition - 1])}

        return make_table(trial, **self.settings)
