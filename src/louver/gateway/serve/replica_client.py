"""Pass an HTTP request on to another replica of the gateway, and its response back as it comes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import httpx2

from louver.gateway.serve.exchange import FORWARDED_HEADER
from louver.limits import REPLICA_CONNECT_S

if TYPE_CHECKING:
    from louver.gateway.serve.exchange import HttpExchange

_HOP_BY_HOP: Final = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade")
)  # RFC 9110, 7.6.1


class ReplicaClient:
    """The connections to other replicas."""

    def __init__(self) -> None:
        timeout = httpx2.Timeout(None, connect=REPLICA_CONNECT_S)
        self._client = httpx2.AsyncClient(timeout=timeout, trust_env=False, limits=httpx2.Limits())

    async def forward(self, exchange: HttpExchange, url: str, body: bytes) -> bool:
        """Answer with the response of the replica at `url`; `False` if the replica cannot be reached."""
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
    """Send a response as it comes, until it ends or the client disconnects."""
    await exchange.start(
        response.status_code,
        [(name.lower(), value) for name, value in response.headers.raw if name.lower().decode() not in _HOP_BY_HOP],
    )

    async def copy() -> None:
        # A replica that dies ends the stream, which the client then resumes or finds lost.
        with suppress(httpx2.TransportError):
            async for part in response.aiter_raw():
                await exchange.write(part)
        await exchange.end()

    tasks = [asyncio.create_task(copy()), asyncio.create_task(exchange.left())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
