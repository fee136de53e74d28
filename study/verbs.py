"""The verbs of the package that go through a whole run."""

from __future__ import annotations

from pathlib import Path

from study.bundled import runs_root
from study.declare import prepare
from study.digest import JSON
from study.opening import finished_run, refuse_other_sources
from study.product import grade_run, graded_lines
from study.runner import Listener, run_plan
from study.runs import RunFolder, check_stamp, find_run, write_file


def run(
    protocol: str | Path,
    *,
    out: str | Path | None = None,
    stamp: str | None = None,
    executor: str = "inprocess",
    workers: int | None = None,
    listener: Listener | None = None,
    unblinded: bool = False,
    again: bool = False,
) -> RunFolder:
    """Run a frozen protocol, or go on with an unfinished run of it, and grade it.

    A plan that was run already is not run again unless that is asked for: its sealed folder is returned.

    Parameters
    ----------
    protocol : str or Path
        The protocol file; its lock lies beside it.
    out : str or Path, optional
        Replaces the folder ``runs``.
    stamp : str, optional
        Default: the first 12 hex digits of the lock's digest. A finished run is never touched: with
        ``again`` the next one is ``<stamp>_001``.
    executor : str
        Where trials run: ``inprocess``, ``process`` (worker processes), ``dask`` (worker processes under a
        local Dask cluster) or ``dask://HOST:PORT`` (a running cluster).
    workers : int, optional
        Pairs at a time; default 1, on a running cluster all of its threads.
    listener : callable, optional
        Called with each :class:`study.runner.Event`.
    unblinded : bool
        Whether the listener shows counts per arm, which is recorded as a deviation.
    again : bool
        Run once more what was run and sealed already; the number of the run is told in its report.

    Returns
    -------
    RunFolder
        With ``journal.jsonl`` complete and ``product.jsonl`` written.

    Raises
    ------
    StudyError
        When protocol, suites, drivers or lock do not fit together, or the place cannot be written.
    study.runner.Interrupted
        After an interrupt; repeat the call to go on.
    """
    plan = prepare(protocol)
    base = (Path(out) if out is not None else runs_root(plan.protocol_path)) / plan.protocol.id
    wanted = check_stamp(stamp) if stamp is not None else None
    done = None if again else finished_run(base, wanted or plan.lock_digest[:12], plan)
    if done is not None:
        refuse_other_sources(done, plan)
        return done
    told = {"listener": listener} if listener is not None else {}
    folder = run_plan(
        plan, base, stamp=wanted, executor=executor, workers=workers, unblinded=unblinded, **told
    )
    write_file(folder.product, graded_lines(folder))
    return folder


def grade(run: str | Path) -> list[dict[str, JSON]]:
    """Grade a run again from its journal and its frozen inputs; nothing is executed or written.

    Parameters
    ----------
    run : str or Path
        ``runs/<study>/<stamp>``.

    Returns
    -------
    list of dict
        The rows of ``product.jsonl``, in schedule order.
    """
    return grade_run(find_run(Path(run)))
