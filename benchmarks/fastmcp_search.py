"""FastMCP's search transform. It runs where FastMCP is installed, not in our environment."""

from fastmcp.server.transforms.search import BM25SearchTransform  # pyright: ignore[reportMissingImports]
from fastmcp.tools.base import Tool  # pyright: ignore[reportMissingImports]
from peer_search import Search, serve  # pyright: ignore[reportMissingImports]


def index(tools: list[dict], most: int) -> Search:
    """What FastMCP's tool `search_tools` does, without the protocol; the first search makes its index."""
    made = [
        Tool(name=tool["name"], description=tool.get("description"), parameters=tool["inputSchema"]) for tool in tools
    ]
    transform = BM25SearchTransform(max_results=most)

    async def search(query: str) -> list[str]:
        return [tool.name for tool in await transform._search(made, query)]

    return search


serve(index)
