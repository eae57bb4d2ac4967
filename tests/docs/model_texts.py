"""The texts of Louver that a model reads, each from a gateway in this process, or a server with Louver."""

from __future__ import annotations

import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from mcp import MCPError

import louver
from fixtures.failsafe import until
from gateway.back.test_kept_catalogue import Starting
from gateway.builtin.test_service import SERVERS
from louver.core.json import compact
from louver.gateway.builtin import behind
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps import wire as wires
from steps.kept import VIEWS, issues
from steps.profiles import lowlevel, text, tool
from steps.wire import NEW, OLD, PROGRAM, connect

CLAUDE, CODEX, GEMINI = "claude-code", "codex-mcp-client", "gemini-cli-mcp-client"

PEOPLE = {"data-server": SERVERS["data-server"]}
LONG = {"limit": 200}
"""People of some 110,000 bytes."""

GRANT = "v1.b76gBYxyZfQkuySo_a-5EDSiV-gVL0RDM9evJNLxLgRayyc1yEz3iJBS3YBQXOoxh2FuI60qDsY"
HANDLE = "Zk3xV7mQ2rT9bL4nW8cY1dF6hJ5pS0aE"
_GRANT = re.compile(r"v1\.[\w-]{40,}")
_HANDLE = re.compile(r"""(?<="handle": ")[\w-]{32}|(?<=louver://results/)[\w-]{32}""")


@asynccontextmanager
async def gateway(servers=SERVERS, host=CODEX, extensions=None, catalogues=None, **settings):
    """A connection of a host to a gateway."""
    gateway = Gateway({"mcpServers": servers, "louver": settings}, catalogues=catalogues)
    try:
        async with connected(sdk_server(gateway.answer), host, extensions) as wire:
            yield wire
    finally:
        await gateway.close()


@asynccontextmanager
async def connected(server, host=CODEX, extensions=None, era=OLD):
    with patch.object(wires, "CLIENT", {"name": host, "version": "1"}):
        async with connect(server, era, extensions=extensions or {}, streams=era == OLD) as wire:
            yield wire


def texts_of(answer):
    """The texts of an answer; random handles and grants are constants."""
    texts = [block["text"] for block in answer["content"] if block["type"] == "text"]
    return [_GRANT.sub(GRANT, _HANDLE.sub(HANDLE, text)) for text in texts]


async def told(wire, name, /, **arguments):
    """The text of an answer."""
    return "\n".join(texts_of(await wire.call(name, arguments)))


async def described(wire, name):
    """A tool as hosts show it."""
    found = (await wire.tools())[name]
    return f"{name}: {found['description']}\n{compact(found['inputSchema'])}"


async def all_texts():
    """Section -> when a model reads a text -> the text."""
    # As where the extra is not installed: matches are by words alone.
    with patch.dict(sys.modules, {"louver_meaning": None}):
        return {
            "fields": await _fields(),
            "kept": await _kept(),
            "extras": await _extras(),
            "descriptions": await _descriptions(),
            "deferred": await _deferred(),
            "one tool": await _one_tool(),
            "discovery": await _discovery(),
            "others": await _others(),
        }


async def _fields():
    async def argument(wire, name):
        return (await wire.tools())[name]["inputSchema"]["properties"]["output_fields"]["description"]

    server = issues().server
    louver.attach(server, argument=True, views={"list_issues": VIEWS}, default_views={"list_issues": "brief"})
    async with connected(server, "other") as wire:
        with_views = await argument(wire, "list_issues")
    async with gateway(PEOPLE, argument="all") as wire:
        half = await wire.call("list_people", {"output_fields": ["total", "people.mail"]})
        return {
            "description of `output_fields`": await argument(wire, "list_people"),
            "the same, with views": with_views,
            "`People.Email`": await told(wire, "list_people", output_fields=["People.Email"]),
            "`people[0].email`": await told(wire, "list_people", output_fields=["people[0].email"]),
            "no field exists": await told(wire, "list_people", output_fields=["phone"]),
            "one of two exists": half["structuredContent"]["louver"][0],
        }


async def _kept():
    async def preview(**options):
        async with gateway(PEOPLE, **options) as wire:
            return texts_of(await wire.call("list_people", LONG))[0]

    _, unlisted, _ = (await preview()).split("\n")
    _, deferred, _ = (await preview(host=CLAUDE)).split("\n")
    _, link, _ = (await preview(extensions=PROGRAM, keepResults=20_000)).split("\n")
    async with gateway(PEOPLE, keepResults=20_000) as wire:
        answer = await wire.call("list_people", LONG)
        handle = _HANDLE.search(answer["content"][0]["text"])[0]
        return {
            "definition": await described(wire, "read_result"),
            "in place of an answer": texts_of(answer)[0],
            "end of its second line, `read_result` is not listed": unlisted.partition('"page": 1')[2],
            "after `read_result`, in a host that searches tools itself": re.search(r"\(.+?\)", deferred)[0],
            "second line for a program": link,
        } | {
            when: await told(wire, "read_result", **{"handle": handle, **arguments})
            for when, arguments in {
                "a field that does not exist": {"output_fields": ["people.mail"]},
                "more than fits": {},
                "nothing to sort by": {"sort_by": "-people.mail"},
                "nothing to count": {"count_by": "people"},
                "another handle": {"handle": "x"},
            }.items()
        }


