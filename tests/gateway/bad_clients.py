"""Clients that flood the gateway, or have it work: each of their kinds is one act, many of which go on at once.

python -m gateway.bad_clients URL WIDTH KIND    so many at once, until SIGINT; prints the kind once it has begun
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count

import httpx2

from fixtures.failsafe import until
from gateway.raw import HANDSHAKE, INFO, raw
from louver.wire.names import QUERY


@asynccontextmanager
async def connections(url, number):
    """So many connections, each with its reader and writer."""
    address = httpx2.URL(url)
    async with AsyncExitStack() as stack:
        opened = [await asyncio.open_connection(address.host, address.port) for _ in range(number)]
        for _, writer in opened:
            stack.callback(writer.close)
        yield opened


def initialize(number=0):
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": HANDSHAKE}


class Hostile:
    """A client that floods the gateway by one kind of message, many at once, until it is stopped."""

    def __init__(self, url, width=20):
        self.url, self.width = url, width
        self.numbers = count(1000)
        self.acts = 0
        self.answers = Counter()

    async def attack(self, kind):
        limits = httpx2.Limits(max_connections=2 * self.width)
        async with (
            raw(self.url) as client,
            httpx2.AsyncClient(trust_env=False, limits=limits) as http,
        ):
            self.client, self.http = client, http
            async with asyncio.TaskGroup() as group:
                for _ in range(self.width):
                    group.create_task(self._repeat(getattr(self, kind)))

    async def _repeat(self, act):
        while True:
            with suppress(httpx2.HTTPError, OSError, TimeoutError):
                await act()
            self.acts += 1

    async def _post(self, message, **headers):
        await self._send("POST", json=message, headers={**self.client.headers(), **headers})

    async def _send(self, method, **request):
        answer = await self.http.request(method, self.url, **request)
        self.answers["refused" if answer.is_error or '"error":{' in answer.text else "served"] += 1

    async def notifications(self):
        await self._post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})

    async def initializes(self):
        await self._send("POST", json=initialize(), headers=HEADERS)

    async def cancellations(self):
        for number in range(10):
            params = {"requestId": number}
            await self._post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def resumptions(self):
        await self._send("GET", headers={**self.client.headers(), "last-event-id": "1"})

    async def subscriptions(self):
        await self._request("resources/subscribe", uri=f"test://{next(self.numbers)}")

    async def heads(self):
        async with connections(self.url, 1) as [(_, writer)]:
            writer.write(b"POST /mcp HTTP/1.1\r\nhost: h\r\n")
            await asyncio.sleep(0.1)

    async def bodies(self):
        async with connections(self.url, 1) as [(_, writer)]:
            head = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            accept = b"accept: application/json, text/event-stream\r\ncontent-length: 4000000\r\n\r\n"
            writer.write(head + accept + b" " * 1_000_000)
            await asyncio.sleep(0.1)

    async def new_paths(self):
        """Of two plans one costs too much."""
        # Another number is that of the request.
        number = next(self.numbers)
        fields = [f"**.x{number}_{each}" for each in range(128 if number % 4 else 20)]
        await self._call("broad", _meta={"projection": {"mode": "exclude", "fields": fields}})

    async def long_text(self):
        await self._call("say_text", arguments={"text": '"' + "`a" * 500_000})

    async def descriptions(self):
        await self._request("tools/list")

    async def white_space(self):
        await self._request("tools/list", **{QUERY: "find" + " " * 4000 + "it"})

    async def _call(self, tool, **params):
        await self._request("tools/call", name=f"it__{tool}", **params)

    async def _request(self, method, **params):
        await self._post({"jsonrpc": "2.0", "id": next(self.numbers), "method": method, "params": params})


async def main(url, width, kind):
    bad = Hostile(url, int(width))
    attacking = asyncio.create_task(bad.attack(kind))
    await until(lambda: bad.acts)
    print(kind, flush=True)
    await attacking


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
