"""A client that speaks raw HTTP over one connection, so that little but the server's time is measured.

MODERN       2026-07-28: each request says who asks, and its routing headers say what it is
HANDSHAKE    2025-11-25: a session, opened by `initialize`
"""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPResponse, RemoteDisconnected
from typing import Any
from urllib.parse import urlsplit

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
CLIENT = {"name": "benchmarks", "version": "1"}
OPENING = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Refused(Exception):
    """The answer is an error, with this message."""


class Request:
    """One request, which can be sent again and again.

    Args:
        http: Over what it is sent.
        method: What is requested.
        params: Likewise.
    """

    def __init__(self, http: Conversation, method: str, params: dict[str, Any]) -> None:
        self._http = http
        self.headers = dict(http.headers)
        if http.version == MODERN:
            params = {**params, "_meta": {**_META, **params.get("_meta", {})}}
            self.headers["mcp-method"] = method
            if "name" in params:
                self.headers["mcp-name"] = params["name"]
        self.body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def send(self) -> bytes:
        """The body of the answer, read to its end."""
        return self._http.post(self.body, self.headers)[1]

    def result(self) -> dict[str, Any]:
        """What it answers."""
        return _result(self.send())


class Conversation:
    """One connection to one endpoint.

    Args:
        url: Where it is.
        version: The revision that is spoken.
        token: The bearer token, if one is asked for.
        source: The address that the client has.
    """

    def __init__(self, url: str, version: str, token: str | None = None, source: str = "127.0.0.1") -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        self._connection = HTTPConnection(address.hostname, address.port, source_address=(source, 0))
        self._path = address.path
        self.version = version
        self.headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": version,
        }
        if token is not None:
            self.headers["authorization"] = f"Bearer {token}"
        if version == HANDSHAKE:
            self._open()

    def request(self, method: str, params: dict[str, Any]) -> Request:
        """A request, ready to be sent."""
        return Request(self, method, params)

    def tools(self) -> list[dict[str, Any]]:
        """All tools, of all pages."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self.request("tools/list", params).result()
            found += page["tools"]
            if (cursor := page.get("nextCursor")) is None:
                return found
            params = {"cursor": cursor}

    def post(self, body: str, headers: dict[str, str]) -> tuple[dict[str, str], bytes]:
        """The headers and the body of the answer to a message."""
        try:
            response = self._posted(body, headers)
        except (ConnectionError, RemoteDisconnected):
            # Servers close what has been idle for some seconds: here, while others had their turns.
            self._connection.close()
            response = self._posted(body, headers)
        content = response.read()
        assert response.status < 300, f"HTTP {response.status}: {content[:200]!r}"
        return {name.lower(): value for name, value in response.getheaders()}, content

    def _posted(self, body: str, headers: dict[str, str]) -> HTTPResponse:
        self._connection.request("POST", self._path, body, headers)
        return self._connection.getresponse()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def end(self) -> None:
        """End the session, if there is one, and the connection."""
        if self.version == HANDSHAKE:
            self._connection.request("DELETE", self._path, headers=self.headers)
            self._connection.getresponse().read()
        self.close()

    def _open(self) -> None:
        request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": OPENING}
        said, body = self.post(json.dumps(request), self.headers)
        try:
            _result(body)
        except Refused:
            self.close()
            raise
        self.headers["mcp-session-id"] = said["mcp-session-id"]
        self.post(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), self.headers)


def _result(body: bytes) -> dict[str, Any]:
    """The result in a body: JSON, or a stream whose last event it is."""
    texts = [body] if body.startswith(b"{") else [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
    answer = json.loads(texts[-1])
    if "error" in answer:
        raise Refused(answer["error"]["message"])
    return answer["result"]
