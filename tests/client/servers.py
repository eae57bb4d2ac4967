"""Servers that a client is tried on: honest ones, and one that says what it is told to say."""

import mcp_types as types
from mcp.server import Server

import louver
from examples.company import build_server
from steps.profiles import CANARY, PROFILE, SCHEMA, lowlevel, structured, tool

MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""How a client opens a connection of each revision."""

DECLARED = {"supported": True}

RECEIPT = {"applied": True, "mode": "include", "fields": ["name"]}


def example(**options):
    """The example company, attached."""
    server = build_server()
    louver.attach(server, **options)
    return server


def plain():
    """The example company as it is."""
    return build_server()


def liar(result, *, output=SCHEMA, exact=None, hint=None, read=None):
    """A server that says that it projects, and answers what it is told.

    Args:
        result: What its tool `get_profile` answers; or a function of the arguments.
        output: The output schema that it lists.
        exact: The one that it calls the exact one.
        hint: What else it says of the projection of its tool.
        read: What a read of any resource answers: a text.
    """
    said = {**DECLARED, **(hint or {}), **({"outputSchema": exact} if exact is not None else {})}
    made = lowlevel(get_profile=tool(output, result, meta={"dev.louver/projectionHint": said}))
    lists, calls = (made.server.get_request_handler(f"tools/{name}").handler for name in ("list", "call"))
    if read is None:
        return made

    async def on_read(_ctx, params):
        contents = types.TextResourceContents(uri=params.uri, text=read)
        return types.ReadResourceResult(contents=[contents])

    made.server = Server("liar", on_list_tools=lists, on_call_tool=calls, on_read_resource=on_read)
    return made


def answering(value, **receipt):
    """A result with a receipt: that of a request for `name`, but for what is told otherwise."""
    return {**structured(value), "_meta": {"projection": {**RECEIPT, **receipt}}}


__all__ = ["CANARY", "PROFILE", "SCHEMA", "answering", "example", "liar", "lowlevel", "plain", "structured", "tool"]
