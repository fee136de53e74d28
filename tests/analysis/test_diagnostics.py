"""Each diagnostic: its threshold from both sides, what it cannot tell, and that it decides nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from analysis import read_run, read_table
from analysis.checkup import diagnose
from analysis.comparison import compare
from analysis.execution import LEVEL, drift_diagnostics, order_diagnostics
from analysis.nearness import near_pairs, nearness_diagnostic
from analysis.spread import repetition_diagnostics, spread_diagnostics
from study.digest import sha256
from tests.support.tables import PRIMARY, failing, first, make_table

LATENCY = {"name": "latency_gmr", "role": "secondary"}
NAMES = (
    ["few_tasks", "ties", "skew", "skew", "identical_repetitions", "identical_repetitions"]
    + ["near_duplicate_tasks", "position", "order"]
    + 6 * ["drift"]
)


def chance(planned, what="chance"):
    """Return a number in [0, 1) that belongs to a trial."""
    return int(sha256(f"{what} {planned.pair} {planned.arm}".encode())[:8], 16) / 16**8


def noisy(planned):
    return {"completed": chance(planned) < 0.8}


def seconds(planned):
    return math.exp(chance(planned, "time"))


def one(found, name, arm=None, endpoint=None):
    (entry,) = (
        d for d in found if d.name == name and d.arm == arm and (endpoint is None or d.endpoint == endpoint)
    )
    return entry


def test_a_run_has_every_diagnostic_in_one_order():
    table = make_table(noisy, tasks=40, repetitions=2, endpoints=[PRIMARY, LATENCY], latency=seconds)
    found = diagnose(table)
    assert [d.name for d in found] == NAMES
    for entry in found:
        assert entry.threshold
        assert entry.sentence
        assert not entry.sentence.endswith(".")
        assert (entry.value is None) == (entry.status == "not_computed")
        assert entry.value is None or math.isfinite(entry.value)
    assert [d.status for d in found].count("noticed") == 0


@pytest.mark.parametrize(
    "tasks, status, words",
    [
        (4, "noticed", "a point estimate only"),
        (9, "noticed", "decides nothing"),
        (19, "noticed", "wide"),
        (20, "ok", "enough"),
    ],
)
def test_few_tasks(tasks, status, words):
    found = spread_diagnostics(make_table(noisy, tasks=tasks))[0]
    assert (found.value, found.status, found.n_tasks) == (tasks, status, tasks)
    assert words in found.sentence


@pytest.mark.parametrize("differing, status", [(0, "noticed"), (4, "noticed"), (5, "ok")])
def test_ties_are_noticed_where_the_interval_rests_on_few_tasks(differing, status):
    table = make_table(failing("candidate", first(differing)), tasks=40)
    found = one(spread_diagnostics(table), "ties")
    assert (found.value, found.status) == ((40 - differing) / 40, status)
    assert f"{40 - differing} of 40 tasks are tied" in found.sentence


def test_skew_follows_the_rule_of_cochran():
    """For k of n tasks at -1: skewness (2k/n - 1) / sqrt(k/n (1 - k/n)), noticed where n <= 25 G^2."""
    for n_tasks, failed in ((40, 2), (40, 12), (200, 5)):
        table = make_table(failing("candidate", first(failed)), tasks=n_tasks)
        found = one(spread_diagnostics(table), "skew")
        share = failed / n_tasks
        expected = (2 * share - 1) / math.sqrt(share * (1 - share))
        assert found.value == pytest.approx(expected, rel=1e-9)
        assert found.status == ("noticed" if n_tasks <= 25 * expected**2 else "ok")
    tied = one(spread_diagnostics(make_table(tasks=40)), "skew")
    assert (tied.status, tied.value) == ("not_computed", None)


def test_latency_is_looked_at_as_well():
    table = make_table(
        tasks=40,
        endpoints=[PRIMARY, LATENCY],
        latency=lambda p: 9.0 if p.task_id == "t001" and p.arm == "candidate" else 1.0,
    )
    found = one(spread_diagnostics(table), "skew", endpoint="latency_gmr")
    assert found.status == "noticed"
    assert "percentile row" in found.sentence
    unknown = make_table(tasks=40, endpoints=[PRIMARY, LATENCY], latency=lambda p: None)
    assert [d.name for d in spread_diagnostics(unknown)] == ["few_tasks", "ties", "skew"]


def test_identical_repetitions_are_told_for_each_arm():
    def script(planned):
        return noisy(planned) if planned.arm == "candidate" else {"completed": planned.task_id > "t005"}

    baseline, candidate = repetition_diagnostics(make_table(script, tasks=40, repetitions=3))
    assert (baseline.arm, baseline.value, baseline.status) == ("baseline", 1.0, "noticed")
    assert "120 trials tell as much as 40" in baseline.sentence
    assert (candidate.arm, candidate.status) == ("candidate", "ok")
    assert 0 < candidate.value < 1
    single = repetition_diagnostics(make_table(noisy, tasks=40))
    assert [d.status for d in single] == ["not_computed"] * 2


def test_repetitions_that_fail_in_other_ways_are_not_alike():
    def script(planned):
        return {"completed": False, "failure": "refused" if planned.repetition == 1 else "wrong_answer"}

    assert all(d.status == "ok" for d in repetition_diagnostics(make_table(script, tasks=20, repetitions=2)))


# --- order and drift -------------------------------------------------------------------------------------


def test_the_second_position_is_found_with_its_size():
    """Half of the trials that come second fail, in both arms: -50 points, and no difference of AB and BA."""

    def script(planned):
        return {"completed": not (planned.position == 1 and chance(planned) < 0.5)}

    table = make_table(script, tasks=100, repetitions=2)
    position, order = order_diagnostics(table)
    assert position.status == "noticed"
    assert position.interval.low < -0.5 < position.interval.high < 0
    assert position.interval.level == LEVEL
    assert order.status == "ok"
    # balanced within tasks: the value is that of a plain table of means
    means = table.frame.group_by("position").agg(pl.col("completed").mean()).sort("position")["completed"]
    assert position.value == pytest.approx(means[1] - means[0], abs=1e-12)


def test_what_one_arm_leaves_to_the_other_is_found():
    """The candidate spoils the baseline's trial when it runs first."""

    def script(planned):
        return {
            "completed": not (planned.arm == "baseline" and planned.position == 1 and chance(planned) < 0.7)
        }

    position, order = order_diagnostics(make_table(script, tasks=100, repetitions=2))
    assert order.status == position.status == "noticed"
    assert order.value > 0 > position.value
    assert "0.0 pp where the baseline ran first" in position.sentence


