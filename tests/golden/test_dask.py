"""A study on a Dask cluster ends in the bytes of one in process, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0

SLOW = """
import time

def slow(request, tools, ctx):
    time.sleep(0.06)
    return careful(request, tools, ctx)

slow.stamp = "slow-1"
"""

SLEEPER = """
import time

def sleeper(request, tools, ctx):
    time.sleep(100)

sleeper.stamp = "sleeper-1"
"""

HOSTILE = """
import os, time

def hostile(request, tools, ctx):
    if "order-3" in request:
        os._exit(3)
    if "order-5" in request:
        time.sleep(100)
    return careful(request, tools, ctx)

hostile.stamp = "hostile-1"
"""


def until(true, what):
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


class Cluster:
    """A scheduler and workers with one thread each, as processes of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.workers = {}
        self.scheduler = None

    def start(self):
        """Start what is not there."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.end()
            self.file = self.folder / f"scheduler-{time.monotonic_ns()}.json"
            self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
            until(self.file.exists, "the scheduler did not start")
            address = json.loads(self.file.read_text())["address"]
            self.executor = address.replace("tcp://", "dask://")
        for name in ("one", "two"):
            if name not in self.workers or self.workers[name].poll() is not None:
                self.add_worker(name)
        for name in self.workers:
            self.wait_for(name)

    def _start(self, kind, *arguments, **environment):
        log = self.folder / f"{kind}-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", self.file]
        with log.open("w") as stream:
            process = subprocess.Popen(
                [*command, *arguments],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdout=stream,
                stderr=stream,
            )
        process.log = log
        return process

    def add_worker(self, name, **environment):
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", name]
        options += ["--host", "127.0.0.1", "--local-directory", self.folder]
        self.workers[name] = self._start("worker", *options, **environment)

    def wait_for(self, name):
        until(lambda: "Registered to" in self.workers[name].log.read_text(), f"worker {name} did not start")

    def kill(self, name):
        self.workers[name].kill()
        self.workers.pop(name).wait()

    def stations(self):
        """Return the processes that the workers have."""
        return [child for worker in self.workers.values() for child in family(worker.pid)]

    def end(self):
        for process in [*self.workers.values(), *filter(None, [self.scheduler])]:
            process.kill()
            process.wait()
        self.workers = {}


def family(pid):
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("grid"))
    yield cluster
    cluster.end()


@pytest.fixture
def cluster(grid):
    """Return a cluster of two workers: the one of the last test, with what that one killed replaced."""
    grid.start()
    yield grid
    for name in set(grid.workers) - {"one", "two"}:
        grid.kill(name)


def begin(study, executor, out="cut", **constants):
    """Start a run in a process of its own, with other constants of the module ``cluster``."""
    code = (
        "import sys; from study.cli.main import main; from study.executors import cluster\n"
        f"for name, value in {constants!r}.items(): setattr(cluster, name, value)\n"
        "main(sys.argv[1:])"
    )
    arguments = ["run", study.protocol.name, "--out", out, "--executor", executor, "--no-report"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=study.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    BEGUN.append(process)
    return process


BEGUN = []


@pytest.fixture(autouse=True)
def _end_runs():
    yield
    while BEGUN:
        process = BEGUN.pop()
        process.kill()
        process.communicate()


def frozen(mini, folder="work", **options):
    study = mini(folder, margin="40 pp", **options)
    assert study.command("freeze", study.protocol.name).returncode == 0
    return study


def run(study, *options, out="cut"):
    return study.command("run", study.protocol.name, "--out", out, "--no-report", *options, process=True)


def product(study, out):
    (file,) = study.folder.glob(f"{out}/*/*/product.jsonl")
    return file.read_bytes()


def records(study, out="cut"):
    files = list(study.folder.glob(f"{out}/*/*/journal.jsonl"))
    lines = files[0].read_bytes().split(b"\n")[:-1] if files else []
    return [json.loads(line)["record"] for line in lines]


def attempts(study, out="cut"):
    return [record for record in records(study, out) if record["kind"] == "attempt"]


def same_as_in_process(study, out="cut"):
    done = study.command("run", study.protocol.name, "--out", "reference", "--no-report")
    assert done.returncode == 0, done.stderr
    assert product(study, out) == product(study, "reference")


def ended(process):
    """Return exit code and what was said, of a process that ends by itself."""
    said = process.communicate(timeout=PATIENCE_S)[1]
    return process.returncode, said


def test_same_bytes(mini, cluster):
    study = frozen(mini, tasks=10)
    done = run(study, "--executor", cluster.executor, out="running")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"started: 0 of 20 pairs\nfinished: 20 of 20 pairs; [0-9]+ failures\n", done.stderr)
    assert {attempt["worker"] for attempt in attempts(study, "running")} == {
        "dask one station 1",
        "dask two station 1",
    }
    until(lambda: not cluster.stations(), "stations outlive their run")
    same_as_in_process(study, "running")


def test_local_cluster(mini):
    study = frozen(mini, tasks=10)
    done = run(study, "--executor", "dask", "--workers", "2", out="local")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"started: 0 of 20 pairs\nfinished: 20 of 20 pairs; [0-9]+ failures\n", done.stderr)
    assert len({attempt["worker"] for attempt in attempts(study, "local")}) == 2
    same_as_in_process(study, "local")


@pytest.mark.long
def test_as_many_pairs_as_workers_were_asked_for(mini, cluster):
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    done = run(study, "--executor", cluster.executor, "--workers", "1")
    assert done.returncode == 0, done.stderr
    spans = sorted((a["started_at_s"], a["started_at_s"] + a["latency_s"]) for a in attempts(study))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_lost_worker(mini, cluster):
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    process = begin(study, cluster.executor)
    until(lambda: len(attempts(study)) >= 6, "the run did not begin")
    cluster.kill("one")
    code, said = ended(process)
    assert code == 0, said
    assert sorted(attempt["trial"] for attempt in attempts(study)) == list(range(40))
    same_as_in_process(study)


@pytest.mark.long
def test_all_workers_lost(mini, cluster):
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    process = begin(study, cluster.executor, LOST_S=2.0, LOOK_EVERY_S=0.2)
    until(lambda: len(attempts(study)) >= 6, "the run did not begin")
    cluster.kill("one")
    cluster.kill("two")
    code, said = ended(process)
    assert code == 2
    assert f"error: {cluster.executor}: the Dask cluster has had no worker for 2 s" in said
    assert "next: repeat the command to go on" in said
    assert "Traceback" not in said
    assert run(study).returncode == 0
    assert sorted(attempt["trial"] for attempt in attempts(study)) == list(range(40))
    same_as_in_process(study)


@pytest.mark.long
def test_lost_scheduler(mini, cluster):
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    process = begin(study, cluster.executor)
    until(lambda: len(attempts(study)) >= 6, "the run did not begin")
    stations = cluster.stations()
    cluster.scheduler.kill()
    code, said = ended(process)
    assert code == 2
    assert said.startswith("started: 0 of 20 pairs\nerror: ")
    assert "the Dask scheduler is gone" in said
    assert said.count("\n") == 3
    until(lambda: not any(map(alive, stations)), "stations outlive the scheduler")
    assert run(study).returncode == 0
    same_as_in_process(study)


def alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_interrupt(mini, cluster):
    study = frozen(mini, tasks=10, baseline="sleeper", candidate="sleeper", extra=SLEEPER, timeout=90)
    process = begin(study, cluster.executor)
    until(lambda: len(cluster.stations()) >= 2, "the run did not begin")
    until(lambda: sum(is_sleeping(s) for s in cluster.stations()) >= 2, "no trial began")
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    code, said = ended(process)
    assert code == 130
    assert "interrupted; every finished trial is kept" in said
    assert {attempt["outcome"] for attempt in attempts(study)} <= {"cancelled"}
    assert len(attempts(study)) <= 2
    until(lambda: not cluster.stations(), "stations outlive an interrupted run")
    assert all(worker.poll() is None for worker in cluster.workers.values())


def is_sleeping(process):
    with suppress(psutil.Error):
        return process.cpu_times().user > 0.1
    return False


@pytest.mark.long
def test_interrupt_lets_running_pairs_end(mini, cluster):
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    process = begin(study, cluster.executor)
    until(lambda: len(attempts(study)) >= 6, "the run did not begin")
    process.send_signal(signal.SIGINT)
    code, said = ended(process)
    assert code == 130, said
    done = attempts(study)
    assert len(done) < 40
    assert {attempt["outcome"] for attempt in done} == {"answered"}
    assert len({attempt["pair"] for attempt in done}) * 2 == len(done)
    until(lambda: not cluster.stations(), "stations outlive an interrupted run")
    assert run(study, "--executor", cluster.executor).returncode == 0
    same_as_in_process(study)


def test_killed_run_frees_the_cluster(mini, cluster):
    study = frozen(mini, tasks=10, baseline="sleeper", candidate="sleeper", extra=SLEEPER, timeout=90)
    process = begin(study, cluster.executor, IDLE_S=1.0)
    until(lambda: len(cluster.stations()) >= 2, "the run did not begin")
    process.kill()
    process.communicate()
    until(lambda: not cluster.stations(), "stations outlive a killed run")
    later = frozen(mini, "later", tasks=10)
    done = run(later, "--executor", cluster.executor)
    assert done.returncode == 0, done.stderr
    same_as_in_process(later)


@pytest.mark.long
def test_idle_stations_close(mini, cluster):
    """A run that stands still holds nothing on the cluster, and goes on with new stations."""
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    process = begin(study, cluster.executor, IDLE_S=1.0)
    until(lambda: len(attempts(study)) >= 4, "the run did not begin")
    process.send_signal(signal.SIGSTOP)
    until(lambda: not cluster.stations(), "idle stations stay")
    process.send_signal(signal.SIGCONT)
    code, said = ended(process)
    assert code == 0, said
    same_as_in_process(study)


def test_worker_with_other_files(mini, cluster):
    study = frozen(mini, tasks=20, candidate="slow", extra=SLOW)
    process = begin(study, cluster.executor)
    until(lambda: len({attempt["worker"] for attempt in attempts(study)}) == 2, "the run did not begin")
    process.send_signal(signal.SIGSTOP)
    with study.driver_file.open("a") as stream:
        stream.write("# another version\n")
    cluster.add_worker("late")
    cluster.wait_for("late")
    process.send_signal(signal.SIGCONT)
    code, said = ended(process)
    assert code == 2
    assert "error: dask late station 1: arms." in said
    assert "source_digest was" in said
    assert "restore it and resume" in said
    study.driver_file.write_text(study.driver_file.read_text().removesuffix("# another version\n"))
    assert run(study).returncode == 0
    same_as_in_process(study)


@pytest.mark.long
def test_worker_with_another_toolkit(mini, cluster, tmp_path):
    metadata = tmp_path / "other" / "driver_study-99.0.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: driver-study\nVersion: 99.0.0\n")
    cluster.add_worker("odd", PYTHONPATH=f"{tmp_path / 'other'}:{ROOT}")
    cluster.wait_for("odd")
    study = frozen(mini, tasks=10, candidate="slow", extra=SLOW)
    done = run(study, "--executor", cluster.executor)
    assert done.returncode == 2
    assert "error: dask odd station 1: toolkit was " in done.stderr
    assert "found '99.0.0'" in done.stderr


WITHOUT = """
import sys

