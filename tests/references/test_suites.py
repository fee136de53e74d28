"""The bundled suites: expectations looked up twice, phrasings, refusals, counts, templates and seals.

What is said of TOOL-0 to TOOL-2 alone (one call, notes of refusals, counts) is asked of their cases only.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from study.binding import Binder
from study.cases import load_suite
from study.lint import lint_suite
from study.templates import masker, template_families
from study.toolsets.codegraph import TERSE_COMMANDS, CodeGraphTools, PlainGraph, load_graph
from study.toolsets.codegraph.plain import ARGUMENTS

CASES = Path(__file__).resolve().parents[2] / "cases"
SUITES = sorted(file.parent.name for file in CASES.glob("*/suite.toml"))
NOTED = ("click", "toy")
"""The suites whose refusals on the first rungs carry notes that name exactly one term."""
FIRST_RUNGS = ("TOOL-0", "TOOL-1", "TOOL-2")
REFUSALS = {
    "unknown": re.compile(r"entity unknown: (?P<term>\S+)"),
    "tied": re.compile(r"entity does not resolve uniquely: (?P<term>\S+)"),
    "undeclared": re.compile(r"fitting tool not declared: (?P<tool>\S+) for (?P<term>\S+)"),
    "outside": re.compile(r"outside the closed fragment: (?P<verb>\S+) (?P<term>\S+)"),
}


class Loaded:
    """A suite with both ways of answering."""

    def __init__(self, name):
        self.suite = load_suite(CASES / name)
        self.tools = CodeGraphTools(load_graph(self.suite.graph_path))
        self.plain = PlainGraph(self.suite.graph_path)
        self.tasks = self.suite.file.tasks
        self.by_id = {case.id: case for case in self.suite.cases}
        self.mask = masker(self.plain.labels)

    def split(self, case):
        return self.tasks[self.suite.task_of[case.id]].split

    def first_rungs(self):
        return [case for case in self.suite.cases if case.rung in FIRST_RUNGS]

    def first_tasks(self, split):
        """Return the tasks of a split that belong to the first rungs: task -> its cases."""
        cases = {
            task: [self.by_id[case] for case in entry.cases]
            for task, entry in self.tasks.items()
            if split in (entry.split, None)
        }
        return {task: found for task, found in cases.items() if found[0].rung in FIRST_RUNGS}

    def answers(self):
        return [case for case in self.first_rungs() if "refuse" not in case.expect]

    def refusals(self):
        """Yield (case, kind, what its note names)."""
        for case in self.first_rungs() if self.suite.file.id in NOTED else ():
            if "refuse" in case.expect:
                found = {kind: m for kind, form in REFUSALS.items() if (m := form.fullmatch(case.note or ""))}
                [(kind, match)] = found.items()
                yield case, kind, match.groupdict()

    def label(self, tool, value):
        """Return what an argument means: the one entity that it names, else itself."""
        readings = list(self.plain.readings(value)) if tool in ARGUMENTS else []
        return readings[0] if len(readings) == 1 else value


@cache
def load(name):
    return Loaded(name)


@pytest.fixture(params=SUITES)
def loaded(request):
    return load(request.param)


def the_call(case):
    """Return tool, arguments and the name or text that is asked about; the kind of a search is none."""
    [call] = case.expect["calls"]
    [value] = [text for key, text in call["input"].items() if key != "kind"] or [None]
    return call["name"], call["input"], value


def expected_calls(expect):
    return [*expect.get("calls", []), *expect.get("candidateResults", [])]


# --- cases of every rung -------------------------------------------------------------------------------


def test_the_lint_finds_nothing(loaded):
    """That includes a second look at every expectation, by brute force."""
    assert lint_suite(loaded.suite, labels=loaded.plain.labels, oracle=loaded.plain) == []


def test_every_expected_call_binds_and_is_answered_alike_in_both_ways(loaded):
    for case in loaded.suite.cases:
        binder = Binder(loaded.suite.registry, case.tools)
        for call in case.trace or ():
            assert binder.problems(call["name"], call["input"]) == [], case.id
        for call in expected_calls(case.expect):
            assert binder.problems(call["name"], call["input"]) == [], case.id
            answer = loaded.tools.dispatch(call["name"], call["input"])
            assert answer.ok, case.id
            assert answer.result == sorted(loaded.plain.answer(call["name"], call["input"])), case.id


def test_a_task_has_two_phrasings_that_ask_for_the_same(loaded):
    for task, entry in loaded.tasks.items():
        cases = [loaded.by_id[case] for case in entry.cases]
        assert [case.id for case in cases] == [f"{task}-a", f"{task}-b"]
        assert len({(case.rung, frozenset(case.tools)) for case in cases}) == 1, task
        shapes = set()
        for case in cases:
            written = case.to_json()
            kept = {key: written.get(key) for key in ("expect", "trace", "compose", "floorExpect")}
            for call in [*(kept["trace"] or []), *expected_calls(kept["expect"])]:
                call["input"] = {k: loaded.label(call["name"], v) for k, v in call["input"].items()}
            shapes.add(json.dumps(kept, sort_keys=True))
        assert len(shapes) == 1, task


def test_no_request_occurs_twice(loaded):
    seen = Counter(" ".join(case.request.casefold().split()) for case in loaded.suite.cases)
    assert max(seen.values()) == 1


def test_no_tool_is_declared_twice(loaded):
    assert all(len(set(case.tools)) == len(case.tools) for case in loaded.suite.cases)


def test_templates_stay_in_one_split_and_serve_few_tasks(loaded):
    tasks, splits = defaultdict(set), defaultdict(set)
    for case in loaded.suite.cases:
        template = loaded.mask(case)
        tasks[template].add(loaded.suite.task_of[case.id])
        splits[template].add(loaded.split(case))
    assert max(map(len, tasks.values())) <= 4
    assert all(len(found) == 1 for found in splits.values())


def test_two_phrasings_are_two_templates(loaded):
    for task, entry in loaded.tasks.items():
        assert len({loaded.mask(loaded.by_id[case]) for case in entry.cases}) == 2, task


def test_seals_match_and_stand_last(loaded):
    assert loaded.suite.file.sealed == {case.id: case.digest for case in loaded.suite.cases}
    text = (loaded.suite.folder / "suite.toml").read_text("utf-8")
    assert list(tomllib.loads(text))[-1] == "sealed"
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE)[-1] == "[sealed]"


def test_case_file_is_in_the_written_form(loaded):
    lines = (loaded.suite.folder / loaded.suite.file.cases).read_bytes()
    assert lines == b"".join(case.to_line() for case in loaded.suite.cases)


def test_floors_are_named(loaded):
    assert loaded.suite.file.floors == ("stub", "shim", "refuse-all", "first-declared")


# --- cases of the rungs TOOL-0 to TOOL-2 ---------------------------------------------------------------


def test_the_pinned_argument_stands_in_the_request_as_it_is_pinned(loaded):
    for case in loaded.answers():
        _, arguments, value = the_call(case)
        if value is not None:
            assert re.search(rf"(?<![\w./]){re.escape(value)}(?![\w/]|\.\w)", case.request), case.id
        assert set(arguments) <= loaded.suite.registry[the_call(case)[0]].accepted


def test_named_entities_resolve_uniquely(loaded):
    named = [(case, the_call(case)[2]) for case in loaded.answers() if the_call(case)[0] in ARGUMENTS]
    named += [
        (case, what["term"]) for case, kind, what in loaded.refusals() if kind in ("undeclared", "outside")
    ]
    for case, term in named:
        if term is not None:
            assert list(loaded.plain.readings(term)) == [loaded.tools.resolve(term).label], case.id


def test_every_note_of_a_refusal_says_which_of_the_three_causes_it_has(loaded):
    causes = re.compile(r"(?:entity|fitting tool|outside the closed fragment)\b.*: .+")
    for case in loaded.first_rungs():
        if "refuse" in case.expect:
            assert causes.fullmatch(case.note or ""), case.id


def test_refusals_are_of_the_stated_kind(loaded):
    for case, kind, what in loaded.refusals():
        assert case.expect == {"refuse": True, "terminates": True}
        assert what["term"] in case.request, case.id
        found = loaded.tools.resolve(what["term"])
        if kind == "unknown":
            assert found.label is None, case.id
            assert found.tied == ()
            assert not loaded.plain.readings(what["term"])
        elif kind == "tied":
            assert len(found.tied) > 1
            assert set(found.tied) == set(loaded.plain.readings(what["term"]))
        elif kind == "undeclared":
            assert what["tool"] in loaded.suite.registry
            assert what["tool"] not in case.tools, case.id
        else:
            assert what["verb"] not in TERSE_COMMANDS


def test_of_the_first_rungs_only_the_third_refuses(loaded):
    assert all((case.rung == "TOOL-2") == ("refuse" in case.expect) for case in loaded.first_rungs())


def test_declared_tools_are_as_many_as_the_rung_says(loaded):
    for case in loaded.first_rungs():
        low, high = {"TOOL-0": (1, 2), "TOOL-1": (2, 4), "TOOL-2": (2, 4)}[case.rung]
        assert low <= len(case.tools) <= high, case.id


def test_no_tool_is_asked_about_the_same_entity_twice_by_one_author(loaded):
    """The project's only package, and tools without an argument, have nothing else to be asked about."""
    seen = set()
    for cases in loaded.first_tasks(None).values():
        if "refuse" in cases[0].expect:
            continue
        tool, _, value = the_call(cases[0])
        if value is not None and tool != "tmct_architecture":
            about = (cases[0].id.split("-")[1] == "h2", tool, loaded.label(tool, value))
            assert about not in seen, cases[0].id
            seen.add(about)


