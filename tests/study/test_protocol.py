"""Protocols: what is accepted, and that each mistake is told with file, place, value and what is allowed."""

from __future__ import annotations

import re

import pytest

from analysis import tilting
from study.errors import ProtocolError
from study.protocol import (
    all_ties_bound,
    arm_difference,
    load_protocol,
    minimum_tasks,
    parse_ceiling,
    parse_protocol,
)

GOOD = """\
schema = 1
id = "goal-vs-resolver"
question = "May the goal driver replace the resolver?"
[arms.baseline]
driver = "a:b"
config = { depth = 1, planner = { kind = "x" } }
[arms.candidate]
driver = "a:c"
config = { depth = 1, planner = { kind = "x" } }
[change]
paths = ["driver"]
why = "another driver"
[workload]
suites = ["cases/click"]
split = "held-out"
[design]
tasks = 80
repetitions = 1
order = "randomized-within-pair"
seed = 5
[[endpoints]]
name = "completion"
role = "primary"
claim = "non-inferior"
margin = "5 pp"
alpha = 0.025
[limits]
trial_timeout_s = 20
"""
SPLIT = 'split = "held-out"'
WEIGHTED = f'{SPLIT}\nweighting = "rungs"'


def parse(old="", new=""):
    assert old in GOOD
    return parse_protocol(GOOD.replace(old, new, 1).encode(), "p.toml")


def test_a_good_protocol_and_its_absent_sections():
    protocol, written = parse()
    assert protocol.gates.hard_fails == 0
    assert protocol.gates.completion_floor is None
    assert protocol.missing.max_void_pairs == "0 %"
    assert "gates" not in written
    assert "missing" not in written
    assert written["design"]["tasks"] == 80


