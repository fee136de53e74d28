"""Drivers in a child process: the conversation, each way to break it, and that nothing is left running."""

from __future__ import annotations

import gc
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from study.binding import Binder
from study.cases import Case
from study.digest import digest, digest_file
from study.driver import Call, Context, LoopResult, Resolution, ToolError, ToolResult
from study.drivers import load_driver, resolved_config
from study.drivers.process import ChildError, driver, lines, link, messages
from study.errors import DriverError
from study.executors import InProcess, PreparedCase
from study.registry import registry_from_json
from study.toolsets.functions import FunctionToolset

ROOT = Path(__file__).resolve().parents[3]
CHILD = Path(__file__).with_name("misbehaving_child.py")
EXAMPLES = ROOT / "docs" / "examples"
PYTHON = shlex.quote(sys.executable)
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the program node (Node.js) is not on the PATH")
REGISTRY = registry_from_json(
    [
        {"name": "look", "parameters": [{"name": "at", "kind": "any", "arg": "at", "required": True}]},
        {"name": "other", "question": "What else?", "parameters": []},
    ]
)


class Tools:
    names = ("look", "other")
    commands = {"see": ("look", "at"), "rest": ("other", None)}  # noqa: RUF012

    def dispatch(self, name, arguments):
        at = arguments.get("at")
        if at == "nothing":
            raise ToolError("there is nothing")
        if at == "bug":
            raise ZeroDivisionError("a bug of the toolset")
        odd = {"odd": {1, 2}, "surrogate": "\ud800", "big": "x" * 2**20}
        return ToolResult(ok=True, text=f"saw {at}", resolved="it", result=odd.get(at, ["it"]))

    def resolve(self, term):
        return Resolution(label=None, kind="class", tied=(term, "that"))

    def resolve_memory_term(self, term):
        return Resolution(label=f"memory of {term}")


def context(seconds=None, config=None, seed=2**63 - 1, trace=()):
    deadline = None if seconds is None else time.monotonic() + seconds
    binder = Binder(REGISTRY, ["look"])
    return Context(REGISTRY, Tools(), binder, config=config or {}, seed=seed, deadline=deadline, trace=trace)


