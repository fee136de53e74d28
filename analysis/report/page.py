"""Results as one page, the sections in reading order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from analysis.report import arms, diagnostics, endpoints, latency, opening, provenance, unshown
from analysis.report.blocks import Page
from analysis.results import Results


def build(results: Results, figures: Mapping[str, str], paths: Mapping[str, str]) -> Page:
    """Return the page: what was decided, why, what stays open, then the numbers behind it."""
    sections = (
        opening.verdict(results),
        opening.asked(results),
        opening.why(results),
        unshown.unshown(results),
        endpoints.endpoints(results, figures, paths),
        arms.hard_fails(results),
        arms.reliability(results),
        arms.outcomes(results),
        arms.ladder(results),
        latency.latency(results),
        arms.usage(results),
        arms.order_effect(results),
        diagnostics.diagnostics(results),
        provenance.missing(results),
        provenance.deviations(results),
        opening.design(results),
        provenance.provenance(results, paths),
    )
    return Page(title=f"Study {results.study}", blocks=tuple(chain.from_iterable(sections)))
