"""The lint: a clean suite, then one defect at a time."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from study.cases import Case, Rules, load_suite
from study.errors import SuiteError
from study.lint import lint_case, lint_cases, lint_suite, seal, sealed_lines
from study.registry import registry_from_json

ITEM = {"name": "item", "kind": "item", "arg": "item", "required": True}


def tool(name: str, *parameters: Any, **more: Any) -> dict[str, Any]:
    effects = {"add": [{"kind": "knows", "topic": name.removeprefix("lib_")}], "del": []}
    return {"name": name, "parameters": list(parameters), "effects": effects, **more}


TOOLS = [
    tool("lib_describe", ITEM),
    tool("lib_borrowers", ITEM),
    tool("lib_linked", ITEM),
    tool("lib_overdue"),
    tool("lib_withdraw", ITEM, readOnly=False),
]
REGISTRY = registry_from_json(TOOLS)
NAMES = tuple(REGISTRY)
GOALS = ("goal:gap",)
LABELS = frozenset({"Ann", "Bo"})


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "input": arguments}


WHO = call("lib_borrowers", item="Atlas-3")
WHAT = call("lib_describe", item="Atlas-3")
TRACE = (call("lib_linked", item="Atlas-3"), call("lib_overdue"))

CLEAN: dict[str, dict[str, Any]] = {
    "call": {"expect": {"calls": [WHO], "proof": True, "result": ["Ann"]}},
    "refuse": {"expect": {"refuse": True}},
    "recover": {
        "expect": {"calls": [WHO, WHAT], "recover": {"after": "lib_borrowers", "fallback": "lib_describe"}}
    },
    "floor": {"expect": {"calls": [WHO]}, "floor_expect": {"refuse": True}},
    "candidates": {"expect": {"refuse": True, "candidateResults": [WHO, WHAT]}},
    "goal": {"expect": {"inferredGoal": "goal:gap", "proof": True}, "trace": TRACE},
    "reject": {"expect": {"refuse": True, "reject": True}, "trace": TRACE},
    "tied": {"expect": {"refuse": True, "ambiguousGoals": ["goal:gap", "cap:overdue"]}, "trace": TRACE},
    "accept": {
        "expect": {
            "calls": [{**WHO, "accept": {"item": ["Atlas 3"]}}, call("lib_overdue")],
            "unordered": True,
        }
    },
}


def case_of(kind: str, expect: dict[str, Any] | None = None, drop: str = "", **fields: Any) -> Case:
    """Return a clean case with some changes; ``drop`` names a key of its expectation to leave out."""
    clean = CLEAN[kind]
    told = {"terminates": True, **clean["expect"], **(expect or {})}
    told.pop(drop, None)
    base = {"id": "c", "rung": "TOOL-1", "request": "who has Atlas-3", "tools": NAMES}
    return Case(**{**base, **clean, **fields, "expect": told})


def findings(case: Case, **rules: Any) -> list[tuple[str, str]]:
    told = Rules(**{"goals": GOALS, **rules})
    found = lint_case(case, told, REGISTRY, where="cases.jsonl", labels=LABELS)
    assert all(f.where == f"cases.jsonl:{case.id}" and f.text for f in found)
    return [(f.code, f.level) for f in found]


@pytest.mark.parametrize("kind", CLEAN)
@pytest.mark.parametrize("rules", [{}, {"match": "json"}, {"execution": "optional"}])
def test_clean_cases(kind, rules):
    assert findings(case_of(kind), **rules) == []


DEFECTS: list[tuple[str, str, dict[str, Any]]] = [
    ("id", "call", {"id": " "}),
    ("rung", "call", {"rung": "TOOL-10"}),
    ("rung", "call", {"rung": "tool-1"}),
    ("request", "call", {"request": " \n"}),
    ("tools", "refuse", {"tools": ()}),
    ("tools", "refuse", {"tools": ("lib_nothing",)}),
    ("tools", "call", {"tools": (*NAMES, NAMES[0])}),
    ("expect-key", "call", {"expect": {"refuze": False}}),
    ("expect-key", "call", {"expect": {"calls": [{**WHO, "inputs": {}}]}}),
    ("terminates", "call", {"drop": "terminates"}),
    ("terminates", "call", {"expect": {"terminates": 1}}),
    ("flag", "call", {"expect": {"proof": "yes"}}),
    ("flag", "call", {"expect": {"refuse": None}}),
    ("flag", "call", {"expect": {"unordered": 1}}),
    ("calls-missing", "call", {"drop": "calls"}),
    ("calls-missing", "call", {"expect": {"calls": []}}),
    ("calls-missing", "call", {"expect": {"calls": {}}}),
    ("calls-excluded", "refuse", {"expect": {"calls": [WHO]}}),
    ("calls-excluded", "goal", {"expect": {"calls": [WHO]}}),
    ("call-invalid", "call", {"tools": NAMES[:1]}),
    ("call-invalid", "call", {"expect": {"calls": [call("lib_burn")]}}),
    ("call-invalid", "call", {"expect": {"calls": [call("lib_borrowers")]}}),
    ("call-invalid", "call", {"expect": {"calls": [call("lib_overdue", x=1)]}}),
    ("call-invalid", "call", {"expect": {"calls": ["lib_overdue"]}}),
    ("call-invalid", "call", {"expect": {"calls": [{"name": "lib_overdue", "input": "x"}]}}),
    ("recover", "recover", {"expect": {"recover": {"after": "lib_borrowers"}}}),
    ("recover", "recover", {"expect": {"recover": {"after": "lib_borrowers", "fallback": "lib_burn"}}}),
    ("recover", "recover", {"expect": {"recover": True}}),
    ("recover", "refuse", {"expect": {"recover": {"after": "lib_borrowers", "fallback": "lib_describe"}}}),
    ("candidates", "call", {"expect": {"candidateResults": [WHO]}}),
    ("candidates", "candidates", {"expect": {"candidateResults": []}}),
    ("candidates", "candidates", {"expect": {"candidateResults": {}}}),
    ("candidates", "candidates", {"expect": {"candidateResults": [call("lib_borrowers")]}}),
    ("candidates", "candidates", {"expect": {"candidateResults": [call("lib_burn")]}}),
    ("result", "refuse", {"expect": {"result": ["Ann"]}}),
    ("result", "call", {"expect": {"result": "Ann"}}),
    ("result", "call", {"expect": {"result": ["Ann", " "]}}),
    ("result", "call", {"expect": {"result": [1]}}),
    ("stale-literal", "call", {"expect": {"result": ["Ann", "Cy"]}}),
    ("floor-expect", "call", {"floor_expect": {"refuse": False}}),
    ("floor-expect", "call", {"floor_expect": {}}),
    ("floor-expect", "call", {"floor_expect": {"refuse": True, "terminates": True}}),
    ("trace", "reject", {"trace": ()}),
    ("trace", "reject", {"trace": (call("lib_burn"),)}),
    ("trace", "reject", {"trace": (call("lib_linked"),)}),
    ("goal", "goal", {"trace": None}),
    ("goal", "goal", {"expect": {"inferredGoal": " "}}),
    ("goal", "goal", {"expect": {"inferredGoal": "goal:unlisted"}}),
    ("goal", "goal", {"drop": "inferredGoal"}),
    ("goal", "goal", {"expect": {"refuse": True}}),
    ("goal", "tied", {"expect": {"ambiguousGoals": ["goal:gap", "goal:unlisted"]}}),
    ("reject", "reject", {"expect": {"reject": False}}),
    ("reject", "goal", {"expect": {"reject": True}}),
    ("ambiguous-goals", "tied", {"expect": {"ambiguousGoals": ["goal:gap"]}}),
    ("ambiguous-goals", "tied", {"expect": {"ambiguousGoals": ["goal:gap", "goal:gap"]}}),
    ("ambiguous-goals", "tied", {"expect": {"ambiguousGoals": "goal:gap"}}),
    ("ambiguous-goals", "tied", {"expect": {"reject": True}}),
    ("ambiguous-goals", "goal", {"expect": {"ambiguousGoals": ["goal:gap", "cap:overdue"]}}),
    ("expect", "call", {"expect": {"compare": {"lib_borrowers.item": "fuzzy"}}}),
    ("expect", "accept", {"expect": {"calls": [{**WHO, "omit": ["other"]}]}}),
    ("expect", "accept", {"expect": {"calls": [{**WHO, "accept": {"item": []}}]}}),
    ("self-check", "accept", {"expect": {"calls": [{**WHO, "accept": {"item": [" "]}}]}}),
    ("self-check", "accept", {"expect": {"calls": [{**WHO, "omit": ["item"]}]}}),
    ("self-check", "call", {"expect": {"calls": [call("lib_withdraw", item="Atlas-3")]}}),
]


@pytest.mark.parametrize(("code", "kind", "changes"), DEFECTS)
def test_one_defect_one_code(code, kind, changes):
    assert set(findings(case_of(kind, **changes))) == {(code, "error")}


def test_goals_that_no_suite_lists_are_a_warning():
    assert findings(case_of("goal"), goals=()) == [("goals-missing", "warning")]
    assert findings(case_of("tied"), goals=()) == [("goals-missing", "warning")]


def test_a_literal_is_stale_only_against_a_graph():
    case = case_of("call", {"result": ["Cy"]})
    assert lint_case(case, Rules(), REGISTRY, where="f") == []


def test_the_self_check_knows_the_schema_of_every_accepted_answer():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = {"name": "t", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    registry = registry_from_json({"tools": [tool]})

    def lint(accept: list[Any]) -> list[str]:
        expect = {"calls": [{"name": "t", "input": {"n": 1}, "accept": {"n": accept}}], "terminates": True}
        case = Case(id="c", rung="TOOL-1", request="r", tools=("t",), expect=expect)
        return [f.text for f in lint_case(case, Rules(match="json"), registry, where="f")]

    assert lint([2, 3]) == []
    (text,) = lint([2, "3"])
    assert "call 0 with 'n' = \"3\"" in text
    assert "invalid-arg" in text


def test_a_declared_tool_with_a_broken_schema():
    registry = registry_from_json({"tools": [{"name": "t", "inputSchema": {"type": "objekt"}}]})
    case = Case(id="c", rung="TOOL-1", request="r", tools=("t",), expect={"refuse": True, "terminates": True})
    assert [f.code for f in lint_case(case, Rules(), registry, where="f")] == ["schema"]


def test_repeated_ids():
    cases = [case_of("call"), case_of("refuse")]
    found = lint_cases(cases, Rules(), REGISTRY, where="f")
    assert [(f.code, f.where) for f in found] == [("duplicate-id", "f:c")]


# --- whole suites --------------------------------------------------------------------------------------

HEAD = 'schema = 1\nid = "lib"\nregistry = "registry.json"\ncases = "cases.jsonl"\nexecution = "optional"\n'
REQUESTS = {
    "a": ("t1", "who has Atlas-3"),
    "b": ("t1", "who holds Atlas-3 now"),
    "c": ("t2", "describe Atlas-3"),
    "d": ("t3", "tell me of Atlas-3"),
}
SPLITS = {"t1": "development", "t2": "development", "t3": "held-out"}


def write_suite(folder, head="", requests=None, tail="", tools=None):
    requests = REQUESTS if requests is None else requests
    tasks: dict[str, list[str]] = {}
    lines = []
    for name, (task, request) in requests.items():
        tasks.setdefault(task, []).append(name)
        expect = {"calls": [WHO], "terminates": True}
        case = {"id": name, "rung": "TOOL-1", "request": request, "tools": list(NAMES), "expect": expect}
        lines.append(json.dumps(case) + "\n")
    toml = HEAD + head
    for task, names in tasks.items():
        toml += f'\n[tasks.{task}]\nsplit = "{SPLITS[task]}"\ncases = {json.dumps(names)}\n'
    (folder / "suite.toml").write_text(toml + tail, encoding="utf-8")
    (folder / "cases.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "registry.json").write_text(json.dumps(tools or TOOLS), encoding="utf-8")
    return folder


def suite_codes(folder, **options):
    return [(f.code, f.level) for f in lint_suite(load_suite(folder), **options)]


def errors(folder, **options):
    return [code for code, level in suite_codes(folder, **options) if level == "error"]


def test_a_clean_suite_has_unsealed_cases_alone(tmp_path):
    assert suite_codes(write_suite(tmp_path)) == [("unsealed", "warning")] * 4
    assert seal(tmp_path) == 4
    assert suite_codes(tmp_path) == []


def test_the_findings_of_cases_name_file_and_case(tmp_path):
    folder = write_suite(tmp_path, requests={"a": ("t1", " ")})
    found = [f for f in lint_suite(load_suite(folder)) if f.level == "error"]
    assert [(f.code, f.where) for f in found] == [("request", f"{folder / 'cases.jsonl'}:a")]


def test_execution_needs_a_toolset(tmp_path):
    folder = write_suite(tmp_path)
    path = folder / "suite.toml"
    text = path.read_text(encoding="utf-8").replace('"optional"', '"required"')
    path.write_text(text, encoding="utf-8")
    assert errors(folder) == ["execution"]
    path.write_text(text.replace('id = "lib"', 'id = "lib"\ntoolset = "mine:TOOLS"'), encoding="utf-8")
    assert errors(folder) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('"lib_borrowers.item" = "casefold"', []),
        ('"lib_borrowers.item" = "fuzzy"', ["compare"]),
        ('"lib_borrowers.itm" = "casefold"', ["compare"]),
        ('"lib_borrower.item" = "casefold"', ["compare"]),
    ],
)
def test_comparison_rules(tmp_path, rule, expected):
    assert errors(write_suite(tmp_path, head=f"\n[compare]\n{rule}\n")) == expected


def test_a_schema_that_is_none(tmp_path):
    tools = [*TOOLS, {"name": "odd", "inputSchema": {"type": "objekt"}}]
    folder = write_suite(tmp_path, tools=tools)
    found = [f for f in lint_suite(load_suite(folder)) if f.level == "error"]
    assert [(f.code, f.where) for f in found] == [("schema", f"{folder / 'registry.json'}:odd")]


def test_the_limit_of_tasks_a_template(tmp_path):
    many = {f"c{n}": ("t1" if n < 2 else "t2", f"who has Atlas-{n}") for n in range(4)}
    assert errors(write_suite(tmp_path, head="max_tasks_per_template = 2\n", requests=many)) == []
    folder = write_suite(tmp_path, head="max_tasks_per_template = 1\n", requests=many)
    (found,) = [f for f in lint_suite(load_suite(folder)) if f.level == "error"]
    assert found.code == "template"
    assert "'who has <name>' serves 2 tasks of development (t1, t2)" in found.text


def test_the_limit_counts_each_split_alone(tmp_path):
    apart = {"a": ("t1", "who has Atlas-1"), "b": ("t3", "who has Atlas-2")}
    assert errors(write_suite(tmp_path, head="max_tasks_per_template = 1\n", requests=apart)) == []


def test_labels_are_masked_in_templates(tmp_path):
    plain = {"a": ("t1", "who has Widget"), "b": ("t2", "who has Gadget")}
    folder = write_suite(tmp_path, head="max_tasks_per_template = 1\n", requests=plain)
    assert errors(folder) == []
    assert errors(folder, labels=frozenset({"shop.Widget", "shop.Gadget"})) == ["template"]


def test_a_limit_below_one(tmp_path):
    assert errors(write_suite(tmp_path, head="max_tasks_per_template = 0\n")) == ["template"]


def test_one_request_in_two_tasks(tmp_path):
    same = {"a": ("t1", "who has Atlas-3"), "b": ("t2", " Who  has atlas-3")}
    assert ("repeated-request", "warning") in suite_codes(write_suite(tmp_path, requests=same))
    leak = {"a": ("t1", "who has Atlas-3"), "b": ("t3", "who has Atlas-3")}
    assert errors(write_suite(tmp_path, requests=leak)) == ["repeated-request"]
    once = {"a": ("t1", "who has Atlas-3"), "b": ("t1", "who has Atlas-3")}
    assert errors(write_suite(tmp_path, requests=once)) == []


def test_sealed_lines_hold_what_is_not_sealed_yet(tmp_path):
    suite = load_suite(write_suite(tmp_path))
    digests = {case.id: case.digest for case in suite.cases}
    assert sealed_lines(suite) == ["[sealed]", *(f'"{k}" = "{v}"' for k, v in digests.items())]
    seal(tmp_path)
    assert sealed_lines(load_suite(tmp_path)) == []


def test_sealing_only_appends(tmp_path):
    write_suite(tmp_path)
    path = tmp_path / "suite.toml"
    before = path.read_bytes()
    assert seal(tmp_path) == 4
    sealed = path.read_bytes()
    assert sealed.startswith(before)
    assert seal(tmp_path) == 0
    assert path.read_bytes() == sealed
    more = {**REQUESTS, "e": ("t3", "what is Atlas-3 about")}
    tail = sealed[len(before) :].decode()
    write_suite(tmp_path, requests=more, tail=tail)
    grown = path.read_bytes()
    assert seal(tmp_path) == 1
    assert path.read_bytes().startswith(grown)
    assert list(tomllib.loads(path.read_text(encoding="utf-8"))["sealed"]) == list(more)
    assert suite_codes(tmp_path) == []


@pytest.mark.parametrize("tail", ["\n[sealed]\n", "\n[sealed]", "", "# no final newline"])
def test_sealing_files_of_several_forms(tmp_path, tail):
    write_suite(tmp_path, tail=tail)
    assert seal(tmp_path) == 4
    assert suite_codes(tmp_path) == []


def test_odd_ids_are_quoted(tmp_path):
    odd = {'a"b\\c é.x': ("t1", "who has Atlas-3"), "\x7f\t": ("t1", "describe Atlas-3")}
    write_suite(tmp_path, requests=odd)
    assert seal(tmp_path) == 2
    assert suite_codes(tmp_path) == []


def test_a_sealed_case_that_changed_or_went(tmp_path):
    write_suite(tmp_path)
    seal(tmp_path)
    tail = "\n[sealed]" + (tmp_path / "suite.toml").read_text(encoding="utf-8").split("[sealed]")[1]
    changed = {**REQUESTS, "a": ("t1", "who has Atlas-4")}
    write_suite(tmp_path, requests=changed, tail=tail)
    assert errors(tmp_path) == ["sealed-changed"]
    with pytest.raises(SuiteError, match="give it a new id"):
        seal(tmp_path)
    del changed["a"]
    write_suite(tmp_path, requests=changed, tail=tail)
    assert errors(tmp_path) == ["sealed-removed"]
    with pytest.raises(SuiteError, match="never removed"):
        seal(tmp_path)


@pytest.mark.parametrize(
    "tail", ["\n[sealed]\n\n[provenance]\nlicence = 'x'\n", "\n[provenance]\nsealed = 'x'\n[sealed.x]\n"]
)
def test_the_sealed_table_must_be_the_last(tmp_path, tail):
    write_suite(tmp_path, tail=tail)
    before = (tmp_path / "suite.toml").read_bytes()
    with pytest.raises(SuiteError):
        seal(tmp_path)
    assert (tmp_path / "suite.toml").read_bytes() == before
