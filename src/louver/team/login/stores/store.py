"""Where logins are kept: in a folder of the user (`folder.py`), or in the state that replicas share (`shared.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from louver.team.login.stores.folder import LoginFolder
from louver.team.login.stores.shared import SharedLogins

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from louver.team.login.login import Login
    from louver.team.state.shared import SharedState


class LoginStore(Protocol):
    """Each method raises LoginFailed if the place cannot be used."""

    async def stamp(self, key: str, *, is_fresh: bool = False) -> Hashable:
        """Differs after each change of a login; `None` if there is none. What was seen a while ago unless fresh."""
        ...

    async def read(self, key: str) -> Login | None: ...

    async def write(self, key: str, login: Login) -> None: ...

    async def remove(self, key: str) -> None: ...

    def locked(self, key: str) -> AbstractAsyncContextManager[None]:
        """Alone among all processes, as to this login.

        An authorization server that rotates refresh tokens takes each once: the holder of the lock reads the login
        again, and renews it only if no other process has.
        """
        ...


def login_store(state: SharedState | None, keys: Sequence[str], folder: Path | None) -> LoginStore | None:
    """The place of a gateway's logins; a state without keys would show them to its readers."""
    if state is not None and keys:
        return SharedLogins(state)
    return None if folder is None else LoginFolder(folder)
