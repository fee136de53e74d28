import hashlib
import inspect
import os
import subprocess
import sys
import textwrap
import tomllib
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from study.driver import LoopResult
from study.drivers import load_driver, resolved_config
from study.drivers.loading import DRIVERS
from study.errors import DriverError

ROOT = Path(__file__).parents[3]
DRIVE = "def drive(request, tools, ctx):\n    return request\n"


def fail(name, search=None, where="plan.toml:arms.baseline.driver"):
    with pytest.raises(DriverError) as caught:
        load_driver(name, where=where, search=search)
    assert caught.value.where == where
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


def register(monkeypatch, *points):
    chosen = [EntryPoint(name=n, value=v, group=DRIVERS.group) for n, v in points]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: chosen)


@pytest.mark.parametrize(
    "name, stamp",
    [
        ("stub", "stub-floor"),
        ("shim", "shim-transport"),
        ("refuse-all", "refuse-all"),
        ("first-declared", "first-declared"),
    ],
)
def test_shipped_drivers(name, stamp, make_context):
    loaded = load_driver(name, where="here")
    assert (loaded.name, loaded.stamp, loaded.floor, loaded.is_async) == (name, stamp, True, False)
    assert loaded.source_file.stem == DRIVERS.builtin[name].split(":")[0].split(".")[-1]
    assert loaded.source_digest == hashlib.sha256(loaded.source_file.read_bytes()).hexdigest()
    assert isinstance(loaded.call("x", ["tmct_untested"], make_context(["tmct_untested"])), LoopResult)


@pytest.mark.parametrize("name, stamp", [("resolver", "resolver-0.8.0"), ("goal", "goal-0.8.1")])
def test_shipped_candidates(name, stamp, make_context):
    loaded = load_driver(name, where="here")
    assert (loaded.stamp, loaded.floor, loaded.is_async) == (stamp, False, False)
    assert loaded.source_file.stem == name
    assert loaded.call("Who uses Shelf?", ["tmct_callers"], make_context(["tmct_callers"])).calls


def test_registered_entry_points_are_built_in():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    registered = project["entry-points"][DRIVERS.group]
    assert registered.items() <= DRIVERS.builtin.items()


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        "./drivers/mine.py",
        "mine:",
        ":drive",
        "mine:drive:more",
        "mine:dr ive",
        "1x:y",
        "stub\n",
    ],
)
def test_no_form_of_a_name(name, tmp_path):
    said = fail(name, tmp_path)
    assert repr(name) in said
    assert "module:attribute" in said
    assert "stub" in said


def test_unknown_plain_name():
    assert "unknown driver 'stubb' (did you mean 'stub'?)" in fail("stubb")


def test_entry_points(monkeypatch, write, tmp_path):
    write("plugged.py", DRIVE)
    sys.path.append(str(tmp_path))
    register(monkeypatch, ("mine", "plugged:drive [extra]"), ("mine", "plugged:drive"), ("odd", "plugged"))
    loaded = load_driver("mine", where="here")
    assert loaded.source_file == tmp_path / "plugged.py"
    assert "module:attribute" in fail("odd")
    assert "mine" in fail("other")


def test_ambiguous_entry_points(monkeypatch):
    register(monkeypatch, ("mine", "one:drive"), ("mine", "two:drive"))
    said = fail("mine")
    assert "several distributions: one:drive, two:drive" in said


def test_built_in_names_are_not_overridden(monkeypatch):
    register(monkeypatch, ("stub", "elsewhere:drive"))
    assert load_driver("stub", where="here").stamp == "stub-floor"


def test_function(write, tmp_path):
    source = write("mine.py", DRIVE)
    loaded = load_driver("mine:drive", where="here", search=tmp_path)
    assert loaded.call("hello", [], None) == "hello"
    assert (loaded.stamp, loaded.floor, loaded.is_async) == ("unstamped", False, False)
    assert loaded.source_file == source
    assert loaded.source_digest == hashlib.sha256(source.read_bytes()).hexdigest()
    assert (loaded.setup({}), loaded.reset("cold"), loaded.close()) == (None, None, None)


