"""The access log: a line of JSON for each HTTP request, once its response has ended.

    {"time": "2026-01-01T12:00:00.000Z", "client": "10.0.0.9", "http": "POST /mcp", "status": 200, "bytes": 812,
     "ms": 3.1, "revision": "2026-07-28", "method": "tools/call", "name": "find", "principal": "9f2c...",
     "correlation": "5d1c...", "trace": "4bf9..."}

No argument, no answer, no token and no caller's name is in it: the principal is named as in audit records.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact_bytes, members
from louver.core.moment import moment
from louver.wire.mcp import TRACE_KEYS, VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_ACCESS_TEXT = 100
"""Longest path, method or name in a line of the access log, in characters; so a line is written at once to a pipe."""


NOTED: Final = "louver.access"
"""The entry of the ASGI scope that takes what a message is, where there is an access log."""
_TRACE: Final = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class AccessLog:
    """ASGI wrapper that gives `write` each line, with its end."""

    def __init__(self, app: ASGIApp, write: Callable[[bytes], None]) -> None:
        self._app = app
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 0, 0
        of_message = _trace(_header(scope, TRACE_KEYS[0]))
        revision = _header(scope, VERSION_HEADER)

        async def send_counted(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app({**scope, NOTED: of_message}, receive, send_counted)
        finally:
            client = scope.get("client")
            line = {
                "time": moment(time.time()),
                "client": "none" if client is None else client[0],
                "http": f"{scope['method']} {scope['path'][:MAX_ACCESS_TEXT]}",
                "status": status,  # 0 if the client has left before there was one
                "bytes": size,
                "ms": round((time.perf_counter() - began) * 1000, 1),
                **({} if revision is None else {"revision": revision[:MAX_ACCESS_TEXT]}),
                **of_message,
            }
            self._write(compact_bytes(line) + b"\n")


def note_message(noted: dict[str, str], message: Mapping[str, Any]) -> None:
    """Note the method of a message, and the tool that it calls."""
    if not isinstance(method := message.get("method"), str):
        return
    noted["method"] = method[:MAX_ACCESS_TEXT]
    params = members(message.get("params"))
    name: object = params.get("name")
    if method == "tools/call" and isinstance(name, str):
        noted["name"] = name[:MAX_ACCESS_TEXT]
    noted.update(_trace(members(params.get("_meta")).get(TRACE_KEYS[0])))


def note_ids(noted: dict[str, str], **ids: str | None) -> None:
    """Note the ids by which the message is found in audit records, in the log and in traces."""
    noted.update({name: text for name, text in ids.items() if text is not None})


def _header(scope: Scope, wanted: str) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted.encode()), None)


def _trace(parent: object) -> dict[str, str]:
    found = _TRACE.match(parent) if isinstance(parent, str) else None
    return {} if found is None else {"trace": found[1]}
