"""A gateway whose callers log in for themselves, and the browsers in which they do."""

from __future__ import annotations

import os
from contextlib import contextmanager
from urllib.parse import urljoin

import httpx2

from gateway.front.auth.guarded import token_file
from gateway.gateways import LOUVER
from gateway.served import at, config, serving
from team.login.servers import free_port

PRINCIPAL = {"oauth": {"for": "principal"}}


@contextmanager
def gateway_of(folder, urls, *options, tokens=None, server=None, command=LOUVER, stdout=None, **louver):
    """A gateway in front of servers, by their names, at which each caller has a login."""
    port = free_port()
    auth = {"tokens": token_file(folder, tokens), "resource": f"http://127.0.0.1:{port}/mcp"}
    servers = {name: at(url, **PRINCIPAL, **(server or {})) for name, url in urls.items()}
    arguments = [*config(folder, servers, auth=auth, **louver), "--http", f"127.0.0.1:{port}", *options]
    environ = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    with serving(*arguments, command=command, no_auth=False, env=environ, stdout=stdout) as served:
        yield served


class Visitor:
    """Somebody with a browser of their own, which keeps its cookies."""

    def __init__(self):
        self.client = httpx2.AsyncClient(trust_env=False)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.client.aclose()

    async def agree(self, link, **headers):
        """The response to the button of a link's page."""
        origin = "/".join(link.split("/")[:3])
        return await self.client.post(link, headers={"origin": origin, **headers})

    async def returns(self, page):
        """The address to which the authorization server sends the browser back from a page."""
        response = await self.client.get(page)
        while "/oauth/callback" not in response.headers["location"]:
            response = await self.client.get(urljoin(str(response.url), response.headers["location"]))
        return response.headers["location"]

    async def log_in(self, link):
        agreed = await self.agree(link)
        assert agreed.status_code == 303, agreed.text
        done = await self.client.get(await self.returns(agreed.headers["location"]))
        assert done.status_code == 200, done.text
        return done.text
