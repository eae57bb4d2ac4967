"""One connection to a server, seen as the JSON that goes over it.

The typed client drops what its models do not know, so what reaches the wire is looked at
here: the server runs as it does over stdio, and every message passes as JSON text.
"""

import json
from contextlib import asynccontextmanager
from itertools import count

import anyio
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.runner import modern_on_request
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

import louver

OLD, NEW = "2025-11-25", "2026-07-28"
CLIENT = {"name": "wire", "version": "1"}
PROGRAM = {"dev.louver/projection": {}}
"""The extensions of a client that reads receipts and `_meta`; one without is taken for the host of a model."""


class Wire:
    """Sends requests and returns the result that stands in the answer."""

    def __init__(self, read, write, era, capabilities):
        self.era = era
        self.opening = None
        self._read, self._write = read, write
        self._ids = count(1)
        self._envelope = {}
        if era == NEW:
            prefix = "io.modelcontextprotocol/"
            self._envelope = {
                f"{prefix}protocolVersion": NEW,
                f"{prefix}clientInfo": CLIENT,
                f"{prefix}clientCapabilities": capabilities,
            }

    async def request(self, method, params=None):
        """The result of a request, a JSON object; an error answer is raised."""
        params = dict(params or {})
        if self._envelope and isinstance(params.get("_meta", {}), dict):
            params["_meta"] = {**params.get("_meta", {}), **self._envelope}
        id = next(self._ids)
        await self._send({"id": id, "method": method, "params": params})
        while True:
            answer = await self._receive()
            if answer.get("id") == id and "method" not in answer:
                if "error" in answer:
                    raise MCPError(**{"data": None, **answer["error"]})
                return answer["result"]

    async def notify(self, method):
        await self._send({"method": method})

    async def call(self, tool, arguments=None, **meta):
        """The result of a tool call; what else is given stands in its `_meta`."""
        params = {"name": tool, "arguments": arguments or {}}
        return await self.request("tools/call", {**params, "_meta": meta} if meta else params)

    async def tools(self):
        """The tools of one page by name."""
        return {tool["name"]: tool for tool in (await self.request("tools/list"))["tools"]}

    async def _send(self, message):
        # Read by `json`, which lets a lone surrogate through; the SDK's own transports do not.
        message = json.loads(json.dumps({"jsonrpc": "2.0", **message}))
        await self._write.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

    async def _receive(self):
        message = (await self._read.receive()).message
        # Exactly what the SDK writes over stdio.
        return json.loads(message.model_dump_json(by_alias=True, exclude_unset=True))


class Apart(Wire):
    """Sends requests of 2026-07-28 each by itself, as over HTTP: no stream is that of several."""

    async def request(self, method, params=None):
        params = dict(params or {})
        if isinstance(params.get("_meta", {}), dict):
            params["_meta"] = {**params.get("_meta", {}), **self._envelope}
        return json.loads(json.dumps(await self._write.send_raw_request(method, params)))


@asynccontextmanager
async def apart(lowlevel, capabilities):
    client, serving = create_direct_dispatcher_pair(raise_handler_exceptions=False)
    async with lowlevel.lifespan(lowlevel) as state, anyio.create_task_group() as tasks:
        await tasks.start(serving.run, modern_on_request(lowlevel, state), _unheard)
        await tasks.start(client.run, _unheard, _unheard)
        wire = Apart(None, client, NEW, capabilities)
        wire.opening = await wire.request("server/discover")
        try:
            yield wire
        finally:
            client.close()
            serving.close()


async def _unheard(*_):
    raise AssertionError("a server sends nothing here")


@asynccontextmanager
async def connect(server, era, *, extensions=PROGRAM, handshake=True, streams=True):
    """A connection of the era to a server in this process, past the handshake.

    Without extensions it is that of a model; without streams, in 2026-07-28 each request is by itself, as over HTTP.
    `Wire.opening` is the answer to `initialize` or `server/discover`.
    """
    lowlevel = server._lowlevel_server if isinstance(server, MCPServer) else server
    capabilities = {"extensions": extensions} if extensions else {}
    if era == NEW and not streams:
        async with apart(lowlevel, capabilities) as wire:
            yield wire
        return
    async with (
        create_client_server_memory_streams() as ((read, write), (server_read, server_write)),
        anyio.create_task_group() as tasks,
    ):
        options = lowlevel.create_initialization_options()
        tasks.start_soon(lowlevel.run, server_read, server_write, options)
        wire = Wire(read, write, era, capabilities)
        if era == NEW:
            wire.opening = await wire.request("server/discover")
        elif handshake:
            hello = {"protocolVersion": OLD, "capabilities": capabilities, "clientInfo": CLIENT}
            wire.opening = await wire.request("initialize", hello)
            await wire.notify("notifications/initialized")
        try:
            yield wire
        finally:
            await write.aclose()


@asynccontextmanager
async def attached(server, era, *, extensions=PROGRAM, streams=True, **options):
    """A connection to a server after `louver.attach`."""
    louver.attach(server, **options)
    async with connect(server, era, extensions=extensions, streams=streams) as wire:
        yield wire


def text_of(result):
    """The JSON value in the text block of a result, which must be the first."""
    return json.loads(result["content"][0]["text"])
