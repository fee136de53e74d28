"""The environment record: every key is required, and an older record says what it never held."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from study import environment
from study.environment import ABSENT, SCHEMA, Environment, read_environment
from study.errors import InputError, IntegrityError

STATE = {"commit": "c" * 40, "dirty": False, "reason": None}
ARM = {"stamp": "s-1", "source_digest": None}
SETTINGS = {"requested": {}, "resolved": {"k": 1}}
RECORD = msgspec.to_builtins(
    Environment(
        schema=SCHEMA,
        toolkit="0.1.0",
        toolkit_revision=STATE,
        packages={"numpy": "2.0"},
        sdks={"openai": None},
        python="CPython 3.11",
        os="Linux 6",
        machine="x86_64",
        cpu=None,
        cpus=None,
        memory_bytes=2**30,
        revision=STATE,
        lock_commit={"committed": True, "commit": "c" * 40, "reason": None},
        drivers={"baseline": ARM, "candidate": ARM},
        sources={},
        settings={"baseline": SETTINGS, "candidate": SETTINGS},
        seeds={"design": 1, "analysis": 0, "driver": "derived per case and repetition"},
        conditions=None,
        order="randomized-within-pair",
        executor="inprocess",
        workers=1,
        run_number=1,
        runs_known=1,
    )
)
NEW = {"memory_bytes", "sdks", "toolkit_revision"}


def written(folder, record):
    path = folder / "environment.json"
    path.write_text(json.dumps(record))
    return path


def without(record, path):
    """Return a copy without the key at a dotted path."""
    copy = json.loads(json.dumps(record))
    *tables, key = path.split(".")
    table = copy
    for name in tables:
        table = table[name]
    del table[key]
    return copy


def test_a_record_is_read_as_it_was_written(tmp_path):
    assert msgspec.to_builtins(read_environment(written(tmp_path, RECORD))) == RECORD


INSIDE = [
    "revision.dirty",
    "lock_commit.committed",
    "seeds.design",
    "seeds.analysis",
    "seeds.driver",
    "drivers.baseline",
    "drivers.candidate.stamp",
    "settings.baseline.requested",
    "settings.candidate.resolved",
]


@pytest.mark.parametrize("path", [*sorted({*RECORD} - {"schema"}), *INSIDE])
def test_a_missing_key_is_refused_with_file_key_and_what_to_do(tmp_path, path):
    with pytest.raises(IntegrityError) as caught:
        read_environment(written(tmp_path, without(RECORD, path)))
    told = str(caught.value)
    *tables, key = path.split(".")
    assert caught.value.where.startswith(str(tmp_path / "environment.json"))
    assert f"the key {key!r} is missing" in told
    assert all(name in caught.value.where for name in tables[:1])
    assert "next: restore the file" in told


def test_an_unknown_key_is_refused(tmp_path):
    with pytest.raises(IntegrityError, match="unknown key 'memory_byte' \\(did you mean 'memory_bytes'"):
        read_environment(written(tmp_path, {**RECORD, "memory_byte": 1}))


def test_a_record_of_schema_1_says_absent_for_what_came_later(tmp_path):
    old = {**{key: value for key, value in RECORD.items() if key not in NEW}, "schema": 1}
    record = read_environment(written(tmp_path, old))
    assert {getattr(record, key) for key in NEW} == {ABSENT} == {"absent"}
    assert record.packages == {"numpy": "2.0"}
    for key in ("cpus", "seeds", "workers"):
        with pytest.raises(IntegrityError, match=f"the key '{key}' is missing"):
            read_environment(written(tmp_path, without(old, key)))


@pytest.mark.parametrize("record", [{**RECORD, "schema": 3}, without(RECORD, "schema"), [], "x"])
def test_another_schema_asks_for_another_version(tmp_path, record):
    with pytest.raises(InputError, match="environment schema") as caught:
        read_environment(written(tmp_path, record))
    assert caught.value.allowed == "1 or 2"


def test_a_run_writes_a_record_that_can_be_read(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    assert study.command("run", "shop.toml", "--no-report").returncode == 0
    (folder,) = study.folder.glob("runs/*/*")
    record = read_environment(folder / "environment.json")
    assert record.seeds["design"] == 11
    assert record.sdks != ABSENT


def test_a_record_without_a_key_is_neither_reported_nor_verified(mini):
    study = mini()
    assert study.command("freeze", "shop.toml").returncode == 0
    assert study.command("run", "shop.toml", "--no-report").returncode == 0
    (folder,) = study.folder.glob("runs/*/*")
    place = folder / "environment.json"
    place.write_text(json.dumps(without(json.loads(place.read_text()), "order")))
    done = study.command("report", str(folder))
    assert done.returncode == 3
    assert "environment.json: the key 'order' is missing" in done.stderr
    assert not (folder / "manifest.json").exists()
    assert study.command("verify", str(folder)).returncode == 3


def test_the_versions_of_installed_clients_are_recorded(tmp_path, monkeypatch):
    for name, version in (("openai", "1.2.3"), ("google_genai", "0.9")):
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        plain = name.replace("_", "-")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plain}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(tmp_path)
    versions = environment.sdk_versions()
    assert list(versions) == ["anthropic", "distributed", "google-genai", "openai"]
    assert (versions["openai"], versions["google-genai"]) == ("1.2.3", "0.9")


def test_a_client_that_is_not_installed_is_none(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert set(environment.sdk_versions().values()) == {None}


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="no /proc/meminfo to compare with")
def test_the_memory_is_that_of_the_machine():
    lines = Path("/proc/meminfo").read_text().splitlines()
    (total_kib,) = [int(line.split()[1]) for line in lines if line.startswith("MemTotal")]
    assert environment.memory_bytes() == total_kib * 1024


def test_the_toolkit_has_a_revision_only_in_its_own_repository(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(["git", "-C", tmp_path, *identity, *arguments], capture_output=True, check=True)
        return done.stdout.decode().strip()

    package = tmp_path / "study"
    package.mkdir()
    for name in ("__init__.py", "environment.py"):
        (package / name).write_text("")
    monkeypatch.setattr(environment, "__file__", str(package / "environment.py"))
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "someone else's")
    assert environment.toolkit_revision()["commit"] is None
    git("add", "study")
    git("commit", "-q", "-m", "the package")
    head = git("rev-parse", "HEAD")
    assert environment.toolkit_revision() == {"commit": head, "dirty": False, "reason": None}
    (package / "__init__.py").write_text("# changed\n")
    assert environment.toolkit_revision()["dirty"] is True
