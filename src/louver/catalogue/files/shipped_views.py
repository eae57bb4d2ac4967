"""Views that ship for public servers, found by `serverInfo.name`; they apply only where they are enabled.

The view `compact` omits what the caller has sent itself, what follows from the rest, and white space.
`tests/catalogue/test_views_of_servers.py` checks each file against results of its server.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from louver.catalogue.files.views import ViewFolder
from louver.shipped import folder

# The view of a shipped file that a call without a request gets; a file may have none.
COMPACT: Final = "compact"

# `serverInfo.name` -> the folder of its views.
FOLDERS: Final = {
    "mcp-servers/everything": "server-everything",
    "mcp-time": "mcp-server-time",
    "memory-server": "server-memory",
    "secure-filesystem-server": "server-filesystem",
    "sequential-thinking-server": "server-sequential-thinking",
}


def ready_views(server: str | None) -> ViewFolder | None:
    return None if server not in FOLDERS else _read(FOLDERS[server])


@cache
def _read(name: str) -> ViewFolder:
    return ViewFolder(folder("views") / name)
