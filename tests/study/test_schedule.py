"""The schedule as an event log: pairing, order, balance, and the same order everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.schedule import build_schedule, hash_key, schedule_digest, trial_seed

ROOT = Path(__file__).resolve().parents[2]
CASES = [(f"task-{n}", f"case-{n}-{letter}") for n in range(30) for letter in "ab"]
PINNED = "81e853c628282173ad0f386ca27b7061af999cb6aaf4ed9f55504d8f60ea7f2f"
PROGRAM = """
from study.schedule import build_schedule, schedule_digest
cases = [(f"task-{n}", f"case-{n}-{letter}") for n in range(30) for letter in "ab"]
print(schedule_digest(build_schedule(20261130, cases, 3)))
"""

designs = st.tuples(
    st.integers(0, 2**40),
    st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 5), min_size=1, max_size=8),
    st.integers(1, 4),
)


def events(schedule):
    return [(a.trial, a.pair, a.position, a.arm) for a in schedule]


@given(designs)
def test_each_pair_runs_once_per_arm_and_adjacent(design):
    seed, tasks, repetitions = design
    cases = [(task, f"{task}/{n}") for task, count in tasks.items() for n in range(count)]
    schedule = build_schedule(seed, cases, repetitions)
    assert len(schedule) == 2 * len(cases) * repetitions
    for first, second in zip(schedule[::2], schedule[1::2], strict=True):
        assert first.pair == second.pair
        assert {first.arm, second.arm} == {"baseline", "candidate"}
        assert (first.position, second.position) == (0, 1)
    assert Counter((a.case_id, a.repetition, a.arm) for a in schedule).most_common(1)[0][1] == 1
    assert [a.trial for a in schedule] == list(range(len(schedule)))


@given(designs)
def test_orders_balance_within_each_task_and_over_the_study(design):
    seed, tasks, repetitions = design
    cases = [(task, f"{task}/{n}") for task, count in tasks.items() for n in range(count)]
    starts: dict[str, Counter[str]] = {}
    for assignment in build_schedule(seed, cases, repetitions)[::2]:
        starts.setdefault(assignment.task_id, Counter())[assignment.arm] += 1
    for counts in starts.values():
        assert abs(counts["baseline"] - counts["candidate"]) <= 1
    total = sum(starts.values(), Counter())
    assert abs(total["baseline"] - total["candidate"]) <= 1


@given(designs, st.randoms())
def test_the_order_in_which_cases_are_given_changes_nothing(design, random):
    seed, tasks, repetitions = design
    cases = [(task, f"{task}/{n}") for task, count in tasks.items() for n in range(count)]
    shuffled = random.sample(cases, len(cases))
    assert build_schedule(seed, cases, repetitions) == build_schedule(seed, shuffled, repetitions)


def test_the_order_follows_the_stated_hash():
    schedule = build_schedule(5, CASES, 2)
    pairs = [(a.task_id, a.case_id, a.repetition) for a in schedule[::2]]
    assert pairs == sorted(pairs, key=lambda pair: hash_key(5, "order", *pair))
    import hashlib

    expected = hashlib.sha256(b'[5,"order","task-0","case-0-a",1]').hexdigest()
    assert hash_key(5, "order", "task-0", "case-0-a", 1) == expected


def test_another_seed_gives_another_order():
    assert events(build_schedule(1, CASES, 1)) != events(build_schedule(2, CASES, 1))


def test_repetitions_are_spread_and_not_run_in_a_row():
    schedule = build_schedule(1, CASES, 3)
    neighbours = sum(a.case_id == b.case_id for a, b in zip(schedule[::2], schedule[2::2], strict=False))
    assert neighbours < len(schedule) // 20


def test_pinned_digest_on_this_python():
    assert schedule_digest(build_schedule(20261130, CASES, 3)) == PINNED


def second_pythons():
    own = Path(os.__file__).resolve()
    names = [shutil.which(f"python3.{minor}") for minor in (11, 12, 13, 14)]
    names += [str(p) for p in Path(sys.base_prefix).parent.glob("3.1[1-4]*/bin/python3")]
    found = {}
    for name in filter(None, names):
        done = subprocess.run(
            [name, "-c", "import sys,os;print(sys.version_info[1], os.__file__)"],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            minor, home = done.stdout.split(maxsplit=1)
            if Path(home.strip()).resolve() != own and int(minor) >= 11:
                found[minor] = name
    return found


@pytest.mark.second_python
def test_pinned_digest_on_other_pythons():
    pythons = second_pythons()
    if "13" not in pythons:
        pytest.skip("left out: no Python 3.13 on this machine to derive the schedule with")
    for name in pythons.values():
        done = subprocess.run(
            [name, "-c", PROGRAM],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "3"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == PINNED


def test_both_arms_of_a_pair_share_a_seed_and_others_do_not():
    seeds = {trial_seed(9, case, repetition) for _, case in CASES for repetition in (1, 2)}
    assert len(seeds) == 2 * len(CASES)
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("seed", "case", "repetition"), [(9, "a", 1), (0, 'q"\\é', 250), (2**62, "x/y#z", 10**6)]
)
def test_a_seed_is_63_bits_of_the_hash_of_the_canonical_json_of_what_it_belongs_to(seed, case, repetition):
    text = json.dumps([seed, "trial", case, repetition], separators=(",", ":"), ensure_ascii=False)
    wanted = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    assert trial_seed(seed, case, repetition) == wanted
