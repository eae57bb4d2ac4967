"""A server that does nothing but answer what was prepared, spelt as servers in other languages spell JSON.

    python -m benchmarks.prepared_server SPELLING    prints its port, and serves until its standard input ends

Its tools are called by the size of their answer, as those of `benchmarks.gateway_server` are. It knows both revisions.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import cache
from typing import Any, Final

import orjson

from benchmarks.gateway_server import SIZED
from benchmarks.payloads import ISSUES

_INFO: Final = {"name": "issues", "version": "1"}
_TOOLS: Final = [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": ISSUES.schema} for name in SIZED]


def _as_go(value: Any) -> bytes:
    """`encoding/json`: what HTML marks up is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


SPELLINGS: Final = {"orjson": orjson.dumps, "Go": _as_go, "Python": lambda value: json.dumps(value).encode()}


class Prepared:
    """Its answers, in one spelling.

    Args:
        spelling: One of `SPELLINGS`.
    """

    def __init__(self, spelling: str) -> None:
        self._dumps = SPELLINGS[spelling]
        self._text = cache(self._written)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        while head := await _head(reader):
            lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if not lengths:
                # A client of the handshake listens, or ends its session.
                writer.write(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")
                continue
            message = orjson.loads(await reader.readexactly(lengths[0]))
            if "id" not in message:
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                continue
            params = message.get("params", {})
            is_modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
            result = self._text(message["method"], params.get("name"), is_modern)
            body = b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (self._dumps(message["id"]), result)
            session = b"mcp-session-id: one\r\n" if message["method"] == "initialize" else b""
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n%scontent-length: %d\r\n\r\n%s"
                % (session, len(body), body)
            )
        writer.close()

    def _written(self, method: str, tool: str | None, is_modern: bool) -> bytes:
        caching = {} if method == "tools/call" else {"ttlMs": 60_000, "cacheScope": "public"}
        modern: dict[str, Any] = {"resultType": "complete", **caching} if is_modern else {}
        if method == "tools/call":
            assert tool is not None, "a call names its tool"
            # What spellings differ in.
            value = json.loads(json.dumps(ISSUES.make(int(tool))).replace(" and ", " & ").replace(" of ", " \u00e9 "))
            text = self._dumps(value).decode()
            return self._dumps({**modern, "content": [{"type": "text", "text": text}], "structuredContent": value})
        if method == "tools/list":
            return self._dumps({**modern, "tools": _TOOLS})
        capabilities = {"tools": {}}
        if is_modern:
            about = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
            return self._dumps({**modern, **about, "_meta": {"io.modelcontextprotocol/serverInfo": _INFO}})
        return self._dumps({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": _INFO})


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def main(spelling: str) -> None:
    """Serve."""
    server = await asyncio.start_server(Prepared(spelling).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