def test_exchanging_the_arms_keeps_the_position_and_turns_the_order():
    def exchanged(planned):
        other = "candidate" if planned.arm == "baseline" else "baseline"
        return noisy(planned._replace(arm=other))

    one_way, other_way = (order_diagnostics(make_table(s, tasks=60)) for s in (noisy, exchanged))
    # the arms' outcomes change hands, the schedule does not: (c - b) and its slope turn, (b + c) stays
    assert one_way[0].value == pytest.approx(-other_way[0].value, abs=1e-12)
    assert one_way[1].value == pytest.approx(other_way[1].value, abs=1e-12)


def test_drift_is_found_for_the_arm_that_drifts():
    n_trials = 240

    def script(planned):
        tired = planned.arm == "candidate" and chance(planned) < 0.8 * planned.trial / n_trials
        return {"completed": not tired}

    def slower(planned):
        return seconds(planned) * math.exp(0.7 * planned.trial / (n_trials - 1))

    found = drift_diagnostics(make_table(script, tasks=60, repetitions=2, latency=slower))
    candidate = one(found, "drift", "candidate", "completion")
    assert candidate.status == "noticed"
    assert candidate.interval.low < -0.8 < candidate.interval.high < 0
    baseline = one(found, "drift", "baseline", "completion")
    assert (baseline.status, baseline.value) == ("not_computed", None)
    for arm in ("baseline", "candidate", None):
        times = one(found, "drift", arm, "latency")
        assert times.status == "noticed"
        assert times.interval.low < 0.7 < times.interval.high
        assert times.unit == "log_ratio"


def test_an_unknown_latency_has_no_drift():
    found = drift_diagnostics(make_table(noisy, tasks=40, latency=lambda p: None if p.trial == 3 else 1.0))
    assert {d.status for d in found if d.endpoint == "latency"} == {"not_computed"}
    assert {d.status for d in found if d.endpoint == "completion"} == {"ok"}


def test_void_pairs_say_nothing_of_order():
    def script(planned):
        return (
            {"outcome": "infrastructure", "completed": False} if planned.task_id < "t031" else noisy(planned)
        )

    assert {d.status for d in order_diagnostics(make_table(script, tasks=40))} == {"not_computed"}
    nothing = diagnose(make_table(lambda p: {"outcome": "infrastructure", "completed": False}, tasks=12))
    assert nothing[0].value == 0


