"""Case files and suites: what is read, and what each malformed file is told."""

from __future__ import annotations

import json

import pytest

from study.cases import Case, Rules, load_suite, read_cases
from study.errors import InputError, StudyError, SuiteError

CASE = {
    "id": "a",
    "rung": "TOOL-1",
    "request": "who has Atlas-3",
    "tools": ["lib_holds"],
    "expect": {"calls": [{"name": "lib_holds", "input": {"item": "Atlas-3"}}], "terminates": True},
}
REGISTRY = [
    {"name": "lib_holds", "parameters": [{"name": "i", "kind": "x", "arg": "item", "required": True}]}
]
SUITE = """
schema = 1
id = "lib"
registry = "registry.json"
cases = "cases.jsonl"
execution = "optional"
goals = ["goal:gap"]

[compare]
"lib_holds.item" = "casefold"

[tasks.one]
split = "development"
cases = ["a", "b"]

[tasks.two]
split = "held-out"
cases = ["c"]
"""


def lines(*cases):
    return "".join(c if isinstance(c, str) else json.dumps(c) + "\n" for c in cases)


def numbered(*ids):
    return [{**CASE, "id": name, "request": f"who has {name}"} for name in ids]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "suite.toml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "registry.json").write_text(json.dumps(REGISTRY), encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text(lines(*numbered("c", "a", "b")), encoding="utf-8")
    return tmp_path


def test_cases_keep_the_order_of_the_file(folder):
    suite = load_suite(folder)
    assert [case.id for case in suite.cases] == ["c", "a", "b"]
    assert suite.task_of == {"a": "one", "b": "one", "c": "two"}
    assert list(suite.registry) == ["lib_holds"]
    assert suite.graph_path is None
    assert suite.graph_digest is None


def test_the_rules_of_a_suite(folder):
    rules = load_suite(folder).rules
    compare = {"lib_holds.item": "casefold"}
    assert rules == Rules(execution="optional", compare=compare, goals=("goal:gap",))


def test_a_case_round_trips_as_a_line(tmp_path):
    full = {
        **CASE,
        "trace": [{"name": "lib_holds"}],
        "floorExpect": {"refuse": True},
        "pinned": True,
        "note": "é",
        "compose": "x",
        "overfitProne": False,
    }
    path = tmp_path / "cases.jsonl"
    path.write_text(lines(full, "\n  \n", {**CASE, "id": "b"}), encoding="utf-8")
    first, second = read_cases(path)
    assert json.loads(first.to_line()) == full
    assert json.loads(second.to_line()) == {**CASE, "id": "b"}
    assert (first.floor_expect, first.overfit_prone, second.pinned) == ({"refuse": True}, False, False)
    path.write_bytes(first.to_line() + second.to_line())
    assert read_cases(path) == (first, second)


