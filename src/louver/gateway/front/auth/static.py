"""Verify tokens against a file that holds only their digests. `louver token` creates a token and its entry.

    {"tokens": {"<SHA-256 of the token, in hex>": {"subject": "ann", "client": "desk", "scopes": ["orders:read"],
                                                   "roles": ["support"], "expires": "2027-01-01T00:00:00Z"}}}

A change of the file applies from the next request. While the file is invalid, no token is accepted.
"""

from __future__ import annotations

import hashlib
import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mcp.server.auth.provider import AccessToken

from louver.catalogue.files.line_numbers import nearest_line
from louver.catalogue.files.open_regular import secret
from louver.errors import InvalidConfig
from louver.gateway.config.validate import check, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

logger = logging.getLogger(__name__)


class StaticTokenVerifier:
    """Token verifier by digest; raises `InvalidConfig` if the file is invalid or accessible to other users."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp = self._file_stamp()
        self._tokens: Mapping[str, AccessToken] = _read(file)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access token; `None` if it is not listed. The SDK checks the expiry."""
        self._refresh()
        return self._tokens.get(digest_of(token))

    def _refresh(self) -> None:
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._tokens = _read(self._file)
        except InvalidConfig as error:
            self._tokens = {}
            logger.error("no token counts until this is right: %s", error)

    def _file_stamp(self) -> tuple[int, ...] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _read(file: Path) -> Mapping[str, AccessToken]:
    try:
        with open(file, "rb", opener=secret) as opened:
            text = opened.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidConfig(f"the tokens cannot be read: {reason}", file=str(file)) from None
    content = parse_json(text, str(file))
    check(content, text, str(file), part="tokens")
    try:
        return {digest: _access_token(digest, entry) for digest, entry in content["tokens"].items()}
    except _InvalidExpiry as error:
        line = nearest_line(text, ("tokens", str(error), "expires"))
        message = "'expires': expected a time with its zone, like 2027-01-01T00:00:00Z"
        raise InvalidConfig(message, file=str(file), line=line) from None


class _InvalidExpiry(ValueError):
    """An expiry time is invalid; the message is the token's digest."""


def _access_token(digest: str, entry: dict[str, Any]) -> AccessToken:
    expires = entry.get("expires")
    return AccessToken(
        token="",
        client_id=entry.get("client", ""),
        subject=entry.get("subject"),
        scopes=entry.get("scopes", []),
        expires_at=None if expires is None else _seconds(digest, expires),
        claims={"roles": entry.get("roles", [])},
    )


def _seconds(digest: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _InvalidExpiry(digest) from None
    if moment.tzinfo is None:
        raise _InvalidExpiry(digest)
    return int(moment.timestamp())
