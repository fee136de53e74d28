"""Masking of entity names, and the families of tasks that share a template."""

from __future__ import annotations

import pytest

from study.cases import Case
from study.templates import is_identifier, masker, pinned_values, template_families


def case(request, *values, **expect):
    calls = [{"name": "t", "input": {"x": value}} for value in values]
    return Case(id="c", rung="TOOL-1", request=request, tools=("t",), expect={"calls": calls, **expect})


@pytest.mark.parametrize(
    ("token", "named"),
    [
        ("click.core", True),
        ("make_context", True),
        ("src/click", True),
        ("a\\b", True),
        ("Atlas-3", True),
        ("fnAlpha", True),
        ("HTTP", True),
        ("Widget", False),
        ("callers", False),
        ("high-level", False),
        ("A", False),
    ],
)
def test_identifier_like_tokens(token, named):
    assert is_identifier(token) is named


@pytest.mark.parametrize(
    ("request_text", "template"),
    [
        ("Who calls make_context?", "who calls <name>?"),
        ("who  calls\n click.core.Command.", "who calls <name>."),
        ("describe `the thing` now", "describe <name> now"),
        ('describe "the thing", then "another"', "describe <name>, then <name>"),
        ("describe 'the thing' and “this one”", "describe <name> and <name>"),
        ("don't show the user's callers", "don't show the user's callers"),
        ("who has Atlas-3's holds", "who has <name>'s holds"),
        ("(see src/app.py: main2)", "(see <name>: <name>)"),
        ("what does Widget do", "what does widget do"),
        ("rank <name> and name", "rank <name> and name"),
    ],
)
def test_masking_without_a_graph(request_text, template):
    assert masker()(case(request_text)) == template


def test_pinned_values_are_masked_as_whole_tokens_in_any_spelling():
    assert masker()(case("who has atlas at home", "Atlas")) == "who has <name> at home"
    assert masker()(case("who has atlases", "Atlas")) == "who has atlases"
    phrase = case("who has the  Great Atlas (large print) today", "great atlas (large print)")
    assert masker()(phrase) == "who has the <name> today"


def test_every_place_that_pins_a_value():
    one = Case(
        id="c",
        rung="TOOL-8",
        request="r",
        tools=("t",),
        expect={
            "calls": [{"name": "t", "input": {"a": ["x", {"y": 1}], "b": " "}, "accept": {"a": ["z"]}}],
            "candidateResults": [{"name": "t", "input": {"a": "w"}}, 3],
        },
        trace=({"name": "t", "input": {"a": "v"}},),
    )
    assert pinned_values(one) == {"x", "1", "z", "w", "v"}


def test_labels_and_their_dotted_suffixes_are_masked_as_written():
    mask = masker(["click.core.Command", "loans", "Great Atlas"])
    assert mask(case("show Command and core.Command")) == "show <name> and <name>"
    assert mask(case("show command and Loans, loans")) == "show command and loans, <name>"
    assert mask(case("show Great Atlas and Atlas")) == "show <name> and atlas"
    assert mask(case("preloans loansdesk")) == "preloans loansdesk"


def test_names_that_differ_share_a_template():
    mask = masker()
    assert mask(case("Who calls f_a?")) == mask(case("who calls  g.b?")) != mask(case("what calls f_a?"))


def test_families_are_connected_components():
    tasks = {
        "t1": [case("who calls a_1"), case("show callers of a_1")],
        "t2": [case("show callers of b_2")],
        "t3": [case("describe c_3")],
        "t4": [case("who calls d_4"), case("what is d_4")],
        "t5": [case("what is e_5")],
    }
    families = template_families(tasks)
    assert list(families) == list(tasks)
    assert families["t1"] == families["t2"] == families["t4"] == families["t5"] != families["t3"]
    assert all(len(family) == 8 for family in families.values())


def test_families_depend_neither_on_order_nor_on_task_names():
    tasks = {"t1": [case("who calls a_1"), case("what is b_1")], "t2": [case("what is c_1")]}
    families = template_families(tasks)
    backwards = template_families({k: v[::-1] for k, v in reversed(tasks.items())})
    assert backwards == families
    renamed = template_families({f"x-{k}": v for k, v in tasks.items()})
    assert set(renamed.values()) == set(families.values())


def test_the_family_of_a_task_alone_is_that_of_its_smallest_template():
    both = [case("who calls a_1"), case("what is b_1")]
    alone = {template_families({"t": [one]})["t"] for one in both}
    assert template_families({"t": both})["t"] == min(alone)


def test_labels_can_join_families():
    tasks = {"t1": [case("who borrows Widget")], "t2": [case("who borrows Gadget")]}
    assert len(set(template_families(tasks).values())) == 2
    assert len(set(template_families(tasks, labels=["shop.Widget", "shop.Gadget"]).values())) == 1


def test_a_task_without_cases_has_no_template():
    with pytest.raises(ValueError, match="'t' has no cases"):
        template_families({"t": []})
