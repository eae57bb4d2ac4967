"""URLs at which servers can be, as their users write them.

http://127.0.0.1:8000/mcp        https://example.com/mcp        http://[::1]:8080/mcp
"""

from __future__ import annotations

from urllib.parse import urlsplit


def is_url(text: str) -> bool:
    """Whether `text` is an absolute URL of HTTP, with a host."""
    if not text.isprintable() or " " in text:
        # What reads URLs would drop some of these without a word.
        return False
    try:
        parts = urlsplit(text)
        (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