@pytest.mark.parametrize(
    "old, new, where, words",
    [
        ('margin = "5 pp"', "margin = 5", "endpoints[0].margin", ["5"]),
        ('margin = "5 pp"', 'margin = "5"', "endpoints[0].margin", ["pp"]),
        ('margin = "5 pp"', 'margin = "5 %"', "endpoints[0].margin", ["pp"]),
        ('margin = "5 pp"', 'margin = "-5 pp"', "endpoints[0].margin", ["-5"]),
        ('margin = "5 pp"', 'margin = "nan pp"', "endpoints[0].margin", ["nan"]),
        ('margin = "5 pp"', 'marginn = "5 pp"', "endpoints[0]", ["marginn", "did you mean 'margin'"]),
        ('margin = "5 pp"\n', "", "endpoints[0].margin", ["needs a margin"]),
        ('claim = "non-inferior"', 'claim = "superior"', "endpoints[0].margin", ["no margin"]),
        ('claim = "non-inferior"', 'claim = "noninferior"', "endpoints[0].claim", ["noninferior"]),
        ('claim = "non-inferior"\n', "", "endpoints[0]", ["without a claim"]),
        ("alpha = 0.025", "alpha = 0.5", "endpoints[0].alpha", ["0.5", "one-sided"]),
        ("alpha = 0.025", "alpha = nan", "endpoints[0].alpha", ["nan"]),
        ("alpha = 0.025\n", "", "endpoints[0].alpha", ["alpha"]),
        ('name = "completion"', 'name = "completeness"', "endpoints[0].name", ["completion"]),
        ('name = "completion"', 'name = "pass_hat_k"', "endpoints[0].k", ["without k", "(1)"]),
        ('name = "completion"', 'name = "pass_at_k"\nk = 2', "endpoints[0].k", ["k = 2", "(1)"]),
        ('name = "completion"', 'name = "pass_hat_k"\nk = 0', "endpoints[0].k", ["k = 0"]),
        ('name = "completion"', 'name = "completion"\nk = 1', "endpoints[0].k", ["takes no k"]),
        (
            'role = "primary"',
            'role = "primary"\nestimand = "these"',
            "endpoints[0].estimand",
            ["fixed-tasks"],
        ),
        (
            'role = "primary"',
            'role = "primary"\nestimand = "fixed-tasks"',
            "endpoints[0].estimand",
            ["a primary endpoint", "without a claim"],
        ),
        ('role = "primary"', 'role = "primary"\nweight = 1.0', "endpoints[0].weight", ["fallback"]),
        ("[limits]", "[gates]\nhard_fail_icc = 1.5\n[limits]", "gates.hard_fail_icc", ["from 0 to 1"]),
        ("[limits]", '[analysis]\nmultiplicity = "bonferroni"\n[limits]', "analysis.multiplicity", ["holm"]),
        (
            "[limits]",
            '[analysis]\nmultiplicity = "holm"\n[limits]',
            "analysis.multiplicity",
            ["0 secondary claims", "at least two"],
        ),
        (SPLIT, f'{SPLIT}\nweighting = "rung"', "workload.weighting", ["'rungs'", "'suites'"]),
        (SPLIT, f'{SPLIT}\nweighting = "rungs"', "workload.weights", ["without weights"]),
        (SPLIT, f"{SPLIT}\nweights = {{ TOOL-1 = 1.0 }}", "workload.weights", ["equal task weights"]),
        (SPLIT, f"{WEIGHTED}\nweights = {{ TOOL-11 = 1.0 }}", "workload.weights", ["did you mean 'TOOL-1'"]),
        (SPLIT, f"{WEIGHTED}\nweights = {{ TOOL-1 = 1.0, TOOL-2 = 0 }}", "workload.weights.TOOL-2", ["= 0"]),
        (SPLIT, f"{WEIGHTED}\nweights = {{ TOOL-1 = 0.5, TOOL-2 = 0.4 }}", "workload.weights", ["0.9"]),
        (
            SPLIT,
            f'rungs = ["TOOL-1", "TOOL-2"]\n{WEIGHTED}\nweights = {{ TOOL-1 = 1.0 }}',
            "workload.weights",
            ["'TOOL-2' has no weight"],
        ),
        (
            SPLIT,
            f'{SPLIT}\nweighting = "suites"\nweights = {{ click = 1.0 }}',
            "workload.weights",
            ["'click'", "cases/click"],
        ),
        ('role = "primary"', 'role = "secondary"', "endpoints", ["0 primary"]),
        ('role = "primary"', 'role = "main"', "endpoints[0].role", ["main"]),
        ("tasks = 80", "tasks = 0", "design.tasks", ["at least 1"]),
        ("tasks = 80", 'tasks = "80"', "design.tasks", ["80"]),
        ("tasks = 80", "task = 80", "design", ["did you mean 'tasks'"]),
        ("seed = 5", "seed = -5", "design.seed", ["-5"]),
        ("seed = 5\n", "", "design", ["'seed' is missing"]),
        ("randomized-within-pair", "sequential", "design.order", ["sequential"]),
        ("trial_timeout_s = 20", "trial_timeout_s = 0", "limits.trial_timeout_s", ["above 0"]),
        ("trial_timeout_s = 20", "trial_timeout_s = inf", "limits.trial_timeout_s", ["inf"]),
        ('split = "held-out"', 'split = "test"', "workload.split", ["test"]),
        ('suites = ["cases/click"]', "suites = []", "workload.suites", ["at least one"]),
        ('suites = ["cases/click"]', 'suites = ["a", "a"]', "workload.suites", ["once"]),
        ('paths = ["driver"]', "paths = []", "change.paths", ["'driver'", "not declared"]),
        ('paths = ["driver"]', 'paths = ["driver", "config"]', "change.paths", ["'config'", "equal"]),
        ('why = "another driver"', 'why = " "', "change.why", ["why"]),
        ('id = "goal-vs-resolver"', 'id = "../x"', "id", ["letters"]),
        ("schema = 1", "schema = 2", "schema", ["2"]),
        ("[limits]", "[limit]", "", ["unknown key 'limit'", "did you mean 'limits'"]),
        ("[limits]", "[gates]\nhard_fails = 1\n[limits]", "gates.hard_fails", ["1"]),
        ("[limits]", "[gates]\ncompletion_floor = 2\n[limits]", "gates.completion_floor", ["share"]),
        ("[limits]", '[missing]\ntimeout = "drop"\n[limits]', "missing.timeout", ["drop"]),
        ("[limits]", '[missing]\nmax_void_pairs = "2"\n[limits]', "missing.max_void_pairs", ["unit"]),
        ("[limits]", "[missing]\nmax_void_pairs = 2\n[limits]", "missing.max_void_pairs", ["2"]),
        ("[limits]", '[missing]\nmax_void_pairs = "11 %"\n[limits]', "missing.max_void_pairs", ["10 %"]),
        ("repetitions = 1", "repetitions = 100000000000", "design.repetitions", ["at most 10000"]),
        ("seed = 5", "x = " + "[" * 5000, "", ["nested too deeply"]),
        ("[limits]", "[analysis]\nresamples = 10\n[limits]", "analysis.resamples", ["at least 1000"]),
        ("[limits]", '[workload]\nsplit = "held-out"\n[limits]', "", ["not valid TOML"]),
        ("seed = 5", "seed = 5\nseed = 6", "", ["not valid TOML"]),
        ("seed = 5", 'seed = 5\nconditions = { cache = "tepid" }', "design.conditions.cache", ["cold"]),
        ("seed = 5", 'seed = 5\nweighting = "by-trial"', "design", ["weighting"]),
    ],
)
def test_each_mistake_is_told_at_its_place(old, new, where, words):
    with pytest.raises(ProtocolError) as caught:
        parse(old, new)
    error = caught.value
    assert error.where == (f"p.toml:{where}" if where else "p.toml")
    for word in words:
        assert word in str(error)


