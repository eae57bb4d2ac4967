"""Gateways in processes of their own that ask for tokens, and say who has called."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager

from fixtures.forking import PYTHON
from gateway.raw import HANDSHAKE, Http
from gateway.served import FIXTURES, config, fixture, serving
from louver.gateway.front.auth.static import digest_of

WHO = [PYTHON, str(FIXTURES / "who.py")]
TOKENS = {
    "t-ann": {"subject": "ann", "client": "desk", "scopes": ["read"], "roles": ["support"]},
    "t-bob": {"subject": "bob", "client": "desk", "scopes": ["read"]},
    "t-other": {"subject": "ann", "client": "phone", "scopes": ["read"]},
    "t-old": {"subject": "ann", "scopes": ["read"], "expires": "2020-01-01T00:00:00Z"},
    "t-less": {"subject": "cy", "client": "desk"},
}
METADATA = re.compile(r'resource_metadata="([^"]+)"')


def token_file(folder, tokens=None):
    path = folder / "tokens.json"
    path.write_text(json.dumps({"tokens": {digest_of(token): said for token, said in (tokens or TOKENS).items()}}))
    path.chmod(0o600)
    return "tokens.json"


def guarded(folder, **louver):
    """A gateway over HTTP that says of every call whose it is."""
    options = config(folder, {"records": fixture("records")}, **louver)
    return serving(*options, command=WHO, no_auth="auth" not in louver)


class Bearing(Http):
    """A client that sends a token."""

    token = None

    def headers(self, message=None):
        bearer = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        return {**super().headers(message), **bearer}


@asynccontextmanager
async def bearing(url, token, era=HANDSHAKE, **options):
    """A client that is open."""
    client = Bearing(url, era, **options)
    client.token = token
    try:
        await client.open()
        yield client
    finally:
        await client.close()


async def who(client):
    """Who has called, as the gateway says it."""
    return (await client.call("find"))["structuredContent"]
