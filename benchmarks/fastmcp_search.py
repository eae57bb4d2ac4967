"""FastMCP's search transform. It runs where FastMCP is installed, not in our environment.

    {"tools": [...], "queries": ["..."], "most": 20, "rounds": 3}        on standard input
    -> {"names": [["a", "b"], ...], "seconds": [0.002, ...]}             for each query, on standard output

Without rounds nothing is timed.
"""

import asyncio
import gc
import json
import sys
from statistics import median
from time import thread_time

from fastmcp.server.transforms.search import BM25SearchTransform  # pyright: ignore[reportMissingImports]
from fastmcp.tools.base import Tool  # pyright: ignore[reportMissingImports]


async def main() -> None:
    """Answer one request."""
    given = json.load(sys.stdin)
    tools = [
        Tool(name=tool["name"], description=tool.get("description"), parameters=tool["inputSchema"])
        for tool in given["tools"]
    ]
    queries = given["queries"]
    # What its tool `search_tools` does, without the protocol around it.
    search = BM25SearchTransform(max_results=given["most"])._search
    names = [[tool.name for tool in await search(tools, query)] for query in queries]
    samples: list[list[float]] = [[] for _ in queries]
    for _ in range(given["rounds"]):
        gc.collect()
        gc.disable()
        for query, taken in zip(queries, samples, strict=True):
            started = thread_time()
            await search(tools, query)
            taken.append(thread_time() - started)
        gc.enable()
    print(json.dumps({"names": names, "seconds": [median(taken) for taken in samples if taken]}))


asyncio.run(main())
