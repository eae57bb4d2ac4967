"""FastMCP's proxy, on a client that stays connected. It runs where FastMCP is installed, not in our environment.

python fastmcp_proxy.py http PORT http://127.0.0.1:9000/mcp
python fastmcp_proxy.py http PORT COMMAND...
python fastmcp_proxy.py stdio COMMAND...
"""

import asyncio
import sys

from fastmcp import Client, settings  # pyright: ignore[reportMissingImports]
from fastmcp.client.transports import StdioTransport  # pyright: ignore[reportMissingImports]
from fastmcp.server import create_proxy  # pyright: ignore[reportMissingImports]


async def main() -> None:
    """Serve."""
    settings.check_for_updates = "off"
    front, *rest = sys.argv[1:]
    port, command = (int(rest[0]), rest[1:]) if front == "http" else (None, rest)
    target = command[0] if command[0].startswith("http") else StdioTransport(command[0], command[1:])
    async with Client(target) as client:
        proxy = create_proxy(client)
        if port is None:
            await proxy.run_async("stdio", show_banner=False)
        else:
            await proxy.run_async("http", show_banner=False, host="127.0.0.1", port=port, log_level="warning")


asyncio.run(main())
