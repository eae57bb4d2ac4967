"""A proxy of FastMCP, over standard input and output, before the server that the command line starts."""

import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server.server import create_proxy

if __name__ == "__main__":
    create_proxy(StdioTransport(sys.argv[1], sys.argv[2:])).run(transport="stdio", show_banner=False)