class Without:
    def find_spec(name, path, target=None):
        if name == "study":
            raise ModuleNotFoundError("No module named 'study'", name="study")

sys.meta_path.insert(0, Without)
"""


@pytest.mark.long
def test_worker_without_the_toolkit(mini, cluster, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    for name in ("one", "two"):
        cluster.kill(name)
    cluster.add_worker("bare", PYTHONPATH=str(tmp_path))
    cluster.wait_for("bare")
    study = frozen(mini, tasks=10)
    done = run(study, "--executor", cluster.executor)
    assert done.returncode == 2
    assert re.search("the Dask worker tcp://[0-9.:]+ cannot import this toolkit: .*'study'", done.stderr)
    assert cluster.workers["bare"].poll() is None


def test_hostile_driver(mini, cluster):
    study = frozen(mini, tasks=10, candidate="hostile", extra=HOSTILE, timeout=1)
    before = {name: worker.pid for name, worker in cluster.workers.items()}
    done = run(study, "--executor", cluster.executor)
    assert done.returncode == 0, done.stderr
    found = {}
    for attempt in attempts(study):
        if attempt["outcome"] != "answered":
            found.setdefault(attempt["outcome"], []).append(attempt["case_id"])
    assert {outcome: sorted(cases) for outcome, cases in found.items()} == {
        "driver_error": ["status-3-a", "status-3-b"],
        "timeout": ["status-5-a", "status-5-b"],
    }
    assert {name: worker.pid for name, worker in cluster.workers.items() if worker.poll() is None} == before
    assert run(study, "--executor", "process", out="process").returncode == 0
    assert product(study, "cut") == product(study, "process")


@pytest.mark.long
def test_no_worker(mini, cluster):
    cluster.kill("one")
    cluster.kill("two")
    code, said = ended(begin(frozen(mini, tasks=10), cluster.executor, CONNECT_S=2.0))
    assert code == 2
    assert f"error: {cluster.executor}: the Dask cluster has no worker\n" in said


def test_no_scheduler(mini):
    code, said = ended(begin(frozen(mini, tasks=10), "dask://127.0.0.1:1", CONNECT_S=2.0))
    assert code == 2
    assert "error: dask://127.0.0.1:1: no Dask scheduler answers within 2 s" in said
    assert said.splitlines()[-2:] == [
        "  allowed: dask://HOST:PORT of a running scheduler",
        "  next: start it, or use dask for a local cluster",
    ]


MUTE = """
import socket, sys, time
side = socket.create_server(("127.0.0.1", 0))
print(side.getsockname()[1], flush=True)
while True:
    other, _ = side.accept()
    if sys.argv[1]:
        other.sendall(sys.argv[1].encode())
        other.close()