def test_a_second_primary_and_a_double_endpoint_are_refused():
    again = '[[endpoints]]\nname = "{}"\nrole = "{}"\nclaim = "superior"\nalpha = 0.025\n[limits]'
    with pytest.raises(ProtocolError, match="2 primary"):
        parse("[limits]", again.format("pass", "primary"))
    with pytest.raises(ProtocolError, match="declared twice"):
        parse("[limits]", again.format("completion", "secondary"))


SECONDARY = """\
[[endpoints]]
name = "{}"
role = "{}"
claim = "superior"
alpha = {}
{}
"""


def with_claims(*claims, rule="holm", repetitions=3, extra=""):
    text = GOOD.replace("repetitions = 1", f"repetitions = {repetitions}")
    declared = "".join(SECONDARY.format(*claim) for claim in claims)
    analysis = f'[analysis]\nmultiplicity = "{rule}"\n[limits]'
    return parse_protocol(text.replace("[limits]", f"{declared}{extra}{analysis}").encode(), "p.toml")[0]


def test_several_claims_share_a_level_by_the_declared_rule():
    holm = with_claims(("pass", "secondary", 0.025, ""), ("timeouts", "secondary", 0.025, ""))
    assert holm.analysis.multiplicity == "holm"
    weighted = with_claims(
        ("pass", "secondary", 0.025, "weight = 0.75"),
        ("pass_hat_k", "secondary", 0.025, "k = 2\nweight = 0.25"),
        ("pass_hat_k", "exploratory", 0.05, "k = 3"),
        rule="fallback",
    )
    assert [e.weight for e in weighted.endpoints] == [None, 0.75, 0.25, None]
    assert [e.label for e in weighted.endpoints][2:] == ["pass_hat_k (k = 2)", "pass_hat_k (k = 3)"]


@pytest.mark.parametrize(
    "claims, rule, where, words",
    [
        ([("pass", "secondary", 0.025, "")], "holm", "analysis.multiplicity", "1 secondary"),
        (
            [("pass", "secondary", 0.025, ""), ("timeouts", "secondary", 0.05, "")],
            "holm",
            "endpoints[2].alpha",
            r"one alpha .* \(0.025\)",
        ),
        (
            [("pass", "exploratory", 0.025, ""), ("timeouts", "exploratory", 0.05, "")],
            "fixed-sequence",
            "endpoints[2].alpha",
            "one alpha",
        ),
        (
            [("pass", "secondary", 0.025, "weight = 0.5"), ("timeouts", "secondary", 0.025, "")],
            "fallback",
            "endpoints[2].weight",
            "weight = None",
        ),
        (
            [("pass", "secondary", 0.025, "weight = 0.5"), ("timeouts", "secondary", 0.025, "weight = 0.4")],
            "fallback",
            "endpoints",
            "sum 0.9",
        ),
        (
            [("pass", "secondary", 0.025, "weight = 0.5"), ("timeouts", "secondary", 0.025, "")],
            "holm",
            "endpoints[1].weight",
            "has a weight",
        ),
        (
            [("pass_hat_k", "secondary", 0.025, "k = 2"), ("pass_hat_k", "secondary", 0.025, "k = 2")],
            "holm",
            "endpoints[2]",
            "declared twice",
        ),
        (
            [("pass", "secondary", 0.025, 'estimand = "fixed-tasks"')],
            "fixed-sequence",
            "endpoints[1].estimand",
            "a claim with",
        ),
    ],
)
def test_claims_that_cannot_share_a_level_are_refused(claims, rule, where, words):
    with pytest.raises(ProtocolError) as caught:
        with_claims(*claims, rule=rule)
    assert caught.value.where == f"p.toml:{where}"
    assert re.search(words, str(caught.value))


FIXED = '[[endpoints]]\nname = "{}"\nrole = "secondary"\nestimand = "fixed-tasks"\n{}'


