"""How many connections are for clients: about half of the files that the process may open.

The other half is for upstreams, and for accepting a connection in order to refuse it.
"""

from __future__ import annotations

import resource

from louver.limits import MAX_CLIENT_CONNECTIONS


def client_connections() -> int:
    return min(MAX_CLIENT_CONNECTIONS, max_open_files() // 2)


def max_open_files() -> int:
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED_FILES if soft_limit == resource.RLIM_INFINITY else soft_limit


_UNLIMITED_FILES = 1_000_000
