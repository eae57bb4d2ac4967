"""What the Python drivers share: the request from stdin, the answer to stdout, the limits in time.

It runs in each stock client's own environment, so it imports nothing but anyio.
"""

import json
import sys

import anyio

STEP_SECONDS = 30
"""Longest wait for one answer; a whole run gets it for each call, and for connect, list and close."""


def main(drive):
    """Run `drive(request)` and print its answer; exit 1 with the reason if it cannot connect or list."""
    request = json.load(sys.stdin)

    async def bounded():
        with anyio.fail_after(STEP_SECONDS * (len(request["calls"]) + 3)):
            return await drive(request)

    try:
        answer = anyio.run(bounded)
    except Exception as error:  # noqa: BLE001 - whatever stops the client is the reason to tell
        sys.exit(reason(error))
    json.dump(answer, sys.stdout)


async def exercise(request, client, protocol_version, capabilities, list_tools, call_tool):
    """List all tools, which arms the client's validation, then make the calls one after the other.

    Args:
        request: the driver's request.
        client: name and version of the client, for example `mcp 2.3.0`.
        protocol_version: the revision negotiated; another than the one asked for is an error.
        capabilities: the server's, as the client's typed model.
        list_tools: an async function to all pages' tools, as the client's typed models.
        call_tool: an async function of tool, arguments and `_meta` to a call's outcome.
    """
    if protocol_version != request["era"]:
        raise RuntimeError(f"{client} was asked for {request['era']} and negotiated {protocol_version}")
    tools = await list_tools()
    return {
        "client": client,
        "protocolVersion": protocol_version,
        "capabilities": plain(capabilities),
        "tools": len(tools),
        "listed": [plain(tool) for tool in tools],
        "calls": [await outcome(call_tool, call) for call in request["calls"]],
    }


async def outcome(call_tool, call):
    try:
        return {"ok": True, **await call_tool(call["tool"], call.get("arguments") or {}, call.get("meta"))}
    except Exception as error:  # noqa: BLE001 - that the client throws is the finding
        return {"ok": False, "error": reason(error)}


async def all_pages(list_page):
    """The tools of every page; `list_page` is an async function of a cursor."""
    page = await list_page(None)
    tools = list(page.tools)
    while cursor := getattr(page, "nextCursor", None) or getattr(page, "next_cursor", None):
        page = await list_page(cursor)
        tools += page.tools
    return tools


def plain(model):
    """A typed model as JSON, with the wire's names."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def told(result):
    """A result of the clients that name its members in Python's way."""
    return {
        "structuredContent": result.structured_content,
        "content": [plain(block) for block in result.content],
        "meta": result.meta,
        "isError": result.is_error,
    }


def reason(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
