import math
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import formatting


@pytest.mark.parametrize(
    "value, decimals, text",
    [
        (0.5, 0, "1"),
        (1.5, 0, "2"),
        (2.5, 0, "3"),
        (-2.5, 0, "-3"),
        (0.125, 2, "0.13"),
        (2.675, 2, "2.68"),
        (1.005, 2, "1.01"),
        (-0.04, 1, "0.0"),
        (0.1 + 0.2, 1, "0.3"),
        (0.15 - 1e-17, 1, "0.2"),
        (0.0124999999, 3, "0.012"),
        (0.012500000000000067, 3, "0.013"),
        (0.012499999999999999, 3, "0.013"),
        (1e22, 0, "10000000000000000000000"),
        (0.0, 2, "0.00"),
    ],
)
def test_ties_go_away_from_zero(value: float, decimals: int, text: str) -> None:
    assert formatting.half_up(value, decimals) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_never_text(value: float) -> None:
    for function in (formatting.percent, formatting.points, formatting.seconds, formatting.ratio):
        with pytest.raises(ValueError):  # noqa: PT011 -- the message is for developers
            function(value)


@pytest.mark.parametrize(
    "value, digits, text",
    [
        (1.2345, 3, "1.23"),
        (0.0123456, 3, "0.0123"),
        (1234.5, 3, "1235"),
        (9.996, 3, "10.0"),
        (99.96, 3, "100"),
        (0.09996, 3, "0.100"),
        (0.0, 3, "0"),
        (-5.5555, 2, "-5.6"),
    ],
)
def test_significant_digits(value: float, digits: int, text: str) -> None:
    assert formatting.significant(value, digits) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (-0.013, "-1.3 pp"),
        (0.0125, "+1.3 pp"),
        (-0.0125, "-1.3 pp"),
        (0.0, "0.0 pp"),
        (-0.0, "0.0 pp"),
        (-0.0004, "0.0 pp"),
        (1.0, "+100.0 pp"),
        (None, "not recorded"),
    ],
)
def test_percentage_points(value: float | None, text: str) -> None:
    assert formatting.points(value) == text


@pytest.mark.parametrize(
    "value, bounds, text",
    [
        # margin -5 pp: -4.96 would round to -5.0 and -5.04 too
        (-0.0496, (-0.05,), "-4.96 pp"),
        (-0.0504, (-0.05,), "-5.04 pp"),
        (-0.04999, (-0.05,), "-4.999 pp"),
        (-0.05, (-0.05,), "-5.0 pp"),
        (-0.05000000001, (-0.05,), "just below -5 pp"),
        (-0.04999999999, (-0.05,), "just above -5 pp"),
        # zero: superior or not
        (0.0004, (0.0,), "+0.04 pp"),
        (-0.0004, (0.0,), "-0.04 pp"),
        (1e-12, (0.0, 0.05), "just above 0 pp"),
        # the margin has more digits than are shown: 3.33 pp
        (-0.0334, (-0.0333,), "-3.34 pp"),
        (-0.0332, (-0.0333,), "-3.3 pp"),
        (-0.041, (0.0, 0.05, -0.05), "-4.1 pp"),
    ],
)
def test_a_limit_is_never_rounded_across_a_bound(value: float, bounds: tuple[float, ...], text: str) -> None:
    assert formatting.points(value, bounds=bounds) == text


@given(st.floats(-1, 1), st.sampled_from([0.01, 0.02, 0.05, 0.0333, 0.1]))
def test_printed_limits_lie_on_the_side_of_the_limits(limit: float, margin: float) -> None:
    text = formatting.points(limit, bounds=(0.0, margin, -margin))
    for bound in (0.0, margin, -margin):
        edge = round(bound * 100, 10)
        if text.startswith("just"):
            continue
        printed = float(text.removesuffix(" pp"))
        assert (printed > edge, printed < edge) == (limit > bound, limit < bound) or limit == bound


