"""Small working studies for tests: written as files, as a user would."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from study.cli.main import main

ROOT = Path(__file__).resolve().parent.parent

TOOLS = '''
"""Tools of a shop."""

ORDERS = {{f"order-{{n}}": {{"status": "paid" if n % 2 else "sent", "total": n}} for n in range(500)}}


def order_status(order):
    from study.driver import ToolError

    if order not in ORDERS:
        raise ToolError(f"no order {{order!r}}")
    return ORDERS[order]["status"]


def list_orders():
    return sorted(ORDERS)


TOOLS = {{"order_status": order_status, "list_orders": list_orders}}
'''

DRIVERS = '''
"""Two drivers of a shop assistant."""

import re

from study import Call, LoopResult


def careful(request, tools, ctx):
    found = re.search(r"order-[0-9]+", request)
    if not found or "order_status" not in tools or "status" not in request:
        return LoopResult(refused=True, driver="careful-1")
    arguments = {{"order": found[0]}}
    answer = ctx.dispatch("order_status", arguments)
    if not answer.ok:
        return LoopResult(refused=True, driver="careful-1")
    return LoopResult(calls=[Call("order_status", arguments)], driver="careful-1")


careful.stamp = "careful-1"


def hasty(request, tools, ctx):
    found = re.search(r"order-[0-9]*[02468]\\b", request)
    if not found or "order_status" not in tools:
        return LoopResult(refused=True, driver="hasty-1")
    arguments = {{"order": found[0]}}
    ctx.dispatch("order_status", arguments)
    return LoopResult(calls=[Call("order_status", arguments)], driver="hasty-1")


hasty.stamp = "hasty-1"


def refuses(request, tools, ctx):
    return LoopResult(refused=True, driver="refuses-1")


refuses.stamp = "refuses-1"
{extra}
'''

REGISTRY = [
    {
        "name": "order_status",
        "label": "status of an order",
        "question": "What is the status of an order?",
        "readOnly": True,
        "parameters": [{"name": "order", "kind": "order", "arg": "order", "required": True}],
        "preconditions": [],
        "effects": {"add": [{"kind": "knows", "topic": "status", "param": "order"}], "del": []},
    },
    {
        "name": "list_orders",
        "label": "all orders",
        "question": "Which orders are there?",
        "readOnly": True,
        "parameters": [],
        "preconditions": [],
        "effects": {"add": [{"kind": "knows", "topic": "orders"}], "del": []},
    },
]

PROTOCOL = """\
schema = 1
id = "{name}"
question = "May the candidate replace the baseline?"

[arms.baseline]
driver = "{drivers}:{baseline}"
[arms.candidate]
driver = "{drivers}:{candidate}"
[change]
paths = {paths}
why = "another assistant"

[workload]
suites = ["shop"]
split = "held-out"

[design]
tasks = {tasks}
repetitions = {repetitions}
order = "randomized-within-pair"
seed = 11

[[endpoints]]
name = "completion"
role = "primary"
claim = "non-inferior"
margin = "{margin}"
alpha = 0.025

[gates]
hard_fails = 0

[missing]
infrastructure = "void-pair"
max_void_pairs = "2 %"

[limits]
trial_timeout_s = {timeout}

[analysis]
resamples = 1000
seed = 3
"""


class Done(NamedTuple):
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


class MiniStudy:
    """A study of a shop assistant in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        baseline: str = "careful",
        candidate: str = "hasty",
        tasks: int = 20,
        repetitions: int = 1,
        margin: str = "20 pp",
        timeout: float = 5.0,
        extra: str = "",
        name: str = "shop-study",
    ) -> None:
        self.folder = folder
        tag = hashlib.sha256(str(folder).encode()).hexdigest()[:10]
        self.drivers, self.tools = f"drivers_{tag}", f"tools_{tag}"
        folder.mkdir(parents=True, exist_ok=True)
        self.driver_file = folder / f"{self.drivers}.py"
        self.driver_file.write_text(DRIVERS.format(extra=extra))
        (folder / f"{self.tools}.py").write_text(TOOLS.format())
        self.protocol = folder / "shop.toml"
        self.protocol.write_text(
            PROTOCOL.format(
                name=name,
                drivers=self.drivers,
                baseline=baseline,
                candidate=candidate,
                paths="[]" if baseline == candidate else '["driver"]',
                tasks=tasks,
                repetitions=repetitions,
                margin=margin,
                timeout=timeout,
            )
        )
        self._write_suite(tasks)

    def _write_suite(self, tasks: int) -> None:
        suite = self.folder / "shop"
        suite.mkdir(exist_ok=True)
        (suite / "registry.json").write_text(json.dumps(REGISTRY))
        lines, table = [], ["[tasks]"]
        for n in range(tasks):
            ids = [f"status-{n}-{letter}" for letter in "ab"]
            table.append(f'"status-{n}" = {{ split = "held-out", cases = {json.dumps(ids)} }}')
            lines += [json.dumps(self.case(ids[0], f"what is the status of order-{n}", f"order-{n}"))]
            lines += [json.dumps(self.case(ids[1], f"tell me the status of order-{n} please", f"order-{n}"))]
        (suite / "cases.jsonl").write_text("\n".join(lines) + "\n")
        head = ["schema = 1", 'id = "shop"', f'toolset = "{self.tools}:TOOLS"', 'registry = "registry.json"']
        (suite / "suite.toml").write_text("\n".join([*head, 'cases = "cases.jsonl"', *table]) + "\n")

    @staticmethod
    def case(case_id: str, request: str, order: str) -> dict[str, object]:
        expect = {"calls": [{"name": "order_status", "input": {"order": order}}], "terminates": True}
        return {
            "id": case_id,
            "rung": "TOOL-1",
            "request": request,
            "tools": ["order_status", "list_orders"],
            "expect": expect,
        }

    def edit(self, old: str, new: str, file: Path | None = None) -> None:
        """Replace text in the protocol or another file; it must be there."""
        file = file or self.protocol
        text = file.read_text()
        assert old in text, (old, file)
        file.write_text(text.replace(old, new))

    def command(self, *arguments: str, process: bool = False, **environment: str) -> Done:
        """Run the command line in the study's folder: in this process, or in one of its own."""
        if process or environment:
            done = subprocess.run(
                [sys.executable, "-m", "study.cli", *arguments],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            return Done(done.returncode, done.stdout, done.stderr)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(list(arguments))
            except SystemExit as stop:
                code = int(stop.code or 0)
        return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def mini(tmp_path):
    """Return a maker of small studies: ``mini(tasks=.., candidate=.., extra=..)``."""

    def make(folder: str = "work", **options) -> MiniStudy:
        return MiniStudy(tmp_path / folder, **options)

    return make
