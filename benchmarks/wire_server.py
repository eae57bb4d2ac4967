"""A lowlevel server over HTTP for the scenario `wire`, with projection or without.

    python -m benchmarks.wire_server [--attach]    prints its port, and serves until its standard input ends

For each line of input it prints how much CPU time it has used so far, in seconds.

Its tools are called by the size of their answer, a page of issues. The one called `100000` answers
what was prepared; `100000 written` writes its text anew for every call, as most tools do.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from time import process_time
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server

import louver
from benchmarks.payloads import ISSUES, SIZES

WRITTEN = " written"
VALUES = {str(size): ISSUES.make(size) for size in SIZES.values() if size < SIZES["10 MB"]}


def main() -> None:
    """Serve."""
    server = Server("issues", on_list_tools=_list_tools, on_call_tool=_call_tool)
    if "--attach" in sys.argv:
        louver.attach(server)
    # asyncio sends small parts at once only where the socket's protocol is named.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    serving = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), http="h11", log_level="warning"))

    def tell_the_time() -> None:
        for _ in sys.stdin:
            print(process_time(), flush=True)
        serving.should_exit = True

    threading.Thread(target=tell_the_time, daemon=True).start()
    print(listening.getsockname()[1], flush=True)
    serving.run(sockets=[listening])


async def _list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def _call_tool(_ctx: Any, params: types.CallToolRequestParams) -> dict[str, Any]:
    if params.name in RESULTS:
        return dict(RESULTS[params.name])
    return _result(VALUES[params.name.removesuffix(WRITTEN)])


def _result(value: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "text", "text": json.dumps(value)}
    return {"resultType": "complete", "content": [text], "structuredContent": value}


RESULTS = {name: _result(value) for name, value in VALUES.items()}
TOOLS = [
    types.Tool(name=name + kind, input_schema={"type": "object"}, output_schema=ISSUES.schema)
    for name in VALUES
    for kind in ("", WRITTEN)
]

if __name__ == "__main__":
    main()