@given(st.floats(-1, 1))
def test_swapping_the_arms_mirrors_the_text(difference: float) -> None:
    swapped = {"+": "-", "-": "+"}
    mirrored = "".join(swapped.get(char, char) for char in formatting.points(difference))
    assert formatting.points(-difference) == mirrored


@pytest.mark.parametrize(
    "value, text",
    [
        (0.9375, "93.8 %"),
        (1.0, "100.0 %"),
        (0.9999999999999999, "100.0 %"),
        (0.9996, "99.96 %"),
        (0.0, "0.0 %"),
        (0.0004, "0.04 %"),
        (None, "not recorded"),
    ],
)
def test_proportions(value: float | None, text: str) -> None:
    assert formatting.percent(value) == text


@pytest.mark.parametrize(
    "factor, text",
    [
        (1.082, "x 1.08 (+8.2 %)"),
        (1.0, "x 1.00 (0.0 %)"),
        (0.5, "x 0.500 (-50.0 %)"),
        (12.345, "x 12.3 (+1135 %)"),
        (0.9996, "x 1.00 (0.0 %)"),
    ],
)
def test_ratios_from_the_log_scale(factor: float, text: str) -> None:
    assert formatting.ratio(math.log(factor)) == text


@pytest.mark.parametrize(
    "factor, text",
    [(1.1, "+10.0 %"), (1.1004, "+10.04 %"), (1.0996, "+9.96 %"), (1.0002, "+0.02 %"), (1.0, "0.0 %")],
)
def test_a_ratio_is_never_rounded_across_its_margin(factor: float, text: str) -> None:
    bounds = (0.0, math.log(1.1), -math.log(1.1))
    assert formatting.relative(math.log(factor), bounds=bounds) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0012, "1.20 ms"),
        (0.00034, "340 µs"),
        (2.5e-9, "2.50 ns"),
        (0.9996, "1.00 s"),
        (0.9994, "999 ms"),
        (0.0009996, "1.00 ms"),
        (12.345, "12.3 s"),
        (1234.5, "1235 s"),
        (0.0, "0 s"),
        (None, "not recorded"),
    ],
)
def test_seconds_choose_their_unit(value: float | None, text: str) -> None:
    assert formatting.seconds(value) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (0.5, "500 ms"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (7199, "2 h 00 min"),
        (None, "not recorded"),
    ],
)
def test_durations_are_for_people(value: float | None, text: str) -> None:
    assert formatting.duration(value) == text


@pytest.mark.parametrize(
    "level, text", [(0.95, "95 %"), (0.975, "97.5 %"), (0.9875, "98.75 %"), (0.9, "90 %")]
)
def test_levels_have_no_idle_zeros(level: float, text: str) -> None:
    assert formatting.confidence(level) == text


@pytest.mark.parametrize(
    "value, unit, sign, text",
    [
        (0.05, "proportion", "", "5 pp"),
        (-0.05, "proportion", "", "-5 pp"),
        (0.05, "proportion", "±", "±5 pp"),
        (0.0333, "proportion", "", "3.33 pp"),
        (math.log(1.1), "log_ratio", "+", "+10 %"),
        (-math.log(1.1), "log_ratio", "", "-9.0909 %"),
        (0.002, "s", "+", "+2 ms"),
        (100.0, "tokens", "", "100 tokens"),
    ],
)
def test_margins(value: float, unit: str, sign: str, text: str) -> None:
    assert formatting.margin(value, unit, sign=sign) == text


@pytest.mark.parametrize(
    "low, high, unit, text",
    [
        (-0.041, 0.02, "proportion", "[-4.1 pp, +2.0 pp]"),
        (math.log(1.012), math.log(1.157), "log_ratio", "[+1.2 %, +15.7 %]"),
        (-0.0002, 0.0031, "s", "[-0.20 ms, +3.10 ms]"),
        (-12.3, 1234.5, "tokens", "[-12 tokens, +1235 tokens]"),
        (0.0, 0.5, "calls", "[0.000 calls, +0.500 calls]"),
    ],
)
def test_limits_share_their_unit(low: float, high: float, unit: str, text: str) -> None:
    assert formatting.limits(low, high, unit) == text


