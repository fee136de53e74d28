"""Every tool on the toy graph; the expectations were read off cases/toy/graph.json by hand."""

from __future__ import annotations

import time

import pytest

from study.driver import ToolError, Toolset
from study.toolsets.codegraph import CodeGraphTools
from study.toolsets.codegraph.graph import Entity, Graph, Relations
from study.toolsets.codegraph.wording import SHOWN

LOT = "seedbank.lots.Lot"
ROOM = "seedbank.vault.ColdRoom"
UNTESTED = [
    "seedbank.catalogue",
    "seedbank.catalogue.find_species",
    "seedbank.catalogue.render_card",
    "seedbank.fieldbook",
    "seedbank.germination",
    "seedbank.germination.count_sprouts",
    "seedbank.germination.sow",
    "seedbank.humidity",
    "seedbank.humidity.dry_until",
    "seedbank.humidity.read_probe",
    "seedbank.settings",
    "seedbank.vault.ColdRoom.weigh",
]
MODULES = [
    "seedbank",
    "seedbank.catalogue",
    "seedbank.fieldbook",
    "seedbank.germination",
    "seedbank.humidity",
    "seedbank.lots",
    "seedbank.settings",
    "seedbank.vault",
]
ANSWERS = [
    ("search", {"query": "lot"}, None, ["seedbank.lots", "seedbank.lots.FrozenLot", LOT, LOT + ".species",
        LOT + ".weigh", "seedbank.lots.PackedLot", "seedbank.lots.PackedLot.seal", "tests.test_lots"]),
    ("search", {"query": "COLD", "kind": "class"}, None, [ROOM]),
    ("search", {"kind": "attribute"}, None, [LOT + ".species", ROOM + ".shelves"]),
    ("search", {"kind": "method", "name": "weigh"}, None, [LOT + ".weigh", ROOM + ".weigh"]),
    ("search", {"query": "seedbank", "decorator": "cache"}, None, ["seedbank.catalogue.find_species"]),
    ("search", {"query": "a", "decorator": "functools.cache"}, None, ["seedbank.catalogue.find_species"]),
    ("search", {"kind": "class", "decorator": "dataclass"}, None, [ROOM]),
    ("search", {"query": "no such thing"}, None, []),
    ("search", {"query": "", "kind": "test-module"}, None, ["tests.test_lots", "tests.test_vault"]),
    ("describe", {"symbol": "PackedLot"}, "seedbank.lots.PackedLot", ["seedbank.lots.PackedLot"]),
    ("describe", {"symbol": "91d2f0b6a4c3"}, "91d2f0b6a4c3", ["91d2f0b6a4c3"]),
    ("signature", {"symbol": "sow"}, "seedbank.germination.sow", ["seedbank.germination.sow"]),
    ("signature", {"symbol": "FAMILIES"}, "seedbank.catalogue.FAMILIES", ["seedbank.catalogue.FAMILIES"]),
    ("impact", {"module": "lots"}, "seedbank.lots",
        ["seedbank", "seedbank.catalogue", "seedbank.germination", "seedbank.humidity", "seedbank.vault"]),
    ("impact", {"module": "vault"}, "seedbank.vault",
        ["seedbank", "seedbank.germination", "seedbank.humidity"]),
    ("impact", {"module": "settings"}, "seedbank.settings",
        ["seedbank", "seedbank.germination", "seedbank.humidity", "seedbank.vault"]),
    ("impact", {"module": "find_species"}, "seedbank.catalogue.find_species", ["seedbank"]),
    ("impact", {"module": "germination"}, "seedbank.germination", []),
    ("impact", {"module": "test_lots"}, "tests.test_lots", []),
    ("members", {"class": "ColdRoom"}, ROOM, [ROOM + ".shelves", ROOM + ".store", ROOM + ".weigh"]),
    ("members", {"class": "FrozenLot"}, "seedbank.lots.FrozenLot", []),
    ("subclasses", {"class": "Lot"}, LOT, ["seedbank.lots.FrozenLot", "seedbank.lots.PackedLot"]),
    ("subclasses", {"class": "PackedLot"}, "seedbank.lots.PackedLot", ["seedbank.lots.FrozenLot"]),
    ("subclasses", {"class": "FrozenLot"}, "seedbank.lots.FrozenLot", []),
    ("exports", {"module": "seedbank"}, "seedbank", ["seedbank.lots.FrozenLot", LOT, ROOM]),
    ("exports", {"module": "humidity"}, "seedbank.humidity",
        ["seedbank.humidity.MAX_MOISTURE", "seedbank.humidity.dry_until"]),
    ("exports", {"module": "settings"}, "seedbank.settings", []),
    ("callers", {"symbol": "Lot.weigh"}, LOT + ".weigh",
        ["seedbank.lots.PackedLot.seal", ROOM + ".store", ROOM + ".weigh"]),
    ("callers", {"symbol": "FrozenLot"}, "seedbank.lots.FrozenLot", [ROOM + ".store"]),
    ("callers", {"symbol": "sow"}, "seedbank.germination.sow", []),
    ("callees", {"symbol": "store"}, ROOM + ".store",
        ["seedbank.humidity.dry_until", "seedbank.lots.FrozenLot", LOT + ".weigh"]),
    ("callees", {"symbol": "read_probe"}, "seedbank.humidity.read_probe", []),
    ("calls", {"symbol": "store"}, ROOM + ".store",
        ["seedbank.germination.sow", "seedbank.humidity.dry_until", "seedbank.lots.FrozenLot",
        LOT + ".weigh"]),
    ("calls", {"symbol": "MAX_MOISTURE"}, "seedbank.humidity.MAX_MOISTURE", []),
    ("tests_for", {"symbol": "lots"}, "seedbank.lots", ["tests.test_lots", "tests.test_vault"]),
    ("tests_for", {"symbol": "seal"}, "seedbank.lots.PackedLot.seal", ["tests.test_lots"]),
    ("tests_for", {"symbol": "dry_until"}, "seedbank.humidity.dry_until", []),
    ("untested", {}, None, UNTESTED),
    ("history", {"symbol": "vault"}, "seedbank.vault", ["7a30cc51e2f8", "91d2f0b6a4c3", "c07e5d83b1fa"]),
    ("history", {"symbol": "shelves"}, ROOM + ".shelves", ["7a30cc51e2f8", "91d2f0b6a4c3", "c07e5d83b1fa"]),
    ("history", {"symbol": "test_lots"}, "tests.test_lots", ["4be1902c7d10", "7a30cc51e2f8"]),
    ("history", {"symbol": "settings"}, "seedbank.settings", []),
    ("cochanges", {"symbol": "vault"}, "seedbank.vault", ["seedbank.humidity", "seedbank.lots"]),
    ("cochanges", {"symbol": "Lot.weigh"}, LOT + ".weigh", ["seedbank.vault", "tests.test_lots"]),
    ("cochanges", {"symbol": "catalogue"}, "seedbank.catalogue", []),
    ("architecture", {}, None, MODULES),
    ("architecture", {"package": "  "}, None, MODULES),
    ("architecture", {"package": "seedbank"}, "seedbank", MODULES[1:]),
    ("architecture", {"package": "fieldbook"}, "seedbank.fieldbook", []),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "resolved", "result"), ANSWERS)