def test_templates_stay_in_one_split_under_a_plainer_masking(loaded):
    """Here only the term itself is replaced; punctuation and case are dropped. Terse commands have no"
    " other form."""
    notes = {case.id: what["term"] for case, _, what in loaded.refusals()}
    tasks, splits = defaultdict(set), defaultdict(set)
    for case in loaded.first_rungs():
        if ("refuse" in case.expect and case.id not in notes) or "-h2-" in case.id:
            continue
        term = notes[case.id] if case.id in notes else the_call(case)[2]
        masked = case.request if term is None else case.request.replace(term, "#")
        template = " ".join(re.findall(r"[\w#]+", masked.casefold()))
        if re.fullmatch(r"\w+ ?#?", template):
            continue
        tasks[template].add(loaded.suite.task_of[case.id])
        splits[template].add(loaded.split(case))
    assert all(len(found) <= 4 for found in tasks.values())
    assert all(len(found) == 1 for found in splits.values())


@pytest.mark.parametrize("name", ["click", "toy"])
def test_every_tool_about_the_code_is_used_and_some_pinned_answer_is_empty(name):
    answers = load(name).answers()
    assert {the_call(case)[0] for case in answers} >= {*ARGUMENTS, "tmct_search", "tmct_untested"}
    assert any(case.expect.get("result") == [] for case in answers)


