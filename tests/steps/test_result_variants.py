"""Several outputs of one run: it begins once, fails for all, and is cancelled with them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from louver.gateway.front.connections import StatelessConnection
from louver.steps.request import Request
from louver.steps.result_variants import ResultVariants
from louver.wire.jsonrpc.errors import JsonRpcError

pytestmark = pytest.mark.anyio

META = {"io.modelcontextprotocol/protocolVersion": "2026-12-01"}
BOTH = [{"audience": audience, "format": "content"} for audience in ("assistant", "user")]
ANSWER = {"resultType": "complete", "content": [{"type": "text", "text": "t"}]}
FAILED = {**ANSWER, "isError": True}


def called(step):
    params = {"name": "t", "_meta": META, "requestedOutputs": BOTH}
    return ResultVariants(is_per_audience=True)(
        Request("tools/call", params, 1, "2026-07-28", StatelessConnection(None)), step
    )


def audience(request):
    (role,) = request.identity.principal.roles
    return role.removeprefix("audience:")


class Tool:
    """A tool that counts its runs, and fails in the first so many."""

    def __init__(self, fails=0):
        self.runs, self.fails = [], fails
        self.began, self.cancelled = asyncio.Event(), False

    async def run(self, who):
        self.runs.append(who)
        if len(self.runs) <= self.fails:
            raise JsonRpcError(-32603, "gone")
        return ANSWER

    async def hold(self):
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def test_calls_that_fail_try_again_together():
    tool = Tool(fails=1)

    async def step(request):
        with suppress(JsonRpcError):
            return await request.record.run.answer(lambda: tool.run(audience(request)))
        return await request.record.run.answer(lambda: tool.run(audience(request)))

    assert "isError" not in await called(step)
    assert tool.runs == ["assistant", "assistant"]


async def test_an_error_is_that_of_all():
    tool = Tool(fails=2)

    async def step(request):
        return await request.record.run.answer(lambda: tool.run(audience(request)))

    with pytest.raises(JsonRpcError, match="gone"):
        await called(step)
    assert tool.runs == ["assistant"]


@pytest.mark.parametrize("refused", ["assistant", "user"])
async def test_nothing_runs_if_one_is_refused_before(refused):
    tool = Tool()

    async def step(request):
        if audience(request) == refused:
            return FAILED
        return await request.record.run.answer(lambda: tool.run(audience(request)))

    result = await called(step)
    assert (result["isError"], len(result["outputs"]), tool.runs) == (True, 2, [])


async def test_one_that_is_answered_without_a_run_stops_no_other():
    tool = Tool()

    async def step(request):
        if audience(request) == "assistant":
            return ANSWER
        return await request.record.run.answer(lambda: tool.run(audience(request)))

    assert "isError" not in await called(step)
    assert tool.runs == ["user"]


async def test_the_run_ends_with_the_call():
    tool = Tool()

    async def step(request):
        return await request.record.run.answer(tool.hold)

    call = asyncio.ensure_future(called(step))
    await tool.began.wait()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert tool.cancelled
