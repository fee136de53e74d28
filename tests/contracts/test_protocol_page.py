"""docs/protocol.md names every section and key of a protocol, with its default, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args, get_origin

import msgspec
import pytest

from study import sections
from study.conduct import RETRIABLE
from study.endpoints import ENDPOINTS
from study.protocol import parse_protocol

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "protocol.md").read_text("utf-8")
TABLES = {
    "Top level": sections.Protocol,
    "`[arms.baseline]` and `[arms.candidate]`": sections.ArmSpec,
    "`[change]`": sections.Change,
    "`[workload]`": sections.Workload,
    "`[design]`": sections.Design,
    "`design.conditions`": sections.Conditions,
    "`[[endpoints]]`": sections.EndpointSpec,
    "`[gates]`": sections.Gates,
    "`[missing]`": sections.Missing,
    "`[limits]`": sections.Limits,
    "`[retries]`": sections.Retries,
    "`[journal]`": sections.JournalSpec,
    "`[analysis]`": sections.AnalysisSpec,
}


def chapters():
    parts = re.split(r"^## (.+)\n", PAGE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def rows(text):
    """Return key -> (type, default, meaning) of the table whose first column is ``key``."""
    table = re.search(r"^\| key \| type \| default \| meaning \|\n.*\n((?:\|.*\n?)+)", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]
    return {cell[0].strip("`| "): tuple(cell[1:]) for cell in cells}


def default(field):
    if field.required:
        return "required"
    if field.default_factory is not msgspec.NODEFAULT:
        return "its defaults"
    if field.default is None:
        return "off"
    return f'`"{field.default}"`' if isinstance(field.default, str) else f"`{field.default}`"


def test_the_page_has_a_chapter_for_every_record_of_a_protocol():
    assert list(chapters()) == list(TABLES)
    records = {
        record
        for record in vars(sections).values()
        if isinstance(record, type) and issubclass(record, sections.Record) and record is not sections.Record
    }
    assert records - {sections.Arms} == set(TABLES.values())
    assert sections.Arms.__struct_fields__ == ("baseline", "candidate")


@pytest.mark.parametrize("chapter", TABLES)
def test_every_key_is_told_with_its_default(chapter):
    told = rows(chapters()[chapter])
    fields = msgspec.structs.fields(TABLES[chapter])
    assert set(told) == {field.encode_name for field in fields}
    for field in fields:
        kind, given, meaning = told[field.encode_name]
        assert given == default(field), field.encode_name
        assert kind
        assert meaning.endswith(".")


@pytest.mark.parametrize("chapter", TABLES)
def test_every_word_that_a_key_may_be_is_told(chapter):
    told = rows(chapters()[chapter])
    for field in msgspec.structs.fields(TABLES[chapter]):
        options = [field.type, *get_args(field.type)]
        words = [word for kind in options if get_origin(kind) is Literal for word in get_args(kind)]
        for word in words:
            assert str(word) in told[field.encode_name][0]


def test_every_endpoint_and_every_outcome_that_may_be_retried_is_told():
    table = re.findall(r"^\| (`.+`) \| (higher|lower) \| `(.+)` \|$", PAGE, re.MULTILINE)
    told = {name: (better, unit) for names, better, unit in table for name in re.findall(r"`(\w+)`", names)}
    assert told == {
        name: ("higher" if entry.higher_is_better else "lower", entry.margin_unit)
        for name, entry in ENDPOINTS.items()
        if entry.supported
    }
    _, _, meaning = rows(chapters()["`[retries]`"])["outcomes"]
    assert re.findall(r"`(\w+)`", meaning) == list(RETRIABLE)


def test_the_example_is_a_protocol_with_every_section():
    example = re.search(r"```toml\n(.+?)```", PAGE, re.DOTALL)[1]
    protocol, written = parse_protocol(example.encode(), "docs/protocol.md")
    assert set(written) == set(sections.Protocol.__struct_fields__)
    assert protocol.design.conditions.warm_up == 2
