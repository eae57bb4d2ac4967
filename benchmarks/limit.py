"""What a gateway in Python costs at least: some forty lines of what none can leave out, and nothing else.

    python -m benchmarks.limit URL    serves over HTTP in front of that server; prints its port

It parses each request, sends it with an id of its own over a connection that stays open, reads the answer strictly,
projects it by hand (`items.number`, `items.title`), and answers as JSON with the client's id. Sessions pass.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import orjson

PASSED = (b"accept:", b"content-type:", b"mcp-")
ANSWERED = (b"HTTP/1.1 ", b"mcp-session-id:")


async def main(url: str) -> None:
    """Serve until standard input ends."""
    upstream, numbers = urlsplit(url), count(1)
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            message = orjson.loads(await _body(reader, head))
            sent = {**message, "id": next(numbers)} if "id" in message else message
            while idle and idle[-1][0].at_eof():
                idle.pop()[1].close()
            connection = idle.pop() if idle else await asyncio.open_connection(upstream.hostname, upstream.port)
            first = [f"POST {upstream.path} HTTP/1.1\r\nhost: {upstream.netloc}".encode()]
            connection[1].write(_written([*first, *(line for line in head if line.lower().startswith(PASSED))], sent))
            said = await _head(connection[0])
            raw = await _body(connection[0], said)
            idle.append(connection)
            answer: Any = None
            if "id" in message:
                answer = orjson.loads(raw)
                assert orjson.dumps(answer) == raw, "it is not strict"
                answer["id"] = message["id"]
                if "projection" in message.get("params", {}).get("_meta", {}):
                    _project(answer["result"])
            own = [line for line in said if line.startswith(ANSWERED)]
            writer.write(_written([*own, b"content-type: application/json"], answer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def _project(result: dict[str, Any]) -> None:
    items = result["structuredContent"]["items"]
    value = {"items": [{"number": item["number"], "title": item["title"]} for item in items]}
    result["structuredContent"] = value
    result["content"] = [{"type": "text", "text": orjson.dumps(value).decode()}]


async def _head(reader: asyncio.StreamReader) -> list[bytes]:
    try:
        return (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    except asyncio.IncompleteReadError:
        return []


async def _body(reader: asyncio.StreamReader, head: list[bytes]) -> bytes:
    """A body of known length, or the one event of a stream."""
    lengths = [int(line[15:]) for line in head if line[:15].lower() == b"content-length:"]
    if lengths:
        return await reader.readexactly(lengths[0])
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body[body.rindex(b"data: ") + 6 :].rstrip()


def _written(head: list[bytes], message: object) -> bytes:
    body = b"" if message is None else orjson.dumps(message)
    return b"\r\n".join([*head, b"content-length: %d" % len(body), b"", body])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
