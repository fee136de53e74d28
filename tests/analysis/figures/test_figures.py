import math
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from analysis.figures import forest, panels, save, to_svg
from analysis.report import render_report
from study.errors import StudyError

SCENARIOS = (
    "non_inferior",
    "superior",
    "inconclusive",
    "hard_fail",
    "void",
    "pilot",
    "floors",
    "exploratory",
    "refused",
)


def texts(figure: Figure) -> list[str]:
    return [item.get_text() for item in figure.findobj(Text) if item.get_visible() and item.get_text()]


def boxes(figure: Figure):
    """Return every text of a figure with its extent in inches."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    found = [item for item in figure.findobj(Text) if item.get_visible() and item.get_text().strip()]
    to_inches = figure.dpi_scale_trans.inverted()
    return [
        (item.get_text(), item.get_window_extent(canvas.get_renderer()).transformed(to_inches))
        for item in found
    ]


@pytest.fixture
def crowded(make_results, make_proportion, make_ratio, make_refused, make_interval):
    """Twelve endpoints: every claim, both directions, four units, all that can be missing."""
    wide = make_interval(
        math.log(0.02), math.log(4000), "quantile bootstrap with a name that is far too long"
    )
    few = make_interval(math.log(0.7), math.log(1.9), status="few_tasks")
    plain = {"claim": None, "margin": None, "margin_text": None, "outcome": None, "sensitivity": ()}
    return make_results(
        question="May " + "the goal driver with everything enabled " * 8 + "replace it? $x_1$ <b>日本</b>",
        endpoints=(
            make_proportion(),
            make_proportion(name="pass", claim="superior", margin=None, outcome="superior"),
            make_proportion(name="result_completion", role="secondary", interval=make_interval(-0.97, 1.0)),
            make_proportion(name="pass_hat_k", role="guardrail", claim="equivalent", margin=0.08),
            make_proportion(name="timeouts", role="guardrail", higher_is_better=False, margin=0.02),
            make_refused(name="pass_at_k", role="secondary"),
            make_proportion(
                **plain | {"name": "gone", "estimate": None, "interval": None, "status": "not_recorded"}
            ),
            make_ratio(),
            make_ratio(name="latency_p99", interval=wide, estimate=math.log(3)),
            make_ratio(name="latency_restricted_mean", interval=few, status="few_tasks"),
            make_proportion(**plain | {"name": "calls", "unit": "calls", "estimate": 0.3}),
            make_proportion(**plain | {"name": "latency_p50", "unit": "s", "estimate": 0.0012}),
        ),
    )


@pytest.fixture
def small_and_large(make_results, make_proportion, make_interval):
    tiny = make_proportion(estimate=1e-6, interval=make_interval(-2e-6, 3e-6), margin=None, claim="superior")
    zero = make_proportion(estimate=0.0, interval=None, margin=None, claim=None, sensitivity=())
    narrow = make_proportion(interval=make_interval(-0.97, 1.0), sensitivity=())
    return [make_results(endpoints=(row,)) for row in (tiny, zero, narrow)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_text_overlaps_another_or_is_clipped(scenario, name: str) -> None:
    assert_readable(forest(scenario(name)))


def test_twelve_endpoints_are_readable(crowded) -> None:
    assert_readable(forest(crowded))


def test_tiny_and_huge_intervals_are_readable(small_and_large) -> None:
    for results in small_and_large:
        assert_readable(forest(results))


def assert_readable(figure: Figure) -> None:
    width, height = figure.get_size_inches()
    found = boxes(figure)
    for text, box in found:
        assert box.x0 >= 0.05, text
        assert box.y0 >= 0.02, text
        assert box.x1 <= width - 0.05, text
        assert box.y1 <= height - 0.02, text
    for (left, a), (right, b) in combinations(found, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 0.01 or down <= 0.02, (left, right)


def test_question_verdict_and_numbers_are_written(make_results) -> None:
    written = texts(forest(make_results()))
    for expected in (
        "May the goal driver replace the resolver?",
        "Verdict: non-inferior",
        "-1.3 pp [-4.1 pp, +2.0 pp]",
        "n tasks = 80 · 95 %, tilted",
        "non-inferior · grey: percentile, t",
        "margin -5 pp",
        "margin +10 %",
        "+8.2 % [+1.2 %, +15.7 %]",
    ):
        assert expected in written


def test_units_never_share_an_axis(crowded) -> None:
    arranged = panels.arrange(crowded.endpoints)
    assert [panel.unit for panel in arranged] == ["proportion", "log_ratio", "calls", "s"]
    assert [len(panel.rows) for panel in arranged] == [7, 3, 1, 1]
    assert len(forest(crowded).axes) == 4
    for panel in arranged:
        assert all(panel.low < place < panel.high for place, _ in panel.ticks)
        assert 2 <= len(panel.ticks) <= 8
        assert "0" in [label for _, label in panel.ticks]


def test_the_axis_holds_everything_that_is_drawn(crowded) -> None:
    for panel in panels.arrange(crowded.endpoints):
        for row in panel.rows:
            for interval in (row.interval, *row.sensitivity):
                if interval is not None and interval.low is not None:
                    assert panel.low < interval.low <= interval.high < panel.high
            for edge in panels.tolerated(row) or ():
                assert panel.low < edge < panel.high


@pytest.mark.parametrize(
    "changes, band, label",
    [
        ({}, (-0.05, 0.0), "margin -5 pp"),
        ({"higher_is_better": False}, (0.0, 0.05), "margin +5 pp"),
        ({"claim": "equivalent"}, (-0.05, 0.05), "margin ±5 pp"),
    ],
)
def test_the_margin_lies_on_the_side_of_the_loss(make_proportion, changes, band, label: str) -> None:
    row = make_proportion(**changes)
    assert panels.tolerated(row) == band
    assert panels.margin_label(row) == label


def test_without_a_margin_nothing_is_shaded(make_results, make_proportion) -> None:
    row = make_proportion(claim="superior", margin=None, margin_text=None)
    assert panels.tolerated(row) is None
    assert not [text for text in texts(forest(make_results(endpoints=(row,)))) if text.startswith("margin")]


def test_the_deciding_interval_is_bold_and_sensitivity_thin(make_results) -> None:
    lines = forest(make_results()).axes[0].get_lines()
    widths = {tuple(line.get_xdata()): line.get_linewidth() for line in lines if len(line.get_xdata()) == 2}
    assert widths[(-0.041, 0.02)] > 2 * widths[(-0.038, 0.013)]
    assert widths[(-0.038, 0.013)] == widths[(-0.0387, 0.0137)]


def test_what_decides_nothing_is_hollow(make_results, make_proportion, make_interval) -> None:
    few = make_proportion(interval=make_interval(-0.4, 0.3, status="few_tasks"), status="few_tasks")
    for row, face in ((make_proportion(), "#0072B2"), (few, "white")):
        lines = forest(make_results(endpoints=(row,))).axes[0].get_lines()
        assert [line.get_markerfacecolor() for line in lines if line.get_marker() == "o"] == [face]
    written = texts(forest(make_results(endpoints=(few,))))
    assert "non-inferior · few tasks: printed, never decides" in written


def test_a_refused_interval_is_words(scenario) -> None:
    assert "n tasks = 4 · no interval: refused: fewer than 5 tasks" in texts(forest(scenario("refused")))


def test_a_pilot_has_counts_and_no_axis(scenario) -> None:
    figure = forest(scenario("pilot"))
    written = " ".join(texts(figure))
    assert figure.axes == []
    assert "PILOT: counts only" in written
    assert "155" in written
    for word in ("better", "inferior", "superior", "tilted", " pp", "%"):
        assert word not in written


def test_flags_are_in_the_subtitle(scenario) -> None:
    assert "Verdict: non-inferior · EXPLORATORY: nothing was locked beforehand" in texts(
        forest(scenario("exploratory"))
    )
    assert "Verdict: non-inferior · floor driver (anchor only): baseline and candidate" in texts(
        forest(scenario("floors"))
    )


def test_a_void_figure_says_that_it_supports_nothing(scenario) -> None:
    assert "Verdict: void · these numbers support no statement" in texts(forest(scenario("void")))


def test_without_endpoints_there_are_counts(make_results) -> None:
    assert "Verdict: non-inferior · no endpoint was estimated" in texts(forest(make_results(endpoints=())))


def test_it_is_readable_at_eight_by_three(make_results) -> None:
    assert tuple(forest(make_results()).get_size_inches()) == pytest.approx((8, 3))


def test_the_same_bytes_in_every_process(make_results, tmp_path: Path) -> None:
    results = make_results()
    record = tmp_path / "results.json"
    record.write_text(render_report(results, "json"))
    code = (
        "import sys, msgspec; from analysis.results import Results; from analysis.figures import *;"
        "r = msgspec.json.decode(open(sys.argv[1], 'rb').read(), type=Results);"
        "save(forest(r), sys.argv[2])"
    )
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-c", code, str(record), str(tmp_path / name)], check=True)
    for suffix in ("svg", "png"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    assert (tmp_path / "one.svg").read_text() == to_svg(forest(results))


def test_nobodys_settings_matter_and_none_are_changed(make_results) -> None:
    plain = to_svg(forest(make_results()))
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "none", "axes.facecolor": "red"}):
        assert to_svg(forest(make_results())) == plain
        assert matplotlib.rcParams["svg.fonttype"] == "none"


def test_an_svg_can_be_read_twice_and_names_itself(make_results) -> None:
    figure = forest(make_results())
    text = to_svg(figure)
    assert to_svg(figure) == text
    root = ElementTree.fromstring(text)
    assert root[0].text == "May the goal driver replace the resolver?"
    assert "dc:date" not in text
    assert "matplotlib.org" not in text


def test_hostile_text_is_drawn_as_it_stands(make_results) -> None:
    figure = forest(make_results(question="$\\frac{<script>alert(1)</script> \x1b[31m --> 日本"))
    assert any("$\\frac{<script>" in text for text in texts(figure))
    text = to_svg(figure)
    assert "<script" not in text
    ElementTree.fromstring(text)


def test_saving_returns_the_paths(make_results, tmp_path: Path) -> None:
    figure = forest(make_results())
    written = save(figure, tmp_path / "figures" / "forest.v1")
    assert written == [tmp_path / "figures" / f"forest.v1.{suffix}" for suffix in ("svg", "png")]
    assert written[0].read_text() == to_svg(figure)
    assert written[1].read_bytes().startswith(b"\x89PNG")
    assert save(figure, str(tmp_path / "only"), ("svg",)) == [tmp_path / "only.svg"]


def test_saving_refuses_what_it_cannot_do(make_results, tmp_path: Path) -> None:
    figure = forest(make_results())
    with pytest.raises(StudyError) as caught:
        save(figure, tmp_path / "f", ("pdf",))
    assert caught.value.allowed == "svg, png"
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="cannot write the figure"):
        save(figure, tmp_path / "file" / "f")
