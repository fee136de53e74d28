"""The journal on a disk that is full, broken or read-only, under interrupts, kills and a second writer."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from study.errors import RunError
from study.journal import Journal, first_link, read_journal
from tests.support.journals import LOCK, attempt, header, session, write

ROOT = Path(__file__).resolve().parents[2]
KEPT = "every trial before this one is kept"

UNTIL_IT_FAILS = """
import json, os, sys
from pathlib import Path
from study.errors import RunError
from study.journal import Journal, first_link, read_journal
from tests.support.journals import LOCK, attempt, header, session

def fill(path):
    journal = Journal(path, first_link(LOCK))
    acknowledged = -2
    for entry in [header(), session(), *map(attempt, range(10_000))]:
        try:
            journal.append(entry)
        except RunError as error:
            told = [error.problem, error.next_step]
            break
        acknowledged += 1
    journal.close()
    return acknowledged, told

def state(path):
    found = read_journal(path, LOCK)
    return [len(found.attempts), len(found.torn)]

def go_on(path):
    found = read_journal(path, LOCK)
    journal = Journal(path, found.link, found.intact_bytes)
    journal.append(attempt(len(found.attempts)))
    journal.close()
    return state(path)[0]
"""

SMALL_FILE = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
path = Path(sys.argv[1], "journal.jsonl")
print(json.dumps(fill(path)), json.dumps(state(path)), sep="\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(go_on(path))
"""

SMALL_DISK = """
place = Path(sys.argv[1])
path = place / "journal.jsonl"
(place / "ballast").write_bytes(bytes(32_000))
print(json.dumps(fill(path)), json.dumps(state(path)), sep="\\n")
(place / "ballast").unlink()
print(go_on(path))
"""

