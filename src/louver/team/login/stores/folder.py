"""Logins in a folder, one sealed file each, for all gateways and commands of a user at once.

logins/5f0c2d6e9a1b3c47         mode 600; replaced as a whole
logins/5f0c2d6e9a1b3c47.lock    held while a login is made, renewed or removed
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from louver.catalogue.files.open_regular import secret
from louver.catalogue.files.stamp import stamp_of
from louver.concurrency.offload import in_thread
from louver.errors import LoginFailed
from louver.limits import LOGIN_LOCK_WAIT_S
from louver.team.login.stores.seal_key import KEY_FILE, seal_key
from louver.team.state.seal import StateSeal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable
    from pathlib import Path

    from louver.team.login.login import Login

MAX_LOGIN_BYTES = 1024 * 1024
"""Largest file with a login, in bytes: two tokens, and two answers of an issuer of `MAX_AUTH_BYTES`."""


_LOCK_POLL_S: Final = 0.02


class LoginFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seal: StateSeal | None = None
        self._seal_stamp: Hashable = None

    async def stamp(self, key: str, *, is_fresh: bool = False) -> Hashable:
        # It is fresh anyway.
        return self._stamp(key)

    async def read(self, key: str) -> Login | None:
        return await in_thread(partial(self._read, key))

    async def write(self, key: str, login: Login) -> None:
        await in_thread(partial(self._write, key, login))

    async def remove(self, key: str) -> None:
        try:
            (self._folder / key).unlink(missing_ok=True)
        except OSError as error:
            raise self._failed("removed", error) from None

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncGenerator[None]:
        try:
            _make_private(self._folder)
            lock = _private(str(self._folder / f"{key}.lock"), os.O_WRONLY | os.O_CREAT)
        except OSError as error:
            raise self._failed("written", error) from None
        try:
            if not await _lock(lock):
                raise LoginFailed(f"another process has held {self._folder / key}.lock for {LOGIN_LOCK_WAIT_S:.0f} s")
            yield
        finally:
            os.close(lock)

    def _read(self, key: str) -> Login | None:
        try:
            with open(self._folder / key, "rb", opener=secret) as file:
                sealed = file.read(MAX_LOGIN_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failed("read", error) from None
        # Imported only now: without a login the SDK is not needed.
        from pydantic import ValidationError

        from louver.team.login.login import Login

        seal = self._opened_seal(create=False)
        opened = None if seal is None else seal.unseal(key, sealed)
        try:
            if opened is not None:
                return Login.model_validate_json(opened)
        except ValidationError:
            pass
        raise LoginFailed(f"the login in {self._folder / key} does not open by the key that this process has")

    def _write(self, key: str, login: Login) -> None:
        try:
            _make_private(self._folder)
            seal = self._opened_seal(create=True)
            assert seal is not None, "it is made"
            sealed = seal.seal(key, login.model_dump_json().encode())
            part = self._folder / f"{key}.part"
            with open(part, "wb", opener=_private) as out:
                out.write(sealed)
                out.flush()
                # A refresh token that has been replaced is worth nothing.
                os.fsync(out.fileno())
            part.replace(self._folder / key)
        except OSError as error:
            raise self._failed("written", error) from None

    def _opened_seal(self, *, create: bool) -> StateSeal | None:
        # The folder may have been removed, and made again with another key.
        stamp = self._stamp(KEY_FILE)
        if self._seal is None or stamp != self._seal_stamp:
            self._seal_stamp = stamp
            key = seal_key(self._folder, create=create)
            self._seal = None if key is None else StateSeal([key])
        return self._seal

    def _stamp(self, name: str) -> Hashable:
        return stamp_of(self._folder / name)

    def _failed(self, what: str, error: OSError) -> LoginFailed:
        return LoginFailed(f"logins in {self._folder} cannot be {what}: {error.strerror}")


async def _lock(descriptor: int) -> bool:
    """Whether the lock was free in time."""
    began = monotonic()
    while monotonic() - began < LOGIN_LOCK_WAIT_S:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(_LOCK_POLL_S)
        else:
            return True
    return False


def _make_private(folder: Path) -> None:
    # Parents that `mkdir` makes by itself are open to all.
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
