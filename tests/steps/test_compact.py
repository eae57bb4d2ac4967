"""Lean by default: a tool with a default view, and `compact: false`."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer
from pydantic import BaseModel

import louver

pytestmark = pytest.mark.anyio


class Author(BaseModel):
    id: str
    email: str
    displayName: str
    avatar: str


class Message(BaseModel):
    id: str
    created: str
    author: Author
    content: str
    metadata: dict[str, Any]


MESSAGE = Message(
    id="abc123",
    created="2025-01-05T14:32:05.882Z",
    author=Author(id="u789", email="jdoe@example.com", displayName="Doe, John", avatar="..."),
    content="Hello",
    metadata={},
)

COMPACT = {
    "select": {
        "ts": {"path": "created", "format": "minute"},
        "from": {"path": "author.email", "format": "localpart"},
        "content": "content",
    }
}


def served():
    server = MCPServer("messages")

    @server.tool()
    def get_message() -> Message:
        return MESSAGE

    louver.attach(server, views={"get_message": {"compact": COMPACT}}, default_views={"get_message": "compact"})
    return server


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("key", ["compact", "dev.louver/compact"])
async def test_the_example_is_compact_by_default_and_whole_if_that_is_asked_for(mode, key):
    """001 pattern 4, its example to the letter; a stock client accepts both."""
    async with Client(served(), mode=mode) as client:
        await client.list_tools()
        lean = await client.call_tool("get_message", {})
        assert lean.structured_content == {"ts": "2025-01-05T14:32", "from": "jdoe", "content": "Hello"}
        whole = await client.call_tool("get_message", {}, meta={key: False})
        assert whole.structured_content == MESSAGE.model_dump()
        again = await client.call_tool("get_message", {}, meta={key: True})
        assert again.structured_content == lean.structured_content


async def test_what_is_neither_true_nor_false_is_refused():
    """Ours."""
    async with Client(served()) as client:
        with pytest.raises(MCPError, match="'compact' in '_meta' is true or false"):
            await client.call_tool("get_message", {}, meta={"compact": "no"})
