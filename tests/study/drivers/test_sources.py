"""The digest over the source of a driver."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from study.digest import digest_file
from study.drivers import load_driver, sources

HOME = Path(sources.__file__).parent


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Return a copy of the shipped drivers whose files may be changed."""
    place = tmp_path / "drivers"
    shutil.copytree(HOME, place)
    monkeypatch.setattr(sources, "__file__", str(place / "sources.py"))
    return place


@pytest.mark.parametrize(
    "driver, file, counts",
    [
        ("goal", "goal.py", True),
        ("goal", "router/lexicon.py", True),
        ("goal", "router/__init__.py", True),
        ("goal", "stub.py", False),
        ("goal", "loading.py", False),
        ("goal", "router/explain.py", False),
        ("stub", "router/goals.py", False),
        ("stub", "floor.py", True),
    ],
)
def test_what_a_shipped_driver_imports_counts(copied, driver, file, counts):
    before = sources.code_digest(copied / f"{driver}.py")
    with (copied / file).open("a") as stream:
        stream.write("\n# another hand\n")
    assert (sources.code_digest(copied / f"{driver}.py") != before) is counts


def test_a_driver_of_ones_own_is_its_file_wherever_it_lies(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("from study.drivers.router.resolver import parse\n")
    shutil.copy(one, two)
    assert sources.code_digest(one) == sources.code_digest(two)
    two.write_text("import study\n")
    assert digest_file(one) != digest_file(two)
    assert sources.code_digest(one) != sources.code_digest(two)
    assert sources.code_digest(None) is None


def test_a_loaded_driver_has_a_digest():
    loaded = [load_driver(name, where="test") for name in ("goal", "resolver", "stub", "shim", "refuse-all")]
    assert len({sources.code_digest(driver.source_file) for driver in loaded}) == 5
