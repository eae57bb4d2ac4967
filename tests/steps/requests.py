"""Requests as steps get them, without a transport."""

from __future__ import annotations

from mcp_types import INVALID_REQUEST

from louver.steps.request import Request
from louver.wire.jsonrpc.errors import JsonRpcError
from steps.wire import NEW


class Silent:
    """A connection to a client that is told nothing, and asked nothing."""

    def __init__(self, *, shared=None, is_open=True, opening=None):
        self.state = {}
        self.shared, self.is_open, self.opening = shared, is_open, opening
        self.notes = []

    def when_closed(self, callback):
        """Nothing: it stays open."""

    async def notify(self, method, params, request_id=None):
        self.notes.append((method, params, request_id))

    async def ask(self, method, params, request_id=None):
        raise JsonRpcError(INVALID_REQUEST, f"nobody is asked {method}")

    def on_tools_changed(self, callback):
        """Nothing: no server is behind it."""


def asks(method="tools/call", params=None, revision=NEW, connection=None, **more):
    """A request of a client; over a connection of its own, unless one is given."""
    return Request(method, params or {}, 1, revision, connection or Silent(), **more)
