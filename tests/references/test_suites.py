"""The bundled suites: pinned results, bindings, refusals, counts, templates and seals."""

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
from study.toolsets.codegraph import TERSE_COMMANDS, CodeGraphTools, load_graph

CASES = Path(__file__).resolve().parents[2] / "cases"
SUITES = ("click", "toy")
REFUSALS = {
    "unknown": re.compile(r"entity unknown: (?P<term>\S+)"),
    "tied": re.compile(r"entity does not resolve uniquely: (?P<term>\S+)"),
    "undeclared": re.compile(r"fitting tool not declared: (?P<tool>\S+) for (?P<term>\S+)"),
    "outside": re.compile(r"outside the closed fragment: (?P<verb>\S+) (?P<term>\S+)"),
}
LISTED = {
    "tmct_callers",
    "tmct_callees",
    "tmct_calls",
    "tmct_members",
    "tmct_subclasses",
    "tmct_exports",
    "tmct_tests_for",
    "tmct_untested",
    "tmct_history",
    "tmct_cochanges",
    "tmct_impact",
    "tmct_search",
    "tmct_architecture",
}


class PlainGraph:
    """Answers by scanning the JSON of a graph, written apart from the toolset and as slow as it likes."""

    def __init__(self, path):
        data = json.loads(path.read_text("utf-8"))
        self.entities = {entity["label"]: entity for entity in data["entities"]}
        self.pairs = {
            name: {(a, b) for a, targets in relation.items() for b in targets}
            for name, relation in data["relations"].items()
        }

    def candidates(self, term):
        """Everything that a term could mean, the readings in order of precedence; case is ignored last."""
        for same in (str, str.casefold):
            offered = {
                b for a, b in self.pairs["re-exports"] if same(f"{a}.{b.split('.')[-1]}") == same(term)
            }
            readings = (
                {label for label in self.entities if same(label) == same(term)},
                offered,
                {
                    label
                    for label, e in self.entities.items()
                    if e["kind"].endswith("module") and e["path"] == term
                },
                {label for label in self.entities if same(label).endswith(same("." + term))},
            )
            for reading in readings:
                if reading:
                    return reading
        return set()

    def module(self, label):
        path = self.entities[label]["path"]
        [module] = [
            e["label"] for e in self.entities.values() if e["kind"].endswith("module") and e["path"] == path
        ]
        return module

    def sources(self, relation, target):
        return {a for a, b in self.pairs[relation] if b == target}

    def targets(self, relation, source):
        return {b for a, b in self.pairs[relation] if a == source}

    def upstream(self, relation, target, kinds):
        """All sources that lead to a target in any number of steps, by adding until nothing is new."""
        found, size = {target}, 0
        while len(found) != size:
            size = len(found)
            found |= {a for a, b in self.pairs[relation] if b in found and self.entities[a]["kind"] in kinds}
        return found - {target}

    def untested(self):
        tested = {b for _, b in self.pairs["tests"]}
        inside = {b for a, b in self.pairs["contains"] if self.entities[a]["kind"] in ("function", "method")}
        kinds = ("module", "class", "function", "method")
        return {
            label
            for label, e in self.entities.items()
            if e["kind"] in kinds and label not in tested and label not in inside
            if not (e["kind"] == "method" and re.fullmatch(r"__\w+__", label.split(".")[-1]))
        }

    def answer(self, tool, value):
        if tool == "tmct_search":
            return {label for label in self.entities if value.lower() in label.lower()}
        if tool == "tmct_untested":
            return self.untested()
        if tool == "tmct_architecture":
            modules = {label for label, e in self.entities.items() if e["kind"] == "module"}
            return {label for label in modules if value is None or label.startswith(value + ".")}
        [label] = self.candidates(value)
        match tool:
            case "tmct_callers":
                return self.sources("calls", label)
            case "tmct_callees":
                return self.targets("calls", label)
            case "tmct_calls":
                return self.sources("calls", label) | self.targets("calls", label)
            case "tmct_members":
                return self.targets("contains", label)
            case "tmct_subclasses":
                return self.upstream("inherits", label, ("class",))
            case "tmct_exports":
                return self.targets("exports", label)
            case "tmct_tests_for":
                return self.sources("tests", label)
            case "tmct_history":
                return self.sources("touches", self.module(label))
            case "tmct_cochanges":
                module = self.module(label)
                return self.sources("cochanges", module) | self.targets("cochanges", module)
            case "tmct_impact":
                return self.upstream("imports", self.module(label), ("module",))
        raise AssertionError(tool)


