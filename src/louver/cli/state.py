"""Places in the folder for state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from louver.catalogue.learned import state_folder

if TYPE_CHECKING:
    from pathlib import Path

SAVINGS: Final = "savings.db"
LOGINS: Final = "logins"


def state(name: str) -> Path | None:
    """A file or folder in the folder for state, if there is one."""
    try:
        return state_folder(os.environ) / name
    except RuntimeError:
        # The user has no home folder.
        return None
