"""Tool calls by the client of the installed `mcp` SDK: one job on standard input, one line on standard output.

::

    <- {"url": "", "headers": {}, "command": ["python", "server.py"], "revision": "2025-11-25",
        "descriptions": null, "calls": [{"tool": "get_user", "arguments": {"id": 7}, "meta": {"projection": {...}}}]}
    -> {"thrown": ["", "RuntimeError"]}

An exception is named without its message, which may quote an answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from louver.core import json
from louver_conformance.session import HANDSHAKE
from louver_conformance.tools import grants_in


async def _run(job: dict[str, Any]) -> list[str]:
    async with Client(_target(job), mode="legacy" if job["revision"] == HANDSHAKE else "auto") as client:
        await client.list_tools()
        grant: dict[str, Any] = {}
        if job["descriptions"] is not None:
            grant = grants_in((await client.read_resource(job["descriptions"])).meta or {})
        return [await _thrown(client, call, grant) for call in job["calls"]]


def _target(job: dict[str, Any]) -> Any:
    if job["url"]:
        return streamable_http_client(job["url"], http_client=httpx2.AsyncClient(headers=job["headers"]))
    command, *words = job["command"]
    return StdioServerParameters(command=command, args=words, env=dict(os.environ))


async def _thrown(client: Client, call: dict[str, Any], grant: dict[str, Any]) -> str:
    meta: Any = {**grant, **call["meta"]}
    try:
        answer = await client.call_tool(call["tool"], call["arguments"], meta=meta)
    except Exception as error:  # noqa: BLE001 - any exception is the finding
        return type(error).__name__
    return "no exception, and takes an error" if answer.is_error else ""


if __name__ == "__main__":
    print(json.compact({"thrown": asyncio.run(_run(json.parse(sys.stdin.read())))}))
