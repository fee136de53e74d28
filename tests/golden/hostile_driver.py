"""What hostile drivers do, one function each; copied into the module of a study's drivers by the tests."""

import asyncio
import contextlib
import ctypes
import faulthandler
import itertools
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time

import psutil

from study import LoopResult

FOR_EVER_S = 3600
ORDER = {"order": "order-0"}
MEBIBYTE = 2**20

kept = []


def refuse():
    return LoopResult(refused=True, driver="hostile-1")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


# drivers that do not end


def sleeps(ctx):
    time.sleep(FOR_EVER_S)


async def waits(ctx):
    await asyncio.sleep(FOR_EVER_S)


def is_busy(ctx):
    while True:
        pass


def is_busy_in_a_pattern(ctx):
    re.match(r"(a+)+$", "a" * 40 + "b")


def holds_the_interpreter(ctx):
    sum(itertools.repeat(1))


def swallows_everything(ctx):
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(FOR_EVER_S)


def disables_every_alarm(ctx):
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()
    time.sleep(FOR_EVER_S)


def stops_itself(ctx):
    os.kill(os.getpid(), signal.SIGSTOP)


# drivers that end their process


def exits(ctx):
    os._exit(3)


def exits_in_native_code(ctx):
    ctypes.CDLL(None)._exit(4)


def signals_a_fault(ctx):
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(FOR_EVER_S)


def reads_from_nowhere(ctx):
    ctypes.string_at(0)


def kills_itself(ctx):
    os.kill(os.getpid(), signal.SIGKILL)


def tries_an_unknown_tool_and_crashes(ctx):
    ctx.dispatch("delete_everything", {})
    ctypes.string_at(0)


# drivers that leave processes behind, which hold the output and the connection of their worker


def leaves_a_child(ctx):
    if os.fork() == 0:
        time.sleep(FOR_EVER_S)
    return refuse()


def leaves_a_child_and_crashes(ctx):
    if os.fork() == 0:
        time.sleep(FOR_EVER_S)
    ctypes.string_at(0)


def _daemon():
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writer, b"!")
            time.sleep(FOR_EVER_S)
        os._exit(0)
    os.read(reader, 1)
    os.close(reader)
    os.close(writer)


def leaves_a_daemon(ctx):
    _daemon()
    return refuse()


def leaves_a_daemon_and_crashes(ctx):
    _daemon()
    ctypes.string_at(0)


def returns_twice(ctx):
    os.fork()
    return refuse()


# drivers that produce too much


def prints_100_megabytes(ctx):
    for _ in range(100):
        print("x" * MEBIBYTE)
    return refuse()


def prints_100_megabytes_of_errors_in_one_line(ctx):
    for _ in range(100):
        sys.stderr.write("x" * MEBIBYTE)
    return refuse()


def returns_100_megabytes(ctx):
    return LoopResult(refused=True, why="x" * 100 * MEBIBYTE)


def raises_10_megabytes(ctx):
    raise ValueError("x" * 10 * MEBIBYTE)


def dispatches_a_million_times(ctx):
    for _ in range(10**6):
        ctx.dispatch("order_status", ORDER)
    return refuse()


def swallows_the_limit_of_dispatches(ctx):
    for _ in range(11_000):
        with contextlib.suppress(Exception):
            ctx.dispatch("order_status", ORDER)
    return refuse()


# drivers that return or raise what nobody can use


def returns_not_a_number(ctx):
    return LoopResult(refused=True, composed=[float("nan")])


def returns_a_number(ctx):
    return 7


def returns_itself_within_itself(ctx):
    value = []
    value.append(value)
    return LoopResult(refused=True, composed=value)


def returns_deep_nesting(ctx):
    sys.setrecursionlimit(10**6)
    return LoopResult(refused=True, composed=nested(5000))


def returns_some_nesting(ctx):
    return LoopResult(refused=True, composed=nested(300))


def dispatches_deep_nesting(ctx):
    sys.setrecursionlimit(10**6)
    ctx.dispatch("order_status", {"order": nested(5000)})
    return refuse()