@pytest.mark.parametrize(("split", "times"), [("development", 2), ("held-out", 1)])
def test_click_has_the_stated_counts(split, times):
    click = load("click")
    rungs = Counter(cases[0].rung for cases in click.first_tasks(split).values())
    assert rungs == {"TOOL-0": 24 * times, "TOOL-1": 36 * times, "TOOL-2": 24 * times}
    kinds = Counter(kind for case, kind, _ in click.refusals() if click.split(case) == split)
    assert kinds == dict.fromkeys(("unknown", "undeclared", "outside"), 16 * times)
    answers = [case for case in click.answers() if click.split(case) == split]
    assert sum(case.expect.get("proof", False) for case in answers) == 84 * times
    assert len(answers) == 120 * times
    assert {the_call(case)[0] for case in answers} == set(click.suite.registry)


@pytest.mark.parametrize("name", SUITES)
def test_rungs_from_sequences_on_have_enough_tasks_in_both_splits(name):
    suite = load(name)
    fewest = {"click": 9, "sqlparse": 8, "toy": 3}[name]
    for split in ("development", "held-out"):
        chosen = [entry for entry in suite.tasks.values() if entry.split == split]
        counts = Counter(suite.by_id[entry.cases[0]].rung for entry in chosen)
        assert all(counts[f"TOOL-{n}"] >= fewest for n in range(3, 10)), counts