def test_answer(toy, tool, arguments, resolved, result):
    answer = toy.dispatch(f"tmct_{tool}", arguments)
    assert answer.ok
    assert answer.error is None
    assert answer.resolved == resolved
    assert answer.result == sorted(result)
    assert answer.text


def test_every_set_query_has_an_empty_and_a_full_answer_above():
    found = {}
    for tool, _, _, result in ANSWERS:
        found.setdefault(tool, set()).add(bool(result))
    alone = {"describe", "signature", "untested"}
    assert {tool for tool, seen in found.items() if seen != {True, False}} == alone


WRONG_KINDS = [
    ("members", "class", "sow", "function"),
    ("members", "class", "lots", "module"),
    ("subclasses", "class", "Lot.weigh", "method"),
    ("exports", "module", "Lot", "class"),
    ("exports", "module", "test_lots", "test-module"),
    ("signature", "symbol", "lots", "module"),
    ("signature", "symbol", "test_lots", "test-module"),
    ("callers", "symbol", "4be1902c7d10", "commit"),
    ("callees", "symbol", "test_lots", "test-module"),
    ("calls", "symbol", "4be1902c7d10", "commit"),
    ("tests_for", "symbol", "test_lots", "test-module"),
    ("impact", "module", "4be1902c7d10", "commit"),
    ("history", "symbol", "4be1902c7d10", "commit"),
    ("cochanges", "symbol", "4be1902c7d10", "commit"),
    ("architecture", "package", "Lot", "class"),
]


