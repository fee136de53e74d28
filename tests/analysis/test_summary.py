"""All results of a run as one record: JSON, re-derivation, arms by themselves."""

from __future__ import annotations

import copy
import json
import math

import pytest

import analysis
from analysis.arms import hard_fails, latency_quantiles, rates
from analysis.report import render_report
from analysis.summary import results_to_json, summarise, verify_results
from study.digest import canonical
from study.errors import InputError
from tests.support.tables import PRIMARY, failing, first, make_table

SECONDARY = [
    {"name": "latency_gmr", "role": "secondary", "claim": "non-inferior", "margin": "10 %", "alpha": 0.025},
    {"name": "timeouts", "role": "guardrail", "claim": "non-inferior", "margin": "20 pp", "alpha": 0.025},
]
LEDGER = {
    "calls": 1,
    "input": {"known_subtotal": 100, "missing_calls": 0},
    "output": {"known_subtotal": 7, "missing_calls": 0},
}


def seconds(planned):
    return 1.0 + (planned.trial * 37 % 101) / 500


def script(planned):
    if planned.task_id == "t000" and planned.arm == "candidate":
        return {"completed": False, "outcome": "timeout", "hallucinated": [{"code": "undeclared"}]}
    if planned.task_id == "t001":
        return {"outcome": "infrastructure", "completed": False}
    return None


def make(trial=script, **options):
    defaults = {
        "tasks": 60,
        "repetitions": 2,
        "endpoints": [PRIMARY, *SECONDARY],
        "latency": seconds,
        "split_pairs": ["t005-c1#1"],
        "usage": lambda planned: LEDGER if planned.arm == "candidate" else None,
    }
    return make_table(trial, **(defaults | options))


def summary(table=None, **options):
    return summarise(table or make(), deviations=[{"text": "restarted"}], notes=["note"], **options)


def test_everything_a_report_needs():
    found = summary()
    assert (found.declared, found.evidence_level, found.study) == (True, "comparative", "shop")
    # two pairs are void, and the claim does not hold if the candidate lost both
    assert found.verdict.outcome == "inconclusive"
    assert "lost every void pair" in found.verdict.sentence
    assert [e.name for e in found.endpoints] == ["completion", "latency_gmr", "timeouts"]
    assert found.outcomes["candidate"] == {"answered": 116, "infrastructure": 2, "timeout": 2}
    assert found.design["tasks"] == 60
    assert found.design["pairs"] == 120
    assert found.design["schedule_digest"]
    assert found.arms["candidate"]["stamp"] == "candidate-1"
    assert found.deviations == ({"text": "restarted"},)
    assert found.missing["void_pairs"] == 2
    assert found.missing["void_share"] == pytest.approx(2 / 120)
    assert found.missing["ceiling"] == 0.02
    assert found.missing["split_pairs"] == 1
    assert found.missing["lost_tasks"] == 1
    assert found.missing["worst_case"] == pytest.approx(-2 / 60)
    assert found.missing["best_case"] == pytest.approx(0.0)
    assert found.order_effect.n_pairs_baseline_first + found.order_effect.n_pairs_candidate_first == 118
    assert [(row.rung, row.arm, row.total, row.hallucinated, row.gate_pass) for row in found.ladder] == [
        ("TOOL-1", "baseline", 118, 0, True),
        ("TOOL-1", "candidate", 118, 2, False),
    ]
    assert found.latency["candidate"].censored == 2


def test_usage_is_unknown_where_a_failed_trial_left_no_record():
    found = summary(
        make(usage=lambda planned: None if planned.arm == "baseline" or planned.task_id == "t000" else LEDGER)
    )
    assert found.usage["baseline"].fields is None
    told = found.usage["candidate"].fields["input"]
    assert told == {"known_subtotal": 11800, "missing_calls": 2, "total": None}
    whole = summary(make(trial=lambda planned: None))
    assert whole.usage["candidate"].fields["output"] == {
        "known_subtotal": 840,
        "missing_calls": 0,
        "total": 840,
    }


def test_an_answer_without_a_model_call_costs_nothing():
    table = make(
        trial=lambda planned: None, usage=lambda planned: LEDGER if planned.task_id > "t009" else None
    )
    assert summary(table).usage["candidate"].fields["input"] == {
        "known_subtotal": 10_000,
        "missing_calls": 0,
        "total": 10_000,
    }


def test_json_is_finite_and_verifies():
    found = summary()
    data = results_to_json(found)
    stored = json.loads(canonical(data))
    assert verify_results(stored, found) == []
    assert stored["schema"] == 1
    required = {"study", "lock_digest", "declared", "evidence_level", "verdict", "hard_fails", "endpoints"}
    assert required | {"latency", "ladder", "usage", "order_effect", "deviations"} <= set(stored)


@pytest.mark.parametrize("tasks", [1, 4, 5, 9, 12])
@pytest.mark.parametrize("share", [0, 1])
def test_small_runs_have_no_number_that_is_not_one(tasks, share):
    table = make(
        trial=failing("candidate", first(tasks) if share else []),
        tasks=tasks,
        repetitions=1,
        split_pairs=(),
        latency=lambda planned: 1.0,
    )
    found = summary(table)
    assert verify_results(json.loads(canonical(results_to_json(found))), found) == []
    assert found.evidence_level == ("pilot" if tasks < 5 else "comparative")


def changed(data, *path, value):
    data = copy.deepcopy(data)
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value(place[path[-1]])
    return data


