"""A search that runs in an environment of its own: one request on standard input, one answer on standard output.

    {"tools": [...], "queries": ["..."], "most": 20, "rounds": 3}
    -> {"names": [["a", "b"], ...], "seconds": [0.002, ...], "index": [0.5, ...]}

`seconds` are the median of each query, `index` what each round takes from the list to the first answer. Without rounds
nothing is timed. Only the standard library is imported here.
"""

import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable
from statistics import median
from time import thread_time
from typing import Any

Search = Callable[[str], Awaitable[list[str]]]


def serve(index: Callable[[list[dict[str, Any]], int], Search]) -> None:
    """Answer one request; `index` makes the search of a list, which finds so many tools."""
    given = json.load(sys.stdin)
    print(json.dumps(asyncio.run(_answer(given, index))))


async def _answer(given: dict[str, Any], index: Callable[[list[dict[str, Any]], int], Search]) -> dict[str, Any]:
    queries: list[str] = given["queries"]
    search = index(given["tools"], given["most"])
    names = [await search(query) for query in queries]
    samples: list[list[float]] = [[] for _ in queries]
    indexed: list[float] = []
    for _ in range(given["rounds"]):
        gc.collect()
        gc.disable()
        started = thread_time()
        await index(given["tools"], given["most"])("create an issue")
        indexed.append(thread_time() - started)
        for query, taken in zip(queries, samples, strict=True):
            started = thread_time()
            await search(query)
            taken.append(thread_time() - started)
        gc.enable()
    return {"names": names, "seconds": [median(taken) for taken in samples if taken], "index": indexed}
