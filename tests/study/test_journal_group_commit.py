"""When the journal is made durable: by number, by seconds, at the end; counted at ``os.fsync`` itself."""

from __future__ import annotations

import os
import stat

import pytest

from study.journal import Journal, first_link, read_journal
from tests.support.journals import LOCK, attempt, header, session


class Disk:
    """What a power cut would leave: the length of the file at its last fsync."""

    def __init__(self):
        self.files, self.folders, self.durable = 0, [], 0

    def fsync(self, descriptor):
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self.folders.append(status.st_ino)
        else:
            self.files += 1
            self.durable = status.st_size


class Clock:
    """A monotonic clock that the test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def disk(monkeypatch):
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk.fsync)
    return disk


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("study.journal.writing.monotonic", clock)
    return clock


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def after_a_power_cut(path, disk):
    """Return the trials that a reader finds in what was durable."""
    left = path.with_name("left.jsonl")
    left.write_bytes(path.read_bytes()[: disk.durable])
    return list(read_journal(left, LOCK).finals)


@pytest.mark.parametrize("group", [1, 2, 5, 100])
def test_a_group_of_so_many_records_is_made_durable(path, disk, group):
    journal = Journal(path, first_link(LOCK), fsync_trials=group)
    for count, entry in enumerate((header(), session(), *map(attempt, range(18))), 1):
        journal.append(entry)
        assert disk.files == count // group
    if group < 20:
        assert 18 - len(after_a_power_cut(path, disk)) < group
    journal.close()
    assert disk.files == 20 // group + 1
    assert after_a_power_cut(path, disk) == list(range(18))


def test_without_group_commit_only_the_end_is_made_durable(path, disk, clock):
    journal = Journal(path, first_link(LOCK))
    for entry in (header(), session(), *map(attempt, range(100))):
        clock.now += 3600
        journal.append(entry)
        journal.tick()
    assert (disk.files, disk.folders) == (0, [])
    journal.close()
    assert disk.files == 1
    journal.close()
    assert disk.files == 1


def test_the_oldest_record_waits_so_many_seconds(path, disk, clock):
    journal = Journal(path, first_link(LOCK), fsync_s=10)
    clock.now += 1000
    journal.append(header())
    clock.now += 9.5
    journal.append(session())
    assert disk.files == 0
    clock.now += 0.5
    journal.append(attempt(0))
    assert disk.files == 1
    journal.tick()
    clock.now += 1000
    journal.tick()
    assert disk.files == 1
    journal.append(attempt(1))
    clock.now += 9.5
    journal.tick()
    assert disk.files == 1
    clock.now += 0.5
    journal.tick()
    assert disk.files == 2
    assert after_a_power_cut(path, disk) == [0, 1]
    journal.close()


def test_with_both_whichever_comes_first(path, disk, clock):
    journal = Journal(path, first_link(LOCK), fsync_trials=3, fsync_s=10)
    for entry in (header(), session(), attempt(0)):
        journal.append(entry)
    assert disk.files == 1
    journal.append(attempt(1))
    clock.now += 10
    journal.append(attempt(2))
    assert disk.files == 2
    for n in (3, 4):
        journal.append(attempt(n))
    assert disk.files == 2
    journal.append(attempt(5))
    assert disk.files == 3
    journal.close()


@pytest.mark.parametrize("options", [{"fsync_trials": 5}, {"fsync_s": 5.0}])
def test_the_name_of_a_new_file_is_made_durable_before_its_first_record(path, disk, options):
    journal = Journal(path, first_link(LOCK), **options)
    assert disk.folders == [path.parent.stat().st_ino]
    journal.append(header())
    journal.close()
    state = read_journal(path, LOCK)
    Journal(path, state.link, state.intact_bytes, **options).close()
    assert len(disk.folders) == 1


def test_a_torn_tail_is_gone_for_good_before_anything_is_appended(path, disk):
    journal = Journal(path, first_link(LOCK))
    journal.append(header())
    journal.close()
    state = read_journal(path, LOCK)
    with path.open("ab") as stream:
        stream.write(b'{"chain"')
    again = Journal(path, state.link, state.intact_bytes)
    assert disk.files == 2
    assert disk.durable == state.intact_bytes
    again.close()