def test_these_tasks_only_is_a_secondary_endpoint_from_two_repetitions():
    protocol = with_claims(rule="fixed-sequence", extra=FIXED.format("completion", ""))
    assert [e.label for e in protocol.endpoints] == ["completion", "completion (these tasks only)"]
    with pytest.raises(ProtocolError, match="1 repetition"):
        with_claims(rule="fixed-sequence", repetitions=1, extra=FIXED.format("completion", ""))
    with pytest.raises(ProtocolError, match="pass_hat_k with estimand"):
        with_claims(rule="fixed-sequence", extra=FIXED.format("pass_hat_k", "k = 2\n"))


def test_weights_are_read_as_declared():
    protocol, written = parse(SPLIT, f"{WEIGHTED}\nweights = {{ TOOL-1 = 0.25, TOOL-2 = 0.75 }}")
    assert protocol.workload.weights == {"TOOL-1": 0.25, "TOOL-2": 0.75}
    assert "weights" not in parse()[1]["workload"]
    assert written["workload"]["weighting"] == "rungs"


@pytest.mark.parametrize(
    "weights, tasks, bound",
    [
        ((1 / 3, 1 / 3, 1 / 3), (10, 10, 10), 0.1157),
        ((0.2, 0.3, 0.5), (10, 20, 50), 0.0620),
        ((0.5, 0.3, 0.2), (10, 20, 50), 0.1542),
        ((0.25,) * 4, (20,) * 4, 0.0451),
        ((0.125,) * 8, (10,) * 8, 0.0451),
        ((0.5, 0.5), (10, 200), 0.1542),
        ((0.5, 0.3, 0.2), (50, 50, 50), 0.0356),
    ],
)
def test_the_loss_that_weighted_strata_can_hide(weights, tasks, bound):
    assert all_ties_bound(weights, tasks) == pytest.approx(bound, abs=5e-5)
    for alpha in (0.025, 0.001, 0.2):
        assert all_ties_bound(weights, tasks, alpha) == pytest.approx(
            tilting.all_ties_bound(weights, tasks, alpha), abs=1e-9
        )
    assert all_ties_bound((1.0,), (36,)) == pytest.approx(1 - 0.025 ** (1 / 36), rel=1e-12)


def test_the_difference_of_the_arms_is_found_at_its_path():
    text = GOOD.replace('driver = "a:c"', 'driver = "a:b"').replace(
        'driver = "a:b"\nconfig = { depth = 1, planner = { kind = "x" } }\n[change]',
        'driver = "a:b"\nconfig = { depth = true, planner = { kind = "y" }, extra = 1 }\n[change]',
    )
    text = text.replace('paths = ["driver"]', 'paths = ["config"]')
    protocol, _ = parse_protocol(text.encode(), "p.toml")
    assert arm_difference(protocol) == ["config.depth", "config.extra", "config.planner.kind"]
    with pytest.raises(ProtocolError, match=r"also differ in 'config\.depth'"):
        parse_protocol(text.replace('paths = ["config"]', 'paths = ["config.planner"]').encode(), "p.toml")


def test_an_arm_may_gain_a_setting():
    text = GOOD.replace('driver = "a:c"\nconfig = { depth = 1, planner = { kind = "x" } }', 'driver = "a:b"')
    text = text.replace('paths = ["driver"]', 'paths = ["config"]')
    assert arm_difference(parse_protocol(text.encode(), "p")[0]) == ["config.depth", "config.planner"]


@pytest.mark.parametrize("margin, tasks", [(0.05, 72), (0.08, 45), (0.10, 36), (0.15, 23), (0.20, 17)])
def test_minimum_tasks_of_the_published_margins(margin, tasks):
    assert minimum_tasks(margin, 0.025) == tasks
    assert (1 - margin) ** tasks <= 0.025 < (1 - margin) ** (tasks - 1)


@pytest.mark.parametrize("margin, alpha", [(0, 0.025), (1, 0.025), (0.1, 0), (0.1, 1)])
def test_minimum_tasks_refuses_what_has_no_answer(margin, alpha):
    with pytest.raises(ValueError, match="between 0 and 1"):
        minimum_tasks(margin, alpha)


def test_ceiling_is_a_share():
    assert parse_ceiling("2 %", "x") == pytest.approx(0.02)


def test_a_missing_file_and_bad_bytes(tmp_path):
    with pytest.raises(Exception, match="cannot read the protocol"):
        load_protocol(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"schema = \xff")
    with pytest.raises(ProtocolError, match="UTF-8"):
        load_protocol(bad)
