"""The example with projection and two odd tools: one never answers, one changes its answer after a while.

The command line has a file in which calls of the second are counted.
"""

import sys
from pathlib import Path

import anyio
from mcp_types import ToolAnnotations

import louver
from louver.example import build_server

READS = ToolAnnotations(readOnlyHint=True)

if __name__ == "__main__":
    server = build_server()
    calls = Path(sys.argv[1])

    @server.tool(annotations=READS)
    async def a_sleeper() -> dict[str, int]:
        await anyio.sleep_forever()
        return {}

    @server.tool(annotations=READS)
    def ticks() -> dict[str, int]:
        with calls.open("a") as file:
            file.write(".")
        # As a clock does, it answers twice the same when it is asked twice at once.
        return {"now": max(2, calls.stat().st_size), "start": 0}

    louver.attach(server)
    server.run("stdio")
