"""The header that requests get: renewed ahead of its end, once for all processes, and never without need."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from contextlib import asynccontextmanager

import pytest
from pydantic import AnyHttpUrl

from fixtures.failsafe import A_WHILE_S, FAILSAFE_S, until
from louver.errors import LoginFailed, LoginRequired
from louver.gateway.config.auth import OAuthSettings
from louver.gateway.config.model import Config
from louver.gateway.front.auth import fetch
from louver.gateway.gateway import Gateway
from louver.limits import LOGIN_FRESH_S
from louver.team.login.credentials import LoginCredentials
from louver.team.login.interactive import log_in
from louver.team.login.stores.folder import LoginFolder
from team.login.servers import Browser, upstream
from team.login.test_store import LOGIN

pytestmark = pytest.mark.anyio

HOUR = 3600.0
CHALLENGE = 'Bearer error="invalid_token"'


class Clock:
    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@asynccontextmanager
async def credentials_of(server, folder, clock):
    credentials = LoginCredentials(server, LoginFolder(folder), clock)
    try:
        yield credentials
    finally:
        await credentials.close()


@asynccontextmanager
async def logged_in(server, folder, clock, browser=None):
    await log_in(server, LoginFolder(folder), (browser or Browser()).user_agent, clock)
    async with credentials_of(server, folder, clock) as credentials:
        yield credentials


def claims(header):
    payload = header["authorization"].split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=="))


async def test_a_login_is_for_the_one_server_with_the_scopes_that_it_asks_for(server, issuer, tmp_path, clock):
    """RFC 8707, RFC 9728: the resource and its scopes."""
    async with logged_in(server, tmp_path, clock) as credentials:
        token = claims(await credentials.headers())
        login = await credentials.current()
    assert (token["iss"], token["aud"], token["scope"]) == (issuer, server.url, "read")
    assert login.tokens.refresh_token
    assert login.is_renewable
    assert login.tokens.access_token not in repr(login)


async def test_an_expired_login_is_renewed_before_it_is_sent(server, tmp_path, clock):
    """Ours: the server is not asked with what it must refuse."""
    async with logged_in(server, tmp_path, clock) as credentials:
        first = await credentials.headers()
        assert await credentials.headers() == first
        clock.now += HOUR
        second = await credentials.headers()
        assert second != first
        assert claims(second)["jti"] != claims(first)["jti"]


async def test_requests_at_once_renew_it_once_and_a_cancelled_one_does_not_lose_it(server, tmp_path, clock):
    """Ours: an authorization server that rotates refresh tokens takes each once."""
    async with logged_in(server, tmp_path, clock) as credentials:
        clock.now += HOUR
        async with LoginFolder(tmp_path).locked(server.login_id):
            tasks = [asyncio.create_task(credentials.headers()) for _ in range(8)]
            assert not (await asyncio.wait(tasks, timeout=A_WHILE_S))[0]
            tasks[0].cancel()
        found = await asyncio.gather(*tasks[1:])
        assert len({each["authorization"] for each in found}) == 1
        clock.now += HOUR
        assert await credentials.headers() != found[0]


async def test_two_processes_renew_it_once(server, tmp_path, clock):
    """Step 17: the loser of the race reads what the winner has got. A refresh token that comes twice ends the login."""
    async with logged_in(server, tmp_path, clock) as one, credentials_of(server, tmp_path, clock) as other:
        for _ in range(5):
            clock.now += HOUR
            first, second = await asyncio.gather(one.headers(), other.headers())
            assert first == second
        assert (await one.current()).problem is None


async def test_a_login_is_renewed_while_nobody_asks(server, tmp_path, clock):
    """Step 17: refresh owned by the gateway, also while no client is connected."""
    async with logged_in(server, tmp_path, clock) as credentials:
        before = (await credentials.current()).tokens
        clock.now = (await credentials.current()).renew_at
        await credentials.headers()  # begins the background work; the token has not expired yet

        async def renewed():
            return (await credentials.current()).tokens != before

        await until(renewed)


async def test_a_refused_token_is_renewed_once_and_then_somebody_has_to_log_in(server, tmp_path, clock):
    """Step 17: clock skew, and a server that refuses the login itself."""
    async with logged_in(server, tmp_path, clock) as credentials:
        sent = await credentials.headers()
        with pytest.raises(LoginRequired, match="the server refuses the login"):
            await credentials.on_refused(sent, 401, CHALLENGE)
        clock.now += LOGIN_FRESH_S
        assert await credentials.on_refused(sent, 401, CHALLENGE)
        assert await credentials.headers() != sent
        # Of a token that has been replaced meanwhile.
        assert await credentials.on_refused(sent, 401, CHALLENGE)


async def test_a_short_token_that_is_refused_near_its_end_is_renewed(server, tmp_path, clock):
    """Ours: it may have ended on its way."""
    async with logged_in(server, tmp_path, clock) as credentials:
        store = LoginFolder(tmp_path)
        login = await store.read(server.login_id)
        short = login.model_copy(update={"tokens": login.tokens.model_copy(update={"expires_in": 4})})
        await store.write(server.login_id, short)
        clock.now += 2
        with pytest.raises(LoginRequired, match="the server refuses the login"):
            await credentials.on_refused({"authorization": short.authorization}, 401, CHALLENGE)
        clock.now += 1
        assert await credentials.on_refused({"authorization": short.authorization}, 401, CHALLENGE)


async def test_a_token_that_is_refused_without_a_challenge_is_renewed(server, tmp_path, clock):
    """MCP 2025-03-26 wants the status alone."""
    async with logged_in(server, tmp_path, clock) as credentials:
        sent = await credentials.headers()
        clock.now += 2 * LOGIN_FRESH_S
        assert await credentials.on_refused(sent, 401, None)
        assert await credentials.headers() != sent
        assert not await credentials.on_refused(sent, 403, None)


async def test_a_clock_that_is_put_back_ends_no_login(server, tmp_path, clock):
    """Step 17: clock skew."""
    async with logged_in(server, tmp_path, clock) as credentials:
        sent = await credentials.headers()
        clock.now -= HOUR
        assert await credentials.on_refused(sent, 401, CHALLENGE)
        assert await credentials.headers() != sent


async def test_a_refresh_token_that_is_refused_ends_the_login(server, tmp_path, clock):
    """Step 17: expired or revoked refresh tokens."""
    async with logged_in(server, tmp_path, clock) as credentials:
        store = LoginFolder(tmp_path)
        login = await store.read(server.login_id)
        spent = login.model_copy(update={"tokens": login.tokens.model_copy(update={"refresh_token": "revoked"})})
        await store.write(server.login_id, spent)
        clock.now += HOUR
        for _ in range(2):
            with pytest.raises(LoginRequired, match="the login has ended; somebody has to run: louver login"):
                await credentials.headers()
        assert "invalid_grant" in (await credentials.current()).problem
        await log_in(server, store, Browser().user_agent, clock)
        assert await credentials.headers()


async def failure_of(credentials):
    try:
        await credentials.headers()
    except LoginFailed as error:
        return error.message
    return ""


async def test_an_authorization_server_that_is_away_does_not_end_the_login(server, tmp_path, clock):
    """Ours: it is tried again later, and not by every request."""
    async with logged_in(server, tmp_path, clock) as credentials:
        store = LoginFolder(tmp_path)
        login = await store.read(server.login_id)
        away = login.metadata.model_copy(update={"token_endpoint": AnyHttpUrl("http://127.0.0.1:9/token")})
        await store.write(server.login_id, login.model_copy(update={"metadata": away}))
        clock.now += HOUR
        with pytest.raises(LoginFailed, match=re.escape("http://127.0.0.1:9 cannot be asked: ConnectError")):
            await credentials.headers()
        async with asyncio.timeout(FAILSAFE_S):
            while "it is tried again in" not in await failure_of(credentials):
                pass  # a slow machine may take as long as the first pause
            await store.write(server.login_id, login)
            while await failure_of(credentials):
                pass  # an attempt with the old one may be under way


async def test_what_becomes_of_an_earlier_login_is_no_matter_of_a_new_one(server, tmp_path, clock):
    """Ours: a renewal that was under way failed the first request with a login that had just been made."""
    arrived, ended = asyncio.Event(), asyncio.Event()

    async def hold(_reader, writer):
        arrived.set()
        await ended.wait()
        writer.close()

    async with (
        logged_in(server, tmp_path, clock) as credentials,
        await asyncio.start_server(hold, "127.0.0.1") as silent,
        asyncio.timeout(FAILSAFE_S),
    ):
        store = LoginFolder(tmp_path)
        login = await store.read(server.login_id)
        url = AnyHttpUrl(f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/token")
        held = login.metadata.model_copy(update={"token_endpoint": url})
        await store.write(server.login_id, login.model_copy(update={"metadata": held}))
        clock.now += HOUR
        first = asyncio.create_task(failure_of(credentials))
        await arrived.wait()
        await store.write(server.login_id, login)
        second = asyncio.create_task(credentials.headers())
        await asyncio.sleep(A_WHILE_S)
        ended.set()
        assert await second
        await first


async def test_a_login_that_stays_due_is_not_looked_at_all_the_time(tmp_path, clock):
    """Ours: its authorization server is away."""
    looked = []

    class Counting(LoginFolder):
        async def stamp(self, key, **how):
            looked.append(key)
            return await super().stamp(key, **how)

    away = upstream("http://127.0.0.1:9/mcp")
    store = Counting(tmp_path)
    await store.write(away.login_id, LOGIN.model_copy(update={"obtained_at": clock.now}))
    credentials = LoginCredentials(away, store, clock)
    clock.now += 0.9 * LOGIN.tokens.expires_in
    with pytest.raises(LoginFailed):
        await credentials.on_refused({"authorization": LOGIN.authorization}, 401, CHALLENGE)
    assert await credentials.headers() == {"authorization": LOGIN.authorization}
    await asyncio.sleep(A_WHILE_S)
    await credentials.close()
    assert len(looked) == 3


async def test_a_scope_that_is_missing_is_asked_for_by_the_next_login(server, tmp_path, clock):
    """Step 17: step-up. SEP-2350: the scopes that were granted stay."""
    async with logged_in(server, tmp_path, clock) as credentials:
        sent = await credentials.headers()
        challenge = 'Bearer error="insufficient_scope", scope="write"'
        with pytest.raises(LoginRequired, match="the server wants the scope 'write' too; somebody has to run"):
            await credentials.on_refused(sent, 403, challenge)
        assert not await credentials.on_refused(sent, 403, None)
        await log_in(server, LoginFolder(tmp_path), Browser().user_agent, clock)
        assert set(claims(await credentials.headers())["scope"].split()) == {"read", "write"}
        assert (await credentials.current()).wanted_scope is None


async def test_a_scope_that_is_missing_is_still_asked_for_after_a_renewal(server, tmp_path, clock):
    """Ours: whoever did not log in within the hour was refused again after the login."""
    async with logged_in(server, tmp_path, clock) as credentials:
        sent = await credentials.headers()
        with pytest.raises(LoginRequired, match="the server wants the scope 'write' too"):
            await credentials.on_refused(sent, 403, 'Bearer error="insufficient_scope", scope="write"')
        clock.now += HOUR
        assert await credentials.headers() != sent
        assert (await credentials.current()).wanted_scope == "write"


async def test_a_challenge_among_others_is_found(server, tmp_path, clock):
    """RFC 9110 section 11.6.1: a server may offer several schemes."""
    async with credentials_of(server, tmp_path, clock) as credentials:
        with pytest.raises(LoginRequired):
            await credentials.on_refused({}, 401, 'Basic realm="bearer", Bearer realm="x"')


async def test_the_secret_of_a_client_goes_to_its_issuer_alone(server, tmp_path, clock):
    """Step 17, bad input: issuer mix-up."""
    oauth = OAuthSettings(
        client_id="service", client_secret="s", issuer="https://other.example", grant="client_credentials"
    )
    async with credentials_of(upstream(server.url, "service", oauth), tmp_path, clock) as credentials:
        with pytest.raises(LoginFailed, match="issuer mismatch"):
            await credentials.on_refused({}, 401, "Bearer")


async def test_flows_are_imported_in_a_thread(server, tmp_path, clock, monkeypatch):
    """Ours: all clients waited for half a second when a server asked for the first login."""
    threads = []
    monkeypatch.setattr(fetch, "prepare", lambda: threads.append(threading.current_thread()))
    async with logged_in(server, tmp_path, clock) as credentials:
        await credentials.on_refused({}, 403, "Bearer")
        clock.now += HOUR
        await credentials.headers()
    assert len(threads) == 2
    assert threading.current_thread() not in threads


async def test_a_server_that_refuses_without_asking_for_a_login_is_left_alone(server, tmp_path, clock):
    """Ours: other kinds of credentials are the configuration's."""
    async with credentials_of(server, tmp_path, clock) as credentials:
        assert not await credentials.on_refused({}, 401, None)
        assert not await credentials.on_refused({}, 401, 'Basic realm="x"')
        assert await credentials.headers() == {}


@pytest.mark.parametrize("hours", [24, pytest.param(720, marks=pytest.mark.deep)])
async def test_a_month_passes_unattended(hours, server, tmp_path, clock):
    """Step 17: after the first login nobody is asked again. Tokens are for less than an hour."""
    async with logged_in(server, tmp_path, clock) as credentials:
        seen = set()
        for _ in range(hours):
            clock.now += HOUR
            seen.add((await credentials.headers())["authorization"])
        assert len(seen) == hours
    async with Gateway(Config((server,)), logins=tmp_path) as gateway:
        assert (await gateway.call("tracker", "find", {}))["structuredContent"]
