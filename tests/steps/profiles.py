"""A server of one profile, made in both ways that the SDK has, and servers that answer what they are told."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server import MCPServer, Server
from pydantic import BaseModel, ConfigDict, Field

MCPSERVER, LOWLEVEL = "MCPServer", "Server"

CANARY = "canary-7f3a"
"""Stands in values only, never in a name or a description."""


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Address(Record):
    city: str
    zip: str = Field(pattern="^[0-9]+$")


class Item(Record):
    id: int
    email: str


class Profile(Record):
    id: int
    name: str
    email: str
    address: Address
    items: list[Item]
    next_cursor: str | None = Field(alias="nextCursor")


PROFILE = {
    "id": 7,
    "name": "Ann",
    "email": f"{CANARY}@example.com",
    "address": {"city": "Rome", "zip": "00100"},
    "items": [{"id": 1, "email": f"{CANARY}-1"}, {"id": 2, "email": f"{CANARY}-2"}],
    "nextCursor": None,
}
SCHEMA = Profile.model_json_schema(by_alias=True)

VIEWS = {
    "minimal": ["id", "name"],
    "contact": {"extends": "minimal", "include": ["email"]},
    "public": {"exclude": ["**.email"]},
    "mixed": {"include": ["name", "address"], "exclude": ["address.zip"]},
}


@dataclass
class Made:
    """A server, the calls that reached its tools (name and arguments), and of a lowlevel one what it serves."""

    server: Any
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tools: dict[str, Any] = field(default_factory=dict)
    listings: int = 0
    before_listing: Callable[[], None] = lambda: None


def build(kind, meta=None):
    """A server with the one tool `get_profile`."""
    return _mcpserver(meta) if kind == MCPSERVER else lowlevel(get_profile=tool(SCHEMA, meta=meta))


def _mcpserver(meta):
    made = Made(MCPServer("profiles", version="1"))

    @made.server.tool(meta=meta)
    def get_profile(user_id: int = 0) -> Profile:
        """Get a profile."""
        made.calls.append(("get_profile", {"user_id": user_id}))
        return Profile.model_validate(PROFILE)

    return made


def structured(value, *blocks):
    """A result with structured content, and with blocks beside it or else the value as text."""
    text = {"type": "text", "text": "The profile in words."}
    return {"structuredContent": value, "content": [text, *blocks]}


def text(*texts):
    """A result of text blocks alone."""
    return {"content": [{"type": "text", "text": part} for part in texts]}


def tool(output=None, result=None, *, meta=None, input=None):
    """A tool of a lowlevel server.

    Args:
        output: Its output schema.
        result: What it answers: a result, or a function of the arguments; the profile by default.
        meta: Its `_meta`.
        input: Its input schema.
    """
    listed = {"inputSchema": input or {"type": "object", "properties": {"user_id": {"type": "integer"}}}}
    if output is not None:
        listed["outputSchema"] = output
    if meta is not None:
        listed["_meta"] = meta
    return {"listed": listed, "result": structured(PROFILE) if result is None else result}


def lowlevel(page_size=50, **tools):
    """A lowlevel server that answers what it is told; `tools` can be changed later."""

    async def on_list_tools(_ctx, params):
        made.before_listing()
        start = int((params and params.cursor) or 0)
        names = list(made.tools)[start : start + page_size]
        listed = [types.Tool.model_validate({"name": name, **made.tools[name]["listed"]}) for name in names]
        more = start + page_size < len(made.tools)
        made.listings += 1
        return types.ListToolsResult(tools=listed, next_cursor=str(start + page_size) if more else None)

    async def on_call_tool(_ctx, params):
        made.calls.append((params.name, params.arguments))
        result = made.tools[params.name]["result"]
        answer = deepcopy(result(params.arguments) if callable(result) else result)
        model = types.InputRequiredResult if "inputRequests" in answer else types.CallToolResult
        return model.model_validate(answer)

    made = Made(Server("profiles", version="1", on_list_tools=on_list_tools, on_call_tool=on_call_tool))
    made.tools = tools
    return made
