"""The latency section: quantiles, contrasts, deciles, the limit, the declared condition."""

from __future__ import annotations

from analysis.contrasts import latency_summaries, quantile_contrast, shifts
from analysis.quantiles import draw_quantiles
from analysis.report import render_report
from analysis.results import QuantileSummary
from analysis.study_latency import PROBABILITIES
from tests.analysis.quantiles.test_drawing import times


def told(make_results, **changes):
    drawn = draw_quantiles(*times(30, 4), PROBABILITIES, resamples=400)
    contrasts = tuple(quantile_contrast(drawn, PROBABILITIES.index(q), 0.95) for q in (0.5, 0.9, 0.95, 0.99))
    fields = {
        "latency": latency_summaries(drawn, 0.95),
        "latency_contrasts": contrasts,
        "shift": shifts(drawn, 0.95),
    }
    return make_results(**fields | changes)


def section(text: str) -> str:
    return text.split("## Latency")[1].split("\n## ")[0]


def test_every_number_has_its_method_and_level(make_results):
    text = section(render_report(told(make_results), "md"))
    for name in ("p50", "p90", "p95"):
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} | x "))
        assert row.count("(95 %, Harrell-Davis, expanded percentile)") == 2
    assert "| p99 | refused | refused | decides nothing |" in text
    assert "| p10 |" in text
    assert "descriptive, each limit by itself" in text


def test_a_quantile_at_the_limit_is_printed_as_at_least_that(make_results):
    results = told(make_results)
    found = QuantileSummary(
        probability=0.9,
        value_s=5.0,
        interval=None,
        status="not_identified",
        method="order statistic",
        at_cap=True,
    )
    arm = results.latency["candidate"]
    changed = type(arm)(
        **{name: getattr(arm, name) for name in arm.__struct_fields__}
        | {"quantiles": (arm.quantiles[0], found, *arm.quantiles[2:]), "cap_s": 5.0}
    )
    text = section(render_report(told(make_results, latency=results.latency | {"candidate": changed}), "md"))
    assert "| p90 | candidate | &gt;= 5.00 s (order statistic; not identified" in text


def test_a_pilot_prints_counts_only(make_results):
    text = section(render_report(told(make_results, evidence_level="pilot"), "md"))
    assert "p90" not in text
    assert "ratio" not in text


def test_the_declared_condition_is_said(make_results):
    design = make_results().design | {"conditions": {"cache": "cold"}}
    text = section(render_report(told(make_results, design=design), "md"))
    assert "Every trial ran with the cache cold, as declared" in text
    bare = {key: value for key, value in design.items() if key != "conditions"}
    assert "cache" not in section(render_report(told(make_results, design=bare), "md"))
