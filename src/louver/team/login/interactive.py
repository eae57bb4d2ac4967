"""Logging in as a person, and out again: what `louver login` and `louver logout` do to the kept login."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

import httpx2

from louver.errors import LoginFailed
from louver.gateway.front.auth.fetch import new_client
from louver.http1.pool import ssl_context
from louver.limits import AUTH_FETCH_S
from louver.team.login.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.config.model import UpstreamConfig
    from louver.team.login.flow import UserAgent
    from louver.team.login.login import Login
    from louver.team.login.stores.store import LoginStore

# Any request shows how the server refuses; this one has no effects.
_PROBE: Final = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def log_in(
    server: UpstreamConfig, store: LoginStore, user_agent: UserAgent, clock: Callable[[], float] = time.time
) -> Login:
    """Log somebody in, and keep the login; the lock is not held while the person types."""
    kept = await kept_login(server, store)
    flow = Flow(server, kept, user_agent)
    if kept is not None and kept.wanted_scope is not None:
        challenge = f'Bearer error="insufficient_scope", scope="{kept.wanted_scope}"'
        login = await flow.log_in(challenge, clock, 403)
    else:
        login = await flow.log_in(await _challenge(server), clock)
    async with store.locked(server.login_id):
        await store.write(server.login_id, login)
    return login


async def kept_login(server: UpstreamConfig, store: LoginStore) -> Login | None:
    """The login that is kept, unless it does not open: then it is replaced."""
    try:
        return await store.read(server.login_id)
    except LoginFailed:
        return None


async def log_out(server: UpstreamConfig, store: LoginStore) -> str | None:
    """Forget the login, after its tokens were revoked; a problem is why they were not."""
    async with store.locked(server.login_id):
        login = await kept_login(server, store)
        try:
            return None if login is None else await Flow(server, login).revoke(login)
        except LoginFailed as error:
            return error.message
        finally:
            await store.remove(server.login_id)


async def _challenge(server: UpstreamConfig) -> str | None:
    """The header by which the server asks for a login; `None` if it does not."""
    headers = {**server.headers, "accept": "application/json, text/event-stream"}
    try:
        async with (
            asyncio.timeout(AUTH_FETCH_S),
            new_client(await ssl_context()) as client,
            client.stream("POST", server.url, json=_PROBE, headers=headers) as response,
        ):
            return response.headers.get("www-authenticate") if response.status_code == 401 else None
    except (httpx2.HTTPError, OSError) as error:  # TimeoutError included
        raise LoginFailed(f"the server cannot be reached: {type(error).__name__}") from None
