"""Logins by a certified authorization server (npm `oidc-provider`), beyond those of the other modules."""

from __future__ import annotations

import pytest

from gateway.served import at_a_url
from louver.errors import LoginRequired
from louver.gateway.config.auth import OAuthSettings
from louver.gateway.config.model import Config
from louver.gateway.gateway import Gateway
from louver.team.login.interactive import log_in
from louver.team.login.stores.folder import LoginFolder
from team.login.servers import Browser, authorization_server, protected_server, upstream
from team.login.test_commands import assert_no_secret_is_left

pytestmark = [pytest.mark.anyio, pytest.mark.deep]


@pytest.fixture(scope="module")
def issuer():
    with authorization_server() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def server(issuer, tmp_path_factory):
    with protected_server(tmp_path_factory.mktemp("server"), issuer) as served:
        yield upstream(served.url)


async def test_a_login_at_a_server_of_the_sdk(issuer, tmp_path):
    """Step 17: one of the SDK's examples."""
    with at_a_url("sdk_protected", issuer) as url:
        server = upstream(url)
        async with Gateway(Config((server,)), logins=tmp_path) as gateway:
            with pytest.raises(LoginRequired):
                await gateway.call("tracker", "whoami", {})
            await log_in(server, LoginFolder(tmp_path), Browser().user_agent)
            assert (await gateway.call("tracker", "whoami", {}))["structuredContent"] == {"subject": "ann"}


async def test_a_token_for_another_server_is_not_sent_to_it(server, issuer, tmp_path):
    """Step 17, bad input: wrong audience. The login of one server opens no other, whatever their files are called."""
    with at_a_url("sdk_protected", issuer) as url:
        other = upstream(url)
        store = LoginFolder(tmp_path)
        await store.write(other.login_id, await log_in(server, store, Browser().user_agent))
        async with Gateway(Config((other,)), logins=tmp_path) as gateway:
            with pytest.raises(LoginRequired, match="the server refuses the login"):
                await gateway.call("tracker", "whoami", {})


async def test_a_service_account_logs_in_by_itself(server, issuer, tmp_path):
    """Step 17: client credentials."""
    oauth = OAuthSettings(
        client_id="service",
        client_secret="service-secret-of-the-tests",
        issuer=issuer,
        scopes=("read",),
        grant="client_credentials",
    )
    service = upstream(server.url, "service", oauth)
    async with Gateway(Config((service,)), logins=tmp_path) as gateway:
        assert (await gateway.call("service", "find", {}))["structuredContent"]
        assert (await gateway.login("service")).client.client_id == "service"


async def test_no_secret_is_anywhere_while_tokens_are_renewed(tmp_path):
    """Step 17: tokens of two seconds."""
    with (
        authorization_server(accessTokenSeconds=2) as issuer,
        protected_server(tmp_path / "server", issuer) as served,
    ):
        await assert_no_secret_is_left(served.url, tmp_path, calls=4, seconds=2)
