"""What drivers of Python stacks have in common: a request on standard input, what a model sees on standard output.

{"runs": [{"command": "louver", "args": [...], "steps": [...]} or {"url": ..., "steps": [...]}], "model": "http://..."}
-> [{"tools": {name: {"description", "parameters"}}, "seen": [...]}, ...]
"""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from filling import filled, text_of

logging.disable(logging.CRITICAL)
PROMPT = "Do the thing with the tools."


def serve(run):
    """Answer each run of the request with `run(run)`; what it raises is what a model would see of it."""
    request = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr

    async def all_runs():
        return [await answered(run, each) for each in request["runs"]]

    print(json.dumps(asyncio.run(all_runs()), default=str), file=out, flush=True)
    os._exit(0)


async def answered(run, each):
    try:
        async with asyncio.timeout(45):
            return await run(each)
    except BaseException as error:  # noqa: BLE001 - whatever the stack raises
        return {"tools": {}, "seen": [], "failed": "; ".join(reasons(error))[:800]}


def reasons(error):
    """What went wrong, within groups too."""
    if isinstance(error, BaseExceptionGroup):
        return [reason for each in error.exceptions for reason in reasons(each)]
    return [f"{type(error).__name__}: {error}"]


async def steps(each, tools, call):
    """The steps of a run, by a function that calls a tool by its name.

    Args:
        each: The run.
        tools: Name -> `{"description", "parameters"}`.
        call: Awaited with a name and arguments; what it returns a model sees, or the text of what it raises.
    """
    seen = []
    for step in each["steps"]:
        wanted = step["tool"].replace("-", "_")
        name = next((name for name in tools if name.replace("-", "_").endswith(wanted)), step["tool"])
        try:
            seen.append(text_of(await call(name, filled(step.get("arguments", {}), seen))))
        except BaseException as error:  # noqa: BLE001 - a model sees what the stack makes of it
            seen.append("; ".join(reasons(error)))
    return {"tools": tools, "seen": seen}
