"""What a bench was built from, in digests: equal wherever the same study runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from study.cases import Case, Suite
from study.digest import digest
from study.drivers import LoadedDriver
from study.environment import toolkit_version


def identity_of(
    drivers: Mapping[str, LoadedDriver], suites: Iterable[tuple[Suite, Iterable[Case]]]
) -> dict[str, Any]:
    """Return the identity of drivers and suites.

    Parameters
    ----------
    drivers : mapping
        Arm -> driver.
    suites : iterable of (Suite, cases)
        Each suite with its selected cases.

    Returns
    -------
    dict
        Dotted name -> text: the toolkit's version, each driver's stamp and source digest, each suite's
        registry, graph and selected cases.
    """
    found: dict[str, Any] = {"toolkit": toolkit_version()}
    for arm, driver in drivers.items():
        found[f"arms.{arm}.stamp"] = driver.stamp
        found[f"arms.{arm}.source_digest"] = driver.source_digest
    for suite, cases in suites:
        name = f"suites.{suite.file.id}"
        found[f"{name}.registry_digest"] = suite.registry.digest
        found[f"{name}.graph_digest"] = suite.graph_digest
        found[f"{name}.cases"] = digest({case.id: case.digest for case in cases})
    return found
