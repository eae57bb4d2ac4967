"""Pass an HTTP request on to another replica of the gateway, and its response back as it comes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import httpx2

from louver.gateway.front.exchange import FORWARDED_HEADER
from louver.http1.pool import certificates

if TYPE_CHECKING:
    from louver.gateway.front.exchange import HttpExchange

REPLICA_CONNECT_S = 2.0
"""How long a connection to another replica may take, in seconds, before its sessions count as lost."""

REPLICA_SILENT_S = 30.0
"""How long another replica may be silent, in seconds: it begins a stream at once, and pings every `PING_S`."""

REPLICA_IDLE_S = 2.0
"""How long an unused connection to another replica is kept, in seconds. A replica closes one after five: a request sent
just then would be lost."""


_HOP_BY_HOP: Final = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade")
)  # RFC 9110, 7.6.1


class ReplicaClient:
    """The connections to other replicas."""

    def __init__(self) -> None:
        self._client = httpx2.AsyncClient(
            verify=certificates(),
            timeout=httpx2.Timeout(REPLICA_SILENT_S, connect=REPLICA_CONNECT_S),
            trust_env=False,
            limits=httpx2.Limits(keepalive_expiry=REPLICA_IDLE_S),
        )

    async def forward(self, exchange: HttpExchange, url: str, body: bytes) -> bool:
        """Answer with the response of the replica at `url`; `False` if the replica does not respond."""
        forwarding = asyncio.create_task(self._forward(exchange, url, body))
        left = asyncio.create_task(exchange.left())
        try:
            await asyncio.wait({forwarding, left}, return_when=asyncio.FIRST_COMPLETED)
            # Nobody is there to be answered once the client has left.
            return not forwarding.done() or forwarding.result()
        finally:
            forwarding.cancel()
            left.cancel()
            await asyncio.gather(forwarding, left, return_exceptions=True)

    async def _forward(self, exchange: HttpExchange, url: str, body: bytes) -> bool:
        headers = [(name, value) for name, value in exchange.raw_headers if name.decode("latin-1") not in _HOP_BY_HOP]
        request = self._client.build_request(
            exchange.method, url, headers=[*headers, (FORWARDED_HEADER.encode(), b"1")], content=body
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.TransportError:
            return False
        try:
            await _copy(response, exchange)
        finally:
            await response.aclose()
        return True

    async def close(self) -> None:
        await self._client.aclose()


async def _copy(response: httpx2.Response, exchange: HttpExchange) -> None:
    """Send a response as it comes, until it ends."""
    await exchange.start(
        response.status_code,
        [(name.lower(), value) for name, value in response.headers.raw if name.lower().decode() not in _HOP_BY_HOP],
    )
    # A replica that dies ends the stream, which the client then resumes or finds lost.
    with suppress(httpx2.TransportError):
        async for part in response.aiter_raw():
            await exchange.write(part)
    await exchange.end()
