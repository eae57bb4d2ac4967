"""A gateway as a server of the SDK, for the SDK's clients in memory."""

from __future__ import annotations

from dataclasses import replace

from mcp.server import Server

from louver.server.request import ANONYMOUS
from louver.server.sdk import StepMiddleware


def sdk_server(gateway, identity=ANONYMOUS):
    """The server; nothing of it is reached but what opens a connection."""

    async def answer(request, _call_next):
        known = request if identity is ANONYMOUS else replace(request, identity=identity)
        return await gateway.answer(known)

    async def listen(_context, _params):
        raise AssertionError("the gateway answers")

    server = Server("louver", on_subscriptions_listen=listen)
    server.middleware[:] = [StepMiddleware([answer])]
    return server
