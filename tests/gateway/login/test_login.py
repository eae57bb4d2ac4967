"""Logins by a certified authorization server (`oidc-provider`) at a server that verifies its tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.login.servers import Browser, upstream
from gateway.served import at_a_url
from louver.errors import LoginRequired
from louver.gateway.config.model import Config
from louver.gateway.gateway import Gateway
from louver.gateway.login.folder import LoginFolder
from louver.gateway.login.interactive import log_in, log_out

pytestmark = pytest.mark.anyio


async def find(gateway):
    return (await gateway.call("tracker", "find", {}))["structuredContent"]


async def test_a_login_is_used_by_a_gateway_that_runs_and_forgotten_on_logout(server, tmp_path):
    """Step 17: login, call, revocation."""
    store = LoginFolder(tmp_path)
    async with Gateway(Config((server,)), logins=tmp_path) as gateway:
        with pytest.raises(LoginRequired, match="louver login --config FILE --server tracker"):
            await find(gateway)
        login = await log_in(server, store, Browser().user_agent)
        assert await find(gateway)
        assert (await gateway.login("tracker")).tokens == login.tokens
        assert await log_out(server, store) is None
        with pytest.raises(LoginRequired):
            await find(gateway)


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


async def test_a_reload_keeps_the_login_and_a_removed_server_ends_it(server, tmp_path):
    """Ours."""
    await log_in(server, LoginFolder(tmp_path), Browser().user_agent)
    async with Gateway(Config((server,)), logins=tmp_path) as gateway:
        assert await find(gateway)
        await gateway.reconfigure(Config((replace(server, timeout_seconds=5),)))
        assert await find(gateway)
        await gateway.reconfigure(Config((upstream("http://127.0.0.1:9/mcp", "other"),)))
        assert await gateway.login("tracker") is None
