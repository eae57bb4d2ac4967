"""URLs of servers, as users write them: `https://example.com/mcp`, `http://[::1]:8080/mcp`."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

_ADDRESS: Final = re.compile(r"[^/\s]+(?::\d+(?:/.*)?|/mcp/?)")


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


def is_like_url(text: str) -> bool:
    """Whether a text is meant as a URL, though its scheme may be wrong or missing: `127.0.0.1:8080/mcp`."""
    return "://" in text or _ADDRESS.fullmatch(text) is not None
