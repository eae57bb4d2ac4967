"""Disclosure: what a model reads before anything is asked, the list of tools whole and with descriptions on demand.

    tools/list    of the example server, and of 527 real tools as a gateway lists them

Counted with o200k, as in the scenario `tokens`: the tools as compact JSON, as they stand on the wire.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client
from mcp.server import Server

import louver
from benchmarks import tasks
from benchmarks.results import Group, Row
from louver.core.json import compact
from louver.example import build_server
from louver.shipped import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server import MCPServer

    from benchmarks.scenarios import Setting

    Made = Callable[[], MCPServer[Any] | Server[Any]]


def run(_setting: Setting) -> Iterator[Group]:
    """Both lists; nothing without the tokenizer."""
    if find_spec("bpe_openai") is None:
        return
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    for payload, make, views in (("the example", build_server, folder("views")), ("527 tools", _real, None)):
        texts = {"full": _listed(make, views=views)}
        texts["minimal"] = _listed(make, views=views, disclosure="enforce", search=True)
        rows = tuple(Row.exact(name, len(encode(text))) for name, text in texts.items())
        yield Group("tools/list", payload, len(texts["full"]), "tokens", "full", rows)


def _listed(make: Made, **options: Any) -> str:
    """The tools of a server that is made, attached to with these options."""

    async def listed() -> str:
        server = make()
        louver.attach(server, **options)
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            return compact([tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools])

    return anyio.run(listed)


def _real() -> Server[Any]:
    async def listed(_ctx: Any, _params: Any) -> dict[str, Any]:
        return {"resultType": "complete", "tools": list(tasks.tools()), "ttlMs": 0, "cacheScope": "private"}

    return Server("tools", on_list_tools=listed)