class Loaded:
    """A suite with both ways of answering."""

    def __init__(self, name):
        self.suite = load_suite(CASES / name)
        self.tools = CodeGraphTools(load_graph(self.suite.graph_path))
        self.plain = PlainGraph(self.suite.graph_path)
        self.tasks = self.suite.file.tasks
        self.by_id = {case.id: case for case in self.suite.cases}
        self.mask = masker(self.plain.entities)

    def split(self, case):
        return self.tasks[self.suite.task_of[case.id]].split

    def answers(self):
        return [case for case in self.suite.cases if "refuse" not in case.expect]

    def refusals(self):
        """Yield (case, kind, what its note names)."""
        for case in self.suite.cases:
            if "refuse" in case.expect:
                found = {kind: m for kind, form in REFUSALS.items() if (m := form.fullmatch(case.note or ""))}
                [(kind, match)] = found.items()
                yield case, kind, match.groupdict()


@cache
def load(name):
    return Loaded(name)


@pytest.fixture(params=SUITES)
def loaded(request):
    return load(request.param)


def the_call(case):
    [call] = case.expect["calls"]
    [value] = call["input"].values() or [None]
    return call["name"], call["input"], value


def test_pinned_results_are_what_a_scan_of_the_graph_gives(loaded):
    pinned = [case for case in loaded.answers() if "result" in case.expect]
    for case in pinned:
        tool, arguments, value = the_call(case)
        assert tool in LISTED, case.id
        assert set(case.expect["result"]) == loaded.plain.answer(tool, value), case.id
        assert case.expect["result"] == loaded.tools.dispatch(tool, arguments).result, case.id
    assert any(case.expect["result"] == [] for case in pinned)


def test_every_expected_call_binds_and_is_answered(loaded):
    for case in loaded.answers():
        tool, arguments, value = the_call(case)
        assert Binder(loaded.suite.registry, case.tools).problems(tool, arguments) == [], case.id
        result = loaded.tools.dispatch(tool, arguments)
        assert result.ok, case.id
        if tool in LISTED:
            assert set(result.result) == loaded.plain.answer(tool, value), case.id


def test_the_pinned_argument_stands_in_the_request_as_it_is_pinned(loaded):
    for case in loaded.answers():
        _, arguments, value = the_call(case)
        if value is not None:
            assert re.search(rf"(?<![\w./]){re.escape(value)}(?![\w/]|\.\w)", case.request), case.id
        assert set(arguments) <= {key for _, key in TERSE_COMMANDS.values()}


def test_named_entities_resolve_uniquely(loaded):
    named = [(case, the_call(case)[2]) for case in loaded.answers() if the_call(case)[0] != "tmct_search"]
    named += [
        (case, what["term"]) for case, kind, what in loaded.refusals() if kind in ("undeclared", "outside")
    ]
    for case, term in named:
        if term is not None:
            assert loaded.plain.candidates(term) == {loaded.tools.resolve(term).label}, case.id


