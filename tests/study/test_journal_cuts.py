"""A journal cut anywhere and gone on with: whole lines are kept, nothing is doubled, nothing is missing."""

from __future__ import annotations

import json
import os
import random
import shutil

import pytest

import study
from study.errors import IntegrityError
from study.journal import Journal, read_journal
from study.runs import RunFolder
from tests.support.journals import LOCK, attempt, header, session, write_entries

TRIALS = 14
CUTS = 1000


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return tmp_path / "journal.jsonl"


def long_journal(path):
    """Write a journal of three sessions with cancelled and retried attempts; return its bytes."""
    entries, number = [header(), session()], 1
    for trial in range(TRIALS):
        tries = 1
        if trial in (6, 13):
            entries.append(attempt(trial, outcome="cancelled", session=number))
            number, tries = number + 1, 2
            entries.append(session(number))
        elif trial % 5 == 3:
            entries.append(attempt(trial, outcome="transport_error", retried=True, session=number))
            tries = 2
        entries.append(attempt(trial, number=tries, session=number))
    return write_entries(path, entries)


def told_by_whole_lines(data):
    """Return sessions, trial -> attempts, and the final trials; read from the bytes without the package."""
    records = [json.loads(line)["record"] for line in data[: data.rfind(b"\n") + 1].splitlines()]
    attempts, finals = {}, []
    for record in records:
        if record["kind"] == "attempt":
            attempts[record["trial"]] = record["attempt"]
            if record["outcome"] != "cancelled" and not record.get("retried"):
                finals.append(record["trial"])
    return sum(record["kind"] == "session" for record in records), attempts, finals


def test_a_thousand_cuts(path):
    whole = long_journal(path)
    generator = random.Random(20261130)
    for cut in (generator.randrange(len(whole) + 1) for _ in range(CUTS)):
        data = whole[:cut]
        path.write_bytes(data)
        if b"\n" not in data:
            with pytest.raises(IntegrityError, match="no header"):
                read_journal(path, LOCK)
            continue
        sessions, attempts, finals = told_by_whole_lines(data)
        state = read_journal(path, LOCK)
        assert sorted(state.finals) == sorted(finals)
        assert len(set(finals)) == len(finals)
        remaining = sorted(set(range(TRIALS)) - set(finals))
        journal = Journal(path, state.link, state.intact_bytes)
        journal.append(session(sessions + 1))
        for trial in remaining:
            journal.append(attempt(trial, number=attempts.get(trial, 0) + 1, session=sessions + 1))
        journal.close()
        done = path.read_bytes()
        assert done.startswith(data[: data.rfind(b"\n") + 1])
        assert sorted(told_by_whole_lines(done)[2]) == list(range(TRIALS))
        assert sorted(read_journal(path, LOCK).finals) == list(range(TRIALS))


def resumed_after_cuts(mini, cuts, seed):
    """Run a study, cut copies of its journal at random bytes, go on with each, and compare."""
    work = mini()
    assert work.command("freeze", work.protocol.name).returncode == 0
    whole = study.run(work.protocol, out=work.folder / "whole")
    product, journal = whole.product.read_bytes(), whole.journal.read_bytes()
    generator = random.Random(seed)
    for n in range(cuts):
        out = work.folder / f"cut-{n}"
        folder = RunFolder(out / whole.path.relative_to(work.folder / "whole"))
        shutil.copytree(whole.path, folder.path)
        folder.product.unlink()
        kept = journal[: generator.randrange(len(journal))]
        folder.journal.write_bytes(kept)
        assert study.run(work.protocol, out=out).path == folder.path
        assert folder.product.read_bytes() == product
        before, after = told_by_whole_lines(kept), told_by_whole_lines(folder.journal.read_bytes())
        assert folder.journal.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
        assert after[0] == before[0] + 1
        assert sorted(after[2]) == list(range(80))
        shutil.rmtree(out)


def test_a_run_goes_on_after_a_cut_to_the_same_product(mini):
    resumed_after_cuts(mini, cuts=12, seed=20261130)


@pytest.mark.long
def test_a_run_goes_on_after_each_of_a_hundred_cuts_to_the_same_product(mini):
    resumed_after_cuts(mini, cuts=100, seed=7)
