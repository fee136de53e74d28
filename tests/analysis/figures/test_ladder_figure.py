"""The ladder figure: what is drawn where, and that it can be read."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from xml.etree import ElementTree

import msgspec
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from analysis.figures import ladder, to_svg
from analysis.figures.rungs import _clipped
from analysis.report.svg import embeddable
from study.records import RUNGS
from tests.support.benchmarks import BAD, MISS, PASS, RESULT, driver, entries

SETTING = "held-out split · label 0.1.0"
ANCHORS = {"refuse-all": MISS, "first-declared": PASS}


def made(*tasks, grades=None, **options):
    """Draw rungs with so many tasks; ``grades`` maps a rung to the grades of its first cases."""
    cases = [case for rung, n in zip(RUNGS, tasks, strict=False) for case in entries(rung, n)]
    given = {}
    for rung, some in (grades or {}).items():
        ids = [case.id for case in cases if case.rung == rung]
        given |= dict(zip(ids, some, strict=False))
    return driver(cases, given, **{"trivial": ANCHORS} | options)


def texts(figure):
    return [item.get_text() for item in figure.findobj(Text) if item.get_visible() and item.get_text()]


def bars(figure, color):
    found = [p for p in figure.axes[0].patches if isinstance(p, Rectangle) and p.get_fill()]
    return [p.get_width() for p in found if to_hex(p.get_facecolor()).upper() == color]


@pytest.fixture
def gated():
    return made(20, 10, 5, grades={"TOOL-1": [MISS] * 6})


@pytest.mark.parametrize("rungs, bad", [(1, BAD), (4, MISS)])
def test_no_text_overlaps_another_or_is_clipped(rungs, bad):
    name = "my.agents.of.a.long.name:driver_with_a_long_name"
    # 124 of 250 completed: the receipt with counts is the longest there is
    result = made(*[250] * rungs, grades={"TOOL-0": [bad] * 126}, name=name, floor=True)
    assert_readable(ladder(result, "development split (open cases) · label 0.1.0"))
    assert_readable(ladder(made(*[3] * rungs), SETTING))
    assert_readable(ladder(made(*[7] * rungs), SETTING))


def assert_readable(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    width, height = figure.get_size_inches()
    found = [
        (item.get_text(), item.get_window_extent(canvas.get_renderer()))
        for item in figure.findobj(Text)
        if item.get_visible() and item.get_text().strip()
    ]
    found = [(text, box.transformed(figure.dpi_scale_trans.inverted())) for text, box in found]
    for text, box in found:
        assert box.x0 >= 0.05, text
        assert box.x1 <= width - 0.05, text
        assert box.y0 >= 0.02, text
        assert box.y1 <= height - 0.02, text
    for (left, a), (right, b) in combinations(found, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 0.01 or down <= 0.02, (left, right)


def test_receipts_are_whole():
    written = texts(ladder(made(250, 5, grades={"TOOL-0": [MISS] * 126}), SETTING))
    assert "skipped: gated by TOOL-0 completion 50% < 50% (124 of 250)" in written


def test_standing_counts_and_numbers_are_written(gated):
    written = texts(ladder(gated, SETTING))
    interval = gated.rungs[1].completion.interval
    for expected in (
        "Ladder of goal: reached TOOL-0, gated at TOOL-1",
        "35 cases in 35 tasks · held-out split · label 0.1.0",
        "TOOL-1",
        "tool selection",
        "10 cases, 10 tasks",
        f"40 % of cases · [{interval.low:.1%}, {interval.high:.1%}]".replace("%", " %").replace("  ", " "),
        "gate FAILED",
        "skipped: gated by TOOL-1 completion 40% < 50%",
        "gate 50 %",
        "mean over tasks, 95 %, tilted",
        "refuse-all completes",
        "first-declared completes",
    ):
        assert expected in written, written


def test_halves_round_up():
    written = texts(ladder(made(8, grades={"TOOL-0": [MISS] * 3}), SETTING))
    assert any(text.startswith("63 % of cases") for text in written)


def test_a_bar_is_the_share_of_cases_and_the_line_the_interval_over_tasks(gated):
    figure = ladder(gated, SETTING)
    assert bars(figure, "#0072B2") == [1.0, 0.4]
    lines = [line.get_xdata() for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 2]
    for result in gated.rungs:
        record = result.completion.interval
        assert [record.low, record.high] in [list(line) for line in lines]
    assert any(list(line) == [0.5, 0.5] for line in lines)


def test_skipped_rungs_are_hatched_and_grey_only_they(gated):
    hatches = [c for c in ladder(gated, SETTING).axes[0].collections if len(c.get_paths()) > 5]
    assert len(hatches) == 1
    assert isinstance(hatches[0], LineCollection)
    assert all(-2.5 <= y <= -1.5 for path in hatches[0].get_paths() for _, y in path.vertices)
    clean = ladder(made(20, 10, 5), SETTING)
    assert not [c for c in clean.axes[0].collections if len(c.get_paths()) > 5]
    assert bars(clean, "#0072B2") == [1.0, 1.0, 1.0]


def test_a_hatch_stays_inside_its_bar():
    for start, points in ((-0.1, [0, 0.5, 0.1, 1]), (0.4, [0.4, 0, 0.5, 0.5]), (0.1, [0.1, 0, 0.3, 1])):
        line = _clipped(start, 0.2, 0.5, 0, 1)
        assert [value for point in line for value in point] == pytest.approx(points)
    assert _clipped(0.6, 0.2, 0.5, 0, 1) == []


def test_trivial_drivers_are_ticks_at_what_they_complete(gated):
    ticks = {
        round(path.vertices[0][0], 6)
        for collection in ladder(gated, SETTING).axes[0].collections
        if len(collection.get_paths()) == 1
        for path in collection.get_paths()
    }
    assert ticks == {0.0, 1.0}


def test_hallucination_is_a_bar_of_its_own_and_only_when_there_is_one():
    assert bars(ladder(made(10, grades={"TOOL-0": [BAD]}), SETTING), "#D55E00") == [0.1]
    assert bars(ladder(made(10), SETTING), "#D55E00") == []


def test_result_completion_is_a_diamond_beside_the_plan():
    figure = ladder(made(10, grades={"TOOL-0": [RESULT] * 4}), SETTING)
    diamonds = [line.get_xdata()[0] for line in figure.axes[0].get_lines() if line.get_marker() == "D"]
    assert diamonds == [0.6]
    assert bars(figure, "#0072B2") == [1.0]


@pytest.mark.parametrize(
    "tasks, remark",
    [
        (4, "gate passed · refused: fewer than 5 tasks"),
        (5, "gate passed · few tasks: printed, never decides"),
        (10, "gate passed"),
    ],
)
def test_too_few_tasks_are_said_and_hollow(tasks, remark):
    figure = ladder(made(tasks), SETTING)
    assert remark in texts(figure)
    face = [line.get_markerfacecolor() for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert face == ["#0072B2" if tasks == 10 else "white"]
    assert ("no interval" in " ".join(texts(figure))) is (tasks == 4)


def test_a_floor_says_so_first():
    written = texts(ladder(made(600, 600, floor=True), "development split (open cases) · label 0.1.0"))
    assert (
        "FLOOR: an anchor, no candidate for use · 1200 cases in 1200 tasks · "
        "development split (open cases) · label 0.1.0" in written
    )
    assert not any("FLOOR" in text for text in texts(ladder(made(5), SETTING)))


def test_the_same_bytes_in_every_process_and_embeddable(gated, tmp_path):
    svg = to_svg(ladder(gated, SETTING))
    record = tmp_path / "driver.json"
    record.write_bytes(msgspec.json.encode(gated))
    code = (
        "import sys, msgspec; from analysis.benchmark import DriverResult; from analysis.figures import *;"
        "r = msgspec.json.decode(open(sys.argv[1], 'rb').read(), type=DriverResult);"
        f"sys.stdout.write(to_svg(ladder(r, {SETTING!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(record)], capture_output=True, text=True)
    assert done.stdout == svg
    assert ElementTree.fromstring(svg)[0].text == "Ladder of goal: reached TOOL-0, gated at TOOL-1"
    assert embeddable("ladder", svg).startswith("<svg")


def test_hostile_names_are_drawn_as_they_stand():
    figure = ladder(made(5, name="$\\frac{<script>x</script> \x1b[31m"), SETTING)
    assert any("$\\frac{<script>" in text for text in texts(figure))
    assert "<script" not in to_svg(figure)
