"""The upstreams of principals: apart from each other, bounded, reloaded, and shared by replicas as far as logins go."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from fixtures import stores
from gateway.auth.guarded import bearing
from gateway.login.principals import Visitor, gateway_of
from gateway.login.servers import upstream
from gateway.login.test_crossing import keep_logins, tenants
from gateway.login.test_principals import link_of, whose
from gateway.raw import SOON_S
from gateway.served import at_a_url
from louver.errors import LoginRequired, UpstreamUnavailable
from louver.gateway.auth.settings import Auth, Tokens
from louver.gateway.clients.client import GatewayClient
from louver.gateway.config.model import Config
from louver.gateway.gateway import Gateway
from louver.gateway.login.settings import OAuthSettings
from louver.gateway.upstream import per_principal
from louver.gateway.upstream.negotiation import GATEWAY_IDENTITY

pytestmark = pytest.mark.anyio

NAMES = ("ann", "bob", "cy")
OWN = OAuthSettings(belongs_to="principal")


@pytest.fixture(scope="module")
def url():
    with socket.create_server(("127.0.0.1", 0)) as listener, tenants("tracker", listener) as found:
        yield found


def config_of(url, **server):
    auth = Auth(Tokens("tokens.json"), resource="https://gateway.example/mcp")
    return Config((replace(upstream(url, oauth=OWN), **server),), auth=auth)


def client_of(name):
    return GatewayClient(GATEWAY_IDENTITY.version, GATEWAY_IDENTITY, principal=("desk", None, name))


@asynccontextmanager
async def opened(folder, url):
    await keep_logins(folder, {"tracker": url}, NAMES)
    async with Gateway(config_of(url), logins=folder / "state" / "louver" / "logins") as gateway:
        yield gateway, gateway.upstreams["tracker"]


async def test_each_principal_has_a_session_and_the_gateway_itself_gets_none_of_them(tmp_path, url):
    """Step 17: also `louver check`, and clients over stdio, are no principal."""
    async with opened(tmp_path, url) as (_, tracker):
        ann, bob = [await tracker.session(client_of(name)) for name in ("ann", "bob")]
        assert ann is not bob
        assert await tracker.session(client_of("ann")) is ann
        with pytest.raises(LoginRequired, match="callers log in for themselves"):
            await tracker.session()
        with pytest.raises(LoginRequired, match="nobody is logged in"):
            await tracker.session(client_of("dan"))
        assert tracker.is_up


async def test_a_principal_that_does_not_use_it_makes_room_for_another(tmp_path, url, monkeypatch):
    """Ours: the longest unused first."""
    monkeypatch.setattr(per_principal, "MAX_UPSTREAM_PRINCIPALS", 2)
    async with opened(tmp_path, url) as (_, tracker):
        ann, bob = [await tracker.session(client_of(name)) for name in ("ann", "bob")]
        with pytest.raises(UpstreamUnavailable, match="serves 2 principals already"):
            await tracker.session(client_of("cy"))
        monkeypatch.setattr(per_principal, "UNUSED_S", -1.0)
        await tracker.session(client_of("cy"))
        assert await tracker.session(client_of("bob")) is bob
        assert await tracker.session(client_of("ann")) is not ann


async def test_a_reload_opens_again_with_the_same_logins_until_they_are_for_all(tmp_path, url):
    """Ours."""
    async with opened(tmp_path, url) as (gateway, tracker):
        ann = await tracker.session(client_of("ann"))
        await gateway.reconfigure(config_of(url, timeout_seconds=5))
        again = await tracker.session(client_of("ann"))
        assert again is not ann
        await gateway.reconfigure(config_of(url, oauth=OAuthSettings()))
        with pytest.raises(LoginRequired, match="louver login --config FILE --server tracker"):
            await tracker.session(client_of("ann"))


async def test_any_replica_takes_the_browser_back_and_uses_the_login(tmp_path):
    """Step 17: the state is stored where replicas share it."""
    with stores.redis() as store, at_a_url("sdk_authorization") as url:
        (tmp_path / "one").mkdir()
        (tmp_path / "other").mkdir()
        shared = {"state": store.url, "keys": ["k" * 32]}
        with (
            gateway_of(tmp_path / "one", {"tracker": url}, **shared) as one,
            gateway_of(tmp_path / "other", {"tracker": url}, **shared) as other,
        ):
            origins = [each.url.removesuffix("/mcp") for each in (one, other)]
            async with (
                bearing(one.url, "t-ann") as client,
                bearing(other.url, "t-ann") as elsewhere,
                Visitor() as visitor,
            ):
                agreed = await visitor.agree(await link_of(client))
                back = await visitor.returns(agreed.headers["location"])
                done = await visitor.client.get(back.replace(*origins))
                assert done.status_code == 200, done.text
                assert (await visitor.client.get(back)).status_code == 400
                assert await whose_soon(client) == await whose_soon(elsewhere)


async def whose_soon(client):
    """Whose it is, once the replica has looked for logins again."""
    async with asyncio.timeout(SOON_S):
        while True:
            result = await client.call("whose")
            if not result.get("isError"):
                return await whose(client)
            await asyncio.sleep(0.2)
