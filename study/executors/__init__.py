"""Where trials run: in this process, in worker processes, or on a cluster."""

from study.executors.inline import Inline
from study.executors.inprocess import InProcess
from study.executors.interrupts import Interrupts
from study.executors.pairs import Conduct, Done, PairJob, Place, TrialJob, run_pair
from study.executors.stations import Bench
from study.executors.trials import Execution, PreparedCase

__all__ = [
    "Bench",
    "Conduct",
    "Done",
    "Execution",
    "InProcess",
    "Inline",
    "Interrupts",
    "PairJob",
    "Place",
    "PreparedCase",
    "TrialJob",
    "run_pair",
]
