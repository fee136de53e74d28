"""A study runs inside a notebook, whose event loop already runs in the main thread."""

from __future__ import annotations

import asyncio
import json

import pytest

import study as toolkit

ASYNC = """
import asyncio

async def awaits(request, tools, ctx):
    await ctx.asleep(0.001)
    found = re.search(r"order-[0-9]+", request)
    await ctx.adispatch("order_status", {"order": found[0]})
    return LoopResult(calls=[Call("order_status", {"order": found[0]})], driver="awaits-1")

awaits.stamp = "awaits-1"


async def never(request, tools, ctx):
    if request.endswith("order-3"):
        await asyncio.sleep(600)
    return await awaits(request, tools, ctx)

never.stamp = "never-1"
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_async_drivers_run_beside_a_loop_that_runs(mini, workers):
    study = mini(tasks=10, candidate="never", extra=ASYNC, margin="40 pp", timeout=0.5)
    assert study.command("freeze", study.protocol.name).returncode == 0

    async def cell():
        folder = toolkit.run(study.protocol, workers=workers)
        await asyncio.sleep(0)
        return folder

    folder = asyncio.run(cell())
    rows = [json.loads(line) for line in folder.product.read_bytes().splitlines()]
    assert len(rows) == 40
    outcomes = [row["outcome"] for row in rows if row["arm"] == "candidate"]
    assert outcomes.count("timeout") == 1
    assert outcomes.count("answered") == 19