def test_the_digest_does_not_depend_on_how_a_line_is_written(tmp_path):
    path = tmp_path / "cases.jsonl"
    spaced = json.dumps(dict(reversed(CASE.items())), indent=None, separators=(" , ", " : ")) + "\n"
    path.write_text(spaced + lines({**CASE, "id": "b"}), encoding="utf-8")
    first, second = read_cases(path)
    assert first.digest == Case(**{**CASE, "tools": ("lib_holds",)}).digest
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no case"),
        ("\n\n", "holds no case"),
        ("{", "not valid JSON"),
        ('{"id": "a", "id": "b"}', "duplicate key 'id'"),
        ('{"id": NaN}', "not a finite number"),
        ('{"id": 1e999}', "not a finite number"),
        ("[1]", "must be an object"),
        (lines({**CASE, "requst": "x"}), "unknown key 'requst' (did you mean 'request'?)"),
        (lines({**CASE, "expect": {"refuze": True}}), "unknown key 'refuze' (did you mean 'refuse'?)"),
        (lines({**CASE, "expect": {"calls": [{"nam": "x"}]}}), "expect.calls[0]: unknown key 'nam'"),
        (lines({**CASE, "expect": {"candidateResults": [{"accept": {}}]}}), "candidateResults[0]"),
        (lines({k: v for k, v in CASE.items() if k != "tools"}), "'tools' is missing"),
        (lines({**CASE, "tools": "lib_holds"}), "tools"),
        (lines({**CASE, "id": 3}), "id"),
        (lines({**CASE, "id": " "}), "the case id is blank"),
        (lines({**CASE, "pinned": "yes"}), "pinned"),
        (lines({**CASE, "expect": []}), "expect"),
        (lines(CASE, CASE), "the case id 'a' is taken by line 1"),
        ('{"id": ' + "[" * 900 + "]" * 900 + "}", "cases.jsonl:1"),
        ('{"id": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_what_is_no_case_file(tmp_path, text, problem):
    path = tmp_path / "cases.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        read_cases(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_line_that_is_not_utf8(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(InputError, match="not UTF-8"):
        read_cases(path)


def test_a_missing_case_file(tmp_path):
    with pytest.raises(InputError, match="cannot read the case file"):
        read_cases(tmp_path / "none.jsonl")


def edited(folder, old, new, file="suite.toml"):
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("schema = 1", "schema = 2", "schema 2 is not known"),
        ("schema = 1", "", "'schema' is missing"),
        ("schema = 1", "schema =", "not valid TOML"),
        ('id = "lib"', 'id = "lib"\nmach = "json"', "unknown key 'mach' (did you mean 'match'?)"),
        ('id = "lib"', 'id = "lib"\nmatch = "jsn"', "match"),
        ('id = "lib"', 'id = "lib"\ngraph = "none.json"', "no graph file 'none.json'"),
        ('split = "held-out"', 'split = "heldout"', "tasks.two:split"),
        ('split = "held-out"', 'spilt = "held-out"', "did you mean 'split'"),
        ('cases = ["c"]', "cases = []", "tasks.two: the task has no cases"),
        ('cases = ["c"]', 'cases = ["c", "a"]', "'a' is in the task 'one' too"),
        ('cases = ["c"]', 'cases = ["c", "c"]', "'c' is twice in this task"),
        ('cases = ["c"]', 'cases = ["c", "dd"]', "there is no case 'dd'"),
        ('cases = ["a", "b"]', 'cases = ["a"]', "the case 'b' belongs to no task"),
        ('cases = ["a", "b"]', 'cases = "a"', "tasks.one:cases"),
        ('registry = "registry.json"', 'registry = "none.json"', "cannot read the registry"),
        ('cases = "cases.jsonl"', 'cases = "none.jsonl"', "cannot read the case file"),
    ],
)
def test_what_is_no_suite(folder, old, new, problem):
    edited(folder, old, new)
    with pytest.raises(StudyError) as caught:
        load_suite(folder)
    assert problem in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_suite_file_that_is_missing_or_no_text(folder):
    (folder / "suite.toml").write_bytes(b"\xff")
    with pytest.raises(SuiteError, match="not UTF-8"):
        load_suite(folder)
    (folder / "suite.toml").unlink()
    with pytest.raises(InputError, match="cannot read the suite file"):
        load_suite(folder)


def test_the_graph_of_a_suite(folder):
    edited(folder, 'id = "lib"', 'id = "lib"\ngraph = "graph.json"')
    (folder / "graph.json").write_text("{}", encoding="utf-8")
    suite = load_suite(folder)
    assert suite.graph_path == folder / "graph.json"
    assert suite.graph_digest == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_the_inputs_of_a_run_hold_the_selected_cases_alone(folder):
    edited(folder, 'id = "lib"', 'id = "lib"\ngraph = "graph.json"')
    (folder / "cases.jsonl").write_text(lines(*numbered("b")), encoding="utf-8")
    suite = load_suite(folder, selected_only=True)
    assert [case.id for case in suite.cases] == ["b"]
    with pytest.raises(SuiteError, match="there is no case 'a'"):
        load_suite(folder)


def test_a_selected_case_still_belongs_to_a_task(folder):
    (folder / "cases.jsonl").write_text(lines(*numbered("z")), encoding="utf-8")
    with pytest.raises(SuiteError, match="'z' belongs to no task"):
        load_suite(folder, selected_only=True)
