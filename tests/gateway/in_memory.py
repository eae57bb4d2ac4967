"""A gateway as a server of the SDK, for the SDK's clients in memory."""

from __future__ import annotations

from mcp.server import Server

from louver.server.request import ANONYMOUS
from louver.server.sdk import StepMiddleware


def sdk_server(gateway, identity=ANONYMOUS):
    """The server; nothing of it is reached but what opens a connection."""

    async def answer(request, _call_next):
        return await gateway.answer(request)

    async def listen(_context, _params):
        raise AssertionError("the gateway answers")

    server = Server("louver", on_subscriptions_listen=listen)
    server.middleware[:] = [StepMiddleware([answer], identity)]
    return server
