"""CPU time of the harness as ratios within one run: ``make bench``.

Each figure is the median over rounds of our CPU seconds divided by those of the thing beside it, the two
measured in turn. Nothing is asserted: machines are noisy, people read the table.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from study.binding import Binder
from study.bundled import find_suite
from study.cases import Case, Rules, load_suite
from study.driver import Call, Context, LoopResult
from study.drivers.loading import LoadedDriver, load_driver
from study.executors import InProcess, PreparedCase
from study.grading import compile_case
from study.journal import Attempt, Header, Journal, first_link, revived
from study.ladder import case_source, measure, select_cases
from study.registry import registry_from_json
from study.toolsets import load_toolset

ROUNDS, TRIALS = 15, 3000
REGISTRY = registry_from_json(
    [{"name": "look", "parameters": [{"name": "at", "kind": "any", "arg": "at", "required": True}]}]
)
EXPECTED = [{"name": "look", "input": {"at": "it"}}]
CASE = Case(
    id="case",
    rung="TOOL-1",
    request="look at it",
    tools=("look",),
    expect={"calls": EXPECTED, "terminates": True},
)


def driver(request, tools, ctx):
    """Answer without looking: the cheapest driver there is."""
    return LoopResult(calls=[Call("look", {"at": "it"})], driver="trivial")


TRIVIAL = LoadedDriver(
    name="trivial",
    call=driver,
    is_async=False,
    stamp="trivial",
    floor=True,
    defaults={},
    source_file=None,
    source_digest=None,
)


def minimal_loop(path: Path, n_trials: int = TRIALS) -> None:
    """Call, compare, write one JSON line, flush."""
    with path.open("w", encoding="utf-8") as stream:
        for n in range(n_trials):
            started = time.perf_counter()
            result = driver(CASE.request, CASE.tools, None)
            calls = [{"name": call.name, "input": call.input} for call in result.calls]
            row = {
                "trial": n,
                "case": CASE.id,
                "calls": calls,
                "refused": result.refused,
                "ok": calls == EXPECTED,
                "latency_s": time.perf_counter() - started,
            }
            stream.write(json.dumps(row) + "\n")
            stream.flush()


def harness(path: Path) -> None:
    """Run the same trials through executor and journal."""
    path.unlink(missing_ok=True)
    journal = Journal(path, first_link("0" * 64))
    journal.append(Header(schema=1, study="bench", lock_digest="0" * 64))
    prepared = PreparedCase(CASE, REGISTRY, None)
    with InProcess(20.0) as executor:
        for n in range(TRIALS):
            done = executor.execute(TRIVIAL, prepared)
            journal.append(
                Attempt(
                    trial=n,
                    pair="case#1",
                    arm="baseline",
                    case_id="case",
                    repetition=1,
                    attempt=1,
                    session=1,
                    outcome=done.outcome,
                    produced=done.produced,  # pyright: ignore[reportArgumentType]
                    usage=done.usage,
                    error=done.error,
                    started_at_s=done.started_at_s,
                    latency_s=done.latency_s,
                )
            )
    journal.close()


def graded() -> Callable[[], None]:
    """Return a function that grades the same trial as often."""
    with InProcess(20.0) as executor:
        produced = executor.execute(TRIVIAL, PreparedCase(CASE, REGISTRY, None))
    trial = revived(bytes(produced.produced))
    grade = compile_case(CASE, Rules(execution="optional"), REGISTRY)
    assert grade(trial).passed

    def run() -> None:
        for _ in range(TRIALS):
            grade(trial)

    return run


def cpu(action: Callable[[], object]) -> float:
    """Return the CPU seconds of an action, of this process and its children."""
    before, children = time.process_time(), getrusage(RUSAGE_CHILDREN)
    action()
    after = getrusage(RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    return time.process_time() - before + spent


def ratio(
    ours: Callable[[], object], other: Callable[[], object], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Return median ratio and the median CPU seconds of both."""
    pairs = [(cpu(ours), cpu(other)) for _ in range(rounds + 1)][1:]
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )


def command(*arguments: str) -> Callable[[], object]:
    """Return a function that runs Python with arguments."""
    return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)


def graph_seconds(folder: Path) -> float | None:
    """Return the CPU seconds of building click's graph, None when its source cannot be had."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "click", "click==8.3.3"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return None
    with tarfile.open(next(folder.glob("click-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    source = next(p for p in folder.glob("click-*") if p.is_dir())
    return cpu(command("-m", "study.cli", "graph", str(source), "-o", str(folder / "graph.json")))


def goal_times() -> tuple[int, float, float]:
    """Return click's development cases, the goal driver's median seconds a case, and the worst."""
    suite = load_suite(find_suite("bundled:click"))
    toolset = load_toolset(suite.file.toolset, suite)
    loaded = load_driver("goal", where="bench")
    times: list[float] = []
    for case in suite.cases:
        if suite.file.tasks[suite.task_of[case.id]].split != "development":
            continue
        rounds: list[float] = []
        for _ in range(5):
            context = Context(
                suite.registry, toolset, Binder(suite.registry, case.tools), trace=case.trace or ()
            )
            started = time.perf_counter()
            loaded.call(case.request, case.tools, context)
            rounds.append(time.perf_counter() - started)
        times.append(statistics.median(rounds))
    return len(times), statistics.median(times), max(times)


def ladder_seconds() -> tuple[int, float]:
    """Return the bundled development cases and the CPU seconds of the goal driver's ladder."""
    parts = select_cases(case_source(None, None, None), split="development")
    return sum(len(part.cases) for part in parts), cpu(lambda: measure("goal", parts))


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            (
                "a trial / minimal loop",
                "4",
                *ratio(lambda: harness(folder / "j"), lambda: minimal_loop(folder / "m")),
            ),
            ("grading a case / minimal loop", "0.7", *ratio(graded(), lambda: minimal_loop(folder / "m"))),
            (
                "study --help / bare Python",
                "10",
                *ratio(command("-m", "study.cli", "--help"), command("-c", "")),
            ),
        ]
        print(f"{'what':34}{'ratio':>8}{'wanted':>9}{'ours':>12}{'other':>12}")
        for what, wanted, median, ours, other in rows:
            each = 1 if "Python" in what else TRIALS
            times = "".join(f"{spent / each * 1e6:9.1f} us" for spent in (ours, other))
            print(f"{what:34}{median:8.2f}{'<= ' + wanted:>9}{times}")
        seconds = graph_seconds(folder)
        told = (
            "source not to be had here" if seconds is None else f"{seconds:.2f} s of CPU (wanted: under 5 s)"
        )
        print(f"graph of click 8.3.3: {told}")
    n_cases, median, worst = goal_times()
    print(
        f"goal driver, {n_cases} cases on click: median {median * 1e3:.2f} ms a case (wanted: under 2 ms), "
        f"slowest {worst * 1e3:.1f} ms"
    )
    n_cases, spent = ladder_seconds()
    print(f"whole ladder, {n_cases} cases, one process: {spent:.2f} s of CPU (wanted for 500: under 5 s)")


if __name__ == "__main__":
    main()
