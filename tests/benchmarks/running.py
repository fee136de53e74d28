"""What a run costs beside its drivers: ratios within one run, memory, overhead of executors (``make bench``).

Nothing is asserted: machines are noisy, people read the table.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from study.declare import prepare
from study.runner import run_plan
from tests.benchmarks import ratios
from tests.conftest import MiniStudy

ROUNDS = 5
EXTRA = """
import time


def trivial(request, tools, ctx):
    return LoopResult(calls=[Call("list_orders")], driver="trivial-1")

trivial.stamp = "trivial-1"


def fifty(request, tools, ctx):
    started = time.perf_counter()
    time.sleep(0.05)
    return LoopResult(refused=True, driver="fifty-1", observed=str(time.perf_counter() - started))

fifty.stamp = "fifty-1"
"""


def study(
    folder: Path, *, tasks: int, repetitions: int, driver: str = "trivial", limits: str = ""
) -> MiniStudy:
    """Write and freeze a study whose two arms are the same driver."""
    made = MiniStudy(
        folder, baseline=driver, candidate=driver, tasks=tasks, repetitions=repetitions, extra=EXTRA
    )
    made.edit("[limits]\n", f"{limits}\n[limits]\n")
    with (made.folder / "shop" / "suite.toml").open("r+") as stream:
        text = stream.read()
        stream.seek(0)
        stream.write(text.replace("toolset =", 'execution = "optional"\ntoolset =', 1))
    done = made.command("freeze", made.protocol.name)
    assert done.returncode == 0, done.stderr
    return made


def minimal_loop(path: Path, n_trials: int) -> float:
    """Return the CPU seconds of a trial of the loop that the other benchmark measures beside."""
    began = time.process_time()
    ratios.minimal_loop(path, n_trials)
    return (time.process_time() - began) / n_trials


def walk(made: MiniStudy, stamp: str, clock: Callable[[], float]) -> tuple[float, int]:
    """Run the trials of a study without grading; return the seconds of a clock and the trials."""
    with contextlib.chdir(made.folder):
        plan = prepare(made.protocol)
        began = clock()
        run_plan(plan, made.folder / "bench", stamp=stamp)
        return clock() - began, len(plan.schedule)


def per_trial(folder: Path) -> tuple[list[float], list[float]]:
    """Return CPU seconds a trial of a run beyond its fixed costs, and of the minimal loop, per round."""
    small, large = (study(folder / f"n{n}", tasks=50, repetitions=n) for n in (5, 45))
    ours: list[float] = []
    theirs: list[float] = []
    for n in range(ROUNDS):
        (few_s, few), (many_s, many) = (walk(made, f"r{n}", time.process_time) for made in (small, large))
        ours.append((many_s - few_s) / (many - few))
        theirs.append(minimal_loop(folder / "minimal", many - few))
    return ours, theirs


def group_commit(folder: Path) -> list[float]:
    """Return wall time with group commit over that of flush per trial, per round."""
    flush = study(folder / "flush", tasks=50, repetitions=20)
    group = study(
        folder / "group", tasks=50, repetitions=20, limits="[journal]\nfsync_trials = 100\nfsync_s = 1.0"
    )
    return [
        walk(group, f"r{n}", time.perf_counter)[0] / walk(flush, f"r{n}", time.perf_counter)[0]
        for n in range(ROUNDS)
    ]


MEMORY = """
import resource, sys, time
from study.declare import prepare
from study.runner import run_plan
from study.product import graded_lines
from study.runs import write_file
from pathlib import Path
plan = prepare(sys.argv[1])
began = time.process_time()
folder = run_plan(plan, Path("bench"), stamp="memory")
write_file(folder.product, graded_lines(folder))
spent = time.process_time() - began
unit = 1 if sys.platform == "darwin" else 1024
print(len(plan.schedule), spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
"""


def scale(folder: Path, repetitions: int) -> tuple[int, float, float]:
    """Run and grade 200 trials a repetition in a process of its own; return trials, CPU seconds and MiB."""
    made = study(folder / f"scale{repetitions}", tasks=50, repetitions=repetitions)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, made.protocol.name],
        cwd=made.folder,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    trials, spent, peak = done.stdout.split()
    return int(trials), float(spent), float(peak)


def overhead(folder: Path, options: tuple[str, ...]) -> float:
    """Return the median of what the harness adds to a driver of 50 ms by the driver's own clock."""
    made = study(
        folder / "-".join(("fifty", *options)).replace("/", ""), tasks=50, repetitions=1, driver="fifty"
    )
    done = made.command("run", made.protocol.name, "--no-report", *options, process=True)
    assert done.returncode == 0, done.stderr
    journal = next(made.folder.glob("runs/*/*/journal.jsonl"))
    records = [json.loads(line)["record"] for line in journal.read_bytes().splitlines()]
    added = [
        record["latency_s"] - float(record["produced"]["report"]["observed"])
        for record in records
        if record["kind"] == "attempt"
    ]
    return statistics.median(added)


def wall_per_trial(folder: Path, options: tuple[str, ...]) -> float:
    """Return wall seconds a trial of an executor beyond its start, for a trivial driver."""
    spent: list[tuple[float, int]] = []
    for repetitions in (1, 11):
        name = "-".join(("wall", str(repetitions), *options)).replace("/", "")
        made = study(folder / name, tasks=50, repetitions=repetitions)
        began = time.perf_counter()
        done = made.command("run", made.protocol.name, "--no-report", *options, process=True)
        assert done.returncode == 0, done.stderr
        spent.append((time.perf_counter() - began, 200 * repetitions))
    (few_s, few), (many_s, many) = spent
    return (many_s - few_s) / (many - few)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, theirs = per_trial(folder)
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        print(
            f"CPU of a trial over the minimal loop: {ratio:.2f} (wanted: at most 3); "
            f"{statistics.median(ours) * 1e6:.1f} us and {statistics.median(theirs) * 1e6:.1f} us"
        )
        print(
            "wall time with group commit over flush per trial: "
            f"{statistics.median(group_commit(folder)):.2f} (wanted: at most 2.5)"
        )
        for repetitions in (50, 500):
            trials, spent, peak = scale(folder, repetitions)
            print(
                f"{trials} trials run and graded: {spent / trials * 1e6:.0f} us of CPU a trial, "
                f"{peak:.0f} MiB (wanted: linear, under 200)"
            )
        for options in ((), ("--executor", "process"), ("--executor", "process", "--workers", "2")):
            added = overhead(folder, options)
            print(
                f"harness beside a driver of 50 ms, {' '.join(options) or 'in process'}: "
                f"{added * 1e6:.0f} us = {added / 0.05:.2%} (wanted: under 2 %)"
            )
        for options in (
            ("--executor", "inprocess"),
            ("--executor", "process"),
            ("--executor", "process", "--workers", "2"),
            ("--executor", "dask", "--workers", "2"),
        ):
            print(
                f"wall time of a trial, {' '.join(options)}: {wall_per_trial(folder, options) * 1e3:.2f} ms"
            )


if __name__ == "__main__":
    main()