def test_packages_and_dotted_attributes(write, tmp_path):
    write(
        "kit/agents/route.py",
        "class Box:\n    " + DRIVE.replace("drive(", "drive(self, ").replace("\n", "\n    "),
    )
    write("kit/agents/made.py", "from kit.agents.route import Box\nbox = Box()\n")
    loaded = load_driver("kit.agents.made:box.drive", where="here", search=tmp_path)
    assert loaded.call("hello", [], None) == "hello"
    assert loaded.source_file == tmp_path / "kit/agents/route.py"


CLASS = """
class Agent:
    stamp = "agent-2"
    floor = True
    defaults = {"limit": 3, "model": {"name": "x"}}
    seen = []

    def __call__(self, request, tools, ctx):
        return request

    def setup(self, config):
        self.seen.append(("setup", config))
        return 1

    def reset(self, condition):
        self.seen.append(("reset", condition))

    close = None

agent = Agent()
"""


@pytest.mark.parametrize("attribute", ["Agent", "agent"])
def test_class_and_object(attribute, write, tmp_path):
    write("mine.py", CLASS)
    loaded = load_driver(f"mine:{attribute}", where="here", search=tmp_path)
    assert not inspect.isclass(loaded.call)
    assert (loaded.stamp, loaded.floor) == ("agent-2", True)
    assert loaded.setup({"a": 1}) is None
    assert loaded.reset("cold") is None
    assert loaded.close() is None
    assert loaded.call.seen == [("setup", {"a": 1}), ("reset", "cold")]


def test_an_object_belongs_to_the_file_that_holds_it(write, tmp_path):
    write("kit2.py", CLASS)
    held = write("mine.py", "from kit2 import Agent, agent as other\nagent = Agent()\n")
    assert load_driver("mine:agent", where="here", search=tmp_path).source_file == held
    assert load_driver("mine:Agent", where="here", search=tmp_path).source_file == tmp_path / "kit2.py"


@pytest.mark.parametrize(
    "source, is_async",
    [
        ("async def drive(r, t, c): ...", True),
        ("def drive(r, t, c): ...", False),
        ("class drive:\n    async def __call__(self, r, t, c): ...", True),
        ("class Box:\n    async def run(self, r, t, c): ...\ndrive = Box().run", True),
        ("import functools\nasync def f(a, r, t, c): ...\ndrive = functools.partial(f, 1)", True),
        ("import functools\ndef f(a, r, t, c): ...\ndrive = functools.partial(f, 1)", False),
        ("drive = lambda *a: None", False),
    ],
)
def test_async_detection(source, is_async, write, tmp_path):
    write("mine.py", source)
    assert load_driver("mine:drive", where="here", search=tmp_path).is_async is is_async


@pytest.mark.parametrize(
    "extra, stamp",
    [("__version__ = '1.4'", "1.4"), ("__version__ = (1, 4)", "unstamped"), ("drive.stamp = 's-1'", "s-1")],
)
def test_stamps(extra, stamp, write, tmp_path):
    write("mine.py", f"{DRIVE}\n{extra}\n")
    assert load_driver("mine:drive", where="here", search=tmp_path).stamp == stamp


@pytest.mark.parametrize(
    "source, said",
    [
        ("drive = 3", "is a int, which cannot be called"),
        ("class drive: ...", "is a drive, which cannot be called"),
        ("def drive(request): ...", "takes (request)"),
        ("def drive(r, t, c, extra): ...", "missing a required argument: 'extra'"),
        ("def drive(r, t, c): yield 1", "yields"),
        ("async def drive(r, t, c): yield 1", "yields"),
        ("class drive:\n    def __call__(self, r, t, c): yield 1", "yields"),
        (f"{DRIVE}\ndrive.stamp = 3", "stamp of 'mine:drive' is 3"),
        (f"{DRIVE}\ndrive.stamp = ' '", "stamp of 'mine:drive' is ' '"),
        (f"{DRIVE}\ndrive.floor = 'no'", "'floor' of 'mine:drive' is 'no'"),
        (f"{DRIVE}\ndrive.defaults = [1]", "'defaults' of 'mine:drive' is no mapping"),
        (f"{DRIVE}\nasync def reset(c): ...\ndrive.reset = reset", "'reset' of 'mine:drive' is async"),
        (f"{DRIVE}\ndrive.setup = 1", "'setup' of 'mine:drive' cannot be called"),
    ],
)
def test_objects_that_are_no_driver(source, said, write, tmp_path):
    write("mine.py", source)
    assert said in fail("mine:drive", tmp_path)


