"""The upstreams of principals: apart from each other, bounded, reloaded, and shared by replicas as far as logins go."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from fixtures import stores
from gateway.front.auth.guarded import bearing
from gateway.served import at_a_url
from louver.errors import LoginRequired, UpstreamUnavailable
from louver.gateway.back import per_principal
from louver.gateway.clients.client import GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.gateway.config.auth import Auth, OAuthSettings, Tokens
from louver.gateway.config.model import Config
from louver.gateway.front.auth import fetch
from louver.gateway.gateway import Gateway
from team.login.principals import Visitor, gateway_of
from team.login.servers import upstream
from team.login.test_crossing import keep_logins, tenants
from team.login.test_principals import link_of, whose

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


async def session_of(upstream, name):
    client = client_of(name)
    return await upstream.of(client).session(client)


@asynccontextmanager
async def opened(folder, url):
    await keep_logins(folder, {"tracker": url}, NAMES)
    async with Gateway(config_of(url), logins=folder / "state" / "louver" / "logins") as gateway:
        yield gateway, gateway.upstreams["tracker"]


@pytest.mark.whole
@pytest.mark.parametrize("grant", ["authorization_code", "token_exchange"])
def test_what_logins_of_callers_need_is_there_before_the_first(monkeypatch, tmp_path, grant):
    """Ours: it was imported while all clients waited."""
    monkeypatch.delitem(sys.modules, "httpcore2", raising=False)
    oauth = replace(OWN, grant=grant, client_id="c", client_secret="s", issuer="https://id.example")
    Gateway(config_of("https://mcp.example/mcp", oauth=oauth), logins=tmp_path)
    assert "httpcore2" in sys.modules


async def test_what_the_first_logins_of_callers_need_is_imported_in_a_thread_by_a_reload(monkeypatch, tmp_path):
    """Ours: as above."""
    threads = []
    monkeypatch.setattr(fetch, "prepare", lambda: threads.append(threading.current_thread()))
    before, after = (config_of("http://127.0.0.1:9/mcp", oauth=oauth) for oauth in (OAuthSettings(), OWN))
    async with Gateway(before, logins=tmp_path) as gateway:
        await gateway.reconfigure(after)
    assert threads[0] is not threading.current_thread()


async def test_each_principal_has_a_session_and_the_gateway_itself_gets_none_of_them(tmp_path, url):
    """Step 17: also `louver check`, and clients over stdio, are no principal."""
    async with opened(tmp_path, url) as (_, tracker):
        ann, bob = [await session_of(tracker, name) for name in ("ann", "bob")]
        assert ann is not bob
        assert await session_of(tracker, "ann") is ann
        with pytest.raises(LoginRequired, match="callers log in for themselves"):
            await tracker.session()
        with pytest.raises(LoginRequired, match="nobody is logged in"):
            await session_of(tracker, "dan")
        assert tracker.is_up


async def test_a_principal_that_does_not_use_it_makes_room_for_another(tmp_path, url, monkeypatch):
    """Ours: the longest unused first."""
    monkeypatch.setattr(per_principal, "MAX_UPSTREAM_PRINCIPALS", 2)
    async with opened(tmp_path, url) as (_, tracker):
        ann, bob = [await session_of(tracker, name) for name in ("ann", "bob")]
        with pytest.raises(UpstreamUnavailable, match="serves 2 principals already"):
            await session_of(tracker, "cy")
        monkeypatch.setattr(per_principal, "UNUSED_S", -1.0)
        await session_of(tracker, "cy")
        assert await session_of(tracker, "bob") is bob
        assert await session_of(tracker, "ann") is not ann


async def test_a_reload_opens_again_with_the_same_logins_until_they_are_for_all(tmp_path, url):
    """Ours."""
    async with opened(tmp_path, url) as (gateway, tracker):
        ann = await session_of(tracker, "ann")
        await gateway.reconfigure(config_of(url, timeout_seconds=5))
        again = await session_of(tracker, "ann")
        assert again is not ann
        await gateway.reconfigure(config_of(url, oauth=OAuthSettings()))
        with pytest.raises(LoginRequired, match="louver login --config FILE --server tracker"):
            await session_of(tracker, "ann")


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
                # Step 19, row 22: what it has just looked up refuses nobody once the person has logged in elsewhere.
                await link_of(elsewhere)
                agreed = await visitor.agree(await link_of(client))
                back = await visitor.returns(agreed.headers["location"])
                done = await visitor.client.get(back.replace(*origins))
                assert done.status_code == 200, done.text
                assert (await visitor.client.get(back)).status_code == 400
                assert await whose(client) == await whose(elsewhere)