def test_an_interval_names_level_and_method(make_interval) -> None:
    assert formatting.interval(make_interval(-0.041, 0.02), "proportion") == (
        "[-4.1 pp, +2.0 pp] (95 %, tilted)"
    )
    few = make_interval(-0.4, 0.2, status="few_tasks")
    assert formatting.interval(few, "proportion").endswith(
        "(95 %, tilted; few tasks: printed, never decides)"
    )


@pytest.mark.parametrize(
    "status, n_tasks, text",
    [
        ("refused", 4, "refused: fewer than 5 tasks"),
        ("refused", 5, "refused"),
        ("refused", None, "refused"),
        ("not_recorded", 80, "not recorded"),
        ("ok", 80, "not recorded"),
        ("descriptive", 80, "not recorded"),
        ("not_identified", 80, "not identified: the trials that end at the time limit may reach it"),
    ],
)
def test_what_is_missing_is_words(make_interval, status: str, n_tasks: int | None, text: str) -> None:
    assert formatting.absence(status, n_tasks) == text
    assert formatting.interval(None, "proportion", n_tasks=n_tasks, status=status) == text
    if status != "ok":
        gone = make_interval(None, None, status=status)
        assert formatting.interval(gone, "proportion", n_tasks=n_tasks) == text


def test_counts_and_shares() -> None:
    assert formatting.counts(80, 160) == "n tasks = 80, pairs = 160"
    assert formatting.counts(80) == "n tasks = 80"
    assert formatting.share(12, 15) == "12 of 15 (80.0 %)"
    assert formatting.share(0, 0) == "none of 0 (no rate)"


@pytest.mark.parametrize(
    "declared, digest, level, text",
    [
        (True, "ab", "comparative", ""),
        ("exploratory", None, "comparative", "EXPLORATORY"),
        (True, None, "comparative", "EXPLORATORY"),
        ("exploratory", "ab", "comparative", "EXPLORATORY"),
        (True, "ab", "pilot", "PILOT"),
        (False, "ab", "pilot", "EXPLORATORY, PILOT"),
    ],
)
def test_without_a_lock_nothing_is_declared(
    declared: bool | str, digest: str | None, level: str, text: str
) -> None:
    assert formatting.standing(declared, digest, level) == text


def test_claims_and_outcomes() -> None:
    assert formatting.claim("non-inferior", 0.05, "proportion") == "non-inferior, margin 5 pp"
    assert formatting.claim("non-inferior", 0.05, "proportion", "5.0 pp") == "non-inferior, margin 5.0 pp"
    assert formatting.claim("superior", None, "proportion") == "superior"
    assert formatting.claim(None, None, "proportion") == "none (descriptive)"
    assert formatting.outcome("non_inferior") == "non-inferior"
    assert formatting.outcome("guardrail_failed") == "guardrail failed"
    assert formatting.outcome(None) == "no claim"


def test_no_character_moves_the_cursor_or_reorders_text() -> None:
    assert formatting.visible("a\x1b[31mb") == "a\\x1b[31mb"
    assert formatting.visible("a\n\t b\u202ec") == "a b\\u202ec"
    assert formatting.visible("\ud800") == "\\ud800"


@given(st.text())
def test_visible_text_is_one_encodable_line(text: str) -> None:
    line = formatting.visible(text)
    line.encode("utf-8")
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in line)