"""


@pytest.mark.parametrize("answer", ["", "HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_something_else_at_the_address(mini, answer):
    with subprocess.Popen([sys.executable, "-c", MUTE, answer], stdout=subprocess.PIPE, text=True) as other:
        try:
            port = int(other.stdout.readline())
            code, said = ended(begin(frozen(mini, tasks=10), f"dask://127.0.0.1:{port}", CONNECT_S=2.0))
        finally:
            other.kill()
    assert code == 2
    assert f"error: dask://127.0.0.1:{port}: no Dask scheduler answers within 2 s" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "address",
    [
        "nowhere",
        "host:",
        ":8786",
        "host:port",
        "host:0",
        "host:99999",
        "tcp://host:8786",
        "host:8786/x",
        "a b:1",
    ],
)
def test_garbage_address(mini, address):
    study = frozen(mini, tasks=10)
    done = study.command("run", study.protocol.name, "--executor", f"dask://{address}")
    assert done.returncode == 2
    assert f"error: --executor: the address {address!r}" in done.stderr
    assert not (study.folder / "runs").exists()


@pytest.mark.parametrize("executor", ["dask", "dask://127.0.0.1:8786"])
def test_without_dask(mini, monkeypatch, executor):
    monkeypatch.setitem(sys.modules, "distributed", None)
    study = frozen(mini, tasks=10)
    done = study.command("run", study.protocol.name, "--executor", executor)
    assert done.returncode == 2
    assert "the executor dask needs the package distributed" in done.stderr
    assert "pip install 'driver-study[dask]'" in done.stderr