async def _extras():
    guidance = [{"tool": "list_people", "when": {"path": "people"}, "note": "Ask for ten at most."}]
    servers = {"data-server": {**PEOPLE["data-server"], "louver": {"guidance": guidance}}}
    settings = {"argument": "all", "warnings": True, "keepResults": False}
    shown = {"output_fields": ["people.id", "people.biography"], "limit": 120}
    async with gateway(servers, GEMINI, **settings) as wire:
        _, note, items, characters = texts_of(await wire.call("list_people", shown))
    async with gateway(servers, **{**settings, "warnings": False}) as wire:
        answer = await wire.call("list_people", {"output_fields": ["people.id"], "limit": 2})
    return {
        "guidance, as a text of its own": note,
        "guidance, in structured content": compact(answer["structuredContent"]),
        "many elements": items,
        "many characters": characters,
    }


async def _descriptions():
    enforced = lowlevel(t=tool(None, text("x")))
    louver.attach(enforced.server, disclosure="enforce")
    async with connected(enforced.server, era=NEW) as wire:
        granting = await told(wire, "get_tool_descriptions", tools=["t"])
    async with gateway(exposure="minimal", disclosure="on-error") as wire:
        on_error = {
            "instructions, `on-error`": wire.opening["instructions"],
            "end of the definition's first line, `on-error`": (await wire.tools())["get_tool_descriptions"][
                "description"
            ].rpartition(". ")[2],
            "arguments that do not fit, `on-error`": await told(wire, "calculator__add", a="one", b=2),
        }
    async with gateway(exposure="minimal") as wire:
        return {
            "instructions, `enforce`": wire.opening["instructions"],
            "definition, `enforce`": await described(wire, "get_tool_descriptions"),
            "call before the description is read": await told(wire, "calculator__add", a=1, b=2),
            "answer": await told(wire, "get_tool_descriptions", tools=["data-server__list_people"]),
            "answer of 2026-07-28 over HTTP, with a grant": granting,
        } | on_error


async def _deferred():
    async with gateway(exposure="deferred", pinned=["calculator__add"]) as wire:
        return {
            "definition": await described(wire, "search_tools"),
            "answer": await told(wire, "search_tools", query="divide two numbers"),
            "nothing is found": await told(wire, "search_tools", query="zzzz"),
            "neither a search nor a call": await told(wire, "search_tools"),
            "a tool that does not exist": await told(wire, "search_tools", tool="calculator__ad"),
        }


async def _one_tool():
    async with gateway(exposure="gateway") as wire:
        return {
            "instructions": wire.opening["instructions"],
            "definition": await described(wire, "gateway"),
            "`search`": await told(wire, "gateway", action="search", query="list people"),
            "`get`": await told(wire, "gateway", action="get", id="calculator__add"),
            "an argument of another action": await told(wire, "gateway", action="get", id="x", query="y"),
        }


async def _discovery():
    add = {"luaServerName": "calculator", "luaToolName": "add"}
    async with gateway(exposure="discovery", execute="off") as wire:
        found = {
            "instructions": wire.opening["instructions"],
            "definitions": "\n\n".join([await described(wire, name) for name in await wire.tools()]),
            "`search-tools`": await told(wire, "search-tools", needs=["list people", "divide two numbers"]),
            "`tool-details`": await told(wire, "tool-details", **add),
        }
    with TemporaryDirectory() as folder:
        found["`list-servers` while a server starts"] = await _starting(Path(folder))
    async with gateway(exposure="discovery", execute="process") as wire:
        _, second, third, _ = wire.opening["instructions"].split("\n")
        return found | {
            "second line of the instructions, with scripts": f"{second}\n{third}",
            "definition of `execute`": await described(wire, "execute"),
        }


async def _starting(folder):
    server, kept = Starting(folder), folder / "kept"
    async with gateway({"notes": server.entry}, catalogues=kept) as wire:
        await wire.tools()
        await until(lambda: [*kept.glob("*.json")])
    server.waits()
    with patch.object(behind, "SERVER_LOOK_S", 0.05):
        async with gateway({"notes": server.entry}, catalogues=kept, exposure="discovery", execute="off") as wire:
            return await told(wire, "list-servers")


async def _others():
    async with gateway(exposure="deferred", extensions=PROGRAM) as wire:
        search = wire.opening["instructions"]
    async with gateway() as wire:
        try:
            unknown = await told(wire, "nowhere")
        except MCPError as error:
            unknown = error.error.message
    return {
        "search with `tools/list`, for clients that can send a query": search,
        "a tool that does not exist": unknown,
    }
