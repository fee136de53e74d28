"""One attempt in process: whatever a driver does is recorded as what it was."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import time

import msgspec
import pytest

from study.cases import Case
from study.driver import Call, LoopResult, ToolError, ToolResult
from study.drivers.loading import LoadedDriver
from study.errors import StudyError
from study.executors import InProcess, PreparedCase
from study.executors.trials import DEEPEST
from study.registry import registry_from_json

REGISTRY = registry_from_json(
    [
        {"name": "look", "parameters": [{"name": "at", "kind": "any", "arg": "at", "required": True}]},
        {"name": "wipe", "readOnly": False, "parameters": []},
        {"name": "other", "parameters": []},
    ]
)
CASE = Case(id="c", rung="TOOL-1", request="look at it", tools=("look", "wipe"), expect={"refuse": True})


class Tools:
    names = ("look", "wipe", "other")

    def __init__(self):
        self.seen = []
        self.resets = []

    def dispatch(self, name, arguments):
        self.seen.append((name, dict(arguments)))
        if arguments.get("at") == "nothing":
            raise ToolError("there is nothing")
        if arguments.get("at") == "bug":
            raise ZeroDivisionError("a bug of the toolset")
        return ToolResult(ok=True, text="seen", resolved="it", result=["it"])

    def reset(self, condition):
        self.resets.append(condition)


def loaded(call, is_async=False):
    return LoadedDriver(
        name="t:d",
        call=call,
        is_async=is_async,
        stamp="t-1",
        floor=False,
        defaults={},
        source_file=None,
        source_digest=None,
    )


def execute(call, *, timeout_s=5.0, tools=None, is_async=False, **options):
    tools = Tools() if tools is None else tools
    with InProcess(timeout_s, **options) as executor:
        return executor.execute(loaded(call, is_async), PreparedCase(CASE, REGISTRY, tools), {"k": 1}, 42)


def plain(execution):
    return json.loads(msgspec.json.encode(execution.produced))


def test_an_answer_with_its_dispatches():
    def driver(request, tools, ctx):
        assert (request, tools, ctx.config, ctx.seed) == ("look at it", ("look", "wipe"), {"k": 1}, 42)
        assert 0 < ctx.remaining_s <= 5
        assert ctx.dispatch("look", {"at": "it"}).result == ["it"]
        ctx.record_usage(input=3, output=None)
        return LoopResult(calls=[Call("look", {"at": "it"})], driver="t-1", composed=["it"])

    execution = execute(driver)
    produced = plain(execution)
    assert execution.outcome == "answered"
    assert produced["report"] == {
        "calls": [{"name": "look", "input": {"at": "it"}}],
        "refused": False,
        "terminated": True,
        "proof": [],
        "driver": "t-1",
        "composed": ["it"],
    }
    (seen,) = produced["dispatches"]
    assert (seen["name"], seen["input"], seen["executed"], seen["ok"]) == ("look", {"at": "it"}, True, True)
    assert execution.usage == {
        "calls": 1,
        "input": {"known_subtotal": 3, "missing_calls": 0},
        "output": {"known_subtotal": 0, "missing_calls": 1},
    }
    assert 0 < execution.latency_s < 1


@pytest.mark.parametrize(
    "name, arguments, reason",
    [
        ("other", {}, "undeclared"),
        ("invented", {}, "unknown-tool"),
        ("look", {}, "missing-arg"),
        ("look", {"at": "it", "extra": 1}, "unknown-arg"),
        ("look", {"at": object()}, "unknown-arg"),
        ("look", ["it"], "unknown-arg"),
        ("wipe", {}, "effects"),
        (7, {}, "unknown-tool"),
    ],
)
def test_what_may_not_run_is_never_executed_and_is_on_record(name, arguments, reason):
    tools = Tools()
    answers = []

    def driver(request, declared, ctx):
        answers.append(ctx.dispatch(name, arguments))
        return LoopResult(refused=True)

    produced = plain(execute(driver, tools=tools))
    assert tools.seen == []
    assert answers[0].ok is False
    assert reason in answers[0].error
    (seen,) = produced["dispatches"]
    assert (seen["executed"], seen["ok"]) == (False, False)
    assert reason in seen["error"]


def test_arguments_are_kept_as_they_were_at_the_call():
    def driver(request, tools, ctx):
        arguments = {"at": {"deep": [1]}}
        ctx.dispatch("look", arguments)
        arguments["at"]["deep"].append(2)
        return LoopResult(refused=True)

    assert plain(execute(driver))["dispatches"][0]["input"] == {"at": {"deep": [1]}}


def test_a_tool_error_is_a_miss_and_a_tool_bug_is_infrastructure():
    def misses(request, tools, ctx):
        answer = ctx.dispatch("look", {"at": "nothing"})
        return LoopResult(refused=not answer.ok, why=answer.error)

    assert execute(misses).outcome == "refused"

    def meets_bug(request, tools, ctx):
        ctx.dispatch("look", {"at": "bug"})
        return LoopResult()

    execution = execute(meets_bug)
    assert execution.outcome == "infrastructure"
    assert execution.error == {"type": "ZeroDivisionError", "message": "a bug of the toolset"}


cyclic: list[object] = []
cyclic.append(cyclic)


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        "text",
        [Call("look", {"at": "it"})],
        {"calls": [], "surprise": 1},
        LoopResult(proof=[{"ok": float("nan")}]),
        LoopResult(calls=[Call("look", {"at": object()})]),
        LoopResult(why="\ud800"),
        LoopResult(composed=cyclic),
        LoopResult(outcome="cancelled"),
        LoopResult(outcome="answered"),
    ],
)
def test_rubbish_is_a_driver_error(value):
    execution = execute(lambda request, tools, ctx: value)
    assert execution.outcome == "driver_error"
    assert execution.error is not None
    assert execution.error["type"] == "InvalidResultError"
    assert plain(execution)["report"] == {}


class Odd(BaseException):
    pass


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no")


class Nameless(type):
    __name__ = property(lambda cls: 1 / 0)  # pyright: ignore[reportAssignmentType]


class NoName(Exception, metaclass=Nameless):  # noqa: N818
    pass


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(3), Odd(), UnspeakableError(), RecursionError()]
)
def test_whatever_is_raised_is_a_driver_error(error):
    def driver(request, tools, ctx):
        raise error

    execution = execute(driver)
    assert execution.outcome == "driver_error"
    assert execution.error is not None
    assert execution.error["type"] == type(error).__name__


def test_the_name_of_an_error_is_that_of_its_class_and_both_texts_are_bounded():
    def driver(request, tools, ctx):
        raise NoName("x" * 10**6)

    execution = execute(driver)
    assert execution.error == {"type": "NoName", "message": "x" * 2000}


def test_an_interrupt_is_a_cancelled_attempt_and_one_that_the_driver_raises_is_its_error():
    def interrupted(request, tools, ctx):
        signal.raise_signal(signal.SIGINT)

    assert execute(interrupted).outcome == "cancelled"

    def pretends(request, tools, ctx):
        raise KeyboardInterrupt

    assert execute(pretends).outcome == "driver_error"


def exits(request, tools, ctx):
    os._exit(0)


def becomes_another_program(request, tools, ctx):
    os.execvp("true", ["true"])


def becomes_another_program_in_another_environment(request, tools, ctx):
    os.execle("/bin/true", "true", {})


def forks_and_executes(request, tools, ctx):
    child = os.fork()
    if child == 0:
        os.execv("/bin/sh", ["sh", "-c", "exit 7"])
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return LoopResult(refused=True, driver=f"child {code}")


class Trap(Call):
    @property
    def name(self):
        raise SystemExit(0)

    @name.setter
    def name(self, value):
        pass


@pytest.mark.parametrize(
    "driver",
    [
        exits,
        becomes_another_program,
        becomes_another_program_in_another_environment,
        lambda request, tools, ctx: LoopResult(calls=[Trap("look")]),
        lambda request, tools, ctx: LoopResult(outcome=[]),
        lambda request, tools, ctx: ctx.record_usage(calls=10**30),
        lambda request, tools, ctx: ctx.record_usage(input=float("nan")),
    ],
)
def test_what_would_end_the_process_or_the_run_is_a_driver_error(driver):
    before = os._exit, os.execv, os.execve
    assert execute(driver).outcome == "driver_error"
    assert (os._exit, os.execv, os.execve) == before


def test_a_forked_child_may_become_another_program():
    assert plain(execute(forks_and_executes))["report"]["driver"] == "child 7"


def ignores_alarms(request, tools, ctx):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(0.3)
    return LoopResult(refused=True)


def stops_the_timer(request, tools, ctx):
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(0.3)
    return LoopResult(refused=True)


@pytest.mark.parametrize("driver", [ignores_alarms, stops_the_timer])
def test_a_late_answer_is_a_timeout_even_if_the_alarm_was_switched_off(driver):
    with InProcess(0.1) as executor:
        prepared = PreparedCase(CASE, REGISTRY, Tools())
        assert executor.execute(loaded(driver), prepared).outcome == "timeout"
        assert executor.execute(loaded(sleeping), prepared).outcome == "timeout"


def test_a_driver_cannot_pass_its_own_failure_off_as_that_of_the_toolset():
    def forges(request, tools, ctx):
        with contextlib.suppress(ZeroDivisionError):
            ctx.dispatch("look", {"at": "bug"})
        raise ValueError("mine")

    execution = execute(forges)
    assert execution.outcome == "driver_error"
    assert execution.error == {"type": "ValueError", "message": "mine"}


def test_a_thread_that_is_left_behind_runs_no_tool_after_the_trial():
    tools = Tools()
    kept = []

    def driver(request, declared, ctx):
        kept.append(ctx)
        return LoopResult(refused=True)

    execute(driver, tools=tools)
    assert kept[0].dispatch("look", {"at": "it"}).ok is False
    assert tools.seen == []


def test_a_result_that_the_driver_changes_is_its_own_copy():
    labels: list[object] = ["it", {"deep": [1]}]

    class Shared(Tools):
        def dispatch(self, name, arguments):
            return ToolResult(ok=True, result=labels)

    def driver(request, tools, ctx):
        found = ctx.dispatch("look", {"at": "it"}).result
        found[1]["deep"].clear()
        found.clear()
        return LoopResult(refused=True)

    execute(driver, tools=Shared())
    assert labels == ["it", {"deep": [1]}]


@pytest.mark.parametrize(
    "result, outcome",
    [
        (LoopResult(), "empty"),
        (LoopResult(refused=True), "refused"),
        (LoopResult(refused=True, calls=[Call("look")]), "answered"),
        (LoopResult(outcome="unparseable"), "unparseable"),
        (LoopResult(outcome="transport_error"), "transport_error"),
        (LoopResult(inferred_goal="goal:x"), "answered"),
        ({"refused": True}, "refused"),
        (LoopResult(calls="look"), "answered"),
    ],
)
def test_outcomes(result, outcome):
    assert execute(lambda request, tools, ctx: result).outcome == outcome


def busy(request, tools, ctx):
    while True:
        pass


def sleeping(request, tools, ctx):
    time.sleep(60)


def swallowing(request, tools, ctx):
    try:
        time.sleep(60)
    except BaseException:
        return LoopResult(refused=True)


def swallowing_exceptions(request, tools, ctx):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(60)


async def waiting(request, tools, ctx):
    await asyncio.sleep(60)


async def waiting_with_children(request, tools, ctx):
    await asyncio.gather(*(asyncio.sleep(60) for _ in range(3)))


@pytest.mark.parametrize(
    "driver", [busy, sleeping, swallowing, swallowing_exceptions, waiting, waiting_with_children]
)
def test_a_driver_that_goes_on_for_ever_is_a_timeout_and_the_next_trial_runs(driver):
    with InProcess(0.15) as executor:
        prepared = PreparedCase(CASE, REGISTRY, Tools())
        execution = executor.execute(loaded(driver), prepared)
        assert execution.outcome == "timeout"
        assert 0.14 < execution.latency_s < 3
        report = plain(execution)["report"]
        assert (report["calls"], report["refused"], report["terminated"]) == ([], False, False)

        async def fine(request, tools, ctx):
            await asyncio.sleep(0)
            return LoopResult(refused=True)

        assert executor.execute(loaded(fine), prepared).outcome == "refused"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_async_drivers_and_awaitables_of_plain_ones():
    async def driver(request, tools, ctx):
        answer = await ctx.adispatch("look", {"at": "it"})
        return LoopResult(calls=[Call("look", {"at": "it"})], composed=answer.result)

    assert execute(driver, is_async=True).outcome == "answered"
    assert execute(lambda request, tools, ctx: driver(request, tools, ctx)).outcome == "answered"


def test_cold_resets_before_each_trial_outside_the_latency():
    tools = Tools()
    execution = execute(lambda request, declared, ctx: LoopResult(refused=True), tools=tools, cold=True)
    assert tools.resets == ["cold"]
    assert execution.outcome == "refused"


def _hangs(condition):
    while True:
        time.sleep(0.01)


def _leaves(condition):
    os._exit(0)


def _interrupts(condition):
    raise KeyboardInterrupt


def _answers(request, tools, ctx):
    return LoopResult(refused=True)


@pytest.mark.parametrize(
    ("resets", "error"),
    [(_hangs, "ResetTimeout"), (_leaves, "DriverExitError"), (_interrupts, "KeyboardInterrupt")],
)
@pytest.mark.parametrize("whose", ["driver", "toolset"])
def test_a_reset_that_does_not_end_well_is_laid_to_whose_it_is(resets, error, whose):
    def driver(request, tools, ctx):
        return LoopResult(refused=True)

    tools = Tools()
    (driver if whose == "driver" else tools).reset = resets
    with InProcess(5.0, cold=True, reset_s=0.1) as executor:
        failed = executor.execute(loaded(driver), PreparedCase(CASE, REGISTRY, tools), {}, 1)
        after = executor.execute(loaded(_answers), PreparedCase(CASE, REGISTRY, Tools()), {}, 1)
    assert failed.outcome == {"driver": "driver_error", "toolset": "infrastructure"}[whose]
    assert failed.error["type"] == error
    assert failed.latency_s == 0.0
    assert after.outcome == "refused"


def test_another_thread_is_refused_with_the_reason():
    caught = []

    def enter():
        try:
            InProcess(1.0).__enter__()
        except StudyError as error:
            caught.append(str(error))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert "main thread" in caught[0]


def test_a_result_that_is_too_large_is_a_driver_error(monkeypatch):
    monkeypatch.setattr("study.executors.settling.REPORT_LIMIT_BYTES", 1000)
    execution = execute(lambda request, tools, ctx: LoopResult(refused=True, why="x" * 2000))
    assert execution.outcome == "driver_error"
    assert execution.error is not None
    assert "bytes" in execution.error["message"]


def nested(depth):
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def limits_recursion(request, tools, ctx):
    sys.setrecursionlimit(10**6)
    return LoopResult(refused=True, composed=nested(5000))


def test_a_recursion_limit_ends_with_the_trial():
    before = sys.getrecursionlimit()
    assert execute(limits_recursion).outcome == "driver_error"
    assert sys.getrecursionlimit() == before


def nested_result(request, tools, ctx):
    return LoopResult(refused=True, composed=nested(DEEPEST + 1), why="[" * 1000)


def nested_arguments(request, tools, ctx):
    ctx.dispatch("look", {"at": nested(DEEPEST + 1)})
    return LoopResult(refused=True)


@pytest.mark.parametrize("driver", [nested_result, nested_arguments])
def test_what_is_nested_too_deeply_to_be_read_again_is_a_driver_error(driver):
    execution = execute(driver)
    assert execution.outcome == "driver_error"
    assert execution.error is not None
    assert "200 deep" in execution.error["message"]
    inputs = [dispatch["input"] for dispatch in plain(execution)["dispatches"]]
    assert inputs in ([], [["arguments that are nested too deeply"]])


def test_brackets_in_text_are_no_nesting():
    def driver(request, tools, ctx):
        ctx.dispatch("look", {"at": nested(DEEPEST - 10)})
        return LoopResult(refused=True, why='\\"[' * 1000, composed=[["]"]] * 1000)

    assert execute(driver).outcome == "refused"


def sleeps_less_than_nothing(request, tools, ctx):
    ctx.slept_s = -1.0
    return LoopResult(refused=True)


def sleeps_text(request, tools, ctx):
    ctx.slept_s = "long"
    return LoopResult(refused=True)


def has_no_ledger(request, tools, ctx):
    ctx.usage = None
    return LoopResult(refused=True)


@pytest.mark.parametrize("driver", [sleeps_less_than_nothing, sleeps_text, has_no_ledger])
def test_a_driver_that_replaces_what_its_context_counts_is_a_driver_error(driver):
    execution = execute(driver)
    assert execution.outcome == "driver_error"
    assert (execution.usage, execution.slept_s) == (None, 0.0)
    assert execution.latency_s >= 0


def test_a_wait_through_the_context_is_no_latency():
    async def waits(request, tools, ctx):
        await ctx.asleep(0.03)
        ctx.sleep(0.02)
        return LoopResult(refused=True)

    execution = execute(waits, is_async=True)
    assert execution.slept_s >= 0.05
    assert execution.latency_s < execution.slept_s

    def waits_too_long(request, tools, ctx):
        ctx.sleep(60)

    execution = execute(waits_too_long, timeout_s=0.1)
    assert (execution.outcome, execution.slept_s) == ("timeout", 0.0)
    assert execution.latency_s >= 0.1


def test_a_time_limit_never_cuts_off_the_word_of_a_dispatch():
    """The observer is not interrupted, however late it is: what it wrote would be half a message."""
    told = []

    def observe(dispatch):
        time.sleep(0.3)
        told.append(dispatch.name)

    def driver(request, tools, ctx):
        while True:
            ctx.dispatch("look", {"at": "it"})

    execution = execute(driver, timeout_s=0.1, observer=observe)
    assert execution.outcome == "timeout"
    assert [dispatch["name"] for dispatch in plain(execution)["dispatches"]] == told


def test_a_driver_cannot_touch_the_record_or_what_the_next_trial_gets():
    seen = []

    def driver(request, tools, ctx):
        seen.append(ctx.dispatched)
        ctx.dispatch("invented", {})
        with pytest.raises(AttributeError):
            ctx.dispatched = ()
        assert isinstance(tools, tuple)
        return LoopResult(refused=True)

    assert len(plain(execute(driver))["dispatches"]) == 1
    assert seen == [()]
    case = Case(id="t", rung="TOOL-9", request="r", tools=("look",), expect={}, trace=({"name": "look"},))
    traces = []

    def tracer(request, tools, ctx):
        traces.append(dict(ctx.trace[0]))
        ctx.trace[0]["name"] = "changed"
        return LoopResult(refused=True)

    with InProcess(5.0) as executor:
        prepared = PreparedCase(case, REGISTRY, Tools())
        for _ in range(2):
            executor.execute(loaded(tracer), prepared)
    assert traces == [{"name": "look"}, {"name": "look"}]
