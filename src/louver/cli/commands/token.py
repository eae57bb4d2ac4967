"""`louver token`: a new bearer token, and its line for the gateway's token file.

    $ louver token --subject ann --scopes orders:read --days 90
    token: kq0W...
    "9f86d081884c7d65...": {"subject":"ann","scopes":["orders:read"],"expires":"2026-04-01T00:00:00Z"}

The token is for the client and is stored nowhere else; the line goes under `tokens` of the file.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from louver.cli.json_streams import write_text
from louver.core.json import compact
from louver.errors import InvalidInput
from louver.gateway.front.auth.static import digest_of

if TYPE_CHECKING:
    from argparse import Namespace

_BYTES: Final = 32
_MAX_DAYS: Final = 36_500


def run(arguments: Namespace) -> int:
    if not arguments.subject and not arguments.client:
        raise InvalidInput("a token is somebody's: expected --subject, --client, or both")
    claims: dict[str, object] = {"subject": arguments.subject, "client": arguments.client}
    claims |= {name: _words(name, getattr(arguments, name)) for name in ("scopes", "roles")}
    if arguments.days is not None:
        if not 0 < arguments.days <= _MAX_DAYS:
            raise InvalidInput(f"--days takes a number over 0 and at most {_MAX_DAYS}, not {arguments.days}")
        expires = datetime.now(UTC) + timedelta(days=arguments.days)
        claims["expires"] = expires.isoformat(timespec="seconds").replace("+00:00", "Z")
    token = secrets.token_urlsafe(_BYTES)
    print(f"token: {token}", flush=True)
    write_text(f'"{digest_of(token)}": {compact({name: value for name, value in claims.items() if value})}\n')
    return 0


def _words(name: str, text: str) -> list[str]:
    # Scopes may hold commas but hardly ever do, and a role "support," would silently match no rule.
    if "," in text:
        raise InvalidInput(f"--{name} takes words with spaces between, for example 'first second', and no commas")
    return text.split()