READ_ONLY_DISK = """
try:
    Journal(Path(sys.argv[1], "journal.jsonl"), first_link(LOCK))
except RunError as error:
    print(json.dumps([error.problem, error.next_step]))
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def started(code, *arguments, before=()):
    """Start a Python process that sees the package."""
    return subprocess.Popen(
        [*before, sys.executable, "-c", UNTIL_IT_FAILS + code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def mounted(place, options):
    """Return the start of a command line that sees a small file system of its own at a place."""
    script = f'mount -t tmpfs -o {options} none "$0" && exec "$@"'
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", script, str(place)]


@pytest.fixture
def may_mount(tmp_path):
    try:
        done = subprocess.run([*mounted(tmp_path, "size=64k"), "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs unshare (Linux) to mount a small file system")
    if done.returncode:
        pytest.skip("this machine does not allow mounting a file system in a name space of its own")


class Failing:
    """A stream that writes a part of the next record and then raises."""

    def __init__(self, stream, part, failure):
        self.stream, self.part, self.failure = stream, part, failure

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, data):
        if self.part:
            written = self.stream.write(data[: self.part])
            self.part = 0
            return written
        raise self.failure


def append_all(journal, *entries):
    for entry in entries:
        journal.append(entry)


def failing(path, part, failure):
    """Return an open journal of one trial whose next record fails, and its bytes so far."""
    journal = Journal(path, first_link(LOCK))
    append_all(journal, header(), session(), attempt(0))
    journal._stream = Failing(journal._stream, part, failure)
    return journal, path.read_bytes()


@pytest.mark.parametrize(
    "number, advice",
    [
        (errno.ENOSPC, "make room on the disk and repeat"),
        (errno.EDQUOT, "make room within the quota"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "make the file system writable again"),
        (errno.EIO, "check the disk"),
        (errno.ENODEV, "mend that and repeat"),
    ],
)
@pytest.mark.parametrize("part", [0, 1, 100])
def test_a_failed_record_is_taken_back_and_ends_the_writing(path, number, advice, part):
    journal, before = failing(path, part, OSError(number, os.strerror(number)))
    with pytest.raises(RunError, match=f"cannot write: {os.strerror(number)}") as caught:
        journal.append(attempt(1))
    assert caught.value.where == str(path)
    assert advice in caught.value.next_step
    assert KEPT in caught.value.next_step
    assert path.read_bytes() == before
    journal._stream = journal._stream.stream
    with pytest.raises(RunError, match=os.strerror(number)):
        journal.append(attempt(1))
    journal.close()
    assert path.read_bytes() == before
    assert list(read_journal(path, LOCK).finals) == [0]


def test_where_nothing_can_be_taken_back_a_torn_tail_stays(path, monkeypatch):
    journal, before = failing(path, 50, OSError(errno.EIO, "Input/output error"))

    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(RunError, match="Input/output error"):
        journal.append(attempt(1))
    journal.close()
    state = read_journal(path, LOCK)
    assert (list(state.finals), state.intact_bytes, len(state.torn)) == ([0], len(before), 50)


def test_a_record_written_in_parts_is_whole(path):
    journal, _ = failing(path, 10, OSError())
    journal._stream.failure = None
    journal._stream.write = lambda data, stream=journal._stream.stream: stream.write(data[:10])
    journal.append(attempt(1))
    journal.close()
    assert list(read_journal(path, LOCK).finals) == [0, 1]


def test_a_system_that_takes_nothing_is_a_failure(path):
    journal, before = failing(path, 10, OSError())
    journal._stream.write = lambda data: 0
    with pytest.raises(RunError, match="took no byte"):
        journal.append(attempt(1))
    assert path.read_bytes() == before
    journal.close()


@pytest.mark.parametrize("part", [0, 1, 100, 100_000])
def test_an_interrupt_leaves_the_record_out_and_the_journal_in_order(path, part):
    journal, before = failing(path, part, KeyboardInterrupt())
    stream = journal._stream.stream
    if part == 100_000:

        def write_all_then_interrupt(data):
            stream.write(data)
            raise KeyboardInterrupt

        journal._stream.write = write_all_then_interrupt
    with pytest.raises(KeyboardInterrupt):
        journal.append(attempt(1))
    assert path.read_bytes() == before
    journal._stream = stream
    journal.append(attempt(1, outcome="cancelled"))
    journal.close()
    assert [a.outcome for a in read_journal(path, LOCK).attempts] == ["answered", "cancelled"]


@pytest.mark.parametrize("fails_at", [2, 4])
def test_a_failed_fsync_is_the_end_and_is_not_tried_again(path, monkeypatch, fails_at):
    calls = []

    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) == fails_at:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    journal = Journal(path, first_link(LOCK), fsync_trials=2)
    told = "the last 2 records may be lost, though they can still be read"
    with pytest.raises(RunError, match=told) as caught:
        append_all(journal, header(), session(), *map(attempt, range(10)))
    assert caught.value.code == "fsync"
    assert "check the disk" in caught.value.next_step
    for _ in range(2):
        with pytest.raises(RunError, match="cannot make the journal durable"):
            journal.append(attempt(10))
        journal.tick()
    journal.close()
    assert len(calls) == fails_at
    # the first call was that of the folder, the others came after two records each
    assert len(read_journal(path, LOCK).attempts) == 2 * (fails_at - 2)


def test_a_failed_fsync_at_the_end_is_told(path, monkeypatch):
    journal = Journal(path, first_link(LOCK))
    journal.append(header())

    def refuse(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(RunError, match="cannot make the journal durable: No space left"):
        journal.close()
    monkeypatch.undo()
    Journal(path, first_link(LOCK), path.stat().st_size).close()


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(RunError, match="cannot write: No such file") as caught:
        Journal(tmp_path / "none" / "journal.jsonl", first_link(LOCK))
    assert "--out" in caught.value.next_step


def test_a_file_at_its_size_limit_keeps_what_was_acknowledged(path):
    (acknowledged, told), (read, torn), longer = said(started(SMALL_FILE, path.parent))
    assert told[0] == "cannot write: File too large"
    assert KEPT in told[1]
    assert (read, torn, longer) == (acknowledged, 0, acknowledged + 1)
    assert acknowledged > 5


@pytest.mark.usefixtures("may_mount")
def test_a_full_disk_keeps_what_was_acknowledged(tmp_path):
    process = started(SMALL_DISK, tmp_path, before=mounted(tmp_path, "size=64k"))
    (acknowledged, told), (read, torn), longer = said(process)
    assert told[0] == "cannot write: No space left on device"
    assert KEPT in told[1]
    assert (read, torn, longer) == (acknowledged, 0, acknowledged + 1)
    assert acknowledged > 50


@pytest.mark.usefixtures("may_mount")
def test_a_read_only_disk_is_told(tmp_path):
    process = started(READ_ONLY_DISK, tmp_path, before=mounted(tmp_path, "ro"))
    ((problem, next_step),) = said(process)
    assert problem == "cannot write: Read-only file system"
    assert "--out" in next_step


HOLDING = """
journal = Journal(Path(sys.argv[1]), first_link(LOCK))
print("held", flush=True)
sys.stdin.read()
"""


def test_two_processes_do_not_write_one_journal(path):
    other = started(HOLDING, path)
    assert other.stdout.readline() == "held\n"
    with pytest.raises(RunError, match="another process is writing this run"):
        Journal(path, first_link(LOCK))
    other.kill()
    other.communicate()
    Journal(path, first_link(LOCK)).close()


def test_two_writers_of_one_process_are_refused_as_well(path):
    first = Journal(path, first_link(LOCK))
    with pytest.raises(RunError, match="another process"):
        Journal(path, first_link(LOCK))
    first.close()


WRITING = """
journal = Journal(Path(sys.argv[1]), first_link(LOCK))
journal.append(header())
journal.append(session())
for n in range(10**6):
    journal.append(attempt(n))
    os.write(1, b"%d\\n" % n)
"""


@pytest.mark.parametrize("trials", [1, 500])
def test_what_was_acknowledged_survives_a_kill(path, trials):
    writer = started(WRITING, path)
    for _ in range(trials):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.communicate()
    assert writer.returncode == -signal.SIGKILL
    acknowledged = trials + len(rest)
    state = read_journal(path, LOCK)
    assert len(state.finals) in (acknowledged, acknowledged + 1)
    journal = Journal(path, state.link, state.intact_bytes)
    journal.append(session(2))
    journal.close()
    assert read_journal(path, LOCK).torn == b""


def test_each_record_is_in_the_file_before_the_next(path):
    journal = Journal(path, first_link(LOCK))
    for count, entry in enumerate((header(), session(), *map(attempt, range(3))), 1):
        journal.append(entry)
        assert path.read_bytes().count(b"\n") == count
        assert path.read_bytes().endswith(b"}\n")
    journal.close()
    assert path.read_bytes() == write(path.with_name("same.jsonl"), *map(attempt, range(3)))
