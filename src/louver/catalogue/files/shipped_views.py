"""Ready views: those that ship for public servers, found by the name that a server says of itself.

    serverInfo.name             file                                              a call without a request gets
    memory-server               views/server-memory/read_graph.views.json         `compact`
    secure-filesystem-server    views/server-filesystem/directory_tree.views.json

They count where that was asked for. The view `compact` leaves out what whoever calls has said itself, what follows from
the rest, and white space; `tests/catalogue/test_views_of_servers.py` holds each file against what its server answered.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from louver.catalogue.files.views import ViewFolder
from louver.shipped import folder

COMPACT: Final = "compact"
"""The view of a ready file that a call without a request gets; a file may have none."""

FOLDERS: Final = {
    "mcp-servers/everything": "server-everything",
    "mcp-time": "mcp-server-time",
    "memory-server": "server-memory",
    "secure-filesystem-server": "server-filesystem",
    "sequential-thinking-server": "server-sequential-thinking",
}
"""What a server says that it is called -> the folder of its views."""


def ready_views(server: str | None) -> ViewFolder | None:
    """The views for a server; `None` if there are none.

    Args:
        server: What it says that it is called; `None` if it has not said so yet.
    """
    return None if server not in FOLDERS else _read(FOLDERS[server])


@cache
def _read(name: str) -> ViewFolder:
    return ViewFolder(folder("views") / name)
