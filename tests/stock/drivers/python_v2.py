"""The stock `mcp` 2.x client, in both eras."""

from importlib.metadata import version

from common import STEP_SECONDS, all_pages, exercise, main, told
from mcp import Client, StdioServerParameters

OPENINGS = 3
"""`auto` waits a short time for `server/discover`, and speaks the older era to a server that starts more slowly."""


async def drive(request):
    target = request["target"]
    # `auto` asks `server/discover`, where a pinned revision would connect without the server's capabilities.
    mode = "legacy" if request["era"] == "2025-11-25" else "auto"
    server = target["url"] if "url" in target else StdioServerParameters(**target)
    for _ in range(OPENINGS):
        async with Client(server, mode=mode, read_timeout_seconds=STEP_SECONDS) as client:
            if client.protocol_version == request["era"]:
                return await exercised(client, request)
    raise RuntimeError(f"mcp {version('mcp')} was asked for {request['era']} and negotiated {client.protocol_version}")


async def exercised(client, request):
    async def call_tool(tool, arguments, meta):
        result = await client.call_tool(tool, arguments, meta=meta)
        return told(result)

    return await exercise(
        request,
        f"mcp {version('mcp')}",
        client.protocol_version,
        client.server_capabilities,
        lambda: all_pages(lambda cursor: client.list_tools(cursor=cursor)),
        call_tool,
    )


main(drive)