def dispatches_some_nesting_and_crashes(ctx):
    with contextlib.suppress(TypeError):
        ctx.dispatch("order_status", {"order": nested(300)})
    ctypes.string_at(0)


class Odd(BaseException):
    pass


def raises_its_own(ctx):
    raise Odd("odd")


class Nameless(type):
    __name__ = property(lambda cls: 1 / 0)


class UnspeakableError(Exception, metaclass=Nameless):
    def __str__(self):
        raise RuntimeError("no")


def raises_the_unspeakable(ctx):
    raise UnspeakableError


def raises_exit(ctx):
    raise SystemExit(5)


def raises_interrupt(ctx):
    raise KeyboardInterrupt


def raises_generator_exit(ctx):
    raise GeneratorExit


# drivers that change what is not theirs


def changes_what_it_is_given(ctx):
    ctx.config["surprise"] = 1
    for name in ("order_status", "list_orders"):
        ctx.capability(name).effects.clear()
    ctx.trace = ctx.deadline = ctx.seed = None
    return refuse()


def sets_its_own_clock(ctx):
    ctx.slept_s = float("nan")
    return refuse()


def replaces_its_ledger(ctx):
    ctx.usage = object()
    return refuse()


def erases_its_dispatches(ctx):
    ctx.dispatch("delete_everything", {})
    ctx._record.clear()
    return refuse()


def moves_out(ctx):
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    os.environ.clear()
    os.environ["PATH"] = "/nowhere"
    return refuse()


def deletes_its_folder(ctx):
    os.rmdir(os.getcwd())
    return refuse()


def closes_every_file(ctx):
    os.closerange(3, 256)
    return refuse()


def replaces_its_streams(ctx):
    sys.stdout.close()
    sys.stdout, sys.stderr = None, object()
    return refuse()


def limits_recursion(ctx):
    sys.setrecursionlimit(300)
    return refuse()


def _sockets():
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            yield socket.socket(fileno=os.dup(descriptor))


def writes_to_the_connection(ctx):
    for side in _sockets():
        with contextlib.suppress(OSError):
            side.sendall(b"rubbish " * 1000)
    return refuse()


def forges_an_answer(ctx):
    from study.executors.channel import Channel, Executed

    numbers = dict.fromkeys(("started_at_s", "latency_s", "slept_s"), 1.0) | {"number": 1, "rss_bytes": 1}
    answer = Executed(outcome="answered", produced=b"7", usage={"calls": "x"}, error=None, **numbers)
    for side in _sockets():
        with contextlib.suppress(Exception):
            Channel(side).send(answer)
    time.sleep(0.2)
    return refuse()


def waits_for_a_rate_limit(ctx):
    ctx.sleep(0.3)
    return refuse()


# drivers whose deeds outlast their trial


def leaves_threads_that_print(ctx):
    def chatter():
        while True:
            print("chatter " * 100)
            time.sleep(0.001)

    for _ in range(3):
        threading.Thread(target=chatter).start()
    return refuse()


def crashes_a_little_later(ctx):
    def crash():
        time.sleep(0.05)
        ctypes.string_at(0)

    threading.Thread(target=crash).start()
    return refuse()


def writes_to_the_connection_a_little_later(ctx):
    def write():
        time.sleep(0.05)
        writes_to_the_connection(ctx)

    threading.Thread(target=write).start()
    return refuse()


def changes_the_harness(ctx):
    """Make every later trial of this process pass, as far as that can be done from inside."""
    import study.driver
    import study.executors.trials
    import study.grading
    import study.journal

    def nothing(*arguments, **options):
        return None

    study.grading.compile_case = nothing
    study.journal.Journal.append = nothing
    study.executors.trials.produced_bytes = nothing
    study.driver.Context.dispatch = nothing
    sys.modules["json"].dumps = nothing
    return refuse()


def leaks(ctx):
    """Keep 50 MB more, and tell the process and its resident memory."""
    kept.append(bytearray(b"x") * (50 * MEBIBYTE))
    process = psutil.Process()
    return LoopResult(refused=True, driver="hostile-1", why=f"{process.pid} {process.memory_info().rss}")