def test_defaults_must_be_json(write, tmp_path):
    write("mine.py", f"{DRIVE}\ndrive.defaults = {{'a': {{'b': [1, {{2}}]}}}}")
    with pytest.raises(DriverError, match=r"defaults\.a\.b\[1\] is \{2\} \(set\)"):
        load_driver("mine:drive", where="here", search=tmp_path)


def test_resolved_config(write, tmp_path):
    write("mine.py", CLASS)
    loaded = load_driver("mine:agent", where="here", search=tmp_path)
    given = {"model": {"size": 1}, "list": [1.5, None, True]}
    got = resolved_config(loaded, given)
    assert got == {"limit": 3, "model": {"size": 1}, "list": [1.5, None, True]}
    got["list"].append(2)
    resolved_config(loaded, {})["model"]["name"] = "changed"
    assert given["list"] == [1.5, None, True]
    assert resolved_config(loaded, {})["model"] == {"name": "x"}


@pytest.mark.parametrize(
    "config, said",
    [
        ({"when": date(2020, 1, 2)}, "config.when is datetime.date(2020, 1, 2) (date)"),
        ({"a": {"b": [0, float("nan")]}}, "config.a.b[1] is nan (float)"),
        ({"a": {1: 2}}, "config.a has the key 1"),
        ({"a": (1,)}, "config.a is (1,) (tuple)"),
    ],
)
def test_config_that_is_not_json(config, said):
    with pytest.raises(DriverError) as caught:
        resolved_config(load_driver("stub", where="here"), config, where="plan.toml")
    assert said in str(caught.value)
    assert caught.value.where == "plan.toml"


IMPORT_FAILURES = [
    ("\n\n1 / 0", "ZeroDivisionError: division by zero", 3),
    ("import sys\nsys.exit(4)", "SystemExit: 4", 2),
    ("class Odd(BaseException): ...\nraise Odd", "Odd", 2),
    ("x = 1\ndef f(:\n", "SyntaxError: invalid syntax", 2),
    ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'", 1),
    ("import json\n\njson.loads('{')", "JSONDecodeError: Expecting property name", 3),
    ("raise ValueError('first\\nsecond')", "ValueError: first at", 1),
]


@pytest.mark.parametrize("source, reason, line", IMPORT_FAILURES)
def test_failing_imports(source, reason, line, write, tmp_path):
    path = write("mine.py", source)
    said = fail("mine:drive", tmp_path)
    assert f"importing 'mine' raised {reason}" in said
    assert f" at {path}:{line}\n" in said
    assert "second" not in said


def test_a_failure_in_a_second_file_names_that_file(write, tmp_path):
    write("mine.py", "import second_part\n")
    path = write("second_part.py", "\nraise KeyError('k')\n")
    assert f"KeyError: 'k' at {path}:2\n" in fail("mine:drive", tmp_path)


def test_a_failing_entry_point_names_its_own_line(monkeypatch, write, tmp_path):
    path = write("plugged.py", "import json\njson.loads('{')\n")
    sys.path.append(str(tmp_path))
    register(monkeypatch, ("mine", "plugged:drive"))
    assert f" at {path}:2\n" in fail("mine")