@pytest.mark.parametrize("tasks, repetitions", [(20, 1), (20, 3)])
def test_a_quiet_run_is_rarely_noticed(tasks, repetitions):
    """Eight intervals at 99 %: together noticed in at most 8 % of quiet runs, Monte Carlo slack apart."""
    from tests.calibration.test_intervals import most
    from tests.support.populations import KINDS
    from tests.support.studies import Studies

    studies, law = Studies(tasks, repetitions), KINDS["beta"](0.9, 0.0, 0.4)
    rng = np.random.default_rng(16)
    noticed = 0
    for _ in range(60):
        table = studies.table(*law.trials(rng, tasks, repetitions))
        noticed += any(d.status == "noticed" for d in (*order_diagnostics(table), *drift_diagnostics(table)))
    assert noticed <= most(0.08, 60)


# --- near-duplicate tasks ----------------------------------------------------------------------------------


def test_templates_that_share_most_of_their_words_are_near():
    texts = [
        "list all callers of <name> in the graph",
        "list some callers of <name> in a graph",  # 5 of 9 words
        "list all callers of <name> in the graph, please",  # 7 of 8
        "<name>",
        "<name> <name>",
        "who changed <name>?",
    ]
    assert near_pairs(texts) == [(0, 2)]
    rng = np.random.default_rng(17)
    words = [f"w{n}" for n in range(12)]
    many = [" ".join(rng.choice(words, rng.integers(3, 9), replace=False)) for _ in range(600)]
    sets = [set(text.split()) for text in many]
    expected = [
        (i, j)
        for i in range(600)
        for j in range(i + 1, 600)
        if len(sets[i] & sets[j]) >= 0.8 * len(sets[i] | sets[j])
    ]
    assert sorted(near_pairs(many)) == expected


def with_templates(texts, families=None):
    import msgspec

    table = make_table(
        tasks=len(texts), trial=lambda p: {"template_family": (families or {}).get(p.task_id, p.task_id)}
    )
    return msgspec.structs.replace(table, templates={f"t{n:03d}": (text,) for n, text in enumerate(texts)})


def test_groups_join_families_and_near_templates():
    texts = [f"{'abcdefghijkl'[n]} question of {'mnopqrstuvwx'[n]} own kind{n}" for n in range(12)]
    alone = nearness_diagnostic(with_templates(texts))
    assert (alone.status, alone.value) == ("ok", 12)
    texts[1] = texts[0] + "?"
    joined = nearness_diagnostic(with_templates(texts, {"t001": "f", "t002": "f", "t003": "g", "t004": "g"}))
    assert (joined.status, joined.value, joined.n_tasks) == ("noticed", 9, 12)
    assert "12 tasks form 9 groups" in joined.sentence
    assert "the largest has 3 tasks (t000, t001, t002)" in joined.sentence
    assert nearness_diagnostic(make_table(tasks=12)).status == "not_computed"


def test_a_run_tells_of_its_requests(mini):
    """All tasks of this shop ask the same two questions of other orders: one group."""
    study = mini(tasks=17, candidate="careful")
    assert study.command("freeze", "shop.toml").returncode == 0
    study.command("run", "shop.toml")
    (folder,) = study.folder.glob("runs/*/*")
    found = one(diagnose(read_run(folder)), "near_duplicate_tasks")
    assert (found.status, found.value, found.n_tasks) == ("noticed", 1, 17)
    stored = json.loads((folder / "results.json").read_text())["diagnostics"]
    assert [d["name"] for d in stored] == [name for n, name in enumerate(NAMES) if n != 3]
    report = (folder / "report.md").read_text()
    assert "Diagnostics (none decides)" in report
    assert "17 tasks form 1 group of requests that nearly agree" in report
    assert study.command("verify", str(folder)).returncode == 0


def test_a_table_from_elsewhere_tells_what_it_can():
    rows = [(f"t{n}", arm, r, (n + r) % 3 > 0) for n in range(30) for arm in ("a", "b") for r in (1, 2)]
    frame = pl.DataFrame(rows, schema=["task_id", "arm", "repetition", "outcome"], orient="row")
    found = compare(read_table(frame, baseline="a", candidate="b")).diagnostics
    status = {(d.name, d.arm, d.endpoint): d.status for d in found}
    assert status["few_tasks", None, None] == "ok"
    assert status["ties", None, "completion"] == "noticed"
    assert status["identical_repetitions", "baseline", None] == "ok"
    unknown = ("near_duplicate_tasks", "position", "order", "drift")
    assert {d.status for d in found if d.name in unknown} == {"not_computed"}
