"""Places in the folder for state."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from louver.catalogue.learned import state_folder
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from louver.gateway.config.model import Config
    from louver.gateway.login.store import LoginStore

SAVINGS: Final = "savings.db"
LOGINS: Final = "logins"


@asynccontextmanager
async def opened_logins(config: Config) -> AsyncGenerator[LoginStore]:
    """The place of the logins of a gateway with this configuration; InvalidInput if there is none."""
    # Imported only now: few commands need them.
    from louver.gateway.login.store import login_store
    from louver.state.shared import SharedState

    shared = None if config.state is None else SharedState(config.state, config.keys)
    try:
        store = login_store(shared, config.keys, state(LOGINS))
        if store is None:
            raise InvalidInput("logins are kept in the home folder, and there is none: set XDG_STATE_HOME")
        yield store
    finally:
        if shared is not None:
            await shared.close()


def state(name: str) -> Path | None:
    """A file or folder in the folder for state, if there is one."""
    try:
        return state_folder(os.environ) / name
    except RuntimeError:
        # The user has no home folder.
        return None
