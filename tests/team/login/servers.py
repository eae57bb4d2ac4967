"""A certified authorization server in a process of its own, servers that trust it, and a person with a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from gateway.served import FIXTURES, config, fixture, serving
from louver.gateway.config.auth import DISCOVERED
from louver.gateway.config.model import UpstreamConfig
from louver.team.login.flow import UserAgent
from stock.run import node_packages
from team.test_replicas import free_port

OIDC = FIXTURES / "oidc"
_FORM = re.compile(r'<form[^>]* action="([^"]+)"')
_INPUT = re.compile(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"')


@contextmanager
def authorization_server(**settings):
    """The issuer of an authorization server."""
    node, home = node_packages((OIDC / "package.json").read_text())
    script = home / "server.mjs"
    if not script.exists() or script.read_text() != (OIDC / "server.mjs").read_text():
        # Node looks for packages above the script's own folder.
        part = home / f"server.{os.getpid()}.mjs"
        shutil.copy(OIDC / "server.mjs", part)
        part.replace(script)
    with subprocess.Popen(
        [node, script, json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def protected_server(folder, issuer, **auth):
    """A gateway that takes the tokens of an issuer."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    settings = {"jwks": f"{issuer}/jwks", "issuer": issuer, "resource": url, "requiredScopes": ["read"], **auth}
    folder.mkdir(exist_ok=True)
    options = config(folder, {"records": fixture("records")}, auth=settings)
    with serving(*options, "--http", f"127.0.0.1:{port}", no_auth=False) as served:
        yield served


def upstream(url, name="tracker", oauth=DISCOVERED, principal=None):
    return UpstreamConfig(name, "http", url=url, oauth=oauth, principal=principal)


@dataclass
class Browser:
    """Somebody who logs in and agrees to everything, with a browser that keeps its cookies."""

    redirect_uri: str = "http://127.0.0.1:9/callback"
    name: str = "ann"
    pages: list = field(default_factory=list)  # that were opened
    returned: list = field(default_factory=list)  # addresses that it was sent back to

    @property
    def user_agent(self):
        return UserAgent(self.redirect_uri, self.show, self.answer)

    async def show(self, url):
        self.pages.append(url)

    async def answer(self):
        members = {name: values[0] for name, values in parse_qs(urlsplit(self.log_in(self.pages[-1])).query).items()}
        return AuthorizationCodeResult(code=members["code"], state=members.get("state"), iss=members.get("iss"))

    def log_in(self, url):
        """Open a page, and return the address that the browser is sent back to."""
        with httpx2.Client(trust_env=False) as client:
            response = client.get(url)
            while True:
                if "location" in response.headers:
                    address = urljoin(str(response.url), response.headers["location"])
                    if address.startswith(self.redirect_uri.rpartition("/")[0]):
                        self.returned.append(address)
                        return address
                    response = client.get(address)
                    continue
                assert response.status_code == 200, response.text
                action = unescape(_FORM.search(response.text)[1])
                form = {name: unescape(value) for name, value in _INPUT.findall(response.text)}
                if form.get("prompt") == "login":
                    form |= {"login": self.name, "password": "secret"}
                response = client.post(urljoin(str(response.url), action), data=form)
