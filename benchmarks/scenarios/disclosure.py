"""Disclosure: what a model reads before anything is asked, the list of tools whole and with descriptions on demand.

    tools/list    of the example company, and of 527 real tools as a gateway lists them
    one tool      of the company's eight operations, without output schemas, against the one tool that reaches them

Counted with o200k, as in the scenario `tokens`: the tools as compact JSON, as they stand on the wire.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client
from mcp.server import Server

import louver
from benchmarks import tasks
from benchmarks.results import Group, Row
from louver.core.json import compact
from louver.gateway.config.model import Config
from louver.gateway.gateway import Gateway
from louver.sdk.adapter import StepMiddleware
from tests.fixtures.company import build_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server import MCPServer

    from benchmarks.scenarios import Setting

    Made = Callable[[], MCPServer[Any] | Server[Any]]

_VIEWS = Path(__file__).parents[2] / "tests" / "fixtures" / "company" / "views"


def run(_setting: Setting) -> Iterator[Group]:
    """Both lists; nothing without the tokenizer."""
    if find_spec("bpe_openai") is None:
        return
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    for payload, make, views in (("the example", build_server, _VIEWS), ("527 tools", _real, None)):
        texts = {"full": _listed(make, views=views)}
        texts["minimal"] = _listed(make, views=views, disclosure="enforce", search=True)
        rows = tuple(Row.exact(name, len(encode(text))) for name, text in texts.items())
        yield Group("tools/list", payload, len(texts["full"]), "tokens", "full", rows)
    eight = json.loads(_listed(build_server))
    texts = {"a tool an operation": inputs(eight), "gateway": anyio.run(one_tool)}
    rows = tuple(Row.exact(name, len(encode(text))) for name, text in texts.items())
    yield Group(
        "one tool", "eight operations", len(texts["a tool an operation"]), "tokens", "a tool an operation", rows
    )


def _listed(make: Made, **options: Any) -> str:
    return anyio.run(partial(listed, make, **options))


async def listed(make: Made, **options: Any) -> str:
    """The tools of a server that is made, attached to with these options."""
    server = make()
    louver.attach(server, **options)
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        return compact([tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools])


def inputs(tools: list[dict[str, Any]]) -> str:
    """What a list without output schemas says of the same tools."""
    return compact([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools])


async def one_tool() -> str:
    """The list of a gateway before the example company, in the exposure of one tool."""
    example = Config.from_command([sys.executable, "-m", "tests.fixtures.company"])
    gateway = Gateway(example, single_client=True, exposure="gateway")
    try:
        # The client gives up asking for the revision if the company takes long to start.
        await gateway.open()
        server = Server("louver")
        server.middleware[:] = [StepMiddleware(gateway.answer)]
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            return compact([tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools])
    finally:
        await gateway.close()


def _real() -> Server[Any]:
    async def list_tools(_ctx: Any, _params: Any) -> dict[str, Any]:
        return {"resultType": "complete", "tools": list(tasks.tools()), "ttlMs": 0, "cacheScope": "private"}

    return Server("tools", on_list_tools=list_tools)
