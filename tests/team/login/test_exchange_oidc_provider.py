"""Token exchange by a certified authorization server (npm `oidc-provider`), for tokens that it has issued itself."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

import httpx2
import pytest

from fixtures.failsafe import until
from gateway.served import at, at_a_url, config, serving
from louver.team.login.interactive import log_in
from louver.team.login.stores.folder import LoginFolder
from team.login.exchanging import SECRET
from team.login.servers import Browser, authorization_server, free_port, upstream
from team.login.test_exchanging_gateway import called, failure

pytestmark = [pytest.mark.anyio, pytest.mark.deep]

EXCHANGE = {
    "for": "principal",
    "grant": "token_exchange",
    "clientId": "service",
    "clientSecret": "service-secret-of-the-tests",
}


@contextmanager
def exchanging(folder, *, audiences=None, oauth=None, **settings):
    """A gateway, and a server of the SDK, that trust the same issuer."""
    port = free_port()
    resource = f"http://127.0.0.1:{port}/mcp"
    with (
        authorization_server(audiences=audiences or {}, **settings) as issuer,
        at_a_url("sdk_protected", issuer) as url,
    ):
        auth = {"jwks": f"{issuer}/jwks", "issuer": issuer, "resource": resource, "requiredScopes": ["read"]}
        servers = {"tracker": at(url, oauth={**EXCHANGE, "issuer": issuer, **(oauth or {})})}
        options = [*config(folder, servers, auth=auth), "--http", f"127.0.0.1:{port}"]
        with serving(*options, no_auth=False) as served:
            served.issuer = issuer
            yield served


async def token_of(served, folder, name):
    """The token that a client of the gateway gets by the login of a person."""
    login = await log_in(upstream(served.url), LoginFolder(folder / name), Browser(name=name).user_agent)
    return login.tokens.access_token


async def subject(http, served, token):
    return (await called(http, served.url, token, "whoami"))["structuredContent"]["subject"]


@pytest.fixture
async def http():
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield client


async def test_each_person_is_itself_at_the_server(tmp_path, http):
    """Step 17, "For many": the server takes none of the callers' own tokens."""
    with exchanging(tmp_path) as served:
        tokens = [await token_of(served, tmp_path, name) for name in ("ann", "bob")]
        found = await asyncio.gather(*(subject(http, served, token) for token in tokens * 5))
        assert found == ["ann", "bob"] * 5


async def test_tokens_of_two_seconds_are_exchanged_again(tmp_path, http):
    """Ours: a call that takes longer than its token lasts is told so, and the next one is answered."""
    with exchanging(tmp_path, exchangedSeconds=2) as served:
        token = await token_of(served, tmp_path, "ann")

        async def is_ann():
            result = await called(http, served.url, token, "whoami")
            return result.get("structuredContent", {}).get("subject") == "ann"

        for _ in range(8):
            await until(is_ann)
            await asyncio.sleep(0.5)  # tokens expire by the clock


async def test_a_server_by_the_name_that_the_issuer_knows(tmp_path, http):
    """RFC 8693, 2.1: `audience`; one that it does not know, and one that is another server's."""
    with exchanging(tmp_path, oauth={"audience": "tracker"}) as served:
        result = await called(http, served.url, await token_of(served, tmp_path, "ann"), "whoami")
        assert "HTTP 400, invalid_target" in failure(result)["message"]
    (tmp_path / "other").mkdir()
    audiences = {"tracker": "https://other.example/mcp"}
    with exchanging(tmp_path / "other", audiences=audiences, oauth={"audience": "tracker"}) as served:
        result = await called(http, served.url, await token_of(served, tmp_path / "other", "ann"), "whoami")
        error = failure(result)
    assert error["code"] == "LOGIN_FAILED"
    assert "the server refuses the token for which the caller's was exchanged" in error["message"]


async def test_a_gateway_with_another_secret_exchanges_nothing(tmp_path, http):
    """RFC 6749, 5.2."""
    with exchanging(tmp_path, oauth={"clientSecret": SECRET}) as served:
        result = await called(http, served.url, await token_of(served, tmp_path, "ann"), "whoami")
    assert "HTTP 401, invalid_client" in failure(result)["message"]
