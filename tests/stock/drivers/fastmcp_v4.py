"""The stock FastMCP 4 client, in both eras."""

from importlib.metadata import version

from common import STEP_SECONDS, exercise, main, told
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def drive(request):
    target = request["target"]
    # `auto` asks `server/discover`, where a pinned revision would connect without the server's capabilities.
    mode = "legacy" if request["era"] == "2025-11-25" else "auto"
    server = target["url"] if "url" in target else StdioTransport(**target, keep_alive=False)
    async with Client(server, mode=mode, timeout=STEP_SECONDS, init_timeout=STEP_SECONDS) as client:

        async def call_tool(tool, arguments, meta):
            result = await client.call_tool(tool, arguments, meta=meta, raise_on_error=False)
            # A failure to parse `data`, which is what this client's users read, is only logged: make it one.
            if result.structured_content is not None and result.data is None and not result.is_error:
                raise ValueError(f"the client could not parse the structured content of {tool} into `data`")
            return told(result)

        return await exercise(
            request,
            f"fastmcp {version('fastmcp')}",
            client.protocol_version,
            client.server_capabilities,
            client.list_tools,
            call_tool,
        )


main(drive)
