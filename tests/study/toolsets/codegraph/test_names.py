"""How a written term is bound: exactly, by what it is offered as, by its end, without regard to case."""

from __future__ import annotations

import pytest

from study.driver import Resolution
from study.toolsets.codegraph import CodeGraphTools


@pytest.mark.parametrize(
    ("term", "label", "kind"),
    [
        ("seedbank.lots.Lot", "seedbank.lots.Lot", "class"),
        ("  seedbank.lots.Lot ", "seedbank.lots.Lot", "class"),
        ("seedbank", "seedbank", "module"),
        ("lots.Lot", "seedbank.lots.Lot", "class"),
        ("Lot", "seedbank.lots.Lot", "class"),
        ("lots", "seedbank.lots", "module"),
        ("seedbank.Lot", "seedbank.lots.Lot", "class"),
        ("seedbank.ColdRoom", "seedbank.vault.ColdRoom", "class"),
        ("src/seedbank/vault.py", "seedbank.vault", "module"),
        ("tests/test_lots.py", "tests.test_lots", "test-module"),
        ("Lot.weigh", "seedbank.lots.Lot.weigh", "method"),
        ("COLDROOM", "seedbank.vault.ColdRoom", "class"),
        ("SeedBank.Lots.lot", "seedbank.lots.Lot", "class"),
        ("max_moisture", "seedbank.humidity.MAX_MOISTURE", "global"),
        ("e6f41a9d0b27", "e6f41a9d0b27", "commit"),
    ],
)
def test_bound(toy, term, label, kind):
    assert toy.resolve(term) == Resolution(label, kind)


@pytest.mark.parametrize(
    "term", ["", "  ", ".", "eigh", "Lot.", "seedbank.lots.Lot.weigh.x", "bank.lots", "nobody"]
)
def test_unbound(toy, term):
    assert toy.resolve(term) == Resolution(None)


@pytest.mark.parametrize("term", ["weigh", "WEIGH", " weigh "])
def test_tied(toy, term):
    tied = ("seedbank.lots.Lot.weigh", "seedbank.vault.ColdRoom.weigh")
    assert toy.resolve(term) == Resolution(None, tied=tied)


def test_case_decides_before_it_is_ignored(tree):
    tools = CodeGraphTools(tree.build({"a.py": "class Item: pass\nitem = 1\nclass Solo: pass\n"}))
    assert tools.resolve("Item").label == "a.Item"
    assert tools.resolve("item").label == "a.item"
    assert tools.resolve("ITEM").tied == ("a.Item", "a.item")
    assert tools.resolve("solo").label == "a.Solo"


def test_a_full_label_wins_over_the_end_of_another(tree):
    tools = CodeGraphTools(tree.build({"core.py": "x = 1", "pkg/core.py": "y = 1", "pkg/sub/core.py": ""}))
    assert tools.resolve("core").label == "core"
    assert tools.resolve("pkg.core").label == "pkg.core"
    assert tools.resolve("sub.core").label == "pkg.sub.core"


def test_changing_a_resolution_does_not_change_the_next(toy):
    toy.resolve("Lot").label = "something else"
    assert toy.resolve("Lot").label == "seedbank.lots.Lot"
