"""A login, from the first call to the logout."""

from __future__ import annotations

from dataclasses import replace

import pytest

from louver.errors import LoginRequired
from louver.gateway.config.model import Config
from louver.gateway.gateway import Gateway
from louver.limits import LOGIN_FRESH_S
from louver.team.login.interactive import log_in, log_out
from louver.team.login.stores.folder import LoginFolder
from team.login.servers import Browser, upstream

pytestmark = pytest.mark.anyio


async def find(gateway):
    return (await gateway.call("tracker", "find", {}))["structuredContent"]


async def test_a_login_is_used_by_a_gateway_that_runs_and_forgotten_on_logout(server, tmp_path):
    """Step 17: login, call, revocation."""
    store = LoginFolder(tmp_path)
    async with Gateway(Config((server,)), logins=tmp_path) as gateway:
        for _ in range(8):
            # An upstream that fails so often is left alone for 30 s; this one has not failed.
            with pytest.raises(LoginRequired, match="louver login --config FILE --server tracker"):
                await find(gateway)
        login = await log_in(server, store, Browser().user_agent)
        assert await find(gateway)
        assert (await gateway.login("tracker")).tokens == login.tokens
        assert await log_out(server, store) is None
        with pytest.raises(LoginRequired):
            await find(gateway)


async def test_a_call_that_is_refused_before_it_ran_is_sent_again_with_a_new_token(server, tmp_path):
    """Step 17: a 401 in an open session."""
    store = LoginFolder(tmp_path)
    login = await log_in(server, store, Browser().user_agent)
    async with Gateway(Config((server,)), logins=tmp_path) as gateway:
        assert await find(gateway)
        refused = login.tokens.model_copy(update={"access_token": "refused"})
        old = login.model_copy(update={"tokens": refused, "obtained_at": login.obtained_at - LOGIN_FRESH_S})
        await store.write(server.login_id, old)
        assert await find(gateway)
        assert (await gateway.login("tracker")).tokens.access_token not in ("refused", login.tokens.access_token)


async def test_a_reload_keeps_the_login_and_a_removed_server_ends_it(server, tmp_path):
    """Ours."""
    await log_in(server, LoginFolder(tmp_path), Browser().user_agent)
    async with Gateway(Config((server,)), logins=tmp_path) as gateway:
        assert await find(gateway)
        await gateway.reconfigure(Config((replace(server, timeout_seconds=5),)))
        assert await find(gateway)
        await gateway.reconfigure(Config((upstream("http://127.0.0.1:9/mcp", "other"),)))
        assert await gateway.login("tracker") is None
