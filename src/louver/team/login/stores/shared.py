"""Logins in the state that replicas share, sealed with their keys.

louver:login:5f0c2d6e9a1b3c47         the login
louver:login:5f0c2d6e9a1b3c47:lock    who makes, renews or removes it, for `LOGIN_LOCK_S` at most
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from louver.concurrency.offload import in_thread
from louver.core.json import digest
from louver.errors import LoginFailed, StateUnavailable
from louver.limits import LOGIN_LOCK_S, LOGIN_LOCK_WAIT_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Hashable

    from louver.team.login.login import Login
    from louver.team.state.shared import SharedState

LOGIN_SHARED_LOOK_S = 5.0
LOGIN_KEPT_S = 400 * 86_400.0
"""How often a replica looks for changed logins in the shared state, and how long one is kept there, in seconds."""


_POLL_S: Final = 0.1

_T = TypeVar("_T")


class SharedLogins:
    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._stamps: dict[str, tuple[Hashable, float]] = {}  # with the time until which they are used

    async def stamp(self, key: str, *, is_fresh: bool = False) -> Hashable:
        found, until = self._stamps.get(key, (None, 0.0))
        if monotonic() < until and not is_fresh:
            return found
        try:
            text = await self._state.get(_name(key))
        except StateUnavailable as error:
            if key not in self._stamps:
                raise LoginFailed(error.message) from None
            # The login that is known goes on.
            return self._remember(key, found)
        return self._remember(key, None if text is None else digest(text.decode()))

    async def read(self, key: str) -> Login | None:
        try:
            text = await self._state.get(_name(key))
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None
        return None if text is None else await in_thread(partial(_opened, text))

    async def write(self, key: str, login: Login) -> None:
        try:
            await self._state.put(_name(key), login.model_dump_json().encode(), LOGIN_KEPT_S)
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None
        self._stamps.pop(key, None)

    async def remove(self, key: str) -> None:
        try:
            await self._state.remove(_name(key))
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None
        self._stamps.pop(key, None)

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncGenerator[None]:
        lock = f"{_name(key)}:lock"
        try:
            taking = await self._take(lock)
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None
        try:
            yield
        finally:
            await _to_its_end(self._give_back(lock, taking))

    async def _take(self, lock: str) -> asyncio.Future[bytes | None]:
        began = monotonic()
        while monotonic() - began < LOGIN_LOCK_WAIT_S:
            taking = asyncio.ensure_future(self._state.take(lock, LOGIN_LOCK_S))
            try:
                if await _to_its_end(taking) is not None:
                    return taking
            except asyncio.CancelledError:
                await _to_its_end(self._give_back(lock, taking))
                raise
            await asyncio.sleep(_POLL_S)
        raise LoginFailed(f"another replica has held the login for {LOGIN_LOCK_WAIT_S:.0f} s")

    async def _give_back(self, lock: str, taking: asyncio.Future[bytes | None]) -> None:
        # Else it ends by itself.
        with suppress(StateUnavailable):
            if (holder := await taking) is not None:
                await self._state.remove(lock, holder)

    def _remember(self, key: str, stamp: Hashable) -> Hashable:
        self._stamps[key] = stamp, monotonic() + LOGIN_SHARED_LOOK_S
        return stamp


async def _to_its_end(work: Awaitable[_T]) -> _T:
    """The result of work that goes on though who waits for it is cancelled: a lock would stay with nobody."""
    working = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


def _opened(text: bytes) -> Login:
    # Imported only now, and in a thread: without a login the SDK is not needed.
    from pydantic import ValidationError

    from louver.team.login.login import Login

    try:
        return Login.model_validate_json(text)
    except ValidationError:
        raise LoginFailed("the login in the shared state is of another version of Louver") from None


def _name(key: str) -> str:
    return f"login:{key}"