def test_verification_tells_every_difference_by_its_path():
    found = summary()
    stored = json.loads(canonical(results_to_json(found)))
    tiny = changed(stored, "endpoints", 0, "interval", "low", value=lambda x: x * (1 + 1e-12))
    assert verify_results(tiny, found) == []
    for path, value in [
        (("endpoints", 0, "interval", "low"), lambda x: x * (1 + 1e-8)),
        (("endpoints", 0, "n_tasks"), lambda x: x + 1),
        (("endpoints", 0, "outcome"), lambda x: "superior"),
        (("verdict", "sentence"), lambda x: x + "."),
        (("schema",), lambda x: True),
        (("hard_fails", "baseline", "count"), lambda x: 0.5),
        (("endpoints", 0, "interval", "high"), lambda x: None),
    ]:
        lines = verify_results(changed(stored, *path, value=value), found)
        assert len(lines) == 1
        assert lines[0].startswith(str(path[0]))
    shorter = changed(stored, "endpoints", value=lambda x: x[:-1])
    assert len(verify_results(shorter, found)) == 1
    without = {key: value for key, value in stored.items() if key != "latency"} | {"more": 1}
    assert [line.split(":")[0] for line in verify_results(without, found)] == ["latency", "more"]


def sealed(version, **changes):
    """Return results as an earlier version may have sealed them, and the same derived again."""
    found = summary(toolkit=version)
    stored = json.loads(canonical(results_to_json(found)))
    return {key: value for key, value in (stored | changes).items() if value is not None}, found


def test_results_of_an_earlier_version_may_lack_what_a_later_one_tells():
    stored, found = sealed("0.0.9", reliability=None, shift=None)
    del stored["endpoints"][0]["p_value"], stored["design"]["families"]
    assert verify_results(stored, found, version="0.2.0") == []
    # a run of the same version holds all keys
    assert [line.split(":")[0] for line in verify_results(stored, found, version="0.0.9")] == [
        "design.families",
        "endpoints[0].p_value",
        "reliability",
        "shift",
    ]


def test_results_older_than_the_version_key_may_lack_only_what_was_added_since():
    stored, found = sealed("0.1.0", toolkit=None, reliability=None)
    assert verify_results(stored, found, version="0.1.0") == []
    del stored["notes"], stored["endpoints"][0]["interval"]
    assert [line.split(":")[0] for line in verify_results(stored, found)] == [
        "endpoints[0].interval",
        "notes",
    ]


@pytest.mark.parametrize("recorded", [None, "0.0.9"])
def test_whatever_an_earlier_version_stored_must_be_derived_again(recorded):
    stored, found = sealed("0.0.9", toolkit=recorded)
    for path, value in [
        (("endpoints", 0, "interval", "low"), lambda x: x * (1 + 1e-8)),
        (("endpoints", 0, "outcome"), lambda x: "superior"),
        (("verdict", "outcome"), lambda x: "superior"),
        (("endpoints", 0, "interval", "method"), lambda x: "other"),
        (("diagnostics", 0, "status"), lambda x: "unheard"),
        (("diagnostics",), lambda x: x[:-1]),
        (("design", "cases"), lambda x: x + 1),
    ]:
        lines = verify_results(changed(stored, *path, value=value), found, version="0.2.0")
        assert [line.startswith(str(path[0])) for line in lines] == [True]
    assert len(verify_results(stored | {"gone": 1}, found, version="0.2.0")) == 1
    reworded = changed(stored, "verdict", "sentence", value=lambda x: x + ".")
    assert verify_results(reworded, found, version="0.2.0") == []
    assert len(verify_results(changed(stored, "verdict", "sentence", value=lambda x: 1), found)) == 1


def test_the_recorded_version_is_that_of_the_environment_record():
    stored, found = sealed("0.1.0")
    lines = verify_results(stored | {"toolkit": "0.0.9"}, found, version="0.1.0")
    assert lines == ["toolkit: '0.0.9' -> '0.1.0'"]


def test_a_void_run_still_has_its_numbers():
    found = summary(void_reasons=["the journal was changed"])
    assert found.verdict.outcome == "void"
    assert found.endpoints[0].estimate is not None
    assert found.endpoints[1].status == "descriptive"


def test_secondary_claims_fall_with_a_hard_fail():
    table = make(trial=failing("candidate", first(1), completed=True, hard_fails=["undeclared"]))
    found = summary(table)
    assert found.verdict.outcome == "hard_fail"
    assert "hard_fail" in found.endpoints[1].diagnostics[0]
    assert found.endpoints[0].outcome == "non_inferior"


def test_arms_by_themselves():
    table = make()
    assert rates(table, "timeouts")["candidate"].estimate == pytest.approx(1 / 59)
    assert rates(table)["baseline"].interval.high == 1
    assert hard_fails(table)["candidate"].trials == 120
    assert latency_quantiles(table)["baseline"].n_trials == 117
    with pytest.raises(InputError, match="latency"):
        rates(table, "latency_gmr")


def test_latency_that_was_not_recorded():
    found = latency_quantiles(make(latency=lambda planned: None))["baseline"]
    assert (found.status, found.p50_s) == ("not_recorded", None)
    assert not math.isnan(found.n_trials)


def test_public_names_are_lazy_and_real():
    for name in analysis.__all__:
        assert getattr(analysis, name) is not None
    assert set(analysis.__all__) <= set(dir(analysis))
    with pytest.raises(AttributeError, match="nothing"):
        analysis.nothing  # noqa: B018


def test_families_are_told_once_beside_each_endpoint():
    def script(planned):
        return {"template_family": f"f{int(planned.task_id[1:]) // 2}"}

    results = summary(make(script, split_pairs=()))
    text = render_report(results, "md")
    lines = [line for line in text.splitlines() if "template families" in line and line.startswith("- ")]
    told = "n tasks = 60 from 30 template families: tasks that share a template are taken as independent"
    assert [line for line in lines if "n tasks" in line] == [
        f"- {name}: {told}" for name in ("completion", "latency_gmr", "timeouts")
    ]
