"""The figure of the distribution functions."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.figures import distributions, to_svg
from analysis.quantiles import distribution
from analysis.results import LatencySummary


def summaries(seed=0, cap_s=None):
    arms = {}
    for n, arm in enumerate(("baseline", "candidate")):
        data = np.random.default_rng(seed + n).lognormal(n * 0.2, 0.7, size=(25, 4))
        arms[arm] = LatencySummary(
            n_tasks=25,
            n_trials=100,
            censored=0,
            p50_s=None,
            p50_interval=None,
            status="ok",
            method="m",
            cap_s=cap_s,
            distribution=distribution(data),
        )
    return arms


def texts(figure):
    return [text.get_text() for text in figure.texts]


def test_the_curves_are_the_recorded_shares(make_results):
    arms = summaries()
    axes = distributions(make_results(latency=arms)).axes[0]
    curves = [line for line in axes.get_lines() if len(line.get_xdata()) > 10]
    for line, arm in zip(curves, ("baseline", "candidate"), strict=True):
        found = arms[arm].distribution
        assert list(line.get_ydata())[1:-1] == list(found.shares)
        assert [10**x for x in line.get_xdata()[1:-1]] == pytest.approx(found.times_s)


def test_it_names_band_counts_and_limit(make_results):
    written = texts(distributions(make_results(latency=summaries(cap_s=3.0))))
    assert "shaded: 95 % band for the whole curve, DKW on tasks" in written
    assert written.count("n tasks = 25, trials = 100") == 2
    assert "dotted: time limit, 3.00 s" in written
    far = texts(distributions(make_results(latency=summaries(cap_s=3000.0))))
    assert not any("time limit" in text for text in far)


def test_a_pilot_and_unknown_distributions_have_counts(make_results):
    assert distributions(make_results(latency=summaries(), evidence_level="pilot")).axes == []
    assert distributions(make_results()).axes == []
    assert distributions(make_results(latency={})).axes == []


def test_the_same_figure_has_the_same_bytes(make_results):
    results = make_results(latency=summaries())
    assert to_svg(distributions(results)) == to_svg(distributions(results))
