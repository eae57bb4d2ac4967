"""Spans of what clients ask, without a value, for who collects them."""

from __future__ import annotations

import asyncio
import json

import pytest

from fixtures.forking import PYTHON
from fixtures.samples import CANARY
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import FIXTURES, config, fixture, serving

pytestmark = pytest.mark.anyio

COLLECTED = [PYTHON, str(FIXTURES / "collected.py"), "serve"]


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_every_call_has_its_span_and_no_value_is_in_it(tmp_path, era):
    """Step 4: OpenTelemetry's API, and no values."""
    with serving(*config(tmp_path, {"all": fixture("everything")}), command=COLLECTED) as served:
        async with raw(served.url, era) as client:
            answer = await client.call("test_simple_text")
            value = answer["content"][0]["text"]
            await client.call("test_error_handling")
        found = await asyncio.to_thread(served.says, r'span (.*test_error_handling.*"status": "ERROR".*)')
        assert json.loads(found.group(1))["attributes"]["error.type"] == "tool_error"
        said = json.loads(served.says(r"span (.*test_simple_text.*)").group(1))
        assert said["name"] == "tools/call test_simple_text"
        assert said["status"] == "UNSET"
        assert said["attributes"]["gen_ai.tool.name"] == "test_simple_text"
        assert not any(value in line for line in served.said)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_the_message_of_an_error_is_in_no_span(tmp_path, era):
    """PRIVACY.md: a server's error can hold a value."""
    with serving(*config(tmp_path, {"it": fixture("samples")}), command=COLLECTED) as served:
        async with raw(served.url, era) as client:
            refused = await client.error("tools/call", name="refuses", arguments={})
        said = json.loads((await asyncio.to_thread(served.says, r"span (.*refuses.*)")).group(1))
    assert (refused["code"], refused["message"]) == (-32002, CANARY)
    assert sum("span " in line and "refuses" in line for line in served.said) == 1
    assert (said["status"], said["attributes"]["error.type"]) == ("ERROR", "-32002")
    assert not any(CANARY in line for line in served.said)
