"""Places in the folder for state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from louver.catalogue.learned import state_folder
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from louver.gateway.login.store import LoginStore

SAVINGS: Final = "savings.db"
LOGINS: Final = "logins"


def login_store() -> LoginStore:
    """The logins of the user; InvalidInput if there is no place for them."""
    # Imported only now: few commands need it.
    from louver.gateway.login.store import LoginStore

    folder = state(LOGINS)
    if folder is None:
        raise InvalidInput("logins are kept in the home folder, and there is none: set XDG_STATE_HOME")
    return LoginStore(folder)


def state(name: str) -> Path | None:
    """A file or folder in the folder for state, if there is one."""
    try:
        return state_folder(os.environ) / name
    except RuntimeError:
        # The user has no home folder.
        return None
