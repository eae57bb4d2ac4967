"""The page's own files, which hold no data and need no token.

    GET /ui             static/index.html
    GET /ui/try.js      static/try.js

Nothing runs in the page but these files: its Content-Security-Policy admits no inline script, no style attribute, no
other host. All else goes to the application behind it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from louver.gateway.front.endpoint import PAGE
from louver.gateway.front.exchange import HttpExchange, folded

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.gateway.front.allowed_hosts import AllowedSources

STATIC: Final = Path(__file__).parent / "static"

_TYPES: Final = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE_HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class PageFiles:
    """ASGI wrapper that serves the files."""

    def __init__(self, app: ASGIApp, sources: AllowedSources, *, can_sign_in: bool = False) -> None:
        self._app = app
        self._sources = sources
        # Read once: no path of a request ever reaches the file system.
        self._files = {
            f"{PAGE}/{file.name}": (_TYPES[file.suffix], file.read_bytes())
            for file in STATIC.iterdir()
            if file.suffix in _TYPES
        }
        media_type, page = self._files.pop(f"{PAGE}/index.html")
        self._files[PAGE] = media_type, page.replace(b"<body>", b"<body data-sign-in>") if can_sign_in else page

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        found = self._files.get(scope["path"].rstrip("/")) if scope["type"] == "http" else None
        if found is None:
            return self._app(scope, receive, send)
        exchange = HttpExchange(scope, receive, send, folded(tuple(scope["headers"])))
        if exchange.method != "GET":
            return exchange.respond_text(405, "Method Not Allowed", (b"allow", b"GET"))
        if (refused := self._sources.refused(exchange.headers)) is not None:
            return exchange.respond_text(*refused)
        media_type, content = found
        return exchange.respond_as(media_type, content, *SAFE_HEADERS)
