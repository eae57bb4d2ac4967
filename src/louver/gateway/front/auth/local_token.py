"""The token of `louver serve --http` without `auth`: random, made at the first start, and kept for its user.

    $XDG_STATE_HOME/louver/tokens/5f0c2d6e9a1b3c47    mode 600; the token alone

The name of the file is a digest of what is served and where, so that hosts need no change after a restart. All clients
with the token are one principal. It is checked here and not by `authenticated.py`, whose parts of the SDK would make
every start slower.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final

from louver.catalogue.files.open_regular import regular
from louver.core.json import compact, digest
from louver.errors import InvalidInput
from louver.gateway.front.exchange import IDENTITY
from louver.limits import MAX_TOKEN_CHARACTERS
from louver.policy.principal import Principal
from louver.steps.request import Identity

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.core.json import Json

_LOCAL: Final = Identity(Principal("local"), ("", None, "local"))
_BYTES: Final = 32
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43,}")  # as many bytes in Base64, or more
_REFUSAL: Final = compact(
    {
        "error": "invalid_token",
        "error_description": "expected the header 'Authorization: Bearer TOKEN', with the token in the file that "
        "'louver serve' names when it starts",
    }
).encode()


@dataclass(frozen=True, slots=True)
class LocalToken:
    file: Path
    token: str = field(repr=False)
    is_new: bool  # made by this start

    def host_entry(self, url: str) -> dict[str, Json]:
        """The entry of a host's file for the gateway at this URL."""
        return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {self.token}"}}


def local_token(folder: Path, served: Json) -> LocalToken:
    """The token for what is served, kept in a file of the folder."""
    file = folder / digest(served)
    try:
        is_new = _create(file)
        return LocalToken(file, _read(file), is_new)
    except OSError as error:
        raise InvalidInput(
            f"the token of clients cannot be kept in {file}: {error.strerror}: expected a folder that can be written, "
            "by the variable XDG_STATE_HOME, or 'auth' in the configuration, or --no-auth"
        ) from None


def _create(file: Path) -> bool:
    """Whether a token was made and written; if the file exists, it stays."""
    if os.path.lexists(file):
        return False
    # Parents that `mkdir` makes by itself are open to all.
    for folder in (file.parent.parent, file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Its mode is 0600.
    with NamedTemporaryFile(dir=file.parent) as part:
        part.write(f"{secrets.token_urlsafe(_BYTES)}\n".encode())
        part.flush()
        try:
            # Unlike `os.replace`, it leaves the token of a gateway that starts at the same time.
            os.link(part.name, file)
        except FileExistsError:
            return False
    return True


def _read(file: Path) -> str:
    with open(file, "rb", opener=regular) as opened:
        status = os.fstat(opened.fileno())
        token = opened.read(MAX_TOKEN_CHARACTERS).decode("latin-1").strip()
    renewal = f"remove it, and the next start makes another token: rm {file}"
    if status.st_uid != os.geteuid():
        raise InvalidInput(f"{file} belongs to another user, who knows its token: {renewal}")
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = stat.S_IMODE(status.st_mode)
        raise InvalidInput(f"{file}: others than its owner can read or write it (mode {mode:o}): {renewal}")
    if not _TOKEN.fullmatch(token):
        raise InvalidInput(f"{file}: it holds no token of 43 letters, digits, '-' and '_' or more: {renewal}")
    return token


class LocalTokenMiddleware:
    """ASGI wrapper that passes only requests with the token to `app`."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "lifespan":
            if not self._is_authorized(scope):
                return _refuse(send)
            scope[IDENTITY] = _LOCAL
        return self._app(scope, receive, send)

    def _is_authorized(self, scope: Scope) -> bool:
        found = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(found) != 1:
            return False
        scheme, _, token = found[0].partition(b" ")
        return scheme.lower() == b"bearer" and secrets.compare_digest(token.strip(b" "), self._token)


async def _refuse(send: Send) -> None:
    """Status 401. Source: RFC 6750 section 3."""
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(_REFUSAL)).encode()),
        (b"www-authenticate", b'Bearer realm="louver", error="invalid_token"'),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": _REFUSAL})
