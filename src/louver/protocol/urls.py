"""URLs of servers, as users write them: `https://example.com/mcp`, `http://[::1]:8080/mcp`."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_url(text: str) -> bool:
    if not text.isprintable() or " " in text:
        # URL parsers silently drop some of these.
        return False
    try:
        parts = urlsplit(text)
        (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
