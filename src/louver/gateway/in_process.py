"""The gateway as a server of the SDK: for clients in the same process, and for whatever serves such a server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp.server import Server

from louver.sdk.adapter import StepMiddleware
from louver.steps.request import ANONYMOUS

if TYPE_CHECKING:
    from louver.steps.request import Identity, Next, Request


def sdk_server(answer: Next, identity: Identity = ANONYMOUS) -> Server[Any]:
    """The server, by the `answer` of a gateway; its callers have the identity, or that of their access tokens."""

    async def step(request: Request) -> dict[str, Any]:
        return await answer(request if identity is ANONYMOUS else replace(request, identity=identity))

    # With a handler the SDK opens the stream of these requests; the gateway answers all.
    server: Server[Any] = Server("louver", on_subscriptions_listen=_unreachable)
    server.middleware[:] = [StepMiddleware(step)]
    return server


async def _unreachable(_ctx: Any, _params: Any) -> Any:
    raise AssertionError("the gateway answers")
