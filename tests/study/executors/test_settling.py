"""What a driver returned is kept as the standard library's JSON writes it, or is an error of the driver."""

import json
from enum import IntEnum, StrEnum
from types import MappingProxyType

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from study.driver import Call, Context, LoopResult
from study.executors.settling import settle
from study.executors.trials import PreparedCase
from tests.study.executors.test_inprocess import CASE, REGISTRY


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Lookalike:
    """No call, though it has what a call has."""

    name = "list_orders"
    input = MappingProxyType({})


texts = st.text(st.characters(), max_size=8)
scalars = st.one_of(
    texts,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [Colour.RED, Size.LARGE, 1.0, -0.0, 2**63, 2**64, -(2**63) - 1, 1e22, "\ud800", "\x7f\x00\u2028"]
    ),
    st.binary(max_size=3),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.frozensets(texts, max_size=2),
        st.dictionaries(texts, inner, max_size=3),
        st.dictionaries(st.integers(), inner, max_size=2),
    ),
    max_leaves=6,
)
calls = st.one_of(
    st.builds(Call, texts, st.dictionaries(texts, scalars, max_size=3)),
    st.builds(Call, values, values),
    st.fixed_dictionaries({"input": st.just({}), "name": texts}),
    st.sampled_from([Lookalike()]),
)
results = st.builds(
    LoopResult,
    calls=st.one_of(st.lists(calls, max_size=3), st.tuples(calls), values),
    refused=st.one_of(st.booleans(), values),
    terminated=st.one_of(st.booleans(), values),
    proof=st.one_of(st.lists(st.dictionaries(texts, scalars, max_size=3), max_size=2), values),
    driver=st.one_of(texts, values),
    observed=st.one_of(st.none(), texts, values),
)


def plain_call(call: Call):
    return {"name": call.name, "input": {} if call.input is None else call.input}


def expected(result: LoopResult) -> bytes | None:
    """Return the report as the standard library writes it, None where it cannot."""
    plain = result.calls
    if isinstance(plain, list | tuple):
        plain = [
            {"name": call.name, "input": {} if call.input is None else call.input}
            if type(call) is Call
            else call
            for call in plain
        ]
    report = {
        "calls": plain,
        "refused": result.refused,
        "terminated": result.terminated,
        "proof": result.proof,
        "driver": result.driver,
    }
    if result.observed is not None:
        report["observed"] = result.observed
    try:
        text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError):
        return None


def settled(result: LoopResult):
    context: Context = PreparedCase(CASE, REGISTRY, None).context()
    return settle(result, None, context)


@given(results)
@example(LoopResult(calls=[Call("list_orders", {"days": 1.0})]))
@example(LoopResult(calls=[Call("list_orders", {"days": float("nan")})]))
@example(LoopResult(calls=[Call("list_orders", None)]))
@example(LoopResult(calls={"list_orders"}))
@example(LoopResult(calls=[Lookalike()]))
@example(LoopResult(proof={1}))
def test_a_report_is_the_json_of_what_was_returned_or_an_error_of_the_driver(result: LoopResult):
    outcome, report, error = settled(result)
    wanted = expected(result)
    if wanted is None:
        assert (outcome, bytes(report)) == ("driver_error", b"{}")
        assert error is not None
    else:
        assert error is None
        assert bytes(report) == wanted


@pytest.mark.parametrize("first", range(0, 0x110000, 0x11000))
def test_every_character_is_written_as_the_standard_library_writes_it(first: int):
    text = "".join(map(chr, (n for n in range(first, first + 0x11000) if not 0xD800 <= n < 0xE000)))
    result = LoopResult(calls=[Call("list_orders", {"text": text})])
    assert bytes(settled(result)[1]) == expected(result)
