"""Logins in the state that replicas share."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from contextlib import asynccontextmanager

import pytest
from mcp.shared.auth import OAuthMetadata

from fixtures.failsafe import FAILSAFE_S
from fixtures.stores import store as store
from louver.errors import LoginFailed, LoginRequired, StateUnavailable
from louver.gateway.config.model import Config
from louver.gateway.gateway import Gateway
from louver.steps.shared_state import StateUrl
from louver.team.login.credentials import LoginCredentials
from louver.team.login.gateway_logins import GatewayLogins
from louver.team.login.interactive import log_in, log_out
from louver.team.login.stores import shared
from louver.team.login.stores.shared import SharedLogins
from louver.team.login.stores.store import login_store
from louver.team.state.shared import SharedState
from team.login.servers import Browser, upstream
from team.login.test_credentials import HOUR, Clock
from team.login.test_store import LOGIN

pytestmark = pytest.mark.anyio

KEY, OTHER = "k" * 32, "o" * 32
LATER = LOGIN.model_copy(update={"tokens": LOGIN.tokens.model_copy(update={"access_token": "later"})})


@asynccontextmanager
async def logins(store, key=KEY):
    state = SharedState(StateUrl.read(store.url), [key])
    try:
        yield SharedLogins(state)
    finally:
        await state.close()


async def test_replicas_share_logins_and_their_changes(store, monkeypatch):
    """Step 17: sealed in the state."""
    monkeypatch.setattr(shared, "LOGIN_SHARED_LOOK_S", 0.0)
    async with logins(store) as one, logins(store) as other, logins(store, OTHER) as stranger:
        assert (await other.stamp("a"), await other.read("a")) == (None, None)
        await one.write("a", LOGIN)
        first = await other.stamp("a")
        assert first is not None
        assert await other.read("a") == LOGIN
        assert await stranger.read("a") is None
        await one.write("a", LOGIN.model_copy(update={"obtained_at": 2.0}))
        assert await other.stamp("a") not in (None, first)
        await one.remove("a")
        assert await other.stamp("a") is None


async def test_one_replica_at_a_time_changes_a_login(store, monkeypatch):
    """Ours: and one that has crashed does not hold it for ever."""
    monkeypatch.setattr(shared, "LOGIN_LOCK_WAIT_S", 0.2)
    async with logins(store) as one, logins(store) as other:
        async with one.locked("lock"), other.locked("lock too"):
            with pytest.raises(LoginFailed, match="another replica has held the login"):
                async with other.locked("lock"):
                    pass
        async with other.locked("lock"), one.locked("lock too"):
            pass
        monkeypatch.setattr(shared, "LOGIN_LOCK_S", 0.05)
        async with one.locked("lock"), other.locked("lock"):
            pass


@pytest.mark.whole
@pytest.mark.parametrize("step", ["take", "remove"])
async def test_a_lock_is_given_back_by_whoever_is_cancelled(store, monkeypatch, step):
    """Ours: nobody could renew the login for `LOGIN_LOCK_S`, since a client had left."""
    monkeypatch.setattr(shared, "LOGIN_LOCK_S", 2.0 * FAILSAFE_S)
    async with logins(store) as one, logins(store) as other:
        done, go_on = asyncio.Event(), asyncio.Event()
        engine, act = one._state._engine, getattr(one._state._engine, step)

        async def held(*arguments):
            found = await act(*arguments) if step == "take" else None
            done.set()
            await go_on.wait()
            return await act(*arguments) if step == "remove" else found

        async def change():
            async with one.locked(step):
                pass

        setattr(engine, step, held)
        changing = asyncio.create_task(change())
        await done.wait()
        setattr(engine, step, act)
        changing.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await changing
        async with other.locked(step):
            pass


async def test_a_login_is_opened_in_a_thread(store, monkeypatch):
    """Ours: all clients waited for the SDK, which is imported for the first one."""
    threads = []
    monkeypatch.setattr(shared, "_opened", lambda _: threads.append(threading.current_thread()))
    async with logins(store) as one:
        await one.write("thread", LOGIN)
        await one.read("thread")
    assert len(threads) == 1
    assert threading.current_thread() not in threads


async def test_two_replicas_renew_a_login_once(store, server, monkeypatch):
    """Step 17: a refresh token that comes twice ends the login."""
    monkeypatch.setattr(shared, "LOGIN_SHARED_LOOK_S", 0.0)
    clock = Clock()
    async with logins(store) as one, logins(store) as other:
        await log_in(server, one, Browser().user_agent, clock)
        replicas = [LoginCredentials(server, each, clock) for each in (one, other)]
        for _ in range(5):
            clock.now += HOUR
            first, second = await asyncio.gather(*(each.headers() for each in replicas))
            assert first == second
        await asyncio.gather(*(each.close() for each in replicas))
        assert await log_out(server, one) is None


async def test_nobody_is_refused_by_a_copy_of_a_while_ago(store, server):
    """Step 19, row 22: whoever is refused is refused by what the state holds now."""
    clock, challenge = Clock(), 'Bearer error="invalid_token"'
    async with logins(store) as one, logins(store) as other:
        credentials = LoginCredentials(server, other, clock)
        with pytest.raises(LoginRequired, match="nobody is logged in"):
            await credentials.on_refused({}, 401, challenge)
        await log_in(server, one, Browser().user_agent, clock)
        first = await credentials.headers()
        ended = (await one.read(server.login_id)).model_copy(update={"problem": "ended", "obtained_at": 0.0})
        await one.write(server.login_id, ended)
        with pytest.raises(LoginRequired, match="the login has ended"):
            await credentials.on_refused(first, 401, challenge)
        await log_in(server, one, Browser().user_agent, clock)
        second = await credentials.headers()
        await log_in(server, one, Browser().user_agent, clock)
        assert await credentials.on_refused(second, 401, challenge)
        third = await credentials.headers()
        await log_in(server, one, Browser().user_agent, clock)
        assert await credentials.on_refused(third, 403, 'Bearer error="insufficient_scope", scope="write"')
        assert len({each["authorization"] for each in (first, second, third, await credentials.headers())}) == 4
        await credentials.close()
        await log_out(server, one)


async def test_a_gateway_uses_the_login_of_its_state(store, server, tmp_path):
    """Step 17."""
    config = Config((server,), state=StateUrl.read(store.url), keys=(KEY,))
    async with logins(store) as place:
        await log_in(server, place, Browser().user_agent)
        async with Gateway(config, logins=tmp_path) as gateway:
            assert (await gateway.call("tracker", "find", {}))["structuredContent"]
        await log_out(server, place)
    assert [*tmp_path.iterdir()] == []


async def test_logins_end_before_the_state_that_keeps_them(store, server, tmp_path, monkeypatch):
    """Ours: a renewal under way is stored, and opens no connection to a state that is closed."""
    ended = []

    def noted(kind, close):
        async def noted_close(self):
            await close(self)
            ended.append(kind)

        return noted_close

    for kind in (GatewayLogins, SharedState):
        monkeypatch.setattr(kind, "close", noted(kind, kind.close))
    config = Config((server,), state=StateUrl.read(store.url), keys=(KEY,))
    async with Gateway(config, logins=tmp_path) as gateway:
        await gateway.login("tracker")
    assert ended == [GatewayLogins, SharedState]


async def test_a_state_that_is_away_is_told_and_a_known_login_goes_on(store, monkeypatch):
    """Ours."""
    monkeypatch.setattr(shared, "LOGIN_SHARED_LOOK_S", 0.0)
    async with logins(store) as known, logins(store) as other:
        await known.write("away", LOGIN)
        stamp = await known.stamp("away")
        store.end(signal.SIGINT)
        try:
            assert await known.stamp("away") == stamp
            for failing in (other.stamp("away"), known.read("away"), known.write("away", LOGIN), known.remove("away")):
                with pytest.raises(LoginFailed, match="is not available"):
                    await failing
            with pytest.raises(LoginFailed, match="is not available"):
                async with known.locked("away"):
                    pass
        finally:
            store.start()


async def test_a_server_without_logins_does_without_the_state(server):
    """Ours: calls go on while the state is away; a server that asks for a login gets the reason."""
    state = SharedState(StateUrl.read("redis://127.0.0.1:9/0"), [KEY])
    credentials = LoginCredentials(server, SharedLogins(state))
    assert await credentials.headers() == {}
    for request in (lambda: credentials.on_refused({}, 401, "Bearer"), credentials.headers):
        with pytest.raises(LoginFailed, match="is not available"):
            await request()
    await credentials.close()
    await state.close()


async def test_a_state_without_keys_keeps_no_logins(store, tmp_path):
    """Ours: its readers would see them."""
    state = SharedState(StateUrl.read(store.url))
    assert not isinstance(login_store(state, (), tmp_path), SharedLogins)
    assert login_store(state, (), None) is None
    await state.close()


@asynccontextmanager
async def renewing(store, monkeypatch):
    """Two replicas' logins, and a renewal at the first, which waits at the authorization server until it may go on."""
    monkeypatch.setattr("louver.team.login.credentials.LOGIN_PAUSE_S", 0.0)
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def renew(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        await go_on.wait()
        body = json.dumps({"access_token": "renewed", "token_type": "Bearer", "refresh_token": "next"}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    async with (
        logins(store) as one,
        logins(store) as other,
        await asyncio.start_server(renew, "127.0.0.1") as issuer,
        asyncio.timeout(FAILSAFE_S),
    ):
        url = f"http://127.0.0.1:{issuer.sockets[0].getsockname()[1]}"
        ends = {f"{name}_endpoint": f"{url}/{name}" for name in ("authorization", "token")}
        server = upstream(f"{url}/mcp")
        due = LOGIN.model_copy(update={"metadata": OAuthMetadata(issuer=url, **ends)})
        await one.write(server.login_id, due)
        of_one = LoginCredentials(server, one)
        renewal = asyncio.create_task(of_one.headers())
        await arrived.wait()
        yield server.login_id, one, other, renewal, go_on
        await of_one.close()


async def test_a_renewed_login_is_kept_by_a_state_that_comes_back(store, monkeypatch):
    """Ours: the refresh token is spent, so the login was lost if the state was away just then."""
    async with renewing(store, monkeypatch) as (key, one, other, renewal, go_on):
        left, put = [StateUnavailable("away")] * 3, one._state.put

        async def put_later(*arguments):
            if left:
                raise left.pop()
            await put(*arguments)

        monkeypatch.setattr(one._state, "put", put_later)
        go_on.set()
        assert await renewal == {"authorization": "Bearer renewed"}
        assert (await other.read(key)).tokens.refresh_token == "next"


@pytest.mark.whole
@pytest.mark.parametrize("since", ["login", "logout"])
async def test_a_renewal_that_has_lost_its_lock_changes_nothing_that_was_done_since(store, monkeypatch, since):
    """Ours: of a replica that stood still for longer than `LOGIN_LOCK_S`."""
    async with renewing(store, monkeypatch) as (key, one, other, renewal, go_on):
        await one._state.remove(f"login:{key}:lock")
        async with other.locked(key):
            await (other.write(key, LATER) if since == "login" else other.remove(key))
        go_on.set()
        assert await renewal == ({"authorization": LATER.authorization} if since == "login" else {})
        assert await other.read(key) == (LATER if since == "login" else None)