def test_no_rung_has_fewer_than_forty_cases_in_twenty_tasks_in_a_split():
    tasks, cases = Counter(), Counter()
    for name in SUITES:
        suite = load(name)
        for entry in suite.tasks.values():
            rung = suite.by_id[entry.cases[0]].rung
            tasks[rung, entry.split] += 1
            cases[rung, entry.split] += len(entry.cases)
    assert len(tasks) == 20
    assert min(tasks.values()) >= 20
    assert min(cases.values()) >= 40
    assert (sum(tasks.values()), sum(cases.values())) == (696, 1392)


SHAPES = {
    "TOOL-3": ("several calls",),
    "TOOL-4": ("fallback of a first answer", "fallback of none", "guard of a first answer", "guard of none"),
    "TOOL-5": ("intersection", "empty intersection", "member filter", "empty member filter"),
    "TOOL-6": ("scoped goal", "global goal", "refusal"),
    "TOOL-7": ("recovery", "control"),
    "TOOL-8": ("tie", "unbounded"),
    "TOOL-9": ("one fit", "several", "none"),
}


def shape(case, plain):
    """Return the shape of an expectation on a rung above TOOL-2."""
    expect, compose = case.expect, case.compose or ""
    if case.trace is not None:
        return "one fit" if "inferredGoal" in expect else "none" if expect.get("reject") else "several"
    if expect.get("refuse"):
        return "refusal" if case.rung == "TOOL-6" else "tie" if "candidateResults" in expect else "unbounded"
    first = expect["calls"][0]
    if compose in ("fallback", "guard"):
        return f"{compose} of {'a first answer' if plain.answer(first['name'], first['input']) else 'none'}"
    if compose == "intersection":
        return "intersection" if expect["result"] else "empty intersection"
    if compose.startswith(("hop", "reach")):
        return "member filter" if expect["result"] else "empty member filter"
    if compose.startswith("goal:"):
        return "global goal" if compose.endswith("global") else "scoped goal"
    if compose == "recover":
        return "recovery" if "recover" in expect else "control"
    return "several calls"


@pytest.mark.parametrize("split", ["development", "held-out"])
def test_every_shape_of_every_rung_is_there(split):
    found = defaultdict(set)
    for name in SUITES:
        suite = load(name)
        for case in suite.suite.cases:
            if case.rung in SHAPES and suite.split(case) == split:
                found[case.rung].add(shape(case, suite.plain))
    assert found == {rung: set(shapes) for rung, shapes in SHAPES.items()}


@pytest.mark.parametrize("split", ["development", "held-out"])
def test_click_has_many_small_template_families(split):
    click = load("click")
    sizes = Counter(template_families(click.first_tasks(split), click.plain.labels).values())
    assert len(sizes) >= 50
    assert max(sizes.values()) <= 4


def test_a_third_of_clicks_first_direct_requests_are_terse():
    click = load("click")
    verbs = "|".join(TERSE_COMMANDS)
    terse = [
        case
        for case in click.first_rungs()
        if re.fullmatch(rf"(?i:{verbs})(?: [^\s.?!]\S*)?[.?!]?", case.request)
    ]
    chosen = [case for case in terse if click.split(case) == "development"]
    assert len(chosen) == 32
    for case in chosen:
        verb, _, argument = case.request.partition(" ")
        argument = argument.rstrip(".?!").removesuffix("()").strip("`\"'")
        tool, key = TERSE_COMMANDS[verb.lower().rstrip(".?!")]
        assert case.rung == "TOOL-0"
        assert case.expect["calls"] == [{"name": tool, "input": {key: argument} if argument else {}}]


def test_click_spreads_the_fitting_tool_over_the_declared_positions():
    click = load("click")
    places = Counter(c.tools.index(the_call(c)[0]) for c in click.answers() if c.rung == "TOOL-1")
    assert all(60 <= places[n] <= 80 for n in range(3)), places


def test_click_pins_some_sixty_results():
    click = load("click")
    pinned = [case for case in click.answers() if "result" in case.expect]
    assert 55 <= len({click.suite.task_of[case.id] for case in pinned}) <= 65
    assert all(len(case.expect["result"]) <= 10 for case in pinned)


def test_toy_covers_every_refusal():
    toy = load("toy")
    kinds = defaultdict(set)
    for case, kind, _ in toy.refusals():
        kinds[toy.split(case)].add(kind)
    assert kinds["development"] == set(REFUSALS)
    assert kinds["held-out"] == set(REFUSALS) - {"tied"}
