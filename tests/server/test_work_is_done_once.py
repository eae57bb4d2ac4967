"""What an answer costs is counted, never timed: what depends only on the request is worked out once."""

from __future__ import annotations

from collections import Counter

import pytest
from mcp import Client

import louver
from louver.catalogue import entry
from louver.core import compile, learning, plan
from louver.protocol.names import PROJECTION_LITERAL
from server.profiles import LOWLEVEL, MCPSERVER, build

pytestmark = pytest.mark.anyio

WORK = [
    (plan, "derive", "derivations"),
    (plan, "include_mask", "masks"),
    (entry, "validator", "validators"),
    (compile, "generated", "generated functions"),
    (learning, "Shape", "shapes"),
]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each piece of work is done."""
    counts: Counter[str] = Counter()
    for module, name, what in WORK:
        real = getattr(module, name)

        def counting(*args, real=real, what=what, **named):
            counts[what] += 1
            return real(*args, **named)

        monkeypatch.setattr(module, name, counting)
    return counts


@pytest.mark.parametrize("kind", [MCPSERVER, LOWLEVEL])
async def test_fifty_calls_with_one_request_derive_one_schema(kind: str, counted: Counter[str]):
    """Ours: and make one mask, one validator and one generated function."""
    made = build(kind)
    louver.attach(made.server)
    async with Client(made.server) as client:
        for number in range(50):
            form = "inline" if number % 2 else "digest"
            request = {"mode": "include", "fields": ["name", "items.id"], "schema": form}
            result = await client.call_tool("get_profile", {}, meta={PROJECTION_LITERAL: request})
            assert result.structured_content == {"name": "Ann", "items": [{"id": 1}, {"id": 2}]}
    assert len(made.calls) == 50
    assert counted == {what: 1 for _, _, what in WORK}