def test_widths_are_those_of_a_terminal() -> None:
    assert formatting.display_width("日本") == 4
    assert formatting.display_width("e\u0301") == 1


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200), st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = formatting.wrap(text, width)
    assert all(formatting.display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == formatting.visible(text).replace(" ", "")


def test_a_number_stays_beside_its_unit() -> None:
    assert formatting.wrap("at least -4.1 pp, and x 1.08 too", 14) == [
        "at least",
        "-4.1 pp, and",
        "x 1.08 too",
    ]


def test_a_table_aligns_wide_characters() -> None:
    table = formatting.text_table(["name", "n"], [["日本", "7"], ["ab", "10"]], right=[1])
    assert table.splitlines() == ["name   n", "----  --", "日本   7", "ab    10"]


def test_a_wide_table_wraps_its_widest_column() -> None:
    table = formatting.text_table(["k", "text"], [["a", "one two three four"]], width=14)
    assert table.splitlines() == ["k  text", "-  -----------", "a  one two", "   three four"]


@given(
    st.lists(st.lists(st.text(max_size=60), min_size=3, max_size=3), max_size=4),
    st.integers(30, 100),
)
def test_a_table_never_exceeds_its_width(rows: list[list[str]], width: int) -> None:
    table = formatting.text_table(["a", "b", "c"], rows, width=width)
    assert all(formatting.display_width(line) <= width for line in table.split("\n"))


@pytest.mark.parametrize(
    "text, escaped",
    [
        ("a|b", "a\\|b"),
        ("a\nb", "a b"),
        ("<script>", "&lt;script&gt;"),
        ("*bold* `code`", "\\*bold\\* \\`code\\`"),
        ("_x_ pass_hat_k", "\\_x\\_ pass_hat_k"),
        ("[a](javascript:x)", "[a\\](javascript:x)"),
        ("![a][b]", "![a\\][b]"),
        ("[-4.1 pp, +2.0 pp] (95 %)", "[-4.1 pp, +2.0 pp] (95 %)"),
        ("back\\|slash", "back\\\\\\|slash"),
        ("# heading", "\\# heading"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("-1.3 pp", "-1.3 pp"),
        ("---", "\\---"),
        ("&lt;", "&amp;lt;"),
    ],
)
def test_markdown_finds_nothing_to_interpret(text: str, escaped: str) -> None:
    assert formatting.markdown(text) == escaped


def test_a_markdown_table_keeps_its_columns() -> None:
    table = formatting.markdown_table(["a", "b"], [["x|y", "1"], ["\\", "2\n3"]], right=[1])
    assert table.splitlines() == ["| a | b |", "| --- | ---: |", "| x\\|y | 1 |", "| \\\\ | 2 3 |"]


@pytest.mark.parametrize(
    "low, high, unit, told",
    [
        (1.2001, 1.2004, "s", "[+1.2001 s, +1.2004 s]"),
        (1.2, 1.3, "s", "[+1.20 s, +1.30 s]"),
        (0.1001, 0.1002, "proportion", "[+10.01 pp, +10.02 pp]"),
        (0.0001, 0.00012, "log_ratio", "[+0.010 %, +0.012 %]"),
        (1.2, 1.2, "s", "[+1.20 s, +1.20 s; the limits are equal]"),
        (1.2, 1.2 + 1e-12, "s", "[+1.20 s, +1.20 s; the limits are equal as far as is shown]"),
    ],
)
def test_two_limits_have_different_texts_or_it_says_that_they_are_equal(low, high, unit, told) -> None:
    assert formatting.limits(low, high, unit) == told


def test_rates_with_close_limits_are_told_apart_too() -> None:
    assert formatting.limits(0.9301, 0.9304, "proportion", signed=False) == "[93.01 %, 93.04 %]"


@pytest.mark.parametrize("number, told", [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks")])
def test_a_noun_agrees_with_its_number(number: int, told: str) -> None:
    assert formatting.counted(number, "task") == told


def test_it_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'scipy', 'polars', 'matplotlib', 'msgspec', 'asyncio'}"
    code = f"import sys, analysis.formatting; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
