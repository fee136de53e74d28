"""What ``study ladder --explain`` shows."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from study.cli.ladder import command


def explained(*arguments):
    result = CliRunner().invoke(command, ["--explain", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.output


@pytest.mark.parametrize(
    "request_, shown",
    [
        (
            "Who calls dry_until?",
            [
                "plan     single",
                "know callers of dry_until",
                'tmct_callers{"symbol": "dry_until"}',
                "proof    {",
            ],
        ),
        (
            "Who calls weigh?",
            ["outcome  refused", 'reading  tmct_callers{"symbol": "seedbank.lots.Lot.weigh"}'],
        ),
        ("Delete sow.", ["goal     none", "outcome  refused"]),
        (
            "What is the coverage gap of seedbank.vault?",
            ["goal     scoped, focus seedbank.vault", "goal-rule", 'result   ["seedbank'],
        ),
        (
            "Show the tests for sow, or its callers if there are none.",
            ["fold recover", "recover  the primary was empty"],
        ),
        ("Which methods of ColdRoom reach Lot.weigh?", ["member filter", "to any depth"]),
        ("methods named weigh", ["name 'weigh'"]),
        ("list the subclasses of Lot, then describe each of them", ["each label of the answer before"]),
    ],
)
def test_shows(request_, shown):
    output = explained(request_)
    for text in shown:
        assert text in output


def test_the_suite_may_be_named():
    assert "click.core.Context" in explained("describe click.Context", "--cases", "bundled:click")


def test_an_empty_request_is_bad_input():
    result = CliRunner().invoke(command, ["--explain", " "], standalone_mode=False)
    assert "without words" in str(result.exception)
