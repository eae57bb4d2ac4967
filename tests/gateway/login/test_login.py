"""Logins by a certified authorization server (`oidc-provider`) at a server that verifies its tokens."""

from __future__ import annotations

import pytest

from gateway.login.servers import Browser
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