def test_an_interrupt_passes(write, tmp_path):
    write("mine.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_driver("mine:drive", where="here", search=tmp_path)


@pytest.mark.parametrize(
    "source, doing, line",
    [
        ("class drive:\n    def __init__(self):\n        raise OSError('gone')", "creating 'mine:drive'", 3),
        ("def __getattr__(name):\n    raise OSError('gone')", "reading 'drive' of 'mine'", 2),
        (
            "class Box:\n    def __call__(self, r, t, c): ...\n    @property\n    def stamp(self):\n"
            "        raise OSError('gone')\ndrive = Box()",
            "reading the attributes of 'mine:drive'",
            5,
        ),
    ],
)
def test_failures_after_the_import(source, doing, line, write, tmp_path):
    path = write("mine.py", source)
    assert f"{doing} raised OSError: gone at {path}:{line}\n" in fail("mine:drive", tmp_path)


def test_a_class_that_needs_arguments(write, tmp_path):
    write("mine.py", "class drive:\n    def __init__(self, model): ...\n")
    assert "creating 'mine:drive' raised TypeError" in fail("mine:drive", tmp_path)


def test_missing_module(write, tmp_path):
    write("drivers_of_mine.py", DRIVE)
    assert "there is no module 'drivers_of_mine'" in fail("drivers_of_mine:drive")
    said = fail("driver_of_mine:drive", tmp_path)
    assert "there is no module 'driver_of_mine' (did you mean 'drivers_of_mine'?)" in said
    assert str(tmp_path) in said
    assert "leave out the ending: drivers_of_mine:..." in fail("drivers_of_mine.py:drive", tmp_path)


def test_missing_attribute(write, tmp_path):
    write("mine.py", f"from json import dumps\n{DRIVE}\nclass Box: ...\n")
    said = fail("mine:driver", tmp_path)
    assert "'mine' has no 'driver' (did you mean 'drive'?)" in said
    assert "allowed: Box, drive\n" in f"{said}\n"
    assert "has no 'run'" in fail("mine:Box.run", tmp_path)


@pytest.mark.parametrize("module", ["msgspec", "json", "time", "json.mine"])
def test_a_module_hidden_by_an_installed_one(module, write, tmp_path):
    path = write(module.replace(".", "/") + ".py", "raise AssertionError('imported')")
    said = fail(f"{module}:drive", tmp_path)
    assert f"the module name {module.partition('.')[0]!r} is taken" in said
    assert f"before {path}" in said
    if module != "time":
        top = sys.modules[module.partition(".")[0]]
        assert f"{top.__file__} comes" in said


def test_a_module_hidden_by_that_of_another_folder(write, tmp_path):
    first, second = write("a/mine.py", DRIVE), write("b/mine.py", DRIVE)
    assert load_driver("mine:drive", where="here", search=tmp_path / "a").source_file == first
    said = fail("mine:drive", tmp_path / "b")
    assert f"{first} comes before {second}" in said
    assert load_driver("mine:drive", where="here", search=tmp_path / "a").source_file == first


def test_a_module_hidden_inside_a_namespace_package(write, tmp_path):
    first, second = write("a/kit3/mine.py", DRIVE), write("b/kit3/mine.py", DRIVE)
    load_driver("kit3.mine:drive", where="here", search=tmp_path / "a")
    assert f"{first} comes before {second}" in fail("kit3.mine:drive", tmp_path / "b")


def test_an_edited_module_is_refused(write, tmp_path):
    write("mine.py", DRIVE)
    load_driver("mine:drive", where="here", search=tmp_path)
    write("mine.py", DRIVE + "# edited\n")
    assert "changed after this process imported it" in fail("mine:drive", tmp_path)


def test_the_folder_is_appended_once(write, tmp_path):
    write("mine.py", DRIVE)
    before = list(sys.path)
    for _ in range(2):
        load_driver("mine:drive", where="here", search=tmp_path)
    assert sys.path == [*before, str(tmp_path.resolve())]
    load_driver("stub", where="here", search=tmp_path / "other")
    assert len(sys.path) == len(before) + 1


def test_a_symbolic_link_is_the_folder_it_names(write, tmp_path):
    path = write("real/mine.py", "raise OSError('gone')")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    sys.path.append(str(tmp_path / "link"))
    said = fail("mine:drive", tmp_path / "link")
    assert f"{tmp_path}/link/{path.name}:1" in said


def test_files_of_the_user_do_not_shadow_ours(tmp_path):
    for name in ("study", "analysis"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('shadowed')\n")
    (tmp_path / "mine.py").write_text(f"from study.driver import Call\nimport analysis\n{DRIVE}")
    script = """
        import sys
        from pathlib import Path
        from study.drivers import load_driver
        from study.errors import DriverError
        here = Path.cwd()
        print(load_driver("mine:drive", where="w", search=here).stamp)
        print(load_driver("stub", where="w", search=here).stamp)
        import analysis, analysis.results, study.cases
        print(*{Path(m.__path__[0]).parent == here for m in (analysis, sys.modules["study"])})
        try:
            load_driver("study:drive", where="w", search=here)
        except DriverError as error:
            print(error.problem)
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[:3] == ["unstamped", "stub-floor", "False"]
    assert lines[3].startswith("the module name 'study' is taken: ")
    assert lines[3].endswith(f"comes before {tmp_path / 'study.py'}")