@pytest.mark.parametrize(("tool", "key", "term", "kind"), WRONG_KINDS)
def test_an_argument_of_the_wrong_kind_is_no_answer(toy, tool, key, term, kind):
    with pytest.raises(ToolError, match=f"is a {kind}; '{key}' must be one of"):
        toy.dispatch(f"tmct_{tool}", {key: term})


def test_a_plain_module_is_no_package(toy):
    with pytest.raises(ToolError, match="'package' must be a package"):
        toy.dispatch("tmct_architecture", {"package": "lots"})


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("tmct_callers", {"symbol": "weigh"}, f"could be any of {LOT}.weigh, {ROOM}.weigh"),
        ("tmct_callers", {"symbol": "sowing"}, "nothing is called 'sowing'"),
        ("tmct_callers", {"symbol": "seedbank.lots.Lott"}, "did you mean 'seedbank.lots.Lot'"),
        ("tmct_callers", {}, "the argument 'symbol' is missing"),
        ("tmct_callers", {"symbol": "  "}, "the argument 'symbol' is missing"),
        ("tmct_callers", {"symbol": None}, "the argument 'symbol' is missing"),
        ("tmct_callers", {"class": "Lot"}, "takes no argument 'class'; it takes symbol"),
        ("tmct_untested", {"symbol": "Lot"}, "takes no argument 'symbol'; it takes none"),
        ("tmct_search", {}, "one of 'query' and 'kind' is needed"),
        ("tmct_search", {"name": "weigh"}, "one of 'query' and 'kind' is needed"),
        ("tmct_search", {"kind": "classs"}, "there is no kind 'classs'"),
        ("tmct_caller", {"symbol": "Lot"}, "there is no tool 'tmct_caller' (did you mean 'tmct_callers'?)"),
    ],
)
def test_what_cannot_be_answered_says_why(toy, tool, arguments, said):
    with pytest.raises(ToolError) as caught:
        toy.dispatch(tool, arguments)
    assert said in str(caught.value)