def test_both_phrasings_ask_for_the_same(loaded):
    for task, entry in loaded.tasks.items():
        cases = [loaded.by_id[case] for case in entry.cases]
        assert [case.id for case in cases] == [f"{task}-a", f"{task}-b"]
        assert len({(case.rung, case.tools) for case in cases}) == 1, task
        shapes = set()
        for case in cases:
            if "refuse" in case.expect:
                shapes.add(json.dumps(case.expect))
                continue
            tool, _, value = the_call(case)
            label = value if tool == "tmct_search" or value is None else loaded.tools.resolve(value).label
            rest = {key: part for key, part in case.expect.items() if key != "calls"}
            shapes.add(json.dumps([tool, label, rest]))
        assert len(shapes) == 1, task


def test_refusals_are_of_the_stated_kind(loaded):
    for case, kind, what in loaded.refusals():
        assert case.rung == "TOOL-2"
        assert case.expect == {"refuse": True, "terminates": True}
        assert what["term"] in case.request, case.id
        found = loaded.tools.resolve(what["term"])
        if kind == "unknown":
            assert found.label is None, case.id
            assert found.tied == ()
            assert not loaded.plain.candidates(what["term"])
        elif kind == "tied":
            assert len(found.tied) > 1
            assert set(found.tied) == loaded.plain.candidates(what["term"])
        elif kind == "undeclared":
            assert what["tool"] in loaded.suite.registry
            assert what["tool"] not in case.tools, case.id
        else:
            assert what["verb"] not in TERSE_COMMANDS


def test_only_the_second_rung_refuses(loaded):
    assert all((case.rung == "TOOL-2") == ("refuse" in case.expect) for case in loaded.suite.cases)


def test_declared_tools_are_as_many_as_the_rung_says(loaded):
    for case in loaded.suite.cases:
        low, high = {"TOOL-0": (1, 2), "TOOL-1": (2, 4), "TOOL-2": (2, 4)}[case.rung]
        assert low <= len(case.tools) <= high, case.id
        assert len(set(case.tools)) == len(case.tools)


def test_no_request_occurs_twice(loaded):
    seen = Counter(" ".join(case.request.casefold().split()) for case in loaded.suite.cases)
    assert max(seen.values()) == 1


def test_no_tool_is_asked_about_the_same_entity_twice(loaded):
    """The project's only package, and tools without an argument, have nothing else to be asked about."""
    seen = set()
    for entry in loaded.tasks.values():
        case = loaded.by_id[entry.cases[0]]
        if "refuse" in case.expect:
            continue
        tool, _, value = the_call(case)
        if value is not None and tool != "tmct_architecture":
            label = value if tool == "tmct_search" else loaded.tools.resolve(value).label
            assert (tool, label) not in seen, case.id
            seen.add((tool, label))


def test_templates_stay_in_one_split_and_serve_few_tasks(loaded):
    tasks, splits = defaultdict(set), defaultdict(set)
    for case in loaded.suite.cases:
        template = loaded.mask(case)
        tasks[template].add(loaded.suite.task_of[case.id])
        splits[template].add(loaded.split(case))
    assert max(map(len, tasks.values())) <= 4
    assert all(len(found) == 1 for found in splits.values())


def test_templates_stay_in_one_split_under_a_plainer_masking(loaded):
    """Here only the term itself is replaced; punctuation and case are dropped."""
    notes = {case.id: what["term"] for case, _, what in loaded.refusals()}
    tasks, splits = defaultdict(set), defaultdict(set)
    for case in loaded.suite.cases:
        term = notes[case.id] if case.id in notes else the_call(case)[2]
        masked = case.request if term is None else case.request.replace(term, "#")
        template = " ".join(re.findall(r"[\w#]+", masked.casefold()))
        tasks[template].add(loaded.suite.task_of[case.id])
        splits[template].add(loaded.split(case))
    assert max(map(len, tasks.values())) <= 4
    assert all(len(found) == 1 for found in splits.values())


def test_two_phrasings_are_two_templates(loaded):
    for task, entry in loaded.tasks.items():
        assert len({loaded.mask(loaded.by_id[case]) for case in entry.cases}) == 2, task


