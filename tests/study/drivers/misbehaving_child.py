"""A child that does what each request says, mostly wrong; imports nothing but the standard library.

Usage: misbehaving_child.py HELLO FOLDER. A file named after its process id is made in FOLDER, and one for
each process that it starts.
"""

import json
import os
import signal
import sys
import time

HELLO = {"kind": "hello", "protocol": 1, "name": "odd", "version": "1"}
WHOLE = 2**20
made_in = sys.argv[2]
state = {"requests": 0, "config": None, "resets": []}


def note(name):
    open(os.path.join(made_in, str(name)), "w").close()


def say(message):
    raw(json.dumps(message) + "\n")


def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def complain(text):
    sys.stderr.write(text)
    sys.stderr.flush()


def start_sleeper(**options):
    import subprocess

    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], **options)
    note(sleeper.pid)


def flood(stream, total):
    for _ in range(total // WHOLE):
        stream.write("x" * WHOLE)
    stream.flush()


def result(asked, **report):
    say({"kind": "result", "id": asked["id"], "result": report})


def ask(asked, kind, **what):
    say({"kind": kind, "id": asked["id"], **what})
    return hear()


class Requests:
    """One method a request; each gets the request message."""

    def answer(self, asked):
        result(asked, refused=True, why=f"request {state['requests']} of this child")

    def echo(self, asked):
        result(asked, refused=True, why=json.dumps([asked, state]))

    def exit(self, asked):
        complain("these are my last words\n")
        sys.exit(3)

    def crash(self, asked):
        raise ZeroDivisionError("a bug of the child")

    def killed(self, asked):
        os.kill(os.getpid(), signal.SIGKILL)

    def close_stdout(self, asked):
        os.close(1)
        time.sleep(120)

    def hang(self, asked):
        complain("I hang\n")
        time.sleep(120)

    def ignore_everything(self, asked):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(120)

    def endless_line(self, asked):
        flood(sys.stdout, 100 * WHOLE)
        self.answer(asked)

    def longest_line(self, asked):
        head = json.dumps({"kind": "result", "id": asked["id"], "result": {"refused": True, "why": "@"}})
        raw(head.replace("@", "x" * (16 * WHOLE - len(head) + 1)) + "\n")

    def noisy(self, asked):
        flood(sys.stderr, 100 * WHOLE)
        complain("the end of the noise\n")
        self.answer(asked)

    def noisy_exit(self, asked):
        flood(sys.stderr, 4 * WHOLE)
        self.exit(asked)

    def not_json(self, asked):
        raw("Loading the model ...\n")

    def not_utf8(self, asked):
        sys.stdout.buffer.write(b'{"kind": "\xff"}\n')
        sys.stdout.flush()

    def no_object(self, asked):
        raw("[1]\n")

    def deep(self, asked):
        raw("[" * 100_000 + "\n")

    def nan(self, asked):
        raw('{"kind": "result", "id": 1, "result": {"proof": [{"p": NaN}]}}\n')

    def twice_a_key(self, asked):
        raw('{"kind": "result", "id": 1, "id": 1, "result": {}}\n')

    def other_id(self, asked):
        say({"kind": "result", "id": 10_000, "result": {}})

    def text_id(self, asked):
        say({"kind": "result", "id": str(asked["id"]), "result": {}})

    def no_kind(self, asked):
        say({"id": asked["id"]})

    def other_kind(self, asked):
        say({"kind": "resul", "id": asked["id"]})

    def odd_call(self, asked):
        result(asked, calls=[{"name": "look", "input": [1]}])

    def odd_key(self, asked):
        result(asked, call=[])

    def odd_outcome(self, asked):
        result(asked, outcome="cancelled")

    def odd_usage(self, asked):
        say({"kind": "usage", "id": asked["id"], "input": -1})

    def talkative(self, asked):
        line = json.dumps({"kind": "result", "id": asked["id"], "result": {"refused": True}})
        raw(f"{line}\nand that was it\n")

    def reports_error(self, asked):
        say({"kind": "error", "id": asked["id"], "message": "no route to the model"})

    def grandchild(self, asked):
        start_sleeper()
        complain("I leave a process behind\n")
        os._exit(5)

    def runaway(self, asked):
        start_sleeper(start_new_session=True)
        os._exit(5)

    def never_reads(self, asked):
        """Ask for much without reading any answer; the answers fill the pipe."""
        one = json.dumps({"kind": "dispatch", "id": asked["id"], "name": "look", "input": {"at": "big"}})
        for _ in range(8):
            raw(one + "\n")
        for _ in range(8):
            hear()
        result(asked, calls=[{"name": "look", "input": {"at": "big"}}] * 8)

    def tools(self, asked):
        seen = [
            ask(asked, "dispatch", name="look", input={"at": "it"}),
            ask(asked, "dispatch", name="look", input={"at": "nothing"}),
            ask(asked, "dispatch", name="invented", input={}),
            ask(asked, "dispatch", name=7),
            ask(asked, "dispatch", name="look", input={"at": "odd"}),
            ask(asked, "dispatch", name="look", input={"at": "surrogate"}),
            ask(asked, "resolve", term="it"),
            ask(asked, "resolve", term="memo", memory=True),
            ask(asked, "capability", name="other"),
            ask(asked, "capability", name="invented"),
            ask(asked, "problems", name="look", input={}),
            ask(asked, "sleep", seconds=0.001),
        ]
        say({"kind": "usage", "id": asked["id"], "input": 120, "output": None})
        say({"kind": "usage", "id": asked["id"], "calls": 2, "input": 5, "output": 6})
        result(asked, calls=[{"name": "look", "input": {"at": "it"}}], why=json.dumps(seen))

    def bug(self, asked):
        ask(asked, "dispatch", name="look", input={"at": "bug"})

    def everything(self, asked):
        result(
            asked,
            calls=[{"name": "look"}],
            refused=False,
            terminated=False,
            proof=[{"kind": "effect", "ok": True}],
            driver="mine-7",
            composed=["a"],
            recovered=True,
            candidateResults=[{"name": "other", "input": {"x": 1.5}}],
            inferredGoal="cap:x",
            reject=False,
            ambiguousGoals=["g"],
            why="because",
            observed=None,
        )


def greet():
    how = sys.argv[1]
    others = {
        "version": {**HELLO, "protocol": 2},
        "blank": {**HELLO, "name": " "},
        "key": {**HELLO, "stamp": "x"},
        "shape": {**HELLO, "version": 1},
        "result": {"kind": "result", "id": 1, "result": {}},
        "wants": {**HELLO, "floor": True, "setup": True, "reset": True, "defaults": {"depth": 3}},
    }
    hear()
    if how == "silent":
        complain("waiting for a licence\n")
        time.sleep(120)
    elif how == "exits":
        complain("no such model\n")
        sys.exit(4)
    elif how == "rubbish":
        raw("Welcome to the agent!\n")
    elif how == "half":
        raw('{"kind": "hel')
        time.sleep(120)
    elif how == "endless":
        flood(sys.stdout, 100 * WHOLE)
    elif how == "changes":
        others["changes"] = {**HELLO, "version": str(len(os.listdir(made_in)))}
    say(others.get(how, HELLO))


def main():
    note(os.getpid())
    greet()
    while True:
        message = hear()
        if message["kind"] == "request":
            state["requests"] += 1
            getattr(Requests(), message["request"])(message)
        elif message["kind"] == "goodbye":
            if sys.argv[1] == "stays":
                time.sleep(120)
            note("goodbye")
            return
        elif message["kind"] == "reset" and message["condition"] == "broken":
            raise ValueError("no reset")
        elif message["kind"] == "setup" and message["config"].get("broken"):
            raise ValueError("no setup")
        elif message["kind"] in ("setup", "reset"):
            state["config"] = message.get("config", state["config"])
            state["resets"] += [message["condition"]] if "condition" in message else []
            say({"kind": "ready"})


main()