def state_of(pid):
    """Return the letter that the system gives the state of a process, empty for none, and its parent."""
    if sys.platform == "linux":
        try:
            letter, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            return "", 0
        return letter, int(parent)
    said = subprocess.run(
        ["ps", "-o", "stat=,ppid=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    letter, parent = said.stdout.split() or ["", "0"]
    return letter[:1], int(parent)


def is_alive(pid):
    """Whether a process runs, or is a zombie for which this process does not wait (others' may stay)."""
    letter, parent = state_of(pid)
    return letter not in ("", "Z") or (letter == "Z" and parent == os.getpid())


def is_gone(pid):
    """Whether a process ends within a while."""
    for _ in range(500):
        if not is_alive(pid):
            return True
        time.sleep(0.01)
    return False


def as_json(value):
    return json.loads(msgspec.json.encode(value))


class Nursery:
    """Makes drivers, and knows every process that they started."""

    def __init__(self, folder):
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.folder = folder
        self.drivers = []

    def load(self, hello="good", **options):
        name = f"process:{PYTHON} -S -E {shlex.quote(str(CHILD))} {hello} notes"
        loaded = load_driver(name, where="plan.toml:arms.baseline.driver", search=self.folder, **options)
        self.drivers.append(loaded)
        return loaded

    @property
    def pids(self):
        return [int(path.name) for path in self.notes.iterdir() if path.name.isdigit()]

    def alive(self):
        return [pid for pid in self.pids if is_alive(pid)]


def nurse(folder):
    made = Nursery(folder)
    yield made
    for loaded in made.drivers:
        loaded.close()
    assert [pid for pid in made.pids if not is_gone(pid)] == []


@pytest.fixture
def nursery(tmp_path):
    yield from nurse(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a nursery with one driver that many tests break."""
    made = nurse(tmp_path_factory.mktemp("shared"))
    nursery = next(made)
    nursery.load()
    yield nursery
    assert next(made, None) is None


def loading_fails(nursery, hello):
    with pytest.raises(DriverError) as caught:
        nursery.load(hello)
    error = caught.value
    assert error.where == "plan.toml:arms.baseline.driver"
    assert "misbehaving_child.py" in error.problem
    assert '"kind": "hello"' in error.allowed
    assert "docs/process-drivers.md" in error.next_step
    return error.problem


def test_loading_asks_a_child_for_its_identity_and_ends_it(nursery):
    loaded = nursery.load("wants")
    assert (loaded.stamp, loaded.floor, loaded.is_async) == ("odd-1", True, False)
    assert resolved_config(loaded, {"more": 1}) == {"depth": 3, "more": 1}
    assert loaded.source_file == CHILD
    assert nursery.alive() == []
    assert (nursery.notes / "goodbye").exists()


@pytest.mark.parametrize(
    "hello, said",
    [
        ("version", "speaks protocol 2 instead of 1"),
        ("blank", "name or version is blank"),
        ("key", "unknown key 'stamp'"),
        ("shape", "hello:version: expected text, got a whole number"),
        ("result", "kind 'result'; allowed here: hello"),
        ("rubbish", "not valid JSON"),
        ("rubbish", "'Welcome to the agent!'"),
        ("exits", "ended with exit code 4 before its hello; the end of its stderr: no such model"),
        ("endless", "more than 16777216 bytes"),
    ],
)
def test_a_child_without_a_proper_hello_is_refused_with_what_it_sent(nursery, hello, said):
    assert said in loading_fails(nursery, hello)


def test_a_child_that_says_no_hello_in_time_is_refused(nursery, monkeypatch):
    monkeypatch.setattr(driver, "HELLO_S", 1.0)
    said = loading_fails(nursery, "silent")
    assert "took too long before its hello; the end of its stderr: waiting for a licence" in said
    assert """having sent b'{"kind": "hel'""" in loading_fails(nursery, "half")


@pytest.mark.parametrize(
    "name, said",
    [
        ("process:", "holds no command"),
        ("process:  ", "holds no command"),
        ("process:''", "holds no command"),
        ("process:a\0b", "holds no command"),
        ("process:node 'agent.mjs", "cannot be split into words: no closing quotation"),
        ("process:no-such-program x", "there is no program 'no-such-program'"),
        ("process:./no-such-file", "there is no program './no-such-file'"),
        ("process:plain.txt", "write ./plain.txt for the file"),
        ("process:./plain.txt", "chmod +x ./plain.txt"),
        ("process:./broken", "cannot be started"),
    ],
)
def test_a_command_that_names_no_program(tmp_path, name, said):
    (tmp_path / "plain.txt").write_text("text")
    (tmp_path / "broken").write_bytes(b"\0\0\0\0")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(DriverError) as caught:
        load_driver(name, where="here", search=tmp_path)
    assert caught.value.where == "here"
    assert said in str(caught.value)


def test_the_digest_covers_the_files_that_the_command_names(tmp_path):
    agent, settings = tmp_path / "agent.py", tmp_path / "settings.json"
    shutil.copy(EXAMPLES / "process_driver.py", agent)
    settings.write_text("{}")
    program = shutil.which("env")
    name = f"process:{program} {PYTHON} ./agent.py --settings=settings.json {'x' * 5000}"
    loaded = load_driver(name, where="here", search=tmp_path)
    files = [Path(program), Path(sys.executable), agent, settings]
    assert loaded.source_digest == digest([digest_file(file) for file in files])
    assert loaded.source_file == Path(sys.executable)
    settings.write_text('{"depth": 2}')
    changed = load_driver(name, where="here", search=tmp_path)
    assert changed.source_digest != loaded.source_digest
    with pytest.raises(ChildError, match="changed after the driver was loaded"):
        loaded.setup({})


def test_a_program_from_the_path_is_no_file_of_the_command(tmp_path, monkeypatch):
    (tmp_path / "agent").write_text(f'#!/bin/sh\nexec {PYTHON} "{EXAMPLES}/process_driver.py"\n')
    (tmp_path / "agent").chmod(0o755)
    by_path = load_driver("process:./agent", where="here", search=tmp_path)
    assert (by_path.source_file, by_path.stamp) == (tmp_path / "agent", "order-desk-1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)
    found = load_driver("process:agent", where="here")
    assert (found.source_file, found.source_digest) == (None, None)


def test_a_request_carries_all_that_a_driver_in_process_may_use(nursery):
    loaded = nursery.load("wants")
    loaded.setup({"depth": 4})
    first = os.getpid()
    trace = ({"name": "look", "input": {}},)
    result = loaded.call("echo", ["look", "unknown"], context(20, {"depth": [4]}, trace=trace))
    asked, state = json.loads(result.why)
    left = asked.pop("timeLeftS")
    assert 0 < left <= 20
    assert asked == {
        "kind": "request",
        "id": 1,
        "request": "echo",
        "tools": ["look", "unknown"],
        "capabilities": [as_json(REGISTRY["look"])],
        "config": {"depth": [4]},
        "seed": "9223372036854775807",
        "trace": [{"name": "look", "input": {}}],
        "commands": {"see": ["look", "at"], "rest": ["other", None]},
    }
    assert asked["capabilities"][0]["parameters"][0]["arg"] == "at"
    assert asked["capabilities"][0]["readOnly"] is True
    assert state == {"requests": 1, "config": {"depth": 4}, "resets": []}
    assert first == os.getpid()
    unlimited, _ = json.loads(loaded.call("echo", [], context()).why)
    assert (unlimited["id"], unlimited["timeLeftS"]) == (2, None)


def test_a_child_is_kept_over_trials_and_reset_when_it_wants_to(nursery):
    wants, plain = nursery.load("wants"), nursery.load()
    for loaded in (wants, plain):
        loaded.setup({"k": 1})
        loaded.reset("cold")
        loaded.call("answer", [], context())
    _, state = json.loads(wants.call("echo", [], context()).why)
    assert state == {"requests": 2, "config": {"k": 1}, "resets": ["cold"]}
    _, state = json.loads(plain.call("echo", [], context()).why)
    assert state == {"requests": 2, "config": None, "resets": []}
    wants.close()
    wants.close()
    assert (nursery.notes / "goodbye").exists()
    assert len(nursery.alive()) == 1


def test_failing_setup_and_reset_say_why_and_the_next_trial_has_a_new_child(nursery):
    loaded = nursery.load("wants")
    with pytest.raises(ChildError, match=r'exit code 1 before it was "ready".*(?s:.)*ValueError: no setup'):
        loaded.setup({"broken": True})
    loaded.setup({})
    with pytest.raises(ChildError, match="ValueError: no reset"):
        loaded.reset("broken")
    assert loaded.call("answer", [], context()).why == "request 1 of this child"


def test_the_child_uses_the_harness_as_a_driver_in_process_does(nursery):
    loaded, ctx = nursery.load(), context(20)
    result = loaded.call("tools", ["look"], ctx)
    saw, missed, invented, seventh, odd, surrogate, *rest = json.loads(result.why)
    answer = {"kind": "answer", "id": 1, "to": "dispatch"}
    look = {**answer, "ok": True, "error": None, "resolved": "it"}
    assert saw == {**look, "text": "saw it", "result": ["it"]}
    assert missed == {
        **answer,
        "ok": False,
        "text": "",
        "error": "there is nothing",
        "resolved": None,
        "result": None,
    }
    assert invented["error"].startswith("unknown-tool")
    assert seventh["error"].startswith("unknown-tool")
    assert odd == {
        **look,
        "text": "saw odd",
        "result": None,
        "omitted": "a result of type set that is not JSON",
    }
    assert (surrogate["ok"], surrogate["result"]) == (True, None)
    resolved, memory, other, unknown, problems, slept = rest
    assert resolved == {
        "kind": "answer",
        "id": 1,
        "to": "resolve",
        "label": None,
        "entityKind": "class",
        "tied": ["it", "that"],
    }
    assert memory["label"] == "memory of memo"
    assert other["capability"] == as_json(REGISTRY["other"])
    assert unknown["capability"] is None
    assert problems["problems"] == ctx.problems("look", {})
    assert problems["problems"][0]["code"] == "missing-arg"
    assert slept == {"kind": "answer", "id": 1, "to": "sleep"}
    assert [(d.name, d.executed, d.ok) for d in ctx.dispatched] == [
        ("look", True, True),
        ("look", True, False),
        ("invented", False, False),
        (None, False, False),
        ("look", True, True),
        ("look", True, True),
    ]
    assert ctx.usage.to_json() == {
        "calls": 3,
        "input": {"known_subtotal": 125, "missing_calls": 0},
        "output": {"known_subtotal": 6, "missing_calls": 1},
    }
    assert ctx.slept_s >= 0.001
    assert (result.calls, result.driver) == ([Call("look", {"at": "it"})], "odd-1")


def test_every_key_of_a_report_arrives(nursery):
    assert nursery.load().call("everything", [], context()) == LoopResult(
        calls=[Call("look", {})],
        refused=False,
        terminated=False,
        proof=[{"kind": "effect", "ok": True}],
        driver="mine-7",
        composed=["a"],
        recovered=True,
        candidate_results=[Call("other", {"x": 1.5})],
        inferred_goal="cap:x",
        reject=False,
        ambiguous_goals=["g"],
        why="because",
    )


@pytest.mark.parametrize(
    "request_text, said",
    [
        ("exit", "the child process ended with exit code 3; the end of its stderr: these are my last words"),
        ("crash", "ZeroDivisionError: a bug of the child"),
        ("killed", "the child process was ended by signal 9"),
        ("close_stdout", "the child process closed its stdout"),
        ("endless_line", "sent more than 16777216 bytes"),
        ("noisy_exit", "these are my last words"),
        ("not_json", "not valid JSON: Expecting value: line 1 column 1 (char 0): 'Loading the model ...'"),
        ("not_utf8", "not UTF-8 (byte 10)"),
        ("no_object", "no JSON object: '[1]'"),
        ("deep", "nested too deeply"),
        ("nan", "NaN is not a finite number"),
        ("twice_a_key", "duplicate key 'id'"),
        ("other_id", "sent 'result' with id 10000, during the request with id "),
        ("text_id", "result:id: expected a whole number"),
        ("no_kind", "no kind; allowed here: dispatch, resolve"),
        ("other_kind", "kind 'resul' (did you mean 'result'?)"),
        ("odd_call", "result:result.calls[0].input: expected an object"),
        ("odd_key", "result:result: unknown key 'call' (did you mean 'calls'?)"),
        ("odd_outcome", "result:result.outcome: invalid enum value 'cancelled'"),
        ("odd_usage", "'usage' of a wrong shape: a usage count must be a whole number"),
        ("talkative", "went on after its 'result', having sent b'and that was it"),
        ("grandchild", "the child process ended with exit code 5; the end of its stderr: I leave a process"),
    ],
)
def test_what_goes_wrong_in_a_trial_is_a_driver_error_and_the_next_one_has_a_new_child(
    shared, request_text, said
):
    (loaded,) = shared.drivers
    with InProcess(20.0) as executor:
        execution = executor.execute(loaded, prepared(request_text))
        after = executor.execute(loaded, prepared("answer"))
    assert execution.outcome == "driver_error"
    assert execution.error["type"] == "ChildError"
    assert said in execution.error["message"]
    assert len(execution.error["message"]) < 2000
    assert report(after)["why"] == "request 1 of this child"
    assert len(shared.alive()) == 1


def prepared(request_text):
    case = Case(id="c", rung="TOOL-1", request=request_text, tools=("look",), expect={"refuse": True})
    return PreparedCase(case, REGISTRY, Tools())


def report(execution):
    return as_json(execution.produced)["report"]


def test_a_reported_error_keeps_the_child(nursery):
    loaded = nursery.load()
    with pytest.raises(ChildError, match="the driver reported an error: no route to the model"):
        loaded.call("reports_error", [], context())
    assert loaded.call("answer", [], context()).why == "request 2 of this child"


def test_a_bug_of_the_toolset_is_infrastructure_and_the_next_trial_has_a_new_child(nursery):
    loaded = nursery.load()
    with InProcess(20.0) as executor:
        execution = executor.execute(loaded, prepared("bug"))
        after = executor.execute(loaded, prepared("answer"))
    assert execution.outcome == "infrastructure"
    assert execution.error["message"] == "a bug of the toolset"
    assert report(after)["why"] == "request 1 of this child"


@pytest.mark.parametrize("request_text", ["hang", "ignore_everything", "close_stdout"])
def test_after_a_time_out_the_child_is_killed_and_the_next_trial_has_a_new_one(
    nursery, request_text, monkeypatch
):
    monkeypatch.setattr(link, "_LAST_WORDS_S", 60.0)
    loaded = nursery.load()
    loaded.setup({})
    with InProcess(0.4) as executor:
        execution = executor.execute(loaded, prepared(request_text))
    with InProcess(20.0) as executor:
        after = executor.execute(loaded, prepared("answer"))
    assert execution.outcome == "timeout"
    assert (after.outcome, report(after)["why"]) == ("refused", "request 1 of this child")
    assert len(nursery.alive()) == 1


class Alarm(BaseException):
    pass


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_at_any_moment_leaves_a_driver_that_works(nursery):
    """Raise in the middle of whatever happens, as a time limit does: also while a child is started."""
    loaded = nursery.load("wants")

    def ring(number, frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    broken_off = 0
    try:
        for n in range(40):
            signal.setitimer(signal.ITIMER_REAL, 0.0002 + n * 0.0007, 0.25)
            try:
                loaded.call("hang", ["look"], context())
            except Alarm:
                broken_off += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if n % 8 == 0:
                assert loaded.call("answer", [], context()).why.startswith("request")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert broken_off == 40
    loaded.close()
    assert [pid for pid in nursery.pids if not is_gone(pid)] == []


def test_noise_on_stderr_and_much_on_stdout_stay_bounded(nursery):
    loaded = nursery.load()
    loaded.setup({})
    before = peak_mib()
    assert loaded.call("noisy", [], context(30)).refused
    with pytest.raises(ChildError):
        loaded.call("endless_line", [], context(30))
    assert peak_mib() - before < 80


def peak_mib():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def test_the_longest_line_is_sixteen_mebibytes(nursery):
    assert nursery.load().call("longest_line", [], context(30)).why.endswith("x" * 1000)


def test_a_child_that_reads_its_answers_late_does_not_block(nursery):
    ctx = context(30)
    assert len(nursery.load().call("never_reads", ["look"], ctx).calls) == 8
    assert len(ctx.dispatched) == 8


def test_a_process_that_left_the_group_and_holds_the_pipes_blocks_nothing(nursery):
    loaded = nursery.load()
    with pytest.raises(ChildError, match="exit code 5"):
        loaded.call("runaway", [], context(30))
    assert loaded.call("answer", [], context()).refused
    loaded.close()
    (runaway,) = nursery.alive()
    os.kill(runaway, signal.SIGKILL)


def test_a_child_that_stays_after_goodbye_is_killed(nursery, monkeypatch):
    monkeypatch.setattr(driver, "GOODBYE_S", 0.1)
    loaded = nursery.load("stays")
    loaded.setup({})
    assert len(nursery.alive()) == 1
    loaded.close()
    assert nursery.alive() == []


def test_a_child_that_says_another_hello_later_is_refused(nursery):
    loaded = nursery.load("changes")
    with pytest.raises(ChildError, match="says another hello than when it was loaded as 'odd-1'"):
        loaded.setup({})


def test_a_thread_gives_up_shortly_after_the_deadline(nursery):
    loaded = nursery.load()
    said = []

    def work():
        said.append(loaded.call("answer", [], context(30)).why)
        try:
            loaded.call("hang", [], context(0.5))
        except ChildError as error:
            said.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said == [
        "request 1 of this child",
        "the child process took too long; the end of its stderr: I hang",
    ]


def test_a_driver_that_nobody_closed_leaves_no_child(nursery):
    nursery.load().setup({})
    assert len(nursery.alive()) == 1
    nursery.drivers.clear()
    gc.collect()
    assert nursery.alive() == []


PARENT = """
import os, sys
from pathlib import Path
from study.drivers import load_driver

loaded = load_driver(sys.argv[1], where="here", search=Path.cwd())
loaded.setup({})
if sys.argv[2] == "forks" and os.fork() == 0:
    sys.exit(0)
if sys.argv[2] == "forks":
    os.wait()
    from study.driver import Context
    from study.registry import Registry
    print(loaded.call("answer", [], Context(Registry([]), None, None)).why)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("end, code", [("normal", 0), ("killed", -9), ("forks", 0)])
def test_the_end_of_the_parent_is_the_end_of_the_child(nursery, end, code):
    name = f"process:{PYTHON} -S -E {shlex.quote(str(CHILD))} good notes"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PARENT, name, end],
        cwd=nursery.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.strip() == ("request 1 of this child" if end == "forks" else "")
    assert len(nursery.pids) == 2
    assert [pid for pid in nursery.pids if not is_gone(pid)] == []


PYTHON_EXAMPLE = f"process:{PYTHON} process_driver.py"
IN_PROCESS = """

def desk(request, tools, ctx):
    order = re.search(r"order-[0-9]+", request)
    if order is None or "order_status" not in tools:
        return LoopResult(refused=True, driver="desk-1", why="no order, or no tool for it")
    arguments = {"order": order[0]}
    answer = ctx.dispatch("order_status", arguments)
    if not answer.ok:
        return LoopResult(refused=True, driver="desk-1", why=answer.error)
    return LoopResult(calls=[Call("order_status", arguments)], driver="desk-1", observed=answer.text)


desk.stamp = "desk-1"
"""


def study_of(mini, candidate):
    study = mini(baseline="careful", candidate="desk", tasks=20, extra=IN_PROCESS, timeout=20.0)
    for file in EXAMPLES.glob("process_driver.*"):
        shutil.copy(file, study.folder)
    if candidate != "desk":
        study.edit(f'driver = "{study.drivers}:desk"', f"driver = {json.dumps(candidate)}")
    return study


@pytest.mark.parametrize(
    "candidate", [PYTHON_EXAMPLE, pytest.param("process:node process_driver.mjs", marks=needs_node)]
)
def test_a_study_gives_the_rows_of_the_same_driver_in_process(mini, candidate):
    rows = {}
    for name in ("desk", candidate):
        study = study_of(mini, name)
        frozen = study.command("freeze", "shop.toml", "--replace")
        assert frozen.returncode == 0, frozen.stderr
        lock = json.loads((study.folder / "shop.lock.json").read_text())
        done = study.command("run", "shop.toml", "--no-report")
        assert done.returncode == 0, done.stderr
        (run,) = (study.folder / "runs" / "shop-study").glob(f"{digest(lock)[:12]}*")
        lines = (run / "product.jsonl").read_text().splitlines()
        rows[name] = [json.loads(line) for line in lines]
        stamp = lock["arms"]["candidate"]["stamp"]
        assert {row["driver"] for row in rows[name] if row["arm"] == "candidate"} == {stamp}
    for row in [*rows["desk"], *rows[candidate]]:
        row["driver"] = ""
    assert rows[candidate] == rows["desk"]
    assert sum(row["passed"] for row in rows[candidate] if row["arm"] == "candidate") == 40


def test_a_changed_script_is_a_deviation(mini):
    study = study_of(mini, PYTHON_EXAMPLE)
    study.command("freeze", "shop.toml")
    with (study.folder / "process_driver.py").open("a") as stream:
        stream.write("# another ending\n")
    done = study.command("run", "shop.toml", "--no-report")
    assert done.returncode == 0, done.stderr
    (noted,) = (study.folder / "runs").glob("*/*/deviations.jsonl")
    assert "arms.candidate.source_digest" in noted.read_text()


def test_a_driver_that_does_not_start_is_a_usage_error_without_a_traceback(mini):
    study = study_of(mini, f"process:{PYTHON} -c 'raise SystemExit(7)'")
    done = study.command("freeze", "shop.toml")
    assert done.returncode == 2
    assert "arms.candidate.driver" in done.stderr
    assert "ended with exit code 7 before its hello" in done.stderr
    assert "Traceback" not in done.stderr


def test_spawned_worker_processes_start_children_of_their_own(mini):
    study = study_of(mini, PYTHON_EXAMPLE)
    asked = ["ladder", "--driver", PYTHON_EXAMPLE, "--cases", "shop", "--held-out"]
    rows = {}
    for workers in ("1", "2"):
        done = study.command(*asked, "--out", f"rows{workers}", "--concurrency", workers, process=True)
        assert done.returncode == 0, done.stderr
        (file,) = (study.folder / f"rows{workers}").rglob("product.jsonl")
        rows[workers] = file.read_bytes()
    assert rows["1"] == rows["2"]
    assert b'"order-desk-1"' in rows["1"]


def transcript():
    """Return the conversation that the page shows, as (who, message)."""
    page = (ROOT / "docs" / "process-drivers.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith(("> {", "< {"))]
    return [(line[0], json.loads(line[2:])) for line in lines]


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, EXAMPLES / "process_driver.py"],
        pytest.param([NODE, EXAMPLES / "process_driver.mjs"], marks=needs_node),
    ],
    ids=["python", "node"],
)
def test_the_examples_say_what_the_page_shows(command):
    said = transcript()
    heard = "".join(json.dumps(message) + "\n" for who, message in said if who == ">")
    done = subprocess.run(command, input=heard, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers == [message for who, message in said if who == "<"]
    assert done.stderr == ""


def test_the_harness_says_what_the_page_shows():
    hello, _, request, dispatch, answer, result, goodbye = (message for _, message in transcript())
    assert json.loads(lines.hello_line()).keys() == hello.keys()
    assert hello["protocol"] == messages.PROTOCOL
    registry = registry_from_json(request["capabilities"])
    tools = {"order_status": lambda order: "paid"}
    ctx = Context(
        registry,
        FunctionToolset(tools),
        Binder(registry, request["tools"]),
        seed=int(request["seed"]),
        deadline=time.monotonic() + 20,
    )
    made = json.loads(lines.request_line(1, request["request"], request["tools"], ctx))
    assert made.pop("timeLeftS") < 20
    request.pop("timeLeftS")
    assert made == request
    asked = messages.read_message(json.dumps(dispatch).encode(), 1)
    assert json.loads(lines.answer_line(asked, ctx)) == answer
    read = messages.read_message(json.dumps(result).encode(), 1)
    assert lines.loop_result(read.result, "order-desk-1").observed == "paid"
    assert json.loads(lines.goodbye_line()) == goodbye
