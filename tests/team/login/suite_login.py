"""A login and calls through a gateway, for the client scenarios of the official suite: `suite_login.py URL`.

Somebody who agrees to everything logs in, also once more where a call needs it; then the tools are listed and called.
"""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from louver.errors import LoginRequired, LouverError
from louver.gateway.config.auth import OAuthSettings
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.team.login.flow import UserAgent
from louver.team.login.interactive import log_in
from louver.team.login.stores.folder import LoginFolder
from louver.wire.jsonrpc.errors import JsonRpcError

MOST_LOGINS = 3


class Browser:
    async def show(self, url):
        async with httpx2.AsyncClient(trust_env=False) as client:
            response = await client.get(url)
        self.members = {
            name: values[0] for name, values in parse_qs(urlsplit(response.headers["location"]).query).items()
        }

    async def answer(self):
        return AuthorizationCodeResult(
            code=self.members["code"], state=self.members.get("state"), iss=self.members.get("iss")
        )


def settings(scenario, context):
    if scenario == "auth/basic-cimd":
        return OAuthSettings(client_metadata_url="https://conformance-test.local/client-metadata.json")
    given = {name: context[name] for name in ("client_id", "client_secret") if name in context}
    grant = "client_credentials" if scenario.startswith("auth/client-credentials") else "authorization_code"
    return OAuthSettings(**given, grant=grant)


async def main(url):
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    server = UpstreamConfig("it", "http", url=url, oauth=settings(scenario, context))
    with tempfile.TemporaryDirectory() as folder:
        async with Gateway(Config((server,)), logins=Path(folder)) as gateway:
            for _ in range(MOST_LOGINS):
                with suppress(LoginRequired):
                    await use(gateway)
                    return
                browser = Browser()
                user_agent = UserAgent("http://127.0.0.1:9/callback", browser.show, browser.answer)
                await log_in(server, LoginFolder(Path(folder)), user_agent)


async def use(gateway):
    session = await gateway.upstreams["it"].session()
    for tool in await session.tools():
        await gateway.call("it", tool["name"], {})


with suppress(LouverError, JsonRpcError):
    asyncio.run(main(sys.argv[1]))
