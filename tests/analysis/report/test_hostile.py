"""Text from outside stays text, in every format."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from analysis.figures import forest, to_svg
from analysis.report import render_report, render_summary
from analysis.results import Verdict
from study.errors import StudyError

HOSTILE = "<script>alert(1)</script> & \"q\" 'a' | `x` \x1b[31m\u202e]]> --> [l](javascript:x)"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.fixture
def hostile(make_results, make_proportion):
    base = make_results()
    arms = {arm: {**entry, "driver": HOSTILE, "config": {HOSTILE: arm}} for arm, entry in base.arms.items()}
    return make_results(
        study=HOSTILE,
        question=HOSTILE,
        arms=arms,
        notes=(HOSTILE,),
        deviations=({"text": HOSTILE, HOSTILE: HOSTILE},),
        endpoints=(make_proportion(name=HOSTILE, diagnostics=(HOSTILE,)),),
        verdict=Verdict(outcome="non_inferior", reasons=(HOSTILE,), sentence=HOSTILE),
    )


class Tags(HTMLParser):
    """Collects what a browser would see: elements, attributes, balance."""

    VOID = frozenset({"meta"})

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_well_formed_and_needs_nothing_else(hostile) -> None:
    page = render_report(hostile, "html", figures={"forest": to_svg(forest(hostile))})
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.names)
    assert tags.names.count("svg") == 1
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "src"]
    assert all((value or "").startswith("#") for name, value in tags.attributes if name.endswith("href"))
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    ElementTree.fromstring(page.split("\n", 1)[1])


def test_html_declares_that_nothing_runs(make_results) -> None:
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in render_report(
        make_results(), "html"
    )


@pytest.mark.parametrize("style", ["text", "md", "html", "junit"])
def test_no_control_character_survives(hostile, style: str) -> None:
    text = render_report(hostile, style)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b" in text


def test_markdown_shows_the_text_and_keeps_its_tables(hostile) -> None:
    text = render_report(hostile, "md")
    assert "<" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table


def test_junit_is_well_formed(hostile) -> None:
    suite = ElementTree.fromstring(render_report(hostile, "junit").encode())[0]
    assert suite.get("name", "").startswith("<script>alert(1)</script>")


def test_a_summary_shows_no_control_character(hostile) -> None:
    assert "\x1b" not in render_summary(hostile, exit_code=0)


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        '<path onload="x()"/>',
        '<image href="https://example.org/a.png"/>',
        '<use xlink:href="https://example.org/a.svg#b"/>',
        '<a xlink:href="javascript:x"><path/></a>',
        '<style>@import "https://example.org/a.css";</style>',
        '<path style="fill: url(https://example.org/a)"/>',
        '<path style="fill: u\\72l(https://example.org/a)"/>',
        "<foreignObject/>",
        '<p xmlns="http://www.w3.org/1999/xhtml">x</p>',
        "<g>",
    ],
)
def test_a_drawing_that_runs_or_loads_is_refused(make_results, inner: str) -> None:
    with pytest.raises(StudyError, match="figure 'f'"):
        render_report(make_results(), "html", figures={"f": SVG.format(inner)})


def test_what_is_no_drawing_is_refused(make_results) -> None:
    with pytest.raises(StudyError, match="not an SVG document"):
        render_report(make_results(), "html", figures={"f": "<html/>"})


def test_a_comment_that_html_would_end_earlier_is_left_out(make_results) -> None:
    trick = SVG.format("<!--> <script>alert(1)</script> --><?x ><script>alert(1)</script>?><path d='M 0 0'/>")
    page = render_report(make_results(), "html", figures={"f": trick})
    assert "alert" not in page
    assert '<path d="M 0 0" />' in page