def test_texts(toy):
    text = {
        tool: toy.dispatch(f"tmct_{tool}", arguments).text
        for tool, arguments in [
            ("describe", {"symbol": "PackedLot"}),
            ("signature", {"symbol": "MAX_MOISTURE"}),
            ("subclasses", {"class": "Lot"}),
            ("calls", {"symbol": "read_probe"}),
            ("history", {"symbol": "shelves"}),
            ("cochanges", {"symbol": "lots"}),
            ("callers", {"symbol": "sow"}),
            ("architecture", {"package": "seedbank"}),
        ]
    }
    assert text["describe"].splitlines() == [
        "seedbank.lots.PackedLot: class at src/seedbank/lots.py:18",
        "in module seedbank.lots",
        "class PackedLot(Lot)",
        "A lot in a sealed bag.",
        "bases 1, subclasses 1, members 1, tests 1, commits 3, cochanges 2",
    ]
    assert text["signature"] == "seedbank.humidity.MAX_MOISTURE: MAX_MOISTURE: float"
    assert text["subclasses"].splitlines()[1:] == [
        "- seedbank.lots.FrozenLot (indirect)",
        "- seedbank.lots.PackedLot",
    ]
    assert text["calls"].splitlines() == [
        "calls of seedbank.humidity.read_probe: 2",
        "- seedbank.humidity.dry_until -> seedbank.humidity.read_probe",
        "- seedbank.humidity.read_probe -> ? port.read",
    ]
    assert text["history"].splitlines() == [
        f"history of {ROOM}.shelves (through seedbank.vault): 3",
        "- c07e5d83b1fa 2031-05-01",
        "- 91d2f0b6a4c3 2031-04-17",
        "- 7a30cc51e2f8 2031-03-09",
    ]
    assert text["cochanges"].splitlines()[1] == "- seedbank.vault (2 commits)"
    assert text["callers"] == "callers of seedbank.germination.sow: none"
    assert "- seedbank.vault -> seedbank.humidity, seedbank.lots" in text["architecture"]
    assert text["architecture"].splitlines()[-2:] == [
        "import cycles: 1",
        "- seedbank.humidity, seedbank.vault",
    ]


def test_the_text_is_capped_and_the_result_is_not():
    labels = [f"m.f{n:03}" for n in range(SHOWN + 7)]
    functions = [
        Entity(label=label, kind="function", path="m.py", line=n + 2) for n, label in enumerate(labels)
    ]
    module = Entity(label="m", kind="module", path="m.py", line=1)
    calls = dict.fromkeys(labels, ("m.f000",))
    tools = CodeGraphTools(
        Graph(schema=1, name="g", entities=(module, *functions), relations=Relations(calls=calls))
    )
    answer = tools.dispatch("tmct_callers", {"symbol": "f000"})
    assert answer.result == labels
    assert answer.text.count("\n- ") == SHOWN
    assert answer.text.endswith("... and 7 more")


def test_an_answer_may_be_changed_without_changing_the_next_one(toy):
    toy.dispatch("tmct_callers", {"symbol": "Lot.weigh"}).result.clear()
    toy.dispatch("tmct_untested", {}).result.clear()
    assert len(toy.dispatch("tmct_callers", {"symbol": "Lot.weigh"}).result) == 3
    assert toy.dispatch("tmct_untested", {}).result == UNTESTED


def test_the_fixture_has_what_cases_need(toy_graph, toy):
    last = {}
    for entity in toy_graph.entities:
        last.setdefault(entity.label.rpartition(".")[2].casefold(), []).append(entity.label)
    assert [name for name, labels in last.items() if len(labels) > 1] == ["weigh"], "exactly one tied name"
    assert len(toy_graph.entities) == 33
    assert {e.kind for e in toy_graph.entities} == {
        "module",
        "test-module",
        "class",
        "function",
        "method",
        "attribute",
        "global",
        "commit",
    }
    assert isinstance(toy, Toolset)


def test_special_methods_and_inner_functions_are_not_called_untested(tree):
    text = """
        class A:
            def __init__(self): pass
            def shown(self): pass
        def outer():
            def inner(): pass
            class Local:
                def method(self): pass
        LIMIT = 1
    """
    graph = tree.build({"m.py": text})
    assert CodeGraphTools(graph).dispatch("tmct_untested", {}).result == ["m", "m.A", "m.A.shown", "m.outer"]


def test_set_queries_are_answered_in_microseconds(toy):
    toy.dispatch("tmct_callers", {"symbol": "Lot.weigh"})
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            toy.dispatch("tmct_callers", {"symbol": "Lot.weigh"})
        best = min(best, (time.perf_counter() - start) / 100)
    assert best < 30e-6