def test_every_tool_is_used(loaded):
    used = {the_call(case)[0] for case in loaded.answers()}
    assert used == set(loaded.suite.registry)


def test_seals_match_and_stand_last(loaded):
    assert loaded.suite.file.sealed == {case.id: case.digest for case in loaded.suite.cases}
    text = (loaded.suite.folder / "suite.toml").read_text("utf-8")
    assert list(tomllib.loads(text))[-1] == "sealed"
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE)[-1] == "[sealed]"


def test_case_file_is_in_the_written_form(loaded):
    lines = (loaded.suite.folder / loaded.suite.file.cases).read_bytes()
    assert lines == b"".join(case.to_line() for case in loaded.suite.cases)


def test_the_lint_finds_nothing(loaded):
    assert lint_suite(loaded.suite, labels=frozenset(loaded.plain.entities)) == []


def test_floors_are_named(loaded):
    assert loaded.suite.file.floors == ("stub", "shim", "refuse-all", "first-declared")


@pytest.mark.parametrize("split", ["development", "held-out"])
def test_click_has_the_stated_counts(split):
    click = load("click")
    tasks = {task: entry for task, entry in click.tasks.items() if entry.split == split}
    rungs = Counter(click.by_id[entry.cases[0]].rung for entry in tasks.values())
    assert rungs == {"TOOL-0": 24, "TOOL-1": 36, "TOOL-2": 24}
    kinds = Counter(kind for case, kind, _ in click.refusals() if click.split(case) == split)
    assert kinds == {"unknown": 16, "undeclared": 16, "outside": 16}
    answers = [case for case in click.answers() if click.split(case) == split]
    assert sum(case.expect.get("proof", False) for case in answers) == 84
    assert len(answers) == 120
    assert {the_call(case)[0] for case in answers} == set(click.suite.registry)


@pytest.mark.parametrize("split", ["development", "held-out"])
def test_click_has_many_small_template_families(split):
    click = load("click")
    chosen = {
        task: [click.by_id[case] for case in entry.cases]
        for task, entry in click.tasks.items()
        if entry.split == split
    }
    sizes = Counter(template_families(chosen, click.plain.entities).values())
    assert len(sizes) >= 50
    assert max(sizes.values()) <= 4


@pytest.mark.parametrize("split", ["development", "held-out"])
def test_a_third_of_clicks_direct_requests_are_terse(split):
    click = load("click")
    verbs = "|".join(TERSE_COMMANDS)
    terse = [case for case in click.suite.cases if re.fullmatch(rf"(?:{verbs})(?: \S+)?", case.request)]
    chosen = [case for case in terse if click.split(case) == split]
    assert len(chosen) == 16
    for case in chosen:
        verb, _, argument = case.request.partition(" ")
        tool, key = TERSE_COMMANDS[verb]
        assert case.rung == "TOOL-0"
        assert case.expect["calls"] == [{"name": tool, "input": {key: argument} if argument else {}}]


def test_click_spreads_the_fitting_tool_over_the_declared_positions():
    click = load("click")
    places = Counter(c.tools.index(the_call(c)[0]) for c in click.answers() if c.rung == "TOOL-1")
    assert all(40 <= places[n] <= 52 for n in range(3)), places


def test_click_pins_some_forty_results():
    click = load("click")
    pinned = [case for case in click.answers() if "result" in case.expect]
    assert 40 <= len({click.suite.task_of[case.id] for case in pinned}) <= 45
    assert all(len(case.expect["result"]) <= 10 for case in pinned)


def test_toy_is_split_in_halves_and_covers_every_refusal():
    toy = load("toy")
    halves = Counter(entry.split for entry in toy.tasks.values())
    assert halves["development"] == halves["held-out"] >= 9
    for split in halves:
        kinds = {kind for case, kind, _ in toy.refusals() if toy.split(case) == split}
        assert kinds == set(REFUSALS)
