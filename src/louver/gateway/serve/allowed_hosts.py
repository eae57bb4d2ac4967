"""The names by which clients may reach the gateway: the headers `Host` and `Origin` are checked against them.

By DNS rebinding, or by a request across origins, a page of somebody else in a browser could reach the gateway. Pages of
the machine itself may call, and those of the gateway: their origin is the very host that the request is for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_LOCAL_ORIGINS: Final = frozenset(f"http://{host}" for host in LOOPBACK)  # at any port

_PORT: Final = "[0-9]{1,5}"
_HOST: Final = re.compile(rf"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:{_PORT})?")


def host_patterns(name: str) -> list[str] | None:
    """The allowed `Host` values for `HOST` or `HOST:PORT`: with its port, or with any; None if it is malformed."""
    # Browsers send host names in lower case.
    match = _HOST.fullmatch(name.lower())
    if match is None:
        return None
    host = match.group()
    return [host] if match.group(2) is not None else [host, f"{host}:*"]


def refused_source(headers: Mapping[str, str], hosts: Set[str]) -> tuple[int, str] | None:
    """Status and reason, unless `Host` is one of the allowed `hosts`, and `Origin` of the machine or the gateway."""
    host = headers.get("host", "")
    name = host.rpartition(":")[0]
    if host not in hosts and name not in LOOPBACK and f"{name}:*" not in hosts:
        return 421, "Invalid Host header"
    origin = headers.get("origin")
    if (
        origin
        and origin.rpartition(":")[0] not in _LOCAL_ORIGINS
        and origin not in (f"http://{host}", f"https://{host}")
    ):
        return 403, "Invalid Origin header"
    return None
