"""URIs with a query: no fragment, and every escape well formed and printable. URLs of servers, as users write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from louver.errors import InvalidUri
from louver.limits import MAX_URI_BYTES

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class UriForm:
    """One kind of URI: its name in errors, and a valid example."""

    what: str
    example: str

    def check_length(self, uri: str) -> None:
        if len(uri.encode("utf-8", "surrogatepass")) > MAX_URI_BYTES:
            raise InvalidUri(f"{self.what} has at most {MAX_URI_BYTES} bytes", limit=MAX_URI_BYTES)

    def check(self, uri: str) -> None:
        if (fragment := uri.find("#")) >= 0:
            raise self.invalid(fragment, "no fragment")
        if bad := _BAD_ESCAPE.search(uri):
            raise self.invalid(bad.start() + 1, "two hexadecimal digits after '%'")
        if bad := _UNPRINTABLE.search(uri):
            raise self.invalid(bad.start(), "a printable character")
        for escapes in _ESCAPES.finditer(uri):
            try:
                text = bytes.fromhex(escapes.group().replace("%", "")).decode()
            except UnicodeDecodeError:
                raise self.invalid(escapes.start(), "escaped UTF-8") from None
            if _UNPRINTABLE.search(text):
                raise self.invalid(escapes.start(), "an escaped printable character")

    def invalid(self, offset: int, expected: str) -> InvalidUri:
        message = f"{self.what}: expected {expected} at offset {offset}, for example {self.example}"
        return InvalidUri(message, offset=offset, expected=expected)


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
